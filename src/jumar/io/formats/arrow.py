"""Parquet and Arrow files, and tables in memory: columns that already have a type.

A damaged file may hold invalid text, or codes without a name. So every batch is fully validated
before it is used."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jumar.io.formats.source import BATCH_ROWS, Source, naming

METADATA = b"jumar"  # where write_logs keeps the names


class _Typed(Source):
    """A source with an Arrow schema."""

    kind = "Arrow"

    def _describe(self, schema: Any) -> None:
        self.names = schema.names
        self.metadata = (schema.metadata or {}).get(METADATA)

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        with naming(self.name, self.kind):
            for batch in self._read(list(columns)):
                batch.validate(full=True)
                for first in range(0, batch.num_rows, BATCH_ROWS):
                    yield batch.slice(first, BATCH_ROWS)

    @abstractmethod
    def _read(self, columns: list[str]) -> Iterator[Any]:
        """The batches of these columns, of any size."""


class ParquetFile(_Typed):
    """A Parquet file."""

    kind = "Parquet"

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.name, self._path = str(path), path
        with parquet.ParquetFile(path) as file:
            self._describe(file.schema_arrow)

    def _read(self, columns: list[str]) -> Iterator[Any]:
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns)


class ArrowFile(_Typed):
    """An Arrow file (Feather version 2 is one), or an Arrow stream in a file."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = str(path), path
        with _opened(path) as (file, _):
            self._describe(file.schema)

    def _read(self, columns: list[str]) -> Iterator[Any]:
        fields = sorted(self.names.index(name) for name in columns)
        with _opened(self._path, fields) as (_, batches):
            yield from batches


@contextmanager
def _opened(path: Path, fields: list[int] | None = None) -> Iterator[tuple[Any, Iterator[Any]]]:
    """An Arrow file and its batches; only some of its fields are decoded."""
    import pyarrow as pa
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=fields)
    # not mapped into memory: a file that is cut short meanwhile would end the process
    with pa.OSFile(str(path)) as file:
        try:
            reader = ipc.open_file(file, options=options)
        except pa.ArrowInvalid:  # no footer
            file.seek(0)
            stream = ipc.open_stream(file, options=options)
            yield stream, iter(stream)
        else:
            yield reader, (reader.get_batch(i) for i in range(reader.num_record_batches))


class TableInMemory(_Typed):
    """A table of pyarrow, pandas or polars; it may be a stream that can be read only once."""

    name = "table"

    def __init__(self, table: Any) -> None:
        import pyarrow as pa

        self._reader = pa.RecordBatchReader.from_stream(table)
        self._describe(self._reader.schema)

    def _read(self, columns: list[str]) -> Iterator[Any]:
        return (batch.select(columns) for batch in self._reader)
