"""A check is a question, a function that answers it, and what people see of the answer. From
elsewhere,

    QUESTIONS.add("zeros", Question("Are rewards ever exactly zero?", answer))

is all that a new one takes: the command, its JSON, assessments and reports ask and show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.plain import plain
from jumar.core.text import TextTable, shown
from jumar.evidence.chance import Settings
from jumar.evidence.practice import Practice
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.policy.words import history_state_words
from jumar.tally.replay import Replay, Replays

Status = Literal["passed", "look", "failed"]
STATUSES: tuple[Status, ...] = ("passed", "look", "failed")  # better ones first
NAMED = 10  # examples that are spelled out
Row = Mapping[str, Any]
Rows = Sequence[Row]
Columns = Mapping[str, str | Callable[[Row], str]]  # by their heads, see `table`


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


@dataclass(frozen=True)
class Section:
    """The answer to one question. JSON has all of its facts, a person sees verdict and tables.

    >>> Section(passed("Fine."), {"steps": 3})["steps"]
    3
    """

    verdict: Finding
    facts: Row
    tables: Sequence[TextTable] = ()  # below the verdict, in this order

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {**plain(dict(self.facts)), "verdict": plain(self.verdict)}


def table(
    rows: Rows, columns: Columns, title: str | None = None, right: int = 0
) -> list[TextTable]:
    """Under every head a fact of each row, or what a function writes of it; the last columns
    (`right`) hold numbers. Nothing without rows."""
    heads, written = list(columns), columns.values()
    lines = [[str(row[x]) if isinstance(x, str) else x(row) for x in written] for row in rows]
    return [TextTable(heads, lines, title, right=heads[len(heads) - right :])] if rows else []


def where(row: Row) -> str:
    """The file, row and episode of an example, safe to show."""
    return shown(row["where"], 100)


def history_words(log: Episodes, memory: Memory, state: Ints) -> str:
    """A history state as people read it."""
    *before, now = history_state_words(
        Controller.uniform(log.observations, log.actions, memory), state
    )
    return f"{shown(before[0], 200)}; now {now}" if before else now


def outcome_words(log: Episodes, outcome: int) -> str:
    """The next observation or the end as people read it."""
    names = log.observations
    return "the end" if outcome == len(names) else shown(names[outcome])


@dataclass(frozen=True, eq=False)
class Subject:
    """What is asked about: a log, who made it, and how it is tested."""

    practice: Practice
    discount: float | None  # as it was given
    settings: Settings

    @property
    def estimated(self) -> bool:
        """Was the behavior estimated from this very log?"""
        return self.practice.estimated or not self.practice.controllers

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
