"""One tally of a log over one numbering: what was seen, part by part.

A log is cut into parts by whoever asks: halves and their folds for the gate, groups of episodes for
a bootstrap, the first so many for a study of sizes. The tally numbers history states, pairs ⟨h, a⟩
and moves ⟨h, a, h'⟩ of the *whole* log once, and holds a row of sums for every part. So a model of
any of the parts, or of several, is a sum of rows, and all models have the same states in the same
order, with or without data. `onto` gives the tally of a memory that knows less by adding columns.

It is the same whether the episodes were at hand (`LogTally.of`) or were counted in many places
(`jumar.tally.counted.tally_of`): sums of rewards are exact until they are rounded, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Frozen, Ints, number_rows
from jumar.memory import Memory
from jumar.memory.refinement import project_states
from jumar.tally.history import Counts, check_tables
from jumar.tally.replay import ENDED, Replay


@dataclass(frozen=True, eq=False)
class LogTally(Frozen):
    """P parts of a log over K history states, with A actions, Q pairs and L moves."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    memory: Memory
    states: Ints  # (K, W+1) sorted
    pair: Ints  # (Q,) k·A + a, ascending, of which it is known what followed
    visits: Ints  # (P, Q)
    reward: Floats  # (P, Q) sums
    ends: Ints  # (P, Q) times the process ended
    starts: Ints  # (P, K) episodes that began here
    moves: Ints  # (L, 2) pair and successor, sorted
    times: Ints  # (P, L) how often each was made

    @classmethod
    def of(cls, replay: Replay, part: Ints, parts: int) -> LogTally:
        """Of a log at hand; (E,) the part of every episode."""
        log, K = replay.log, len(replay.states)
        of_step = np.repeat(part, log.lengths)
        known = np.flatnonzero(replay.known)
        pair, number = _distinct(replay.pair[known])
        cell, Q = of_step[known] * len(pair) + number, len(pair)
        moves, move = replay.moves
        went = np.flatnonzero(move >= 0)
        first = log.start[:-1]
        return cls(
            log.observations,
            log.actions,
            replay.memory,
            replay.states,
            pair,
            _counted(cell, parts, Q),
            _paid(cell, log.reward[known], parts, Q),
            _counted(cell[replay.follows[known] == ENDED], parts, Q),
            _counted(part * K + replay.at[first], parts, K),
            moves,
            _counted(of_step[went] * len(moves) + move[went], parts, len(moves)),
        )

    def paying(self, replay: Replay, part: Ints) -> LogTally:
        """The same for a log that differs in nothing but its rewards."""
        parts, Q = self.visits.shape
        known = np.flatnonzero(replay.known)
        number = np.searchsorted(self.pair, replay.pair[known])
        cell = np.repeat(part, replay.log.lengths)[known] * Q + number
        return replace(self, reward=_paid(cell, replay.log.reward[known], parts, Q))

    def less(self, centre: float) -> LogTally:
        """The same with so much less for every step."""
        return replace(self, reward=self.reward - centre * self.visits)

    def onto(self, memory: Memory) -> tuple[LogTally, Ints]:
        """The tally over a memory that knows less, and (K,) the state that each here becomes."""
        A = len(self.actions)
        states, of = number_rows(project_states(self.memory, memory, self.states))
        pair, number = _distinct(of[self.pair // A] * A + self.pair % A)
        done, then = self.moves.T
        moves, move = number_rows(np.column_stack([of[done // A] * A + done % A, of[then]]))
        found = LogTally(
            self.observations,
            self.actions,
            memory,
            states,
            pair,
            summed(self.visits, number, len(pair)),
            summed(self.reward, number, len(pair)),
            summed(self.ends, number, len(pair)),
            summed(self.starts, of, len(states)),
            moves,
            summed(self.times, move, len(moves)),
        )
        return found, of

    def seen(self, parts: Sequence[int]) -> Bools:
        """(K,) in which states did some parts begin, or do something of which the outcome is
        known?"""
        found: Bools = np.asarray(self.starts[parts].any(0))
        found[self.pair[self.visits[parts].any(0)] // len(self.actions)] = True
        return found

    def counts(self, parts: Sequence[int], unfinished: int = 0) -> Counts:
        """The counts of some parts together, in all states of the whole log."""
        K, A = len(self.states), len(self.actions)
        check_tables(K, A)

        def table(columns: Any) -> Any:
            found: Any = np.zeros(K * A, columns.dtype)
            found[self.pair] = columns[parts].sum(0)
            return found.reshape(K, A)

        return Counts(
            observations=self.observations,
            actions=self.actions,
            memory=self.memory,
            states=self.states,
            visits=table(self.visits),
            reward_sum=table(self.reward),
            ends=table(self.ends),
            starts=self.starts[parts].sum(0),
            pair=self.moves[:, 0],
            successor=self.moves[:, 1],
            times=self.times[parts].sum(0),
            unfinished=unfinished,
        )

    def only(self, parts: Sequence[int]) -> LogTally:
        """Some parts as one, without the states, pairs and moves that only the others show."""
        A = len(self.actions)
        went = self.times[parts].any(0)
        kept = self.seen(parts)
        kept[self.moves[went, 1]] = True
        number = np.cumsum(kept) - 1
        done = self.visits[parts].any(0)
        pair, (did, then) = self.pair[done], self.moves[went].T
        return replace(
            self,
            states=self.states[kept],
            pair=number[pair // A] * A + pair % A,
            visits=self.visits[parts][:, done].sum(0, keepdims=True),
            reward=self.reward[parts][:, done].sum(0, keepdims=True),
            ends=self.ends[parts][:, done].sum(0, keepdims=True),
            starts=self.starts[parts][:, kept].sum(0, keepdims=True),
            moves=np.column_stack([number[did // A] * A + did % A, number[then]]),
            times=self.times[parts][:, went].sum(0, keepdims=True),
        )


def _distinct(numbers: Ints) -> tuple[Ints, Ints]:
    rows, number = number_rows(numbers[:, None])
    return rows[:, 0], number


def _counted(cell: Ints, parts: int, size: int) -> Ints:
    found: Ints = np.bincount(cell, minlength=parts * size).reshape(parts, size)
    return found


def _paid(cell: Ints, reward: Floats, parts: int, size: int) -> Floats:
    from jumar.core.exact import ExactSums

    sums = ExactSums(parts * size)
    sums.add(cell, reward)
    return sums.rounded().reshape(parts, size)


def summed(columns: Any, index: Ints, size: int) -> Any:
    """(P, size) the sums of (P, n) columns that get the same number."""
    found = [np.bincount(index, row, size) for row in columns]
    return np.array(found).reshape(len(columns), size).astype(columns.dtype)
