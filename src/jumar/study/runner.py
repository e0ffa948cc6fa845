"""Runs a study: every behavior, data set, size, memory and setting, each policy evaluated exactly.

One data set is one stream of random numbers, named after study seed, behavior and number; its
first n episodes are the log of size n. So results do not depend on how the work is spread or
interrupted, and a single log can be made again by name (`dataset_stream`). Threads share the work:
the compiled loops run without the interpreter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar import __version__, kernels, models
from jumar.algorithms import algorithm
from jumar.algorithms import run as run_algorithm
from jumar.arrays import Floats, Ints
from jumar.certificate import RewardRange, bound
from jumar.chain import check_names_agree, unroll
from jumar.controller import Controller
from jumar.controller_files import controller_to_document, load_controller
from jumar.episodes import Episodes
from jumar.errors import ModelError, NotConverged, TooLarge
from jumar.evaluation import evaluate
from jumar.history import count
from jumar.memory import Memory, window
from jumar.model_files import model_hash
from jumar.optimality import optimum
from jumar.pipeline import scale_of
from jumar.pomdp import Pomdp
from jumar.refinement import join, projection, refines
from jumar.simulation import controller_tables, model_tables, step_limit
from jumar.streams import stream
from jumar.study import batch
from jumar.study.batch import Task
from jumar.study.spec import BehaviorSpec, Setting, StudySpec
from jumar.study.store import Store
from jumar.study.tasks import coarsening, make_task
from jumar.training import train_behavior

BLOCK = 25  # data sets per block: what a kill can cost
BOUND = "corollary"  # the ζ in the table


@dataclass(frozen=True)
class Prepared:
    """A behavior, ready to be studied."""

    spec: BehaviorSpec
    pomdp: Pomdp
    behavior: Controller
    value: float  # of the behavior, exact
    optimum: float | None
    memories: tuple[Memory, ...]
    tasks: tuple[Task, ...]
    states: tuple[Ints, ...]  # history states of each task
    finest: int  # the task that is counted, and
    coarsenings: tuple[tuple[Ints, Ints] | None, ...]  # how the others follow from it, if they do
    tables: tuple[Any, ...]  # what the simulation draws from


def prepare(spec: StudySpec, behavior: BehaviorSpec) -> Prepared:
    """Build the model, get the behavior, and everything its data sets share."""
    pomdp = models.build(behavior.model, folder=spec.folder)
    controller = _controller(spec, behavior, pomdp)
    check_names_agree(pomdp, controller)
    memories = tuple(
        join(controller.memory, window(k, behavior.with_actions).on(*controller.memory.alphabet))
        for k in behavior.memories
    )
    made = [make_task(pomdp, controller, memory) for memory in memories]
    finest = max(range(len(made)), key=lambda i: len(made[i][1]))
    return Prepared(
        spec=behavior,
        pomdp=pomdp,
        behavior=controller,
        value=evaluate(pomdp, controller).value,
        optimum=_optimum(pomdp),
        memories=memories,
        tasks=tuple(task for task, _ in made),
        states=tuple(states for _, states in made),
        finest=finest,
        coarsenings=tuple(
            coarsening(*made[finest], *made[i], projection(memories[finest], memory))
            if i != finest and refines(memories[finest], memory)
            else None
            for i, memory in enumerate(memories)
        ),
        tables=(
            step_limit(pomdp, None),
            *model_tables(pomdp),
            *controller_tables(unroll(pomdp, controller), controller),
        ),
    )


def _optimum(pomdp: Pomdp) -> float | None:
    """The value of the best policy of all, where it can be computed in reasonable time."""
    try:
        bracket = optimum(pomdp, tolerance=1e-9, most=20_000)
    except (TooLarge, NotConverged, ModelError):
        return None
    return (bracket.lower + bracket.upper) / 2


def _controller(spec: StudySpec, behavior: BehaviorSpec, pomdp: Pomdp) -> Controller:
    if behavior.policy is not None:
        return load_controller(Path(spec.folder) / behavior.policy)
    assert behavior.window is not None
    setting = models.training(behavior.model, pomdp)
    return train_behavior(pomdp, window(behavior.window), setting, behavior.seed)


def dataset_stream(spec: StudySpec, behavior: BehaviorSpec, number: int) -> np.random.Generator:
    """The random numbers of one data set."""
    return stream(spec.seed, "data", behavior.name, number)


def run_dataset(spec: StudySpec, prepared: Prepared, number: int) -> Floats:
    """(memories, sizes, settings, fields) of one data set."""
    rng = dataset_stream(spec, prepared.spec, number)
    limit, *tables = prepared.tables
    log = kernels.simulate_episodes(spec.sizes[-1], limit, rng, *tables)
    shape = len(prepared.tasks), len(spec.sizes), len(spec.settings), batch.FIELDS
    results = np.empty(shape)
    ruled = [j for j, s in enumerate(spec.settings) if algorithm(s.algorithm).rule is not None]
    if ruled:
        rules = rule_arrays([spec.settings[j] for j in ruled])
        sizes, γ = np.array(spec.sizes, np.int64), prepared.pomdp.discount
        nothing = np.zeros((0, 0, 0, 0))
        finest = batch.count_sizes(*log, sizes, prepared.tasks[prepared.finest])
        for m, (task, coarser) in enumerate(zip(prepared.tasks, prepared.coarsenings, strict=True)):
            if m == prepared.finest:
                counts = finest
            elif coarser is not None:
                counts = batch.coarsen(finest, *coarser, task)
            else:
                counts = batch.count_sizes(*log, sizes, task)
            try:
                found = batch.improve_sizes(counts, sizes, task, *rules, γ, nothing)
                results[m][:, ruled] = found
            except ArithmeticError as error:
                raise NotConverged(f"{prepared.spec.name}, data set {number}: {error}") from error
    for j in set(range(len(spec.settings))) - set(ruled):
        results[:, :, j] = _run_one_by_one(spec, prepared, log, spec.settings[j])
    return results


def _run_one_by_one(
    spec: StudySpec, prepared: Prepared, log: tuple[Any, ...], setting: Setting
) -> Floats:
    """(memories, sizes, fields) of an algorithm that compiled loops do not know."""
    pomdp = prepared.pomdp
    whole = Episodes(pomdp.observations, pomdp.actions, *log)
    results = np.empty((len(prepared.memories), len(spec.sizes), batch.FIELDS))
    for i, size in enumerate(spec.sizes):
        part = whole.select(np.arange(size))
        for m, memory in enumerate(prepared.memories):
            mdp = count(part, memory).mle(pomdp.discount)
            parameters = dict(setting.parameters)
            found = run_algorithm(setting.algorithm, mdp, prepared.behavior, **parameters)
            results[m, i, batch.VALUE] = evaluate(pomdp, found.controller).value
            results[m, i, batch.MODEL_VALUE] = found.performance
            results[m, i, batch.MODEL_BEHAVIOR] = found.behavior_performance
            known = mdp.visits > (setting.get("n_wedge") or 0)
            results[m, i, batch.KNOWN] = known.sum()
    return results


def rule_arrays(settings: Sequence[Setting]) -> tuple[Ints, Floats, Floats]:
    """Kind, threshold and unseen value of settings that are rules."""
    rules = []
    for setting in settings:
        make = algorithm(setting.algorithm).rule
        assert make is not None, f"{setting.algorithm} is no rule"
        rules.append(make(**dict(setting.parameters)))
    return (
        np.array([rule.kind for rule in rules], np.int64),
        np.array([rule.n_wedge for rule in rules], np.float64),
        np.array([rule.unseen_value for rule in rules], np.float64),
    )


def identity(spec: StudySpec, prepared: list[Prepared]) -> dict[str, Any]:
    """Everything that determines the numbers."""
    return {
        "jumar": __version__,
        "title": spec.title,
        "seed": spec.seed,
        "datasets": spec.datasets,
        "sizes": list(spec.sizes),
        "delta": spec.delta,
        "settings": [[s.algorithm, dict(s.parameters)] for s in spec.settings],
        "behaviors": [
            {
                "name": p.spec.name,
                "model": p.spec.model,
                "model_hash": model_hash(p.pomdp),
                "title": p.pomdp.name,
                "window": p.spec.window,
                "memories": list(p.spec.memories),
                "with_actions": p.spec.with_actions,
                "value": p.value,
                "optimum": p.optimum,
                "controller": controller_to_document(p.behavior),
            }
            for p in prepared
        ],
    }


def run_study(
    spec: StudySpec,
    folder: str | Path,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Run what is missing of a study; `progress` hears of policies done and policies in all."""
    prepared = [prepare(spec, behavior) for behavior in spec.behaviors]
    store = Store(folder)
    store.open(identity(spec, prepared))
    blocks = [(p, b) for p in prepared for b in range(-(-spec.datasets // BLOCK))]
    todo = [(p, b) for p, b in blocks if not store.has_block(p.spec.name, b)]
    total, done = spec.n_policies, spec.n_policies
    done -= sum(_policies(spec, p, b) for p, b in todo)
    tell = progress or (lambda done, total: None)
    tell(done, total)
    for p, b, results in _in_parallel(spec, todo, jobs):
        store.write_block(p.spec.name, b, block_table(spec, p, b, results))
        done += _policies(spec, p, b)
        tell(done, total)
    store.finish([(p.spec.name, b) for p, b in blocks])
    return store


def _members(spec: StudySpec, block: int) -> range:
    return range(block * BLOCK, min((block + 1) * BLOCK, spec.datasets))


def _policies(spec: StudySpec, p: Prepared, block: int) -> int:
    return len(_members(spec, block)) * len(spec.sizes) * len(p.tasks) * len(spec.settings)


def _in_parallel(
    spec: StudySpec, todo: list[tuple[Prepared, int]], jobs: int
) -> Iterator[tuple[Prepared, int, Floats]]:
    """Blocks as they finish, never more under way than can be worked on."""

    def work(p: Prepared, block: int) -> tuple[Prepared, int, Floats]:
        members = _members(spec, block)
        return p, block, np.stack([run_dataset(spec, p, number) for number in members])

    waiting = iter(todo)
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        under_way: set[Future[tuple[Prepared, int, Floats]]] = set()
        try:
            while True:
                while len(under_way) < max(1, jobs) + 1:
                    job = next(waiting, None)
                    if job is None:
                        break
                    under_way.add(pool.submit(work, *job))
                if not under_way:
                    return
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def block_table(spec: StudySpec, p: Prepared, block: int, results: Floats) -> Any:
    """Results (datasets, memories, sizes, settings, fields) as rows of the table."""
    import pyarrow as pa

    D, M, S, J, _ = results.shape
    d, m, s, j = (grid.ravel() for grid in np.indices((D, M, S, J)))
    flat = results.reshape(-1, batch.FIELDS)
    gain = flat[:, batch.MODEL_VALUE] - flat[:, batch.MODEL_BEHAVIOR]
    pairs = np.array([task.behavior.size for task in p.tasks])
    ζ = _zeta_before_gain(spec, p)[m, j] - gain

    def words(codes: Ints, values: list[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))

    algorithms = sorted({setting.algorithm for setting in spec.settings})
    n_wedge = np.array([_or_nan(setting.get("n_wedge")) for setting in spec.settings])
    return pa.table(
        {
            "environment": words(np.zeros_like(d), [p.pomdp.name]),
            "behavior": words(np.zeros_like(d), [p.spec.name]),
            "k": pa.array(np.full(len(d), p.spec.window or 0, np.int16)),
            "k_new": pa.array(np.array(p.spec.memories, np.int16)[m]),
            "algorithm": words(
                np.array([algorithms.index(x.algorithm) for x in spec.settings])[j], algorithms
            ),
            "parameters": words(j, [json.dumps(dict(x.parameters)) for x in spec.settings]),
            "n_wedge": pa.array(n_wedge[j], from_pandas=True),
            "size": pa.array(np.array(spec.sizes, np.int32)[s]),
            "dataset": pa.array(np.array(_members(spec, block), np.int32)[d]),
            "value": pa.array(flat[:, batch.VALUE]),
            "model_value": pa.array(flat[:, batch.MODEL_VALUE]),
            "model_behavior_value": pa.array(flat[:, batch.MODEL_BEHAVIOR]),
            "zeta": pa.array(ζ, from_pandas=True),
            "known": pa.array(flat[:, batch.KNOWN] / pairs[m]),
        }
    )


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _zeta_before_gain(spec: StudySpec, p: Prepared) -> Floats:
    """(memories, settings) ζ of the paper's corollary without the estimated gain; NaN where the
    algorithm has no such bound."""
    continuing = p.pomdp.reward_extremes(ending=False)
    ending = p.pomdp.reward_extremes(ending=True)
    rewards = RewardRange(continuing or ending or (0.0, 0.0), ending)
    table = np.full((len(p.memories), len(spec.settings)), np.nan)
    for m, memory in enumerate(p.memories):
        scale = scale_of(memory, rewards, p.pomdp.discount)
        for j, setting in enumerate(spec.settings):
            if algorithm(setting.algorithm).bound_kind == "spibb":
                table[m, j] = bound(BOUND).zeta(scale, setting.get("n_wedge"), spec.delta)
    return table
