"""How much memory does what follows ask for?

What is learned from histories of a memory is right if nothing else that was seen tells more about
what comes next. The behavior's memory is tested against one that knows an observation more, then
that one, and so on, until a test does not reject (`evidence.order`). A memory that is too short
does not spoil the log; it spoils what is learned with that memory. So this is worth a look, no
failure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.controller import Controller
from jumar.core.memory.refinement import one_more
from jumar.core.replay import Replays
from jumar.evidence.checking.base import Finding, Settings
from jumar.evidence.order import Gap, order_tests, suggested


@dataclass(frozen=True)
class Step:
    """One memory, compared with a finer one."""

    memory: str
    finer: str
    statistic: float
    p: float
    resamples: int
    rejected: bool
    decided: int  # steps that can tell the two apart
    effect: float  # mean distance of the laws of what follows, beyond chance
    interval: tuple[float, float] | None  # 95 %
    reward_effect: float  # mean distance of the mean rewards, beyond chance
    reward_interval: tuple[float, float] | None
    largest: Gap | None  # where what follows differs most clearly
    largest_reward: Gap | None  # where the reward does


@dataclass(frozen=True)
class Order:
    """The memories that were tested, shortest first, and the one the log asks for."""

    tests: tuple[Step, ...]  # none where there is no longer memory
    suggested: str
    enough: bool  # whether the suggested memory passed, or only is the longest there was
    verdict: Finding


def order_of(
    replays: Replays, behavior: Controller, settings: Settings, rng: np.random.Generator
) -> Order:
    """Test the memory of the behavior, then longer ones, until one is enough."""
    memory = behavior.memory
    if one_more(memory) is None:
        verdict = Finding("look", "There is no longer memory to compare this one with.")
        return Order((), str(memory), False, verdict)
    found = order_tests(
        replays,
        behavior,
        seed=rng,
        resamples=settings.resamples,
        level=settings.level,
    )
    wanted, enough = str(suggested(found)), not found[-1].rejected
    verdict = Finding("look" if found[0].rejected else "passed", found[0].sentence)
    if found[0].rejected:
        least = "Learn with" if enough else "None of those tested is; learn with at least"
        verdict = Finding("look", f"{found[0].sentence} {least} a {wanted}.")
    steps = tuple(
        Step(
            memory=str(test.base),
            finer=str(test.finer),
            statistic=test.statistic,
            p=test.p,
            resamples=test.resamples,
            rejected=test.rejected,
            decided=test.decided,
            effect=test.effect,
            interval=test.interval,
            reward_effect=test.reward_effect,
            reward_interval=test.reward_interval,
            largest=test.largest,
            largest_reward=test.largest_reward,
        )
        for test in found
    )
    return Order(steps, wanted, enough, verdict)
