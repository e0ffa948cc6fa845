"""How much memory does what follows ask for?

What is learned from histories of a memory is right if nothing else that was seen tells more about
what comes next. The behavior's memory is tested against one that knows an observation more, then
that one, and so on, until a test does not reject (`evidence.order`). A memory that is too short
does not spoil the log; it spoils what is learned with that memory. So this is worth a look, no
failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from jumar.core.text import Detail, Facts, TextTable, number, percent
from jumar.evidence.chance import Settings
from jumar.evidence.checking.base import Finding, Question, Section, by_episode, look, passed
from jumar.evidence.order import Gap, order_tests, suggested
from jumar.memory.refinement import one_more
from jumar.policy.controller import Controller
from jumar.tally.replay import Replays


@dataclass(frozen=True)
class Step:
    """One memory, compared with a finer one; an `OrderTest` in plain types."""

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
class Order(Section):
    """The memories that were tested, shortest first, and the one the log asks for."""

    tests: tuple[Step, ...]  # none where there is no longer memory
    suggested: str
    enough: bool  # whether the suggested memory passed, or only is the longest there was
    verdict: Finding

    def details(self) -> Iterator[Detail]:
        if not self.tests:
            return
        heads = ["memory", "enough?", "p", "chances off by", "reward off by"]
        rows = [
            [
                test.memory,
                "no" if test.rejected else "no sign against",
                f"{test.p:.2g}",
                _effect(test.effect, test.interval),
                _effect(test.reward_effect, test.reward_interval),
            ]
            for test in self.tests
        ]
        title = "Each memory against the one that knows an observation more"
        yield TextTable(heads, rows, title, right=heads[2:])
        yield Facts(self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "suggested", ("" if self.enough else "at least ") + self.suggested
        first = self.tests[0]
        if gap := first.largest:
            here = f"{gap.history_state}, then {gap.action}: {percent(gap.here)} {gap.what}"
            yield "for example", f"{here}, where {first.memory} expects {percent(gap.usual)}"
        if gap := first.largest_reward:
            here = f"{gap.history_state}, then {gap.action}: {gap.what} {number(gap.here)}"
            yield "for example", f"{here}, where {first.memory} expects {number(gap.usual)}"
        yield "off by", "on average, with 95% interval; what chance alone makes is taken off"


def _effect(effect: float, interval: tuple[float, float] | None) -> str:
    if interval is None:
        return f"{effect:.2g}"
    return f"{effect:.2g} ({interval[0]:.2g} to {interval[1]:.2g})"


def order_of(
    replays: Replays, behavior: Controller, settings: Settings, rng: np.random.Generator
) -> Order:
    """Test the memory of the behavior, then longer ones, until one is enough."""
    memory = behavior.memory
    if one_more(memory) is None:
        verdict = look("There is no longer memory to compare this one with.")
        return Order((), str(memory), False, verdict)
    found = order_tests(
        replays,
        behavior,
        seed=rng,
        resamples=settings.resamples,
        level=settings.level,
    )
    wanted, enough = str(suggested(found)), not found[-1].rejected
    said, independent = found[0].sentence, by_episode(replays.log) if found[0].decided else ""
    verdict = passed(f"{said}{independent}")
    if found[0].rejected:
        least = "Learn with" if enough else "No tested memory is enough; learn with at least"
        verdict = look(f"{said} {least} a {wanted}.{independent}")
    same = [field.name for field in fields(Step)][2:]
    steps = [
        Step(str(test.base), str(test.finer), *(getattr(test, name) for name in same))
        for test in found
    ]
    return Order(tuple(steps), wanted, enough, verdict)


ENTRY = Question(
    "How much memory does what follows ask for?",
    lambda subject, rng: order_of(subject.replays, subject.behavior, subject.settings, rng),
)
