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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jumar.core.arrays import Ints, number_rows
from jumar.core.exact import ExactSums
from jumar.log.episodes import LARGEST_REWARD
from jumar.log.shards.rows import AS_MARKED
from jumar.memory import Memory
from jumar.tally import kernels, numbering
from jumar.tally.counted import Counted, CountedFacts, Lengths

if TYPE_CHECKING:
    from jumar.log.shards.rows import RowBatch

MOST_CELLS = 1 << 22  # of a table of moves; beyond that a hash is no slower
SMALLEST_NORMAL = 2.0**-1022  # doubles below it have fewer digits, which the loops do not know
AT_ONCE = 1 << 16  # rows that are numbered, then counted


NONE: Ints = np.zeros(0, np.int64)
NO_SLOTS = np.zeros(0, np.int32)


class Refused(Exception):
    """A row that cannot be counted."""

    def __init__(self, row: int, unordered: bool) -> None:
        super().__init__(row)
        self.row = row  # in its batch
        self.unordered = unordered  # or wrong in another way


class RunningCounts(ABC):
    """Counts of a log over a memory, so far."""

    _starts: Ints  # per history state
    _ends: Ints  # per pair
    _times: Ints  # per move
    _sums: ExactSums  # per pair

    def __init__(self, memory: Memory, ends: int, parts: int) -> None:
        self.memory, self._ends_mean, self._parts = memory, ends, parts
        self._carry = np.zeros(kernels.CARRIED, np.int64)
        self._carry[kernels.PAIR] = kernels.NONE
        self._facts = np.zeros(kernels.FACTS, np.int64)
        self._amounts = np.array([np.inf, -np.inf, np.inf, -np.inf, 0.0])

    def add(self, rows: RowBatch, parts: Ints) -> Ints:
        """Count the next rows; `parts` says for every episode that begins there which part it is
        of. Returns the rows in which episodes begin."""
        began = np.flatnonzero(rows.begins)
        for first in range(0, len(rows), AT_ONCE):
            piece = rows.piece(first, first + AT_ONCE)
            here = slice(*np.searchsorted(began, [first, first + AT_ONCE]).tolist())
            try:
                self._add(piece, parts[here])
            except Refused as refused:
                raise Refused(first + refused.row, refused.unordered) from None
        return began

    def _add(self, rows: RowBatch, parts: Ints) -> None:
        places = self._places(rows, parts)
        self._sums.wait(len(rows))
        bits, at, (O, A) = rows.reward.view(np.int64), 0, self.memory.alphabet
        codes = rows.z, rows.z_of, rows.a, rows.a_of, rows.begins
        columns = kernels.Rows(*codes, rows.reward, bits, rows.clock, rows.marks, rows.offset)
        while True:
            at, why = kernels.count(
                at, columns, places, self._so_far, self._told, self._ends_mean, A, O
            )
            if why == kernels.DONE:
                return
            if why != kernels.ROOM or not self._make_room(rows.reward[at:]):
                raise Refused(at, why == kernels.UNORDERED)

    @property
    def _so_far(self) -> kernels.Sums:
        limbs = self._sums.limbs
        sums = limbs.reshape(-1), limbs.shape[1], self._sums.low
        return kernels.Sums(self._times, self._ends, self._starts, *sums)

    @property
    def _told(self) -> kernels.Told:
        return kernels.Told(self._carry, self._facts, self._amounts)

    def finish(self) -> None:
        """There are no more rows."""
        last = self._amounts[kernels.LAST_PAID]
        kernels.finish(self._told, last, self._ends_mean, self._so_far)

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

    @abstractmethod
    def _places(self, rows: RowBatch, parts: Ints) -> kernels.Places:
        """Where the loop counts these rows."""

    @abstractmethod
    def _found(self) -> _Found:
        """All that came up."""

    def counted(
        self, observations: tuple[str, ...], actions: tuple[str, ...]
    ) -> tuple[Counted, ...]:
        """What was counted, for each part. CountedFacts are those of all parts, and stand with the
        first."""
        found, (O, A) = self._found(), self.memory.alphabet
        pair_state, pair_action = np.divmod(found.pairs, A)
        move_pair, move_seen = np.divmod(found.moves, O)
        settled = found.ends > 0
        settled[move_pair] = True
        acted = found.starts > 0
        acted[pair_state[settled]] = True
        parts = []
        for k in range(self._parts):
            mine = np.flatnonzero((found.part == k) & acted)
            states, number = number_rows(found.states[mine])
            new = np.full(len(acted), -1)
            new[mine] = number
            starts = np.zeros(len(states), np.int64)
            starts[number] = found.starts[mine]
            own = np.flatnonzero(settled & (found.part[pair_state] == k))
            own = own[np.argsort(new[pair_state[own]] * A + pair_action[own])]
            new_pair = np.full(len(settled), -1)
            new_pair[own] = np.arange(len(own))
            moves = np.flatnonzero(new_pair[move_pair] >= 0)
            moves = moves[np.argsort(new_pair[move_pair[moves]] * O + move_seen[moves])]
            sums = ExactSums(len(own))
            sums.low, sums.limbs = self._sums.low, found.limbs[own]
            parts.append(
                Counted(
                    observations,
                    actions,
                    self.memory,
                    states,
                    starts,
                    new[pair_state[own]],
                    pair_action[own],
                    found.ends[own],
                    sums,
                    new_pair[move_pair[moves]],
                    move_seen[moves],
                    found.times[moves],
                    self.facts if k == 0 else CountedFacts(),
                )
            )
        return tuple(parts)


class _Found(NamedTuple):
    """What came up in a log, in any order. S history states, P pairs, L moves."""

    part: Ints  # (S,)
    states: Ints  # (S, W+1)
    starts: Ints  # (S,)
    pairs: Ints  # (P,) state·A + action
    ends: Ints  # (P,)
    limbs: Ints  # (P, ...)
    moves: Ints  # (L,) pair·O + observation
    times: Ints  # (L,)


class TableCounts(RunningCounts):
    """Over a memory of few nodes: all history states, pairs and moves have a place."""

    def __init__(self, memory: Memory, ends: int = AS_MARKED, parts: int = 1) -> None:
        super().__init__(memory, ends, parts)
        O, A = memory.alphabet
        self._nodes, table, first = memory.as_table()
        self._table, self._first = table.ravel() * O * A, first * O * A
        size = parts * len(self._table)
        self._times = np.zeros(size * O, np.int64)
        self._ends = np.zeros(size, np.int64)
        self._starts = np.zeros(size // A, np.int64)
        self._sums = ExactSums(size)
        self._sums.prepare(np.array([1.0]))

    def _places(self, rows: RowBatch, parts: Ints) -> kernels.Places:
        numbered = NONE, NONE, NO_SLOTS, NONE, NO_SLOTS, NONE
        return kernels.Places(parts, self._table, self._first, *numbered)

    def _found(self) -> _Found:
        O, (M, K) = self.memory.alphabet[0], (len(self._nodes), self._parts)
        states = np.column_stack([np.repeat(self._nodes, O, 0), np.tile(np.arange(O), M)])
        moves = np.flatnonzero(self._times)
        some = self._ends > 0
        some[moves // O] = True
        pairs = np.flatnonzero(some)
        number = np.cumsum(some) - 1
        return _Found(
            np.repeat(np.arange(K), M * O),
            np.tile(states, (K, 1)),
            self._starts,
            pairs,
            self._ends[pairs],
            self._sums.limbs[pairs],
            number[moves // O] * O + moves % O,
            self._times[moves],
        )


class HashCounts(RunningCounts):
    """Over any memory: history states, pairs and moves are numbered as they come up."""

    def __init__(self, memory: Memory, ends: int = AS_MARKED, parts: int = 1) -> None:
        super().__init__(memory, ends, parts)
        self._node, self._part = memory.initial(), 0  # of the next row
        self._sizes = np.zeros(2, np.int64)  # pairs, moves
        self._pair_key = self._move_key = NONE
        self._n_states = 0
        self._states = np.zeros((0, 1 + memory.width + 1), np.int64)  # part, node, observation
        self._state_slot = _slots(1)
        self._times, self._ends, self._starts = (np.zeros(0, np.int64) for _ in range(3))
        self._pair_slot = self._move_slot = _slots(1)
        self._sums = ExactSums(0)
        self._sums.prepare(np.array([1.0]))

    def _places(self, rows: RowBatch, parts: Ints) -> kernels.Places:
        state, pairs = self._number(rows, parts), (self._pair_key, self._pair_slot)
        moves = self._move_key, self._move_slot
        return kernels.Places(NONE, NONE, 0, state, *pairs, *moves, self._sizes)

    def _number(self, rows: RowBatch, parts: Ints) -> Ints:
        """(n,) the number of the history state of every row."""
        n, begins = len(rows), rows.begins
        self._ready(n)
        start = np.flatnonzero(begins)
        first = self.memory.initial()
        if len(start) == 0 or start[0] != 0:
            start, first = np.concatenate([[0], start]), self._node
        # where a row is wrong, its node is never used
        safe_z = np.maximum(rows.observations, 0).astype(np.int64)
        safe_a = np.maximum(rows.actions, 0).astype(np.int64)
        nodes = self.memory.replay(safe_z, safe_a, np.append(start, n), first)
        self._node = self.memory.step(nodes[-1:], safe_z[-1:], safe_a[-1:])[0]
        part = np.zeros(n, np.int64)
        if self._parts > 1:
            part = np.concatenate([[self._part], parts])[np.cumsum(begins)]
            self._part = int(part[-1])
        words = np.ascontiguousarray(np.column_stack([part, nodes, safe_z]))
        found, self._n_states = numbering.number_states(
            words, self._states, self._state_slot, self._n_states
        )
        return found

    def _ready(self, n: int) -> None:
        """Make room for as many new states, pairs and moves as there are rows."""
        pairs, moves = self._sizes.tolist()
        if self._n_states + n > len(self._states):
            room = _room(self._n_states + n)
            self._states, self._state_slot = _entered(self._states, self._n_states, room)
            self._starts = _grown(self._starts, room)
        if pairs + n > len(self._pair_key):
            room = _room(pairs + n)
            self._pair_key, self._pair_slot = _entered(self._pair_key, pairs, room)
            self._ends = _grown(self._ends, room)
            self._sums.grow(room)
        if moves + n > len(self._move_key):
            room = _room(moves + n)
            self._move_key, self._move_slot = _entered(self._move_key, moves, room)
            self._times = _grown(self._times, room)

    def _found(self) -> _Found:
        n_pairs, n_moves = self._sizes.tolist()
        states = self._states[: self._n_states]
        return _Found(
            states[:, 0],
            states[:, 1:],
            self._starts[: self._n_states],
            self._pair_key[:n_pairs],
            self._ends[:n_pairs],
            self._sums.limbs[:n_pairs],
            self._move_key[:n_moves],
            self._times[:n_moves],
        )


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


def _entered(known: Ints, size: int, room: int) -> tuple[Ints, np.ndarray]:
    """States, or keys, with room for more; and the slots of those that are known."""
    known, slots = _grown(known, room), _slots(room)
    numbering.place_states(known.reshape(room, -1), size, slots)
    return known, slots


def _grown(array: Ints, size: int) -> Ints:
    grown = np.zeros((size, *array.shape[1:]), np.int64)
    grown[: len(array)] = array
    return grown
