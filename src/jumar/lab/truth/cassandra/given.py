"""What a file says of T, O and R, in the order in which it says it.

Of a row of T or O only what is not zero is kept, so `T: * : * : * 0` costs one step per row, and
nothing of size S×S is built unless the file is that full.

A line of R names some of action, state, next state and observation, and wildcards for the others.
Of all lines that fit an outcome the last one counts. Lines that name the same parts are found
together by one sorted search, so that n lines and K outcomes take about (n + K) log n steps for
each of the 16 ways to name parts, and the table of all combinations is never built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints
from jumar.core.resources import check_room

ANY = -1  # a wildcard
_ENTRY_BYTES = 80  # of a number while a file is read


@dataclass(frozen=True, eq=False)
class Laws(Frozen):
    """Rows of probabilities, only where they are not zero; row r is at pointer[r]:pointer[r+1]."""

    pointer: Ints  # (rows + 1,)
    column: Ints  # (N,) ascending in a row
    value: Floats  # (N,)

    def __post_init__(self) -> None:
        self._freeze(np.int64, "pointer", "column")
        self._freeze(np.float64, "value")

    def __len__(self) -> int:
        return len(self.pointer) - 1

    def row(self, r: int, width: int) -> Floats:
        """One row, dense."""
        dense = np.zeros(width)
        part = slice(self.pointer[r], self.pointer[r + 1])
        dense[self.column[part]] = self.value[part]
        return dense

    @property
    def row_of_entry(self) -> Ints:
        """(N,)"""
        return np.repeat(np.arange(len(self)), np.diff(self.pointer))


class GivenRows:
    """The rows of T or O, row a*S + s, as the lines of a file change them one after the other."""

    def __init__(self, rows: int, width: int, what: str) -> None:
        self._rows: list[dict[int, float]] = [{} for _ in range(rows)]
        self._width, self._what, self._entries = width, what, rows
        self.last = [-1] * rows  # the last word that said something of the row, -1 if none did

    def put(self, rows: range, values: Sequence[float], token: int) -> None:
        """Whole rows, all alike."""
        given = {column: value for column, value in enumerate(values) if value != 0}
        self._count(rows, len(given))
        for r in rows:
            self._rows[r], self.last[r] = dict(given), token

    def put_cell(self, rows: range, column: int, value: float, token: int) -> None:
        """One cell in each of these rows."""
        self._count(rows, 1)
        for r in rows:
            self._rows[r][column], self.last[r] = value, token

    def _count(self, rows: range, given: int) -> None:
        # 10,000 lines on 100,000 rows would take minutes
        self._entries += len(rows) * (given + 1)
        remedy = "Use a smaller model, or write each row once."
        check_room(self._what, self._entries * _ENTRY_BYTES, remedy)

    def laws(self) -> Laws:
        """All rows."""
        kept = [sorted((c, p) for c, p in row.items() if p != 0) for row in self._rows]
        pointer = np.cumsum([0, *map(len, kept)])
        column = np.array([c for row in kept for c, _ in row], np.int64)
        return Laws(pointer, column, np.array([p for row in kept for _, p in row]))


class RewardLines:
    """What the lines of R say, in their order."""

    def __init__(self, sizes: tuple[int, int, int, int]) -> None:
        self._sizes = sizes  # A, S, S, O
        self._named: dict[tuple[bool, ...], list[tuple[int, int]]] = {}  # key, number of the line
        self._offset: list[int] = []  # (lines,) where the numbers of a line begin
        self._strides: list[tuple[int, int, int]] = []  # ... and how s, s', z lead to one of them
        self._numbers: list[float] = []

    def put(
        self,
        parts: tuple[int, int, int, int],
        numbers: list[float],
        strides: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """A line: its parts (action, state, next state, observation) or ANY, and its numbers. The
        number for (s, s', z) is the one at the sum of each times its stride."""
        key = 0
        for part, size in zip(parts, self._sizes, strict=True):
            key = key * size + part if part != ANY else key
        named = tuple(part != ANY for part in parts)
        self._named.setdefault(named, []).append((key, len(self._offset)))
        self._offset.append(len(self._numbers))
        self._strides.append(strides)
        self._numbers += numbers

    def of(self, action: Ints, state: Ints, to: Ints, seen: Ints) -> Floats:
        """(K,) what every outcome pays; 0 where no line says anything."""
        outcome = (action, state, to, seen)
        last = np.full(len(action), -1, np.int64)
        for named, lines in self._named.items():
            final = dict(lines)  # the last line for each key
            keys = np.array(sorted(final), np.int64)
            numbers = np.array([final[key] for key in keys.tolist()], np.int64)
            asked = np.zeros(len(action), np.int64)
            for is_named, part, size in zip(named, outcome, self._sizes, strict=True):
                if is_named:
                    asked = asked * size + part
            at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            last = np.maximum(last, np.where(keys[at] == asked, numbers[at], -1))
        paid, fits = np.zeros(len(action)), last >= 0
        if fits.any():
            at = np.array(self._offset, np.int64)[last[fits]]
            strides = np.array(self._strides, np.int64)[last[fits]]
            for k, part in enumerate((state, to, seen)):
                at = at + strides[:, k] * part[fits]
            paid[fits] = np.array(self._numbers)[at]
        return paid
