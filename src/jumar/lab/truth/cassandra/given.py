"""What a file says of T, O and R, in the order in which it says it.

A row of T or O is a part that was given whole, shared between all rows a wildcard named, and the
cells that came after it; the last word counts. So `T: * : * : * 0` costs one step per row, and
nothing of size S×S is built unless the file is that full.

A line of R names some of action, state, next state and observation, and wildcards for the others.
Of all lines that fit an outcome the last one counts. Lines that name the same parts are found
together by one sorted search, so that n lines and K outcomes take about (n + K) log n steps for
each of the 16 ways to name parts, and the table of all combinations is never built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, sum_by
from jumar.core.errors import TooLarge

ANY = -1  # a wildcard
MOST_WRITES = 100_000_000  # of rows: ten seconds or twenty

Whole = tuple[Ints, Floats]  # where a row is not zero, and what stands there
NOTHING: Whole = (np.zeros(0, np.int64), np.zeros(0))


def whole(values: list[float] | Floats) -> Whole:
    """A row from all its numbers."""
    dense = np.asarray(values, np.float64)
    at = np.flatnonzero(dense)
    return at, dense[at]


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
    """The rows of T or O while a file is read: row a*S + s, with the word that touched it last."""

    def __init__(self, rows: int) -> None:
        self._whole: list[Whole] = [NOTHING] * rows
        self._cells: list[dict[int, float] | None] = [None] * rows
        self.touched = [-1] * rows  # the word that said something of the row last
        self._writes = 0

    def _count(self, rows: range) -> None:
        self._writes += len(rows)
        if self._writes > MOST_WRITES:
            raise TooLarge(
                f"Lines of T or O with wildcards name rows more than {MOST_WRITES:,} times. Write "
                "each row once."
            )

    def put(self, rows: range, given: Whole, token: int) -> None:
        """Whole rows: all that was said of them before is gone."""
        self._count(rows)
        for r in rows:
            self._whole[r], self._cells[r], self.touched[r] = given, None, token

    def put_cell(self, rows: range, column: int, value: float, token: int) -> None:
        """One cell in each of these rows."""
        self._count(rows)
        for r in rows:
            cells = self._cells[r]
            if cells is None:
                cells = self._cells[r] = {}
            cells[column], self.touched[r] = value, token

    def entries(self) -> int:
        """How many numbers the rows hold, at most."""
        return sum(
            len(given[0]) + len(cells or ())
            for given, cells in zip(self._whole, self._cells, strict=True)
        )

    def laws(self) -> Laws:
        """All rows, for good."""
        parts = [
            _merged(given, cells) if cells else given
            for given, cells in zip(self._whole, self._cells, strict=True)
        ]
        return Laws(
            np.cumsum([0, *(len(at) for at, _ in parts)]),
            np.concatenate([at for at, _ in parts]),
            np.concatenate([values for _, values in parts]),
        )


def _merged(given: Whole, cells: dict[int, float]) -> Whole:
    known = dict(zip(given[0].tolist(), given[1].tolist(), strict=True)) | cells
    at = sorted(column for column, value in known.items() if value != 0)
    return np.array(at, np.int64), np.array([known[column] for column in at], np.float64)


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
