"""What a file says of T, O and R, in the order in which it says it.

A row of T or O is what was given whole and the cells that came after it; the last word counts. Only
what is not zero is kept, so `T: * : * : * 0` costs one step per row, and nothing of size S×S is
built unless the file is that full.

A line of R names some of action, state, next state and observation, and wildcards for the others.
Of all lines that fit an outcome the last one counts. Lines that name the same parts are found
together by one sorted search, so that n lines and K outcomes take about (n + K) log n steps for
each of the 16 ways to name parts, and the table of all combinations is never built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, sum_by
from jumar.core.resources import check_room
from jumar.lab.truth.chain import entries_of

ANY = -1  # a wildcard
_ENTRY_BYTES = 80  # of a number while the last word is looked for


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

    @property
    def sums(self) -> Floats:
        """(rows,)"""
        return sum_by(self.row_of_entry, self.value, len(self))

    def scaled(self, divisor: Floats) -> Laws:
        """Every row divided by its number."""
        return Laws(self.pointer, self.column, self.value / divisor[self.row_of_entry])


class GivenRows:
    """What lines say of the rows of T or O, row a*S + s, in their order."""

    def __init__(self, rows: int, width: int) -> None:
        self._shape = rows, width
        self._named: list[range] = []  # (lines,) the rows that a line names
        self._token: list[int] = []  # (lines,) where it stands in the file
        self._is_whole: list[bool] = []  # (lines,) then all that was said before is gone
        self._pointer = [0]  # (lines + 1,) where what it says begins
        self._column: list[int] = []
        self._value: list[float] = []

    def put(self, rows: range, values: list[float], token: int) -> None:
        """Whole rows."""
        given = [(i, value) for i, value in enumerate(values) if value != 0]
        self._put(rows, given, token, is_whole=True)

    def put_cell(self, rows: range, column: int, value: float, token: int) -> None:
        """One cell in each of these rows."""
        self._put(rows, [(column, value)], token, is_whole=False)

    def _put(self, rows: range, given: list[tuple[int, float]], token: int, is_whole: bool) -> None:
        self._named.append(rows)
        self._token.append(token)
        self._is_whole.append(is_whole)
        self._column += [column for column, _ in given]
        self._value += [value for _, value in given]
        self._pointer.append(len(self._column))

    def laws(self, what: str) -> tuple[Laws, Ints]:
        """All rows, and (rows,) the last word that said something of each, -1 if none did."""
        rows, width = self._shape
        size = np.array([len(named) for named in self._named], np.int64)
        pointer = np.array(self._pointer)
        entries = int(size @ (np.diff(pointer) + 1))
        check_room(what, entries * _ENTRY_BYTES, "Use a smaller model, or write each row once.")
        line = np.repeat(np.arange(len(size)), size)
        row = np.array([r for named in self._named for r in named], np.int64)
        last, cleared = np.full(rows, -1), np.full(rows, -1)
        np.maximum.at(last, row, line)
        is_whole = np.array(self._is_whole, np.bool_)[line]
        np.maximum.at(cleared, row[is_whole], line[is_whole])
        counts = line >= cleared[row]
        which, entry = entries_of(pointer, line[counts])
        value = np.array(self._value)[entry]
        key = row[counts][which] * width + np.array(self._column, np.int64)[entry]
        order = np.argsort(key, kind="stable")  # of equal ones the last line comes last
        keys = key[order]
        final = order[np.append(keys[1:] != keys[:-1], True)] if len(order) else order
        final = final[value[final] != 0]
        begins = np.searchsorted(key[final], np.arange(rows + 1) * width)
        token = np.append(np.array(self._token, np.int64), -1)
        return Laws(begins, key[final] % width, value[final]), token[last]


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
