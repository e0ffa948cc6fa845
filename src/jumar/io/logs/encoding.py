"""Columns that are read batch by batch: names become small numbers, text becomes numbers.

Each encoder takes Arrow arrays of one column and in the end gives one array over all rows. A value
that cannot be what it should be is named by file, row and column. Empty text, nulls and NaN are
missing values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Floats
from jumar.core.episodes import UNKNOWN
from jumar.core.errors import LogError
from jumar.core.reading import Bins
from jumar.core.text import printable
from jumar.io.formats import Source

_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Coded:
    """A column of names."""

    names: Sequence[str]
    code: Array  # (N,) int32, UNKNOWN where the name is missing

    def __getitem__(self, index: Any) -> Coded:
        return Coded(self.names, self.code[index])


@dataclass(frozen=True)
class Amounts:
    """A column of numbers."""

    values: Floats  # (N,) NaN where missing
    missing: (
        Bools  # (N,) nothing stands there; a NaN that was written is no number but is not nothing
    )

    def __getitem__(self, index: Any) -> Amounts:
        return Amounts(self.values[index], self.missing[index])


class Encoder(ABC):
    """One column that is being read."""

    def __init__(self, source: Source, column: str) -> None:
        self._source, self._column = source, column
        self._read = 0  # rows so far
        self._chunks: list[Any] = []  # what became of them

    def cell(self, i: int) -> str:
        """Names entry i of the column."""
        return cell(self._source.name, self._source.row(i), self._column)

    def missing(self, part: str, holes: Array, remedy: str) -> LogError:
        """The error for entries that must be there and are not."""
        more = so_in_all(self._source.rows(self._read)[holes])
        return LogError(f"{self.cell(int(holes[0]))}: the {part} is missing.{more} {remedy}")

    def add(self, column: Any) -> None:
        """Take in the next batch."""
        self._add(_decoded(column))
        self._read += len(column)

    @abstractmethod
    def _add(self, column: Any) -> None:
        """Take in a batch whose dictionary, if it had one, was resolved."""

    @abstractmethod
    def result(self) -> Any:
        """The whole column."""

    def _cell(self, i: int) -> str:
        return self.cell(self._read + i)


class Names(Encoder):
    """Any values, as text."""

    def _add(self, column: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), _nothing(column), column)
        self._chunks.append(_encoded(column, self._source.name, self._column))

    def result(self) -> Coded:
        import pyarrow as pa

        kind = pa.dictionary(pa.int32(), pa.string())
        chunks = pa.chunked_array(self._chunks, kind).unify_dictionaries().chunks
        self._chunks = []
        code = np.concatenate([to_numpy(chunk.indices, UNKNOWN) for chunk in chunks])
        return Coded(chunks[0].dictionary.to_pylist(), code)


class Ranges(Encoder):
    """Numbers, as the names of the ranges they fall into."""

    def __init__(self, source: Source, column: str, bins: Bins) -> None:
        super().__init__(source, column)
        self._bins = bins

    def _add(self, column: Any) -> None:
        values = numbers(_as_float(column), self._cell)
        code = np.searchsorted(np.array(self._bins.edges), values, side="right").astype(np.int32)
        code[np.isnan(values)] = UNKNOWN
        self._chunks.append(code)

    def result(self) -> Coded:
        return Coded(self._bins.names, np.concatenate(self._chunks))


class Numbers(Encoder):
    """Numbers as they are."""

    def _add(self, column: Any) -> None:
        column = _as_float(column)
        self._chunks.append((numbers(column, self._cell), nulls(column)))

    def result(self) -> Amounts:
        values, missing = zip(*self._chunks, strict=True)
        self._chunks = []
        return Amounts(np.concatenate(values), np.concatenate(missing))


class Flags(Encoder):
    """Words for true and false; nothing is false."""

    def _add(self, column: Any) -> None:
        words = _encoded(column, self._source.name, self._column)
        code = to_numpy(words.indices, len(words.dictionary))
        meanings = []
        for i, word in enumerate(words.dictionary.to_pylist()):
            key = word.strip().lower().removesuffix(".0")
            if key not in _FLAGS:
                place = self._cell(int(np.flatnonzero(code == i)[0]))
                raise LogError(
                    f"{place}: {printable(word)!r} is not true or false. Write true or false, yes "
                    "or no, 1 or 0; an empty cell is false."
                )
            meanings.append(_FLAGS[key])
        self._chunks.append(np.array([*meanings, False], np.bool_)[code])

    def result(self) -> Bools:
        return np.concatenate(self._chunks)


# ---- Arrow arrays -------------------------------------------------------------------------------

# What follows goes round everything in Arrow that loads pandas, where that is installed (0.3 s):
# `to_numpy`, `pa.scalar`, and functions that are called with a value of Python.


def to_numpy(column: Any, missing: float) -> Array:
    """A column of numbers, with `missing` where there is none."""
    if column.null_count == 0:
        return np.from_dlpack(column)
    values = np.full(len(column), missing, column.type.to_pandas_dtype())
    values[~nulls(column)] = np.from_dlpack(column.drop_null())
    return values


def nulls(column: Any) -> Bools:
    """(N,) where a column has nothing."""
    import pyarrow as pa

    return np.from_dlpack(column.is_null().cast(pa.int8())).astype(np.bool_)


def _nothing(column: Any) -> Any:
    """A missing value of the column's type."""
    import pyarrow as pa

    return pa.nulls(1, column.type)[0]


def without_blanks(column: Any) -> Any:
    """A column of text with nothing where the text is empty."""
    import pyarrow.compute as pc

    return pc.if_else(pc.cast(pc.binary_length(column), "bool"), column, _nothing(column))


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


def _as_float(column: Any) -> Any:
    """A column of text as numbers, if it is all numbers; else without blanks around them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_text(column):
        return column
    try:
        return column.cast(pa.float64())  # nearly always; no need to look for blanks then
    except pa.ArrowException:
        return without_blanks(pc.utf8_trim_whitespace(column))


def numbers(column: Any, cell: Callable[[int], str]) -> Floats:
    """A column as numbers, NaN where there is nothing."""
    import pyarrow as pa

    try:
        return to_numpy(column.cast(pa.float64(), safe=False), np.nan)
    except pa.ArrowException:
        for i, value in enumerate(column):
            try:
                value.cast(pa.float64(), safe=False)
            except pa.ArrowException as error:
                raise LogError(
                    f"{cell(i)}: {quoted(value)} is not a number. Write plain digits, such as "
                    "-12.5; leave the cell empty if nobody knows."
                ) from error
        raise


def cell(source: str, row: int, column: str) -> str:
    """Names one entry of a column."""
    return f"{source}, row {row}, column {printable(column)!r}"


def so_in_all(rows: Array) -> str:
    """How many rows lack something, with examples besides the first, which is named already.

    >>> so_in_all(np.array([3])), so_in_all(np.array([3, 7, 5]))
    ('', ' So it is in 3 rows in all (also 5, 7).')
    """
    if len(rows) == 1:
        return ""
    examples = ", ".join(map(str, sorted(rows[1:4].tolist())))
    dots = ", ..." if len(rows) > 4 else ""
    return f" So it is in {len(rows)} rows in all (also {examples}{dots})."


def quoted(value: Any) -> str:
    """A value in a message."""
    plain = value.as_py()
    return repr(printable(plain)) if isinstance(plain, str) else printable(repr(plain))
