"""Is what a log tells of whole episodes, such as their cluster, the same in all rows of each?

An episode that names two clusters is an error, as in a log that is read at once. Episodes may go on
from batch to batch and from file to file: what the last one is called, and where it began, is
remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jumar.core.errors import LogError
from jumar.core.reading import row_words
from jumar.core.text import printable
from jumar.log.formats.numpy_arrays import flags, to_numpy
from jumar.log.reading.encoding import NotPlain
from jumar.log.reading.labels import two_names
from jumar.log.shards.rows import RowBatch, is_text


class OneName:
    """Watches one column, batch by batch."""

    def __init__(self, part: str, column: str, label: str) -> None:
        self._part, self._column, self._label = part, column, label
        self._name: str | None = None  # of the episode that is going on; None: not known
        self._begin: tuple[str, int] = ("", 0)  # file and row of its first row that we know

    def forget(self) -> None:
        """What comes next is no part of what came before."""
        self._name = None

    def check(self, batch: Any, rows: RowBatch, file: str, first: int) -> None:
        """More rows; `first` is the row of the file that the first one is. NotPlain where a cell is
        empty: another row of the episode may have the name."""
        column = _names(batch.column(self._column), self._column)
        began = np.flatnonzero(rows.begins)
        if self._name is None or rows.begins[0]:
            self._begin = file, first
        elif _word(column[0]) != self._name:
            raise self._refusal(batch, 0, self._name, self._begin, file, first)
        for row in (np.flatnonzero(_changes(column) & ~rows.begins[1:]) + 1).tolist():
            name = _word(column[row - 1])
            if _word(column[row]) != name:  # a dictionary may list a word twice
                k = int(np.searchsorted(began, row))
                begin = (file, first + int(began[k - 1])) if k else self._begin
                raise self._refusal(batch, row, name, begin, file, first)
        if len(began):
            self._begin = file, first + int(began[-1])
        self._name = _word(column[len(column) - 1])

    def _refusal(
        self, batch: Any, row: int, name: str, begin: tuple[str, int], file: str, first: int
    ) -> LogError:
        label, other = (_word(batch.column(c)[row]) for c in (self._label, self._column))
        place = f"{file}, {row_words(first + row)} (episode {printable(label)})"
        before = row_words(begin[1]) + ("" if begin[0] == file else f" of {begin[0]},")
        return LogError(" ".join(two_names(place, self._part, (other, name), before)))


def _names(column: Any, name: str) -> Any:
    """A column of names or whole numbers, none of which is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count or not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise NotPlain(name)
    words = column.dictionary if pa.types.is_dictionary(column.type) else column
    if words.null_count or (is_text(words.type) and pc.min(pc.binary_length(words)).as_py() == 0):
        raise NotPlain(name)
    return column


def _changes(column: Any) -> np.ndarray:
    """(n-1,) does a row have another name than the one before?"""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        codes = to_numpy(column.indices)
        return np.asarray(codes[1:] != codes[:-1])
    return flags(pc.not_equal(column[1:], column[:-1]))


def _word(cell: Any) -> str:
    return str(cell.as_py())
