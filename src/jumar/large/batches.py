"""The rows of a unit as Arrow batches, with types that need the least work.

Names come with their dictionary, amounts as numbers. A text file whose amounts are not plain
numbers raises `NotPlain`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from jumar.core.arrays import Array
from jumar.core.errors import LogError
from jumar.core.text import listing, printable
from jumar.io.formats import FileOptions, Source, open_log
from jumar.io.formats.delimited import DelimitedFile
from jumar.io.formats.source import naming
from jumar.io.logs.encoding import NotPlain
from jumar.io.logs.parts import Parts
from jumar.large.shards import PARQUET, LogFile, Unit

BATCH_ROWS = 1 << 16  # fits into the cache of a core
TYPED = (PARQUET, "Arrow", "CSV", "TSV")


def open_file(file: LogFile, options: FileOptions) -> Source:
    """A file as a source, for what is said of it in messages and for the general way."""
    if not file.is_local:
        if file.kind == PARQUET:
            return _ToldToo(_FarParquet(file), file)
        raise LogError(f"{file.name}: only Parquet files are read from there. Copy it first.")
    source = _local(file, options)
    return _ToldToo(source, file) if file.partition else source


def _local(file: LogFile, options: FileOptions) -> Source:
    source = open_log(file.place, file.kind, options)
    source.name = file.name
    return source


class _FarParquet(Source):
    """A Parquet file in an object store."""

    def __init__(self, file: LogFile) -> None:
        self.name, self.names, self._file = file.name, schema_of(file).names, file

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        words = [name for name in text if name in columns]
        return _of_parquet(Unit(self._file, None, 0, 0), columns, words)


class _ToldToo(Source):
    """A file with the columns that its folders tell."""

    def __init__(self, source: Source, file: LogFile) -> None:
        self._source, self._told = source, dict(file.partition)
        self.name, self.separator, self.guessed = source.name, source.separator, source.guessed
        self.metadata, self.advice = source.metadata, source.advice
        self.once, self.has_points = source.once, source.has_points
        self.may_have_more = source.may_have_more
        if source.may_have_more:
            self.seen = {*source.seen, *self._told}
        self.names = [*source.names, *(key for key in self._told if key not in source.names)]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        inside = [name for name in columns if name not in self._told]
        for batch in self._source.batches(inside, text):
            yield with_told(batch, columns, self._told)

    def rows(self, n: int) -> Array:
        return self._source.rows(n)


def columns_of(file: LogFile, options: FileOptions) -> list[str]:
    """The names of the columns of a file, with those that its folders tell."""
    inside = schema_of(file).names if file.kind == PARQUET else open_file(file, options).names
    return [*inside, *(key for key, _ in file.partition if key not in inside)]


def schema_of(file: LogFile) -> Any:
    """The columns of a Parquet file and their types."""
    from pyarrow import parquet

    with naming(file.name, file.kind), file.open() as handle:
        return parquet.ParquetFile(handle).schema_arrow


def check_alike(files: Sequence[LogFile], parts: Parts) -> None:
    """Columns of one name must have one type in all files of a kind that has types."""
    import pyarrow as pa

    first: tuple[str, dict[str, str]] | None = None
    for file in files:
        if file.kind != PARQUET:
            continue
        schema = schema_of(file)
        types = {}
        for name in parts.columns:
            if name in schema.names:
                kind = schema.field(name).type
                words = pa.types.is_dictionary(kind) or pa.types.is_large_string(kind)
                types[name] = "string" if words else str(kind)
        told = {name for name, _ in file.partition}
        missing = [name for name in parts.columns if name not in types and name not in told]
        if missing:
            raise LogError(
                f"{file.name}: has no column {listing([printable(m) for m in missing])}, which the "
                f"other files have. Leave the file out, or give it the same columns."
            )
        if first is None:
            first = file.name, types
            continue
        for name, kind in types.items():
            if first[1].get(name, kind) != kind:
                raise LogError(
                    f"{file.name}, column {printable(name)!r}: is of type {kind}, but in "
                    f"{first[0]} it is of type {first[1][name]}. Write all files alike."
                )


def typed_batches(
    unit: Unit, columns: Sequence[str], words: Sequence[str], amounts: Sequence[str], options: Any
) -> Iterator[Any]:
    """Batches of a unit; `words` are columns of names, `amounts` columns of numbers."""
    file = unit.file
    told = dict(file.partition)
    inside = [name for name in columns if name not in told]
    if file.kind == PARQUET:
        batches = _of_parquet(unit, inside, words)
    elif file.kind in TYPED and file.is_local:
        source = _local(file, options)
        if isinstance(source, DelimitedFile):
            numbers = [name for name in amounts if name in inside]
            batches = _of_text(source, inside, words, numbers)
        else:
            batches = source.batches(inside, words)
    else:
        raise NotPlain(*columns)
    for batch in batches:
        if batch.num_rows:
            yield with_told(batch, columns, told)


def _of_parquet(unit: Unit, columns: Sequence[str], words: Sequence[str]) -> Iterator[Any]:
    from pyarrow import parquet

    with naming(unit.file.name, PARQUET), unit.file.open() as handle:
        text = [name for name in words if name in columns]
        file = parquet.ParquetFile(handle, read_dictionary=text, buffer_size=1 << 20)
        groups = None if unit.group is None else [unit.group]
        yield from file.iter_batches(
            BATCH_ROWS, row_groups=groups, columns=list(columns), use_threads=False
        )


def _of_text(
    source: DelimitedFile, columns: Sequence[str], words: Sequence[str], amounts: Sequence[str]
) -> Iterator[Any]:
    """Plain text; what is wrong with other text, the general way finds out."""
    import pyarrow as pa

    if source.separator == "semicolons":  # which come with decimal commas
        raise NotPlain(*columns)
    try:
        yield from source.typed_batches(columns, words, amounts)
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        raise NotPlain(*columns) from error


def last_label(unit: Unit, column: str, options: FileOptions) -> Any:
    """The label of the last row of a unit, as an Arrow scalar; None if it has no rows."""
    last = None
    for batch in typed_batches(unit, [column], [], [], options):
        last = batch.column(column)[batch.num_rows - 1]
    return last


def with_told(batch: Any, columns: Sequence[str], told: Mapping[str, str]) -> Any:
    """With the columns that the folders of the file tell."""
    import pyarrow as pa

    missing = [name for name in columns if name not in batch.schema.names and name in told]
    for name in missing:
        words = pa.DictionaryArray.from_arrays(
            pa.array([0] * batch.num_rows, pa.int32()), pa.array([told[name]], pa.string())
        )
        batch = batch.append_column(name, words)
    return batch
