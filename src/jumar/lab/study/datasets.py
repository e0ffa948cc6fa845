"""The data sets of a study: a behavior with everything that its data sets share (`Prepared`), and
one data set with every size, memory and setting, each policy evaluated exactly.

One data set is one stream of random numbers, named after study seed, behavior and number; its
first n episodes are the log of size n. So a single log can be made again by name.

What is a rule runs in compiled loops (`jumar.lab.study.batch`). Other algorithms run one by one, as
`jumar.improve` runs them: rewards declared, the same share of δ for what they need to know of the
returns. Settings that choose their memory see the log and the behavior, and draw from a stream of
their own, named after study seed, behavior, data set and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar.algorithms import Material
from jumar.core.arrays import Bools, Floats, Ints, RowIndex
from jumar.core.documents import at
from jumar.core.errors import NotConverged, ParameterError, StudyError, TooLarge
from jumar.core.randomness import random_stream
from jumar.lab.study import batch
from jumar.lab.study.batch import Task, make_task, true_value
from jumar.lab.study.spec import BehaviorSpec, StudySetting, StudySpec
from jumar.lab.truth import loops, models
from jumar.lab.truth.chain import check_names_agree, unroll
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.optimality import yardstick
from jumar.lab.truth.pomdp import Pomdp
from jumar.lab.truth.simulation import (
    check_log_size,
    controller_tables,
    model_tables,
    step_limit,
)
from jumar.lab.truth.training import train_behavior
from jumar.log.episodes import Episodes
from jumar.memory import Memory, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller
from jumar.tally.replay import Replays

STAYED = "behavior"  # what is chosen when nothing is

# observation, action, reward, start, final observation, terminated
Columns = tuple[Ints, Ints, Floats, Ints, Ints, Bools]


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
    tables: tuple[Any, ...]  # what the simulation draws from

    def value_of(self, memory: int, states: Ints, rows: Floats) -> float:
        """The exact value of the behavior with other rows (H, A) in some history states of one of
        the memories: what `evaluate` says, without unrolling the model anew."""
        task = self.tasks[memory]
        policy = np.array(task.behavior)
        policy[RowIndex(task.states).find(states)] = rows
        slots, v = np.empty(task.truth_plan.n_slots), np.empty(len(task.truth_start))
        return float(true_value(task, policy, self.pomdp.discount, slots, v))


def prepare(spec: StudySpec, behavior: BehaviorSpec) -> Prepared:
    """Build the model, get the behavior, and everything its data sets share."""
    try:
        pomdp = models.build(behavior.model, folder=spec.folder)
        controller = _controller(spec, behavior, pomdp)
    except ParameterError as error:  # what stands in a file is no option
        raise StudyError(f"behavior {behavior.name!r}: {error}") from error
    check_names_agree(pomdp, controller)
    found, limit = evaluate(pomdp, controller), step_limit(pomdp, None)
    with at(f"behavior {behavior.name!r}, size {spec.sizes[-1]:,}", TooLarge):
        check_log_size(spec.sizes[-1], min(found.length, limit))
    memories = tuple(
        join(controller.memory, window(k, behavior.with_actions).on(*controller.memory.alphabet))
        for k in behavior.memories
    )
    made = []
    for k, memory in zip(behavior.memories, memories, strict=True):
        with at(f"behavior {behavior.name!r}, memory {k}", TooLarge):
            made.append(make_task(pomdp, controller, memory))
    return Prepared(
        spec=behavior,
        pomdp=pomdp,
        behavior=controller,
        value=found.value,
        optimum=yardstick(pomdp),
        memories=memories,
        tasks=tuple(made),
        tables=(
            limit,
            *model_tables(pomdp),
            *controller_tables(unroll(pomdp, controller), controller),
        ),
    )


def _controller(spec: StudySpec, behavior: BehaviorSpec, pomdp: Pomdp) -> Controller:
    if behavior.policy is not None:
        return load_controller(Path(spec.folder) / behavior.policy)
    assert behavior.window is not None
    setting = models.training(behavior.model, pomdp)
    return train_behavior(pomdp, window(behavior.window), seed=behavior.seed, **asdict(setting))


def dataset_stream(spec: StudySpec, behavior: BehaviorSpec, number: int) -> np.random.Generator:
    """The random numbers of one data set."""
    return random_stream(spec.seed, "data", behavior.name, number)


def simulate_dataset(spec: StudySpec, prepared: Prepared, number: int) -> Columns:
    """The columns of one data set, as long as the largest size."""
    rng = dataset_stream(spec, prepared.spec, number)
    limit, *tables = prepared.tables
    return loops.simulate_episodes(spec.sizes[-1], limit, rng, *tables)


def run_dataset(spec: StudySpec, prepared: Prepared, number: int) -> tuple[Floats, Any]:
    """(memories + 1, sizes, settings, fields) of one data set, NaN where a setting is not run, and
    (sizes, settings) what settings that choose their memory chose, in words. The last memory is
    theirs."""
    log, pomdp = simulate_dataset(spec, prepared, number), prepared.pomdp
    grid = len(spec.sizes), len(spec.settings)
    results = np.full((len(prepared.tasks) + 1, *grid, batch.FIELDS), np.nan)
    chosen = np.full(grid, None, object)
    ruled = [j for j, setting in enumerate(spec.settings) if setting.compiled]
    if ruled:
        try:
            rules = [spec.settings[j] for j in ruled]
            results[:-1, :, ruled] = _run_compiled(spec, prepared, log, rules)
        except ArithmeticError as error:
            raise NotConverged(f"{prepared.spec.name}, data set {number}: {error}") from error
    others = [(j, x) for j, x in enumerate(spec.settings) if not x.compiled and x.runs(number)]
    whole = Episodes(pomdp.observations, pomdp.actions, *log)
    for i, size in enumerate(spec.sizes if others else ()):
        part = Replays(whole.select(np.arange(size)))
        materials = [  # what one setting finds in the log, the next one need not look for
            Material(part, memory, pomdp.discount, pomdp.reward_range, spec.delta)
            for memory in prepared.memories
        ]
        for j, setting in others:
            if setting.chooses_memory:
                rng = selection_stream(spec, prepared.spec, number, size)
                results[-1, i, j], chosen[i, j] = _choose(prepared, part.log, setting, rng)
            else:
                results[:-1, i, j] = _run_one_by_one(prepared, materials, setting)
    return results, chosen


def _run_compiled(
    spec: StudySpec, prepared: Prepared, log: Columns, settings: Sequence[StudySetting]
) -> Floats:
    """(memories, sizes, settings, fields) of settings that are rules."""
    makers = [(x.entry.admitted, x.options) for x in settings]
    rules = [make(**options) for make, options in makers if make is not None]
    kinds = np.array([rule.kind for rule in rules], np.int64)
    n_wedges = np.array([rule.n_wedge for rule in rules], np.float64)
    unseens = np.array([rule.unseen_value for rule in rules], np.float64)
    sizes, discount = np.array(spec.sizes, np.int64), prepared.pomdp.discount
    found = []
    for task in prepared.tasks:
        counts = batch.count_sizes(*log, sizes, task)
        found.append(batch.improve_sizes(counts, sizes, task, kinds, n_wedges, unseens, discount))
    return np.stack(found)


def _run_one_by_one(
    prepared: Prepared, materials: Sequence[Material], setting: StudySetting
) -> Floats:
    """(memories, fields) of an algorithm that compiled loops do not know."""
    results = []
    for m, material in enumerate(materials):
        found = setting.entry.learn(material, prepared.behavior, **setting.options)
        value = prepared.value
        if found.changed:
            value = prepared.value_of(m, found.mdp.states, found.policy)
        known = (material.mdp.visits > (setting.threshold or 0)).sum()
        results.append([value, found.performance, found.behavior_performance, known])
    return np.array(results)


def selection_stream(
    spec: StudySpec, behavior: BehaviorSpec, number: int, size: int
) -> np.random.Generator:
    """The random numbers for choosing on the log of one size of one data set."""
    return random_stream(spec.seed, "selection", behavior.name, number, size)


def _choose(
    prepared: Prepared, log: Episodes, setting: StudySetting, rng: np.random.Generator
) -> tuple[list[float], str]:
    """(fields,) of a setting that chooses its memory, and what it chose, in words; its estimates
    are those of held-out episodes."""
    choice, discount = setting.entry.choice, prepared.pomdp.discount
    assert choice is not None, f"{setting.algorithm} does not choose its memory"
    found = choice.choose(log, prepared.behavior, discount=discount, seed=rng, **setting.options)
    earned = float(log.returns(discount).mean())
    if found.chosen is None:
        return [prepared.value, earned, earned, np.nan], STAYED
    value = evaluate(prepared.pomdp, found.controller).value
    return [value, earned + found.chosen.gain, earned, np.nan], str(found.chosen.setting)
