"""What was counted of a log, or of a part of one: it adds up exactly, in any order.

Only what was seen is listed, so the size follows the history states that were visited, whatever the
alphabet and the length of memory. Sums of rewards are held exactly until they are rounded, once, at
the end (`core.exact`). So shards, batches and machines leave no trace in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Ints, number_rows
from jumar.core.errors import CountsError, MemoryMismatch
from jumar.core.names import other_names
from jumar.core.text import Shown
from jumar.log.shards.plan import CountedFiles
from jumar.memory import Memory
from jumar.memory.refinement import project_states
from jumar.tally.history import Counts
from jumar.tally.tally import LogTally

if TYPE_CHECKING:
    from jumar.core.exact import ExactSums


@dataclass(frozen=True)
class Lengths:
    """How long the shortest and the longest of some episodes are; 0 if there are none."""

    shortest: int = 0
    longest: int = 0

    def __add__(self, other: Lengths) -> Lengths:
        some = [x for x in (self.shortest, other.shortest) if x]
        return Lengths(min(some, default=0), max(self.longest, other.longest))


@dataclass(frozen=True)
class CountedFacts:
    """A log in a few numbers; those of parts add up."""

    episodes: int = 0
    steps: int = 0
    unfinished: int = 0  # steps of which nobody knows what followed
    ended: int = 0  # episodes that ended by themselves
    lengths_ended: Lengths = Lengths()
    lengths_cut: Lengths = Lengths()
    rewards: tuple[float, float] | None = None  # least and greatest of a step that goes on
    ending_rewards: tuple[float, float] | None = None  # of a step that ends an episode

    def __add__(self, other: CountedFacts) -> CountedFacts:
        return CountedFacts(
            self.episodes + other.episodes,
            self.steps + other.steps,
            self.unfinished + other.unfinished,
            self.ended + other.ended,
            self.lengths_ended + other.lengths_ended,
            self.lengths_cut + other.lengths_cut,
            _both(self.rewards, other.rewards),
            _both(self.ending_rewards, other.ending_rewards),
        )


def _both(
    one: tuple[float, float] | None, other: tuple[float, float] | None
) -> tuple[float, float] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


@dataclass(eq=False, repr=False)
class Counted(Shown):
    """A log over a memory. H history states, P pairs ⟨h, a⟩, L moves, all sorted."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    memory: Memory  # bound to this alphabet
    states: Ints  # (H, W+1)
    starts: Ints  # (H,) episodes that began here
    state: Ints  # (P,) the state of a pair
    action: Ints  # (P,)
    ends: Ints  # (P,) times the process ended
    rewards: ExactSums  # (P,) of steps of which it is known what followed
    pair: Ints  # (L,)
    seen: Ints  # (L,) the observation that followed
    times: Ints  # (L,)
    facts: CountedFacts = field(default_factory=CountedFacts)
    files: CountedFiles = field(default_factory=CountedFiles)

    @property
    def summary(self) -> str:
        return (
            f"{self.facts.steps:,} steps of {self.facts.episodes:,} episodes over a {self.memory}: "
            f"{len(self.states):,} history states"
        )

    @cached_property
    def visits(self) -> Ints:
        """(P,) steps of which it is known what followed."""
        found: Ints = self.ends + np.bincount(self.pair, self.times, len(self.state)).astype(
            np.int64
        )
        return found

    def __add__(self, other: Counted) -> Counted:
        return total([self, other])

    @cached_property
    def counts(self) -> Counts:
        """As tables of history states and actions, for algorithms."""
        return self.over(self.memory)

    def over(self, memory: Memory) -> Counts:
        """The same for a memory that knows no more."""
        tally = tally_of([self], self.memory)
        if memory != self.memory:
            tally, _ = tally.onto(memory)
        return tally.counts([0], self.facts.unfinished)

    @cached_property
    def _following(self) -> Ints:
        """(L, W+1) the state that each move leads to."""
        h, a = self.state[self.pair], self.action[self.pair]
        z = self.states[h, -1]
        return np.column_stack([self.memory.step(self.states[h, :-1], z, a), self.seen])


def tally_of(parts: Sequence[Counted], memory: Memory) -> LogTally:
    """One tally of logs, or parts of one, that were counted apart, over a memory that knows no more
    than what they were counted over."""
    from jumar.core.exact import ExactSums

    first = parts[0]
    A, P = len(first.actions), len(parts)
    fine = [np.concatenate([part.states, part._following]) for part in parts]
    states, of = _renumbered([project_states(first.memory, memory, rows) for rows in fine])
    own = [number[: len(part.states)] for part, number in zip(parts, of, strict=True)]
    after = [number[len(part.states) :] for part, number in zip(parts, of, strict=True)]
    raw = [n[part.state] * A + part.action for part, n in zip(parts, own, strict=True)]
    pairs, of_pair = _renumbered([pair[:, None] for pair in raw])
    moves, of_move = _renumbered(
        [np.column_stack([p[x.pair], f]) for x, p, f in zip(parts, raw, after, strict=True)]
    )
    rewards = ExactSums(P * len(pairs))
    for i, (part, number) in enumerate(zip(parts, of_pair, strict=True)):
        rewards.merge(part.rewards, i * len(pairs) + number)

    def table(values: Sequence[Ints], index: Sequence[Ints], size: int) -> Ints:
        return np.array([_added(size, [n], [v]) for v, n in zip(values, index, strict=True)])

    return LogTally(
        first.observations,
        first.actions,
        memory,
        states,
        pairs[:, 0],
        table([part.visits for part in parts], of_pair, len(pairs)),
        rewards.rounded().reshape(P, len(pairs)),
        table([part.ends for part in parts], of_pair, len(pairs)),
        table([part.starts for part in parts], own, len(states)),
        moves,
        table([part.times for part in parts], of_move, len(moves)),
    )


def nothing(observations: tuple[str, ...], actions: tuple[str, ...], memory: Memory) -> Counted:
    """The counts of no log."""
    from jumar.core.exact import ExactSums

    memory = memory.on(len(observations), len(actions))
    none = np.zeros(0, np.int64)
    three = none, none, none
    states = np.zeros((0, memory.width + 1), np.int64)
    return Counted(observations, actions, memory, states, none, *three, ExactSums(0), *three)


def total(parts: Sequence[Counted]) -> Counted:
    """Counts of several logs, or of parts of one, as of one. All at once this is cheaper than one
    by one: what is sorted is sorted once."""
    from jumar.core.exact import ExactSums

    first = parts[0]
    for other in parts[1:]:
        _check_alike(first, other)
    facts = reduce(add, (part.facts for part in parts))
    files = reduce(add, (part.files for part in parts))
    parts = [part for part in parts if len(part.states)] or [first]
    if len(parts) == 1:
        return replace(parts[0], facts=facts, files=files)
    states, of_state = _renumbered([part.states for part in parts])
    pairs, of_pair = _renumbered(
        [
            np.column_stack([number[part.state], part.action])
            for part, number in zip(parts, of_state, strict=True)
        ]
    )
    moves, of_move = _renumbered(
        [
            np.column_stack([number[part.pair], part.seen])
            for part, number in zip(parts, of_pair, strict=True)
        ]
    )
    rewards = ExactSums(len(pairs))
    for part, number in zip(parts, of_pair, strict=True):
        rewards.merge(part.rewards, number)
    return Counted(
        first.observations,
        first.actions,
        first.memory,
        states,
        _added(len(states), of_state, [part.starts for part in parts]),
        pairs[:, 0],
        pairs[:, 1],
        _added(len(pairs), of_pair, [part.ends for part in parts]),
        rewards,
        moves[:, 0],
        moves[:, 1],
        _added(len(moves), of_move, [part.times for part in parts]),
        facts,
        files,
    )


def _check_alike(one: Counted, other: Counted) -> None:
    if other_names(one, other):
        raise CountsError(
            "Counts over different observations or actions do not add up. Count both with the "
            "same controller."
        )
    if one.memory != other.memory:
        raise MemoryMismatch(
            f"Counts over a {one.memory} and over a {other.memory} do not add up. Count both "
            "with the same memory."
        )


def _renumbered(parts: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    """The distinct rows of several tables, sorted, and the number of each row of each table."""
    distinct, number = number_rows(np.concatenate(parts))
    return distinct, np.split(number, np.cumsum([len(part) for part in parts])[:-1])


def _added(size: int, index: Sequence[Ints], values: Sequence[Ints]) -> Ints:
    sums = np.zeros(size, np.int64)
    np.add.at(sums, np.concatenate(index), np.concatenate(values))
    return sums
