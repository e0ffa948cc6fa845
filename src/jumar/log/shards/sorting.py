"""A log whose rows lie anywhere, sorted on disk by DuckDB (extra ``duckdb``).

The files are read as any other log is, so whatever jumar reads can be sorted. DuckDB puts the rows
in order, by episode, then by step or time, then as they lay in the files, and spills to disk what
does not fit. What comes out is one Parquet file with the columns that are needed, in a temporary
folder that is gone when the work is done. The environment variable ``TMPDIR`` says where.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.errors import LogError, ParameterError
from jumar.core.files import clear_left_behind, temporary_name
from jumar.core.resources import Watch, journal
from jumar.core.text import counted, printable
from jumar.engines import cores
from jumar.log.files import LogFile
from jumar.log.formats import FileOptions
from jumar.log.formats.source import naming
from jumar.log.reading.asking import Asked
from jumar.log.reading.encoding import NotPlain
from jumar.log.reading.parts import Parts
from jumar.log.several import open_file
from jumar.log.shards.batches import check_alike, schema_of, typed_batches
from jumar.log.shards.plan import PARQUET, FilePlan, plan
from jumar.log.shards.reading import parts_of

MEMORY = "600MB"  # what DuckDB may hold; the rest lies on disk
MOST_THREADS = 4  # each needs its share of that
GROUP_ROWS = 1 << 18
ROW = "line"  # how rows lay in the files


@contextmanager
def sorted_log(found: FilePlan, asked: Asked, options: FileOptions) -> Iterator[FilePlan]:
    """The same log, sorted, for as long as it is needed."""
    duckdb = _duckdb()
    watch = Watch()
    parts = parts_of(found.files[0], asked, options)
    check_alike(found.files, parts)
    name = _name(found.files)
    folder = _folder()
    try:
        target = folder / "sorted.parquet"
        try:
            rows = _Rows(found, _typed(found.files, parts, asked), options)
            _sort(duckdb, rows, parts, target, name)
        except NotPlain:  # numbers or dates that only the general way of reading understands
            rows = _Rows(found, _text(parts), options, as_text=True)
            _sort(duckdb, rows, parts, target, name)
        journal.info("Sorted %s rows of %s (%s)", f"{found.rows:,}", name, watch)
        yield _renamed(plan([target], PARQUET), name, found.files)
    finally:  # also when interrupted
        shutil.rmtree(folder, ignore_errors=True)


def _duckdb() -> Any:
    try:
        import duckdb

        return duckdb
    except ImportError as error:
        raise ParameterError(
            "sort: sorting a log needs DuckDB. Install it: pip install 'jumar[duckdb]'"
        ) from error


def _folder() -> Path:
    """A new one that only we can read; what a killed run has left is cleared away."""
    place = Path(tempfile.gettempdir())
    folder = place / temporary_name()
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise ParameterError(
            f"{place}: no folder can be made there to sort in ({error.strerror}). Set TMPDIR to "
            "one with room."
        ) from error
    clear_left_behind(place, folder)
    return folder


def _name(files: Sequence[LogFile]) -> str:
    """How messages call it."""
    more = f" and {counted(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    return f"{files[0].name}{more} (sorted)"


def _renamed(made: FilePlan, name: str, sources: tuple[LogFile, ...]) -> FilePlan:
    (file,) = made.files
    # its size and time differ every time; those of the sources count
    file = replace(file, name=name, sorted_at=file.name, size=0, changed=0.0)
    units = tuple(replace(unit, file=file) for unit in made.units)
    return FilePlan(units, (file,), sources)


# ---- columns -------------------------------------------------------------------------------------


def _typed(files: Sequence[LogFile], parts: Parts, asked: Asked) -> Any:
    """The columns of the sorted log, as an Arrow schema: as they are in Parquet; of other files
    amounts as numbers and all else as text."""
    import pyarrow as pa

    if all(file.kind == PARQUET for file in files):
        inside = schema_of(files[0])
        kinds = {name: inside.field(name).type for name in parts.columns if name in inside.names}
    else:
        kinds = dict.fromkeys(_amounts(parts, asked), pa.float64())
    return pa.schema([(name, _simple(kinds.get(name, pa.string()))) for name in parts.columns])


def _text(parts: Parts) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in parts.columns])


def _simple(kind: Any) -> Any:
    """Without a dictionary, which every batch would have of its own."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    words = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if words else kind


def _amounts(parts: Parts, asked: Asked) -> list[str]:
    single = [parts.single[part] for part in ("reward", "step") if part in parts.single]
    return [*single, *asked.bins]


def _keys(schema: Any, parts: Parts) -> list[str]:
    """What to sort by. A step or time in words is left to who reads them: an episode is put in
    order there."""
    import pyarrow as pa

    clock = parts.single.get("step") or parts.single.get("time")
    if clock is not None and pa.types.is_string(schema.field(clock).type):
        clock = None
    return [key for key in (parts.single.get("episode"), clock) if key is not None]


# ---- rows ----------------------------------------------------------------------------------------


class _Rows:
    """All rows of a log as one stream for DuckDB, which tells hardly anything of an error in it:
    so it is kept here."""

    def __init__(
        self, files: FilePlan, schema: Any, options: FileOptions, as_text: bool = False
    ) -> None:
        self.schema = schema
        self._files, self._options, self._as_text = files, options, as_text
        self.error: BaseException | None = None

    def reader(self) -> Any:
        import pyarrow as pa

        numbered = [(f"c{i}", field.type) for i, field in enumerate(self.schema)]
        whole = pa.schema([*numbered, (ROW, pa.int64())])
        return pa.RecordBatchReader.from_batches(whole, self._batches(whole))

    def _batches(self, whole: Any) -> Iterator[Any]:
        import pyarrow as pa

        at = 0
        try:
            for batch, file in self._read():
                with naming(file.name, file.kind):
                    columns = [_cast(batch.column(f.name), f.type) for f in self.schema]
                rows = pa.array(np.arange(at, at + batch.num_rows))
                yield pa.RecordBatch.from_arrays([*columns, rows], schema=whole)
                at += batch.num_rows
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise

    def _read(self) -> Iterator[tuple[Any, LogFile]]:
        import pyarrow as pa

        names = self.schema.names
        if not self._as_text:
            amounts = [field.name for field in self.schema if pa.types.is_float64(field.type)]
            for unit in self._files.units:
                for batch in typed_batches(unit, names, [], amounts, self._options):
                    yield batch, unit.file
            return
        for file in self._files.files:
            for batch in open_file(file, self._options).batches(names, names):
                yield batch, file


def _cast(column: Any, kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if column.type == kind else column.cast(kind)


def _sort(duckdb: Any, rows: _Rows, parts: Parts, target: Path, name: str) -> None:
    names = rows.schema.names
    # columns have numbers there: to DuckDB, names that differ in case only are the same
    columns = ", ".join(f"c{i} AS {_quoted(column)}" for i, column in enumerate(names))
    keys = ", ".join([*(f"c{names.index(key)}" for key in _keys(rows.schema, parts)), ROW])
    settings = {
        "memory_limit": MEMORY,
        "temp_directory": str(target.parent / "spilled"),
        "threads": min(cores(), MOST_THREADS),
        "preserve_insertion_order": True,
    }
    try:
        with duckdb.connect(":memory:", config=settings) as database:
            database.register("log", rows.reader())
            database.execute(
                f"COPY (SELECT {columns} FROM log ORDER BY {keys}) TO {_text_of(target)} "
                f"(FORMAT parquet, ROW_GROUP_SIZE {GROUP_ROWS})"
            )
        _give_names(target, names)
    except Exception as error:
        if rows.error is not None:
            raise rows.error from None
        if not isinstance(error, duckdb.Error):
            raise
        fact = printable(str(error).partition("\n")[0].rstrip(".")[:200])
        raise LogError(
            f"{name}: cannot be sorted: {fact}. Is there room in {target.parent.parent}? TMPDIR "
            "names another place."
        ) from error


def _give_names(target: Path, names: list[str]) -> None:
    """Where DuckDB has called a column otherwise, as another had its name in other letters."""
    from pyarrow import parquet

    with parquet.ParquetFile(target) as made:
        schema = made.schema_arrow
        if schema.names == names:
            return
        renamed = target.with_name("renamed.parquet")
        empty = schema.empty_table().rename_columns(names)
        with parquet.ParquetWriter(renamed, empty.schema) as file:
            for group in range(made.num_row_groups):
                file.write_table(made.read_row_group(group).rename_columns(names))
    renamed.replace(target)


def _quoted(name: str) -> str:
    """A name in SQL.

    >>> print(_quoted('a "b"'))
    "a ""b\"""
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _text_of(path: Path) -> str:
    doubled = str(path).replace("'", "''")
    return f"'{doubled}'"
