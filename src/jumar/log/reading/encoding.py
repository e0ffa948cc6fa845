"""Columns that are read batch by batch: names become small numbers, text becomes numbers.

Each encoder takes Arrow arrays of one column and in the end gives one array over all rows. A value
that cannot be what it should be is named by file, row and column. Empty text, nulls and NaN are
missing values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.core.errors import LogError
from jumar.core.reading import Files, row_number
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import nothing, to_numpy, without_blanks
from jumar.log.problems import MOST, Problems

FLAG_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Coded:
    """A column of names."""

    names: Sequence[str]
    code: Array  # (N,) int32, UNKNOWN where the name is missing
    pointed: bool = False  # were they numbers with a point?

    def take(self, index: Any) -> Coded:
        return replace(self, code=self.code[index])


class NotPlain(Exception):
    """Columns have values that are not plainly numbers or times. What was read before may then mean
    something else (1.234 is a thousand beside 1.234,5): read again, and keep them as words."""

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns)
        self.columns = columns


class Encoder(ABC):
    """One column that is being read."""

    def __init__(self, source: Source, column: str) -> None:
        self._source, self._column = source, column
        self._read = 0  # rows so far

    @property
    def column(self) -> str:
        """The name of the column."""
        return self._column

    def cell(self, i: int) -> str:
        """Names entry i of the column."""
        return f"{self._source.place(i)}, column {printable(self._column)!r}"

    def missing(self, part: str, holes: Array, remedy: str, problems: Problems) -> None:
        """Tell of entries that must be there and are not."""
        more = so_in_all(self._source.rows(self._read)[holes], self._source.files)
        problems.add(f"{self.cell(int(holes[0]))}: the {part} is missing.{more}", remedy)

    def add(self, column: Any) -> None:
        """Take in the next batch."""
        self._add(_decoded(column))
        self._read += len(column)

    @abstractmethod
    def _add(self, column: Any) -> None:
        """Take in a batch whose dictionary, if it had one, was resolved."""

    def _cell(self, i: int) -> str:
        return self.cell(self._read + i)


class Names(Encoder):
    """Any values, as text."""

    def __init__(self, source: Source, column: str) -> None:
        super().__init__(source, column)
        self._chunks: list[Any] = []
        self._pointed = False

    def _add(self, column: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(column.type):
            self._pointed = True
            column = pc.if_else(pc.is_nan(column), nothing(column), column)
        self._chunks.append(_encoded(column, self._source.name, self._column))

    def result(self, problems: Problems) -> Coded:
        import pyarrow as pa

        chunks = pa.chunked_array(
            self._chunks, pa.dictionary(pa.int32(), pa.string())
        ).unify_dictionaries()
        self._chunks = []
        code = np.empty(self._read, np.int32)
        at = 0
        for chunk in chunks.chunks:
            code[at : at + len(chunk)] = to_numpy(chunk.indices, UNKNOWN)
            at += len(chunk)
        names = chunks.chunk(0).dictionary.to_pylist() if at else []
        return Coded(names, code, self._pointed)

    def refuse(
        self,
        coded: Coded,
        bad: Array,
        fact: Callable[[int], str],
        remedy: str,
        problems: Problems,
    ) -> None:
        """Tell of words that cannot be what they should be, each with its first place."""
        if len(bad) == 0:
            return
        at = {int(i): np.flatnonzero(coded.code == i) for i in bad[: MOST + 1]}
        rows = self._source.rows(self._read)

        def problem(i: int) -> tuple[str, str]:
            more = so_in_all(rows[at[i]], self._source.files)
            return f"{self.cell(int(at[i][0]))}: {fact(i)}.{more}", remedy

        problems.each([int(i) for i in bad], problem)


class Flags(Names):
    """Words for true and false; nothing is false."""

    def result(self, problems: Problems) -> Bools:  # type: ignore[override]
        coded = super().result(problems)
        keys = [word.strip().lower().removesuffix(".0") for word in coded.names]
        bad = np.flatnonzero([key not in FLAG_WORDS for key in keys])
        self.refuse(
            coded,
            bad,
            lambda i: f"{printable(coded.names[i])!r} is not true or false",
            "Write true or false, yes or no, 1 or 0; an empty cell is false.",
            problems,
        )
        found = [*(FLAG_WORDS.get(key, False) for key in keys), False]
        return np.array(found, np.bool_)[coded.code]


# ---- Arrow arrays -------------------------------------------------------------------------------


def _decoded(column: Any) -> Any:
    """The values themselves: a dictionary may list what never occurs."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        values = _plain(column.dictionary)  # Arrow does not decode every type itself
        column = pa.DictionaryArray.from_arrays(column.indices, values).cast(values.type)
    return _plain(column)


def _plain(column: Any) -> Any:
    """A column of a type that all functions of Arrow know."""
    import pyarrow as pa

    if pa.types.is_null(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column


def _encoded(column: Any, source: str, name: str) -> Any:
    """A column as numbered texts; only the distinct values are turned into text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbered = column.dictionary_encode()
        words = numbered.dictionary.cast(pa.string())
    except pa.ArrowException as error:
        raise LogError(
            f"{source}, column {printable(name)!r}: a value of type {column.type} cannot be read "
            "as a name. Store text or whole numbers."
        ) from error
    if pc.min(pc.binary_length(words)).as_py() == 0:
        return _encoded(without_blanks(column), source, name)
    return pa.DictionaryArray.from_arrays(numbered.indices, words)


def is_text(column: Any) -> bool:
    """Whether a column holds text that may have to be read as a number."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def so_in_all(rows: Array, files: Files = ()) -> str:
    """How many rows lack something, with examples besides the first, which is named already.

    >>> so_in_all(np.array([3])), so_in_all(np.array([3, 7, 5]))
    ('', ' So it is in 3 rows in all (also 5, 7).')
    """
    if len(rows) == 1:
        return ""
    examples = ", ".join(row_number(row, files) for row in sorted(rows[1:4].tolist()))
    dots = ", ..." if len(rows) > 4 else ""
    return f" So it is in {len(rows)} rows in all (also {examples}{dots})."


def quoted(value: Any) -> str:
    """A value in a message."""
    plain = value.as_py()
    return repr(printable(plain)) if isinstance(plain, str) else printable(repr(plain))
