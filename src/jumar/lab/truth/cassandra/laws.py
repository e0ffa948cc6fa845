"""Rows of probabilities as a file gives them: whole, then cell by cell, the last word counts.

A row is a part that was given whole, shared between all rows a wildcard named, and the cells
that came after it. So `T: * : * : * 0` costs one step per row, and nothing of size S×S is built
unless the file is that full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, sum_by
from jumar.core.errors import TooLarge

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
        lengths = np.array([len(at) for at, _ in parts], np.int64)
        return Laws(
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([at for at, _ in parts]),
            np.concatenate([values for _, values in parts]),
        )


def _merged(given: Whole, cells: dict[int, float]) -> Whole:
    known = dict(zip(given[0].tolist(), given[1].tolist(), strict=True)) | cells
    items = sorted((at, value) for at, value in known.items() if value != 0)
    return (
        np.array([at for at, _ in items], np.int64),
        np.array([value for _, value in items], np.float64),
    )
