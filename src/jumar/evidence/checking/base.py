"""What every check shares: a log replayed through a controller, verdicts, and p-values that are
counted instead of looked up.

A test compares a statistic with B others drawn under the hypothesis, and

    p = (1 + how many of the B are at least as large) / (B + 1),

which is never 0 and, when the log is one more draw of the same kind, never too small too often,
whatever B. B follows the size of the log: the larger, the fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, number_rows
from jumar.core.controller import Controller
from jumar.core.episodes import UNKNOWN, Episodes
from jumar.core.errors import ParameterError
from jumar.core.text import shown
from jumar.core.words import situation
from jumar.evidence.practice import Practice

Status = Literal["passed", "look", "failed"]
STATUSES: tuple[Status, ...] = ("passed", "look", "failed")  # better ones first
MOST_RESAMPLES = 999
WORK = 3e8  # numbers to touch in all draws of one test; some ten seconds at most
NAMED = 10  # examples that are spelled out


@dataclass(frozen=True)
class Verdict:
    """How a check ended, in one word and one sentence."""

    status: Status
    sentence: str


def worst(statuses: Sequence[Status]) -> Status:
    """The one that matters.

    >>> worst(["passed", "look", "passed"])
    'look'
    """
    return max(statuses, key=STATUSES.index)


@dataclass(frozen=True)
class Settings:
    """How sure a test must be, and how much it may compute."""

    level: float = 0.01  # a test fails when its p is at most this
    resamples: int | None = None  # draws under the hypothesis; without it, what the size allows

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ParameterError(f"level: {self.level!r} must lie between 0 and 1, such as 0.01.")
        B = self.resamples
        if B is not None and (B < 1 or (B + 1) * self.level < 1 - 1e-9):
            raise ParameterError(
                f"resamples: with {B} no p-value can be as small as the level {self.level:g}. "
                f"Give at least {math.ceil(1 / self.level) - 1}."
            )

    def draws(self, work: float) -> int:
        """How many draws, when one of them touches so many numbers.

        >>> Settings().draws(1e3), Settings().draws(1e9), Settings(resamples=99).draws(1e9)
        (999, 99, 99)
        """
        if self.resamples is not None:
            return self.resamples
        least = math.ceil(1 / self.level) - 1  # or no p-value could reach the level
        return max(least, min(MOST_RESAMPLES, int(WORK / max(work, 1.0))))


def p_value(statistic: float, drawn: Floats) -> float:
    """The share of draws at least as large, the log itself among them.

    >>> p_value(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    slack = 1e-9 * max(1.0, abs(statistic))  # equal up to rounding is equal
    return float((1 + (drawn >= statistic - slack).sum()) / (len(drawn) + 1))


@dataclass(frozen=True, eq=False)
class Replay:
    """A log, step by step through the memory of a controller. H histories, N steps, A actions."""

    log: Episodes
    controller: Controller
    states: Ints  # (H, W+1) the histories ⟨n, z⟩ in which something was done, sorted
    at: Ints  # (N,) the history at every step
    taken: Ints  # (H, A) how often each action was done there
    policy: Floats  # (H, A) how likely the controller makes it
    outcome: Ints  # (N,) the next observation, |Z| for the end, -1 where nobody knows
    made_by: tuple[str, ...] = ()  # (H,) whose history it is, where several made the log

    @property
    def known(self) -> Bools:
        """(N,) the steps of which it is known what followed."""
        known: Bools = self.outcome != UNKNOWN
        return known

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """(L, 2) the pairs h*A + a with each of their outcomes, sorted; (N,) that of every step."""
        pair = self.at * len(self.log.actions) + self.log.action
        cells, at = number_rows(np.column_stack([pair, self.outcome + 1]))  # from 0, not from -1
        cells[:, 1] -= 1
        return cells, at

    def words(self, h: int) -> str:
        """History h as people read it."""
        *before, now = situation(self.controller, self.states[h])
        who = f"{shown(self.made_by[h])}: " if self.made_by else ""
        return who + (f"{shown(before[0], 200)}; now {now}" if before else now)

    def action(self, a: int) -> str:
        """The name of an action, safe to show."""
        return shown(self.log.actions[a])


def replay(log: Episodes, controller: Controller) -> Replay:
    """Replay a log whose names are numbered like those of the controller."""
    O, A = len(log.observations), len(log.actions)
    nodes = controller.memory.replay(log.observation, log.action, log.start)
    states, at = number_rows(np.column_stack([nodes, log.observation]))
    H = len(states)
    taken = np.bincount(at * A + log.action, minlength=H * A).reshape(H, A)
    policy = controller.rows_at(states)
    outcome = np.append(log.observation[1:], UNKNOWN)
    outcome[log.last] = np.where(log.terminated, O, log.final_observation)
    return Replay(log, controller, states, at, taken, policy, outcome)


def replay_apart(practice: Practice) -> Replay:
    """Replay a log that several behaviors made, the histories of each one by themselves."""
    log, memory, pooled = practice.log, practice.memory, practice.pooled
    together = replay(log, pooled)
    A = len(log.actions)
    nodes = memory.replay(log.observation, log.action, log.start)
    who = np.repeat(practice.made_by, log.lengths)
    states, at = number_rows(np.column_stack([who, nodes, log.observation]))
    H, of, states = len(states), states[:, 0], states[:, 1:]
    policy = np.empty((H, A))
    for k, controller in enumerate(practice.controllers):
        policy[of == k] = controller.lift(memory).rows_at(states[of == k])
    taken = np.bincount(at * A + log.action, minlength=H * A).reshape(H, A)
    names = tuple(practice.names[k] for k in of.tolist())
    return Replay(log, pooled, states, at, taken, policy, together.outcome, names)
