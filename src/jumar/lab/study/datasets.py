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
from typing import Any, NamedTuple

import numpy as np

from jumar.algorithms import Material
from jumar.core.arrays import Bools, Floats, Ints, RowIndex
from jumar.core.documents import at
from jumar.core.errors import NotConverged, ParameterError, StudyError, TooLarge
from jumar.core.randomness import random_stream
from jumar.lab.study import batch
from jumar.lab.study.batch import Task, coarsening, make_task, true_value
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
from jumar.memory.refinement import join, projection, refines
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
    finest: int  # the task that is counted, and
    coarsenings: tuple[tuple[Ints, Ints] | None, ...]  # how the others follow from it, if they do
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
    finest = max(range(len(made)), key=lambda i: len(made[i].states))
    return Prepared(
        spec=behavior,
        pomdp=pomdp,
        behavior=controller,
        value=found.value,
        optimum=yardstick(pomdp),
        memories=memories,
        tasks=tuple(made),
        finest=finest,
        coarsenings=tuple(
            coarsening(made[finest], made[i], projection(memories[finest], memory))
            if i != finest and refines(memories[finest], memory)
            else None
            for i, memory in enumerate(memories)
        ),
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


# ---- settings with every memory -----------------------------------------------------------------


def run_dataset(spec: StudySpec, prepared: Prepared, number: int) -> Floats:
    """(memories, sizes, fixed settings, fields) of one data set."""
    log, settings = simulate_dataset(spec, prepared, number), spec.fixed
    results = np.empty((len(prepared.tasks), len(spec.sizes), len(settings), batch.FIELDS))
    ruled = [j for j, setting in enumerate(settings) if setting.compiled]
    if ruled:
        try:
            chosen = [settings[j] for j in ruled]
            results[:, :, ruled] = _run_compiled(spec, prepared, log, chosen)
        except ArithmeticError as error:
            raise NotConverged(f"{prepared.spec.name}, data set {number}: {error}") from error
    others = [j for j in range(len(settings)) if j not in ruled]
    whole = Episodes(prepared.pomdp.observations, prepared.pomdp.actions, *log)
    for i, size in enumerate(spec.sizes if others else ()):
        part = Replays(whole.select(np.arange(size)))
        materials = [  # what one setting finds in the log, the next one need not look for
            Material(part, memory, prepared.pomdp.discount, prepared.pomdp.reward_range, spec.delta)
            for memory in prepared.memories
        ]
        for j in others:
            results[:, i, j] = _run_one_by_one(prepared, materials, settings[j])
    return results


def _run_compiled(
    spec: StudySpec, prepared: Prepared, log: Columns, settings: Sequence[StudySetting]
) -> Floats:
    """(memories, sizes, settings, fields) of settings that are rules."""
    sizes, rules = np.array(spec.sizes, np.int64), rule_arrays(settings)
    finest = batch.count_sizes(*log, sizes, prepared.tasks[prepared.finest])
    found = []
    for m, (task, coarser) in enumerate(zip(prepared.tasks, prepared.coarsenings, strict=True)):
        if m == prepared.finest:
            counts = finest
        elif coarser is not None:
            counts = batch.coarsen(finest, *coarser, task)
        else:
            counts = batch.count_sizes(*log, sizes, task)
        found.append(batch.improve_sizes(counts, sizes, task, *rules, prepared.pomdp.discount))
    return np.stack(found)


def rule_arrays(settings: Sequence[StudySetting]) -> tuple[Ints, Floats, Floats]:
    """Kind, threshold and unseen value of settings that are rules."""
    rules = []
    for setting in settings:
        make = setting.entry.admitted
        assert make is not None, f"{setting.algorithm} is no rule"
        rules.append(make(**setting.options))
    return (
        np.array([rule.kind for rule in rules], np.int64),
        np.array([rule.n_wedge for rule in rules], np.float64),
        np.array([rule.unseen_value for rule in rules], np.float64),
    )


def _run_one_by_one(
    prepared: Prepared, materials: Sequence[Material], setting: StudySetting
) -> Floats:
    """(memories, fields) of an algorithm that compiled loops do not know."""
    results = np.empty((len(materials), batch.FIELDS))
    for m, material in enumerate(materials):
        found = setting.entry.learn(material, prepared.behavior, **setting.options)
        unchanged = found.changed == 0
        results[m, batch.VALUE] = (
            prepared.value if unchanged else prepared.value_of(m, found.mdp.states, found.policy)
        )
        results[m, batch.MODEL_VALUE] = found.performance
        results[m, batch.MODEL_BEHAVIOR] = found.behavior_performance
        results[m, batch.KNOWN] = (material.mdp.visits > (setting.threshold or 0)).sum()
    return results


# ---- settings that choose -----------------------------------------------------------------------


class Choices(NamedTuple):
    """What was chosen on one data set. S sizes, C settings that choose."""

    results: Floats  # (S, C, FIELDS); the estimates are those of held-out episodes
    chosen: tuple[str, ...]  # (S * C,) in words


def selection_stream(
    spec: StudySpec, behavior: BehaviorSpec, number: int, size: int
) -> np.random.Generator:
    """The random numbers for choosing on the log of one size of one data set."""
    return random_stream(spec.seed, "selection", behavior.name, number, size)


def choose(spec: StudySpec, prepared: Prepared, number: int) -> Choices:
    """Let the settings that choose by themselves do so, on every size of one data set. A setting
    that is not run has NaN for its value, and its row is dropped."""
    pomdp = prepared.pomdp
    results = np.full((len(spec.sizes), len(spec.choosing), batch.FIELDS), np.nan)
    chosen = [STAYED] * results[..., 0].size
    if not any(setting.runs(number) for setting in spec.choosing):
        return Choices(results, tuple(chosen))
    whole = Episodes(pomdp.observations, pomdp.actions, *simulate_dataset(spec, prepared, number))
    for i, size in enumerate(spec.sizes):
        part = whole.select(np.arange(size))
        earned = float(part.returns(pomdp.discount).mean())
        for j, setting in enumerate(spec.choosing):
            if not setting.runs(number):
                continue
            choice = setting.entry.choice
            assert choice is not None, f"{setting.algorithm} does not choose its memory"
            found = choice.choose(
                part,
                prepared.behavior,
                discount=pomdp.discount,
                seed=selection_stream(spec, prepared.spec, number, size),
                **setting.options,
            )
            value, gain = prepared.value, 0.0
            if found.chosen is not None:
                value, gain = evaluate(pomdp, found.controller).value, found.chosen.gain
                chosen[i * len(spec.choosing) + j] = str(found.chosen.setting)
            results[i, j, batch.VALUE] = value
            results[i, j, batch.MODEL_BEHAVIOR] = earned
            results[i, j, batch.MODEL_VALUE] = earned + gain
    return Choices(results, tuple(chosen))
