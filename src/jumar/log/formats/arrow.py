"""Parquet and Arrow files, and tables in memory: columns that already have a type.

A damaged file may hold invalid text, or codes without a name. So every batch is fully validated
before it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.log.episodes import METADATA
from jumar.log.formats.places import Place, arrow_file
from jumar.log.formats.source import BATCH_ROWS, Source, naming, sliced

MAGIC = b"ARROW1"  # with which a file begins, and a stream never does


class _Typed(Source):
    """A source with an Arrow schema."""

    schema: Any

    def _describe(self, schema: Any) -> None:
        self.names, self.schema = schema.names, schema
        self.metadata = (schema.metadata or {}).get(METADATA)


class ParquetFile(_Typed):
    """A Parquet file."""

    def __init__(self, path: Place, name: str | None = None) -> None:
        from pyarrow import parquet

        self.name, self._path = name or str(path), path
        with arrow_file(path) as file:
            self._describe(parquet.ParquetFile(file).schema_arrow)

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        from pyarrow import parquet

        with naming(self.name, "Parquet"), arrow_file(self._path) as handle:
            file, seen = parquet.ParquetFile(handle), 0
            for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                batch.validate(full=True)
                seen += batch.num_rows
                yield batch
            check_rows(file, None, seen)


def check_rows(file: Any, groups: Sequence[int] | None, seen: int) -> None:
    """Were all rows of some row groups read, or of all? Where a column is damaged, pyarrow may hand
    over none of them and say nothing."""
    every = range(file.metadata.num_row_groups) if groups is None else groups
    rows = sum(file.metadata.row_group(i).num_rows for i in every)
    if seen != rows:
        raise ValueError(f"it tells of {rows:,} rows, but has {seen:,}")


class ArrowFile(_Typed):
    """An Arrow file (Feather version 2 is one), or an Arrow stream in a file."""

    def __init__(self, path: Place, name: str | None = None) -> None:
        self.name, self._path = name or str(path), path
        with arrow_file(path) as file:
            self._describe(_ipc_reader(file)[0])

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        fields = sorted(self.names.index(name) for name in columns)
        with naming(self.name, "Arrow"), arrow_file(self._path) as file:
            for batch in _ipc_reader(file, fields)[1]:
                batch.validate(full=True)
                yield from sliced(batch)


def _ipc_reader(file: Any, fields: list[int] | None = None) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of a file or stream; only some of its fields are decoded."""
    import pyarrow as pa
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=fields)
    try:
        reader = ipc.open_file(file, options=options)
    except pa.ArrowInvalid:  # no footer
        file.seek(0)
        if file.read(len(MAGIC)) == MAGIC:
            raise  # the end is missing; as a stream, its first letters would be a huge length
        file.seek(0)
        stream = ipc.open_stream(file, options=options)
        return stream.schema, iter(stream)
    return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))


def is_dataset(source: Any) -> bool:
    """Is it a data set of pyarrow?"""
    module = sys.modules.get("pyarrow.dataset")  # else nobody has made one
    return module is not None and isinstance(source, module.Dataset)


class DatasetRows(_Typed):
    """A data set of pyarrow, with its filter; only the columns that are needed are read."""

    name = "dataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._describe(dataset.schema)

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        with naming(self.name, "a data set"):
            for batch in self._dataset.scanner(columns=list(columns)).to_batches():
                batch.validate(full=True)
                yield from sliced(batch)


class TableInMemory(_Typed):
    """A table of pyarrow, pandas or polars, or a stream of Arrow."""

    name = "table"

    def __init__(self, table: Any) -> None:
        import pyarrow as pa

        for name in getattr(table, "columns", ()):  # Polars aborts the process on such a name
            if isinstance(name, str) and "\0" in name:
                raise LogError(
                    f"table: the name '{printable(name)}' of a column has a null character. "
                    "Rename the column."
                )
        # at once: a stream may be there only once, and pandas would convert its columns again
        self._table = pa.RecordBatchReader.from_stream(table).read_all()
        self._describe(self._table.schema)

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        with naming(self.name, "Arrow"):
            for batch in self._table.select(list(columns)).to_batches():
                batch.validate(full=True)
                yield from sliced(batch)
