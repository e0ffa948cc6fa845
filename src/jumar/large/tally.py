"""Counts that grow row by row.

`TableCounts` counts over a memory with few nodes straight into tables: for every node, observation
and action where it goes is looked up, whatever kind of memory it is. `HashCounts` counts over any
memory: history states, pairs and moves are numbered as they come up, so its size follows what was
visited. Which of them is used makes no difference to the counts.

A log may be counted in several `parts` at once (the halves and folds of a test); each has tables of
its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Ints, number_rows
from jumar.core.episodes import LARGEST_REWARD
from jumar.core.exact import ExactSums
from jumar.core.memory import Memory
from jumar.large import kernels, numbering
from jumar.large.counted import Counted, CountedFacts, Lengths

if TYPE_CHECKING:
    from jumar.large.rows import RowBatch

MOST_CELLS = 1 << 22  # of a table of moves; beyond that a hash is no slower
SMALLEST_NORMAL = 2.0**-1022  # doubles below it have fewer digits, which the loops do not know
AT_ONCE = 1 << 16  # rows that a hash is made ready for


class Refused(Exception):
    """A row that cannot be counted."""

    def __init__(self, row: int, unordered: bool) -> None:
        super().__init__(row)
        self.row = row  # in its batch
        self.unordered = unordered  # or wrong in another way


class RunningCounts(ABC):
    """Counts of a log over a memory, so far."""

    def __init__(self, memory: Memory, ends: int, parts: int) -> None:
        self.memory, self._ends_mean, self._parts = memory, ends, parts
        self._carry = np.zeros(kernels.CARRIED, np.int64)
        self._carry[kernels.PAIR] = kernels.NONE
        self._facts = np.zeros(kernels.FACTS, np.int64)
        self._amounts = np.array([np.inf, -np.inf, np.inf, -np.inf, 0.0])
        self._began: Ints = np.zeros(0, np.int64)

    def add(self, rows: RowBatch, parts: Ints) -> Ints:
        """Count the next rows; `parts` says for every episode that begins there which part it is
        of. Returns the rows in which episodes begin."""
        at, n = 0, len(rows)
        if len(self._began) < n:
            self._began = np.empty(n, np.int64)
        self._carry[kernels.NTH] = 0
        self._sums.wait(n)
        while True:
            at, why = self._count(at, rows, parts)
            if why == kernels.DONE:
                return self._began[: self._carry[kernels.NTH]]
            if why != kernels.ROOM or not self._make_room(rows.reward[at:]):
                raise Refused(at, why == kernels.UNORDERED)

    def finish(self) -> None:
        """There are no more rows."""
        kernels.finish(
            self._carry,
            self._amounts[kernels.LAST_PAID],
            self._ends_mean,
            self._ends,
            self._sums.limbs.reshape(-1),
            self._sums.limbs.shape[1],
            self._sums.low,
            self._facts,
            self._amounts,
        )

    def _make_room(self, rewards: np.ndarray) -> bool:
        """For sums of these rewards; is that possible for the first one?"""
        size = np.abs(rewards)
        possible = (size >= SMALLEST_NORMAL) & (size <= LARGEST_REWARD)
        if not possible[0]:
            return False
        self._sums.prepare(rewards[possible])
        return True

    @property
    def facts(self) -> CountedFacts:
        f, x = self._facts.tolist(), self._amounts.tolist()
        return CountedFacts(
            f[kernels.EPISODES],
            f[kernels.STEPS],
            f[kernels.UNFINISHED],
            f[kernels.ENDED],
            Lengths(f[kernels.SHORT_ENDED], f[kernels.LONG_ENDED]),
            Lengths(f[kernels.SHORT_CUT], f[kernels.LONG_CUT]),
            (x[0], x[1]) if x[0] <= x[1] else None,
            (x[2], x[3]) if x[2] <= x[3] else None,
        )

    _sums: ExactSums
    _ends: Ints

    @abstractmethod
    def _count(self, begin: int, rows: RowBatch, parts: Ints) -> tuple[int, int]:
        """Count rows from `begin` on; where it stopped and why."""

    @abstractmethod
    def counted(
        self, observations: tuple[str, ...], actions: tuple[str, ...]
    ) -> tuple[Counted, ...]:
        """What was counted, for each part. CountedFacts are those of all parts, and stand with the
        first."""


class TableCounts(RunningCounts):
    """Over a memory of few nodes. M nodes, O observations, A actions, K parts."""

    def __init__(self, memory: Memory, ends: int = kernels.AS_MARKED, parts: int = 1) -> None:
        super().__init__(memory, ends, parts)
        O, A = memory.alphabet
        self._nodes, table, first = memory.as_table()
        self._table, self._first = table.ravel() * O * A, first * O * A
        size = parts * len(self._table)
        self._moves = np.zeros(size * O, np.int64)
        self._ends = np.zeros(size, np.int64)
        self._starts = np.zeros(size // A, np.int64)
        self._sums = ExactSums(size)
        self._sums.prepare(np.array([1.0]))

    def _count(self, begin: int, rows: RowBatch, parts: Ints) -> tuple[int, int]:
        O, A = self.memory.alphabet
        return kernels.count_dense(
            begin,
            rows.z,
            rows.z_of,
            rows.a,
            rows.a_of,
            rows.reward,
            rows.reward.view(np.int64),
            rows.episode,
            rows.clock,
            rows.marks,
            rows.offset,
            self._ends_mean,
            parts,
            self._began,
            self._table,
            self._first,
            A,
            O,
            self._moves,
            self._ends,
            self._starts,
            self._sums.limbs.reshape(-1),
            self._sums.limbs.shape[1],
            self._sums.low,
            self._carry,
            self._facts,
            self._amounts,
        )

    def counted(
        self, observations: tuple[str, ...], actions: tuple[str, ...]
    ) -> tuple[Counted, ...]:
        O, A = self.memory.alphabet
        M, K = len(self._nodes), self._parts
        moves = self._moves.reshape(K, M * O * A, O)
        ends, starts = self._ends.reshape(K, M * O, A), self._starts.reshape(K, M * O)
        states = np.column_stack([np.repeat(self._nodes, O, 0), np.tile(np.arange(O), M)])
        found = []
        for k in range(K):
            pair, seen = np.nonzero(moves[k])
            done = ends[k].reshape(-1) > 0
            done[pair] = True
            pairs = np.flatnonzero(done)
            here = starts[k] > 0
            here[pairs // A] = True
            number, of_pair = np.cumsum(here) - 1, np.cumsum(done) - 1
            sums = ExactSums(len(pairs))
            sums.low = self._sums.low
            sums.limbs = self._sums.limbs[k * M * O * A + pairs]
            found.append(
                Counted(
                    observations,
                    actions,
                    self.memory,
                    states[here],
                    starts[k][here],
                    number[pairs // A],
                    pairs % A,
                    ends[k].reshape(-1)[pairs],
                    sums,
                    of_pair[pair],
                    seen.astype(np.int64),
                    moves[k][pair, seen],
                    self.facts if k == 0 else CountedFacts(),
                )
            )
        return tuple(found)


class HashCounts(RunningCounts):
    """Over any memory."""

    def __init__(self, memory: Memory, ends: int = kernels.AS_MARKED, parts: int = 1) -> None:
        super().__init__(memory, ends, parts)
        width = memory.width + 1 + (parts > 1)  # the part stands before the node
        self._node = memory.initial()
        self._part = 0
        self._sizes = np.zeros(2, np.int64)  # pairs, moves
        self._n_states = 0
        self._states = np.zeros((0, width), np.int64)
        self._state_slot = _slots(1)
        self._pair_key, self._pair_slot = np.zeros(0, np.int64), _slots(1)
        self._move_key, self._move_slot = np.zeros(0, np.int64), _slots(1)
        self._times, self._ends, self._starts = (np.zeros(0, np.int64) for _ in range(3))
        self._sums = ExactSums(0)
        self._sums.prepare(np.array([1.0]))
        self._numbered: Ints = np.zeros(0, np.int64)

    def add(self, rows: RowBatch, parts: Ints) -> Ints:
        begins = rows.begins
        at, began = 0, []
        for first in range(0, len(rows.reward), AT_ONCE):
            piece = rows.piece(first, first + AT_ONCE)
            new = int(begins[first : first + AT_ONCE].sum())
            self._ready(len(piece.reward))
            self._number(piece, begins[first : first + AT_ONCE], parts[at : at + new])
            try:
                began.append(first + super().add(piece, parts))
            except Refused as refused:
                raise Refused(first + refused.row, refused.unordered) from None
            at += new
        return np.concatenate(began)

    def _number(self, rows: RowBatch, begins: np.ndarray, parts: Ints) -> None:
        """Number the history states of some rows."""
        z, a = rows.observations, rows.actions
        self._z, self._a = z, a
        start = np.flatnonzero(begins)
        if len(start) == 0 or start[0] != 0:
            start = np.concatenate([[0], start])
            first = self._node
        else:
            first = self.memory.initial()
        n = len(z)
        # where a row is wrong, its node is never used
        safe_z, safe_a = np.maximum(z, 0).astype(np.int64), np.maximum(a, 0).astype(np.int64)
        nodes = self.memory.replay(safe_z, safe_a, np.append(start, n), first)
        self._node = self.memory.step(nodes[-1:], safe_z[-1:], safe_a[-1:])[0]
        columns = [nodes, safe_z]
        if self._parts > 1:
            began = np.cumsum(begins)
            part = np.concatenate([[self._part], parts])[began]
            self._part = int(part[-1])
            columns.insert(0, part)
        table = np.ascontiguousarray(np.column_stack(columns))
        self._numbered, self._n_states = numbering.number_states(
            table, self._states, self._state_slot, self._n_states
        )

    def _count(self, begin: int, rows: RowBatch, parts: Ints) -> tuple[int, int]:
        O, A = self.memory.alphabet
        return kernels.count_sparse(
            begin,
            self._numbered,
            self._z,
            self._a,
            rows.reward,
            rows.reward.view(np.int64),
            rows.episode,
            rows.clock,
            rows.marks,
            rows.offset,
            self._ends_mean,
            self._began,
            A,
            O,
            self._pair_key,
            self._pair_slot,
            self._move_key,
            self._move_slot,
            self._times,
            self._ends,
            self._starts,
            self._sums.limbs.reshape(-1),
            self._sums.limbs.shape[1],
            self._sums.low,
            self._sizes,
            self._carry,
            self._facts,
            self._amounts,
        )

    def _ready(self, n: int) -> None:
        """Make room for as many new states, pairs and moves as there are rows."""
        pairs, moves = self._sizes.tolist()
        if self._n_states + n > len(self._states):
            room = _room(self._n_states + n)
            self._states = _grown(self._states, room)
            self._starts = _grown(self._starts, room)
            self._state_slot = _slots(room)
            numbering.place_states(self._states, self._n_states, self._state_slot)
        if pairs + n > len(self._pair_key):
            room = _room(pairs + n)
            self._pair_key = _grown(self._pair_key, room)
            self._ends = _grown(self._ends, room)
            self._sums.grow(room)
            self._pair_slot = _slots(room)
            numbering.place_keys(self._pair_key, pairs, self._pair_slot)
        if moves + n > len(self._move_key):
            room = _room(moves + n)
            self._move_key = _grown(self._move_key, room)
            self._times = _grown(self._times, room)
            self._move_slot = _slots(room)
            numbering.place_keys(self._move_key, moves, self._move_slot)

    def counted(
        self, observations: tuple[str, ...], actions: tuple[str, ...]
    ) -> tuple[Counted, ...]:
        O, A = self.memory.alphabet
        n_pairs, n_moves = self._sizes.tolist()
        rows = self._states[: self._n_states]
        of = rows[:, 0] if self._parts > 1 else np.zeros(len(rows), np.int64)
        words = rows[:, 1:] if self._parts > 1 else rows
        pair_state, pair_action = np.divmod(self._pair_key[:n_pairs], A)
        move_pair, move_seen = np.divmod(self._move_key[:n_moves], O)
        settled = self._ends[:n_pairs] > 0
        settled[move_pair] = True
        acted = self._starts[: len(rows)] > 0
        acted[pair_state[settled]] = True
        found = []
        for k in range(self._parts):
            mine = np.flatnonzero((of == k) & acted)
            states, number = number_rows(words[mine])
            new = np.full(len(rows), -1)
            new[mine] = number
            starts = np.zeros(len(states), np.int64)
            starts[number] = self._starts[mine]
            own = np.flatnonzero(settled & (of[pair_state] == k))
            order = np.lexsort([pair_action[own], new[pair_state[own]]])
            own = own[order]
            new_pair = np.full(n_pairs, -1)
            new_pair[own] = np.arange(len(own))
            moves = np.flatnonzero(new_pair[move_pair] >= 0)
            moves = moves[np.lexsort([move_seen[moves], new_pair[move_pair[moves]]])]
            sums = ExactSums(len(own))
            sums.low, sums.limbs = self._sums.low, self._sums.limbs[own]
            found.append(
                Counted(
                    observations,
                    actions,
                    self.memory,
                    states,
                    starts,
                    new[pair_state[own]],
                    pair_action[own],
                    self._ends[own],
                    sums,
                    new_pair[move_pair[moves]],
                    move_seen[moves],
                    self._times[moves],
                    self.facts if k == 0 else CountedFacts(),
                )
            )
        return tuple(found)


def tally(memory: Memory, ends: int, parts: int = 1) -> RunningCounts:
    """Counts over a bound memory, the way that fits it."""
    O, A = memory.alphabet
    small = memory.count_nodes() * O * A * O * parts <= MOST_CELLS
    return (TableCounts if small else HashCounts)(memory, ends, parts)


def _room(size: int) -> int:
    return 1 << int(size).bit_length()


def _slots(size: int) -> np.ndarray:
    """Empty slots, at most half of which will be taken."""
    return np.full(2 * _room(size), -1, np.int32)


def _grown(array: Ints, size: int) -> Ints:
    grown = np.zeros((size, *array.shape[1:]), np.int64)
    grown[: len(array)] = array
    return grown
