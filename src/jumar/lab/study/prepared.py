"""A behavior of a study, ready: its model, its controller, and everything its data sets share.

One data set is one stream of random numbers, named after study seed, behavior and number; its
first n episodes are the log of size n. So a single log can be made again by name.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jumar import models
from jumar.core import kernels
from jumar.core.arrays import Bools, Floats, Ints, RowIndex
from jumar.core.documents import at
from jumar.core.errors import ParameterError, StudyError, TooLarge
from jumar.core.randomness import random_stream
from jumar.evidence.rewards import RewardRange
from jumar.lab.study.batch import Task, true_value
from jumar.lab.study.spec import BehaviorSpec, StudySpec
from jumar.lab.study.tasks import coarsening, make_task, whatever_happens
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
from jumar.memory import Memory, window
from jumar.memory.refinement import join, projection, refines
from jumar.policy.controller import Controller
from jumar.policy.files import load_controller

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
    states: tuple[Ints, ...]  # (X, w+1) the history states that the numbers of each task stand for
    finest: int  # the task that is counted, and
    coarsenings: tuple[tuple[Ints, Ints] | None, ...]  # how the others follow from it, if they do
    tables: tuple[Any, ...]  # what the simulation draws from

    @property
    def rewards(self) -> RewardRange:
        """What a step can pay, as somebody who knows the process would declare it."""
        ending = self.pomdp.reward_extremes(ending=True)
        return RewardRange(self.pomdp.reward_extremes(ending=False) or ending or (0.0, 0.0), ending)

    def value_of(self, memory: int, states: Ints, rows: Floats) -> float:
        """The exact value of the behavior with other rows (H, A) in some history states of one of
        the memories: what `evaluate` says, without unrolling the model anew."""
        task = self.tasks[memory]
        policy = np.array(task.behavior)
        policy[RowIndex(self.states[memory]).find(states)] = rows
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
        join(controller.memory, _window(behavior, controller, k)) for k in behavior.memories
    )
    made = [
        _task(behavior, pomdp, controller, k, memory)
        for k, memory in zip(behavior.memories, memories, strict=True)
    ]
    finest = max(range(len(made)), key=lambda i: len(made[i][1]))
    return Prepared(
        spec=behavior,
        pomdp=pomdp,
        behavior=controller,
        value=found.value,
        optimum=yardstick(pomdp),
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
            limit,
            *model_tables(pomdp),
            *controller_tables(unroll(pomdp, controller), controller),
        ),
    )


def _task(
    behavior: BehaviorSpec, pomdp: Pomdp, controller: Controller, k: int, memory: Memory
) -> tuple[Task, Ints]:
    """The task of one memory, or at once what is too large about it."""
    try:
        return make_task(pomdp, controller, memory)
    except TooLarge as error:
        raise TooLarge(
            f"behavior {behavior.name!r}, memory {k}: {error} Every policy of a study is evaluated "
            f"exactly; a window of {k} has about {_power_of_ten(memory)} nodes. "
            f"{_what_fits(behavior, pomdp, controller, k)}"
        ) from error


def _power_of_ten(memory: Memory) -> str:
    try:
        return f"10^{len(str(memory.count_nodes())) - 1}"
    except (TooLarge, ValueError):  # Python writes no numbers of thousands of digits
        return "countless"


def _what_fits(behavior: BehaviorSpec, pomdp: Pomdp, controller: Controller, k: int) -> str:
    """The longest memory that can be studied."""
    low, high = 0, k
    while high - low > 1:
        middle = (low + high) // 2
        memory = join(controller.memory, _window(behavior, controller, middle))
        try:
            whatever_happens(pomdp, memory)
            low = middle
        except TooLarge:
            high = middle
    return f"Here memories up to {low} fit." if low else "Here no memory fits: use a smaller model."


def _window(behavior: BehaviorSpec, controller: Controller, k: int) -> Memory:
    return window(k, behavior.with_actions).on(*controller.memory.alphabet)


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
    return kernels.simulate_episodes(spec.sizes[-1], limit, rng, *tables)
