"""A check is a question, a function that answers it, and what people see of the answer.

Each check's module has one `ENTRY`; `jumar.evidence.checking.QUESTIONS` lists them. From elsewhere,

    QUESTIONS.add("zeros", Question("Are rewards ever exactly zero?", answer))

is all that a new one takes: the command, its JSON, assessments and reports ask and show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from jumar.core.text import Detail
from jumar.evidence.chance import Settings
from jumar.evidence.practice import Practice
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay, Replays

Status = Literal["passed", "look", "failed"]
STATUSES: tuple[Status, ...] = ("passed", "look", "failed")  # better ones first
NAMED = 10  # examples that are spelled out
PLACE = 100  # letters of a file name, row and episode that are shown


@dataclass(frozen=True)
class Finding:
    """How a check ended, in one word and one sentence."""

    status: Status
    sentence: str


passed, look, failed = (partial(Finding, status) for status in STATUSES)


def worst(statuses: Sequence[Status]) -> Status:
    """The one that matters.

    >>> worst(["passed", "look", "passed"])
    'look'
    """
    return max(statuses, key=STATUSES.index)


class Section:
    """The answer to one question: a frozen dataclass whose fields are what JSON tells of it."""

    verdict: Finding

    def details(self) -> Iterator[Detail]:
        """What a person looks at below the verdict, in this order."""
        yield from ()


@dataclass(frozen=True, eq=False)
class Subject:
    """What is asked about: a log, who made it, and how it is tested."""

    practice: Practice
    estimated: bool  # the behavior was estimated from this very log
    discount: float | None  # as it was given
    settings: Settings

    @property
    def log(self) -> Episodes:
        return self.practice.log

    @property
    def replays(self) -> Replays:
        return self.practice.replays

    @property
    def behavior(self) -> Controller:
        """One controller in place of all."""
        return self.practice.pooled

    @cached_property  # replays forget what nobody holds
    def replay(self) -> Replay:
        """The log over the memory of the behavior."""
        return self.replays.over(self.behavior.memory)

    @property
    def γ(self) -> float:
        """The discount of returns; 1 where none was given."""
        return 1.0 if self.discount is None else self.discount


@dataclass(frozen=True)
class Question:
    """One check. Its generator is its own: what it draws moves no other check."""

    text: str
    # None where the question does not apply
    answer: Callable[[Subject, np.random.Generator], Section | None]
    stream: str = ""  # of random numbers, if it is not called as the question is


def by_episode(log: Episodes, test: str = "This test") -> str:
    """What a test must add that takes episodes for independent, where the log has clusters."""
    if log.cluster is None or len(log.cluster.present[0]) == len(log):
        return ""
    return (
        f" {test} takes episodes for independent. Where those of one cluster are alike, its p "
        "can be too small."
    )
