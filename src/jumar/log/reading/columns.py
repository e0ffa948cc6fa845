"""Columns of a log as Arrow has them, and as plain arrays: names and flags.

A source gives batches of any size. Names become small numbers at once; all else is kept as it
comes until the column is complete, and then converted as a whole. Empty text, nulls and NaN are
missing values. A value that cannot be what it should be is named by file, row and column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.core.errors import LogError
from jumar.core.reading import Files, place_words, row_number
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import nothing, nulls, to_numpy, without_blanks
from jumar.log.formats.objects import NO_SCALAR
from jumar.log.problems import MOST, Problems

FLAG_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Coded:
    """A column of names."""

    names: Sequence[str]
    code: Array  # (N,) int32, UNKNOWN where the name is missing

    def take(self, index: Any) -> Coded:
        return Coded(self.names, self.code[index])


@dataclass(frozen=True)
class Cells:
    """One column of a log, and where its entries stand."""

    name: str
    chunks: Sequence[Any]  # Arrow arrays, of all batches
    source: Source
    rows: Array  # (N,) places (`jumar.core.reading`)

    @cached_property
    def kinds(self) -> set[Any]:
        """The types of the chunks that have any; JSON may have several."""
        import pyarrow as pa

        return {chunk.type for chunk in self.chunks if not pa.types.is_null(chunk.type)}

    @cached_property
    def is_text(self) -> bool:
        return is_text(self.values.type)

    @cached_property
    def values(self) -> Any:
        """(N,) all of it, in one type: numbers if all are, else text."""
        import pyarrow as pa

        kind = pa.string()
        if len(self.kinds) == 1:
            (kind,) = self.kinds
        elif self.kinds and all(map(_is_number, self.kinds)):
            kind = pa.float64()
        elif self.kinds and all(map(pa.types.is_timestamp, self.kinds)):
            zones = {one.tz for one in self.kinds}
            kind = pa.timestamp("ns", *zones) if len(zones) == 1 else kind
        made, before = [], 0
        for chunk in self.chunks:
            try:
                made.append(chunk.cast(kind))
            except pa.ArrowException as error:  # Arrow writes numbers as text, but no lists
                holds = np.flatnonzero(~nulls(chunk))
                raise LogError(f"{self.cell(before + int(holds[0]))}: {NO_SCALAR}") from error
            before += len(chunk)
        return pa.chunked_array(made, kind)

    @cached_property
    def coded(self) -> Coded:
        """Its values as names."""
        import pyarrow as pa

        chunks = self.chunks
        if not all(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            chunks = [as_names(chunk, self.source.name, self.name) for chunk in self.values.chunks]
        words = pa.dictionary(pa.int32(), pa.string())
        joined = pa.chunked_array(chunks, words).unify_dictionaries()
        codes = [to_numpy(chunk.indices, UNKNOWN) for chunk in joined.chunks]
        names = joined.chunk(0).dictionary.to_pylist() if joined.num_chunks else []
        return Coded(names, np.concatenate([np.zeros(0, np.int32), *codes]).astype(np.int32))

    # ---- what is wrong ------------------------------------------------------------------------

    def cell(self, i: int) -> str:
        """Names entry i."""
        place = place_words(self.source.name, int(self.rows[i]), self.source.files)
        return f"{place}, column {printable(self.name)!r}"

    def refuse_holes(self, part: str, holes: Array, remedy: str, problems: Problems) -> None:
        """Tell of entries that must be there and are not."""
        if len(holes):
            more = so_in_all(self.rows[holes], self.source.files)
            problems.add(f"{self.cell(int(holes[0]))}: the {part} is missing.{more}", remedy)

    def refuse_words(
        self, bad: Array, fact: Callable[[int], str], remedy: str, problems: Problems
    ) -> None:
        """Tell of words that cannot be what they should be, each with its first place."""

        def problem(i: int) -> tuple[str, str]:
            at = np.flatnonzero(self.coded.code == i)
            more = so_in_all(self.rows[at], self.source.files)
            return f"{self.cell(int(at[0]))}: {fact(i)}.{more}", remedy

        occur = [int(i) for i in bad[: 2 * MOST]]
        problems.each([*occur, *bad[2 * MOST :]], problem)


def read_flags(column: Cells, problems: Problems) -> Bools:
    """Words for true and false; nothing is false."""
    table, bad = flag_table(column.coded.names)
    column.refuse_words(
        np.flatnonzero(bad),
        lambda i: f"{printable(column.coded.names[i])!r} is not true or false",
        "Write true or false, yes or no, 1 or 0; an empty cell is false.",
        problems,
    )
    return table[column.coded.code]


def flag_table(words: Sequence[str | None]) -> tuple[Bools, Bools]:
    """(K+1,) what each word says, and at the end what a missing one does; (K,) those that are
    neither true nor false."""
    keys = [str(word or "no").strip().lower().removesuffix(".0") for word in words]
    table = np.array([*(FLAG_WORDS.get(key, False) for key in keys), False])
    return table, np.array([key not in FLAG_WORDS for key in keys], np.bool_)


# ---- Arrow arrays -------------------------------------------------------------------------------


def decoded(column: Any) -> Any:
    """The values themselves: a dictionary may list what never occurs."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        values = _known(column.dictionary)  # Arrow does not decode every type itself
        column = pa.DictionaryArray.from_arrays(column.indices, values).cast(values.type)
    return _known(column)


def _known(column: Any) -> Any:
    """A column of a type that all functions of Arrow know."""
    import pyarrow as pa

    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def as_names(column: Any, source: str, name: str) -> Any:
    """A column as numbered texts, in the order in which they come; what is blank is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), nothing(column), column)
    try:
        numbered = column.dictionary_encode()
        words = numbered.dictionary.cast(pa.string())
    except pa.ArrowException as error:
        raise LogError(
            f"{source}, column {printable(name)!r}: a value of type {column.type} cannot be read "
            "as a name. Store text or whole numbers."
        ) from error
    if pc.min(pc.binary_length(words)).as_py() == 0:
        return as_names(without_blanks(column), source, name)
    return pa.DictionaryArray.from_arrays(numbered.indices, words)


def is_text(kind: Any) -> bool:
    """Does an Arrow column of this type hold text?"""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def so_in_all(rows: Array, files: Files = ()) -> str:
    """How many rows lack something, with examples besides the first, which is named already."""
    if len(rows) == 1:
        return ""
    examples = ", ".join(row_number(row, files) for row in sorted(rows[1:4].tolist()))
    dots = ", ..." if len(rows) > 4 else ""
    return f" So it is in {len(rows)} rows in all (also {examples}{dots})."
