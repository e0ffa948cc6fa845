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
from jumar.log.files import LogFile, open_file
from jumar.log.formats import FileOptions
from jumar.log.reading.columns import decoded
from jumar.log.reading.options import ReadOptions
from jumar.log.reading.parts import Parts
from jumar.log.shards.batches import NotPlain
from jumar.log.shards.plan import PARQUET, FilePlan, check_alike, head_of, parts_of, plan

MEMORY = "600MB"  # what DuckDB may hold; the rest lies on disk
MOST_THREADS = 4  # each needs its share of that
GROUP_ROWS = 1 << 18
ROW = "line"  # how rows lay in the files


@contextmanager
def sorted_log(found: FilePlan, options: ReadOptions) -> Iterator[FilePlan]:
    """The same log, sorted, for as long as it is needed."""
    if options.each_file:
        raise ParameterError(
            "sort: rows are put together by the labels of episodes, which each_file (--each-file) "
            "says are used again in other files. Give episodes labels of their own, or leave one "
            "of the two out."
        )
    duckdb, watch = _duckdb(), Watch()
    parts = parts_of(found.files[0], options)
    check_alike(found.files, parts, options)
    name = _name(found.files)
    folder = _folder()
    try:
        target = folder / "sorted.parquet"
        try:
            schema = _typed(found.files, parts, options)
            _sort(duckdb, _Rows(found, schema, options.file), parts, target, name)
        except NotPlain:  # numbers or dates that only the general way of reading understands
            import pyarrow as pa

            schema = pa.schema([(column, pa.string()) for column in parts.columns])
            _sort(duckdb, _Rows(found, schema, options.file), parts, target, name)
        journal.info("Sorted %s rows of %s (%s)", f"{found.rows:,}", name, watch)
        yield _renamed(plan([str(target)], PARQUET), name, found.files)
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


def _typed(files: Sequence[LogFile], parts: Parts, options: ReadOptions) -> Any:
    """The columns of the sorted log, as an Arrow schema: as they are in Parquet; of other files
    amounts as numbers and all else as text."""
    import pyarrow as pa

    if all(file.kind == PARQUET for file in files):
        inside = head_of(files[0], options.file).schema
        kinds = {name: inside.field(name).type for name in parts.columns if name in inside.names}
    else:
        amounts = [parts.single[part] for part in ("reward", "step") if part in parts.single]
        kinds = dict.fromkeys([*amounts, *options.cut], pa.float64())
    return pa.schema([(name, _simple(kinds.get(name, pa.string()))) for name in parts.columns])


def _simple(kind: Any) -> Any:
    """Without a dictionary, which every batch would have of its own."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    words = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if words else kind


class _Rows:
    """All rows of a log as one stream for DuckDB, which tells hardly anything of an error in it:
    so it is kept here."""

    def __init__(self, files: FilePlan, schema: Any, options: FileOptions) -> None:
        self.schema = schema
        self._files, self._options = files, options
        self.error: BaseException | None = None

    def reader(self) -> Any:
        """Columns have numbers there: to DuckDB, names that differ in case only are the same."""
        import pyarrow as pa

        numbered = [(f"c{i}", field.type) for i, field in enumerate(self.schema)]
        whole = pa.schema([*numbered, (ROW, pa.int64())])
        return pa.RecordBatchReader.from_batches(whole, self._batches(whole))

    def _batches(self, whole: Any) -> Iterator[Any]:
        import pyarrow as pa

        at = 0
        try:
            for batch in self._read():
                columns = [_cast(batch.column(f.name), f) for f in self.schema]
                rows = pa.array(np.arange(at, at + batch.num_rows))
                yield pa.RecordBatch.from_arrays([*columns, rows], schema=whole)
                at += batch.num_rows
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise

    def _read(self) -> Iterator[Any]:
        import pyarrow as pa

        text = [field.name for field in self.schema if pa.types.is_string(field.type)]
        for file in self._files.files:
            source = open_file(file, self._options)
            if source.separator == "semicolons" and len(text) < len(self.schema):
                raise NotPlain(*self.schema.names)  # they come with decimal commas
            yield from source.batches(self.schema.names, text)


def _cast(column: Any, field: Any) -> Any:
    import pyarrow as pa

    try:
        return decoded(column).cast(field.type)
    except pa.ArrowException as error:
        raise NotPlain(field.name) from error


def _sort(duckdb: Any, rows: _Rows, parts: Parts, target: Path, name: str) -> None:
    import pyarrow as pa

    names = rows.schema.names
    clock = parts.single.get("step") or parts.single.get("time")
    if clock is not None and pa.types.is_string(rows.schema.field(clock).type):
        clock = None  # in words: who reads an episode puts it in order
    keys = [key for key in (parts.single.get("episode"), clock) if key is not None]
    order = ", ".join([*(f"c{names.index(key)}" for key in keys), ROW])
    columns = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(names))
    settings = {
        "memory_limit": MEMORY,
        "temp_directory": str(target.parent / "spilled"),
        "threads": min(cores(), MOST_THREADS),
        "preserve_insertion_order": True,
    }
    try:
        place = _quoted(target, "'")
        with duckdb.connect(":memory:", config=settings) as database:
            database.register("log", rows.reader())
            database.execute(
                f"COPY (SELECT {columns} FROM log ORDER BY {order}) TO {place} "
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


def _quoted(name: object, mark: str = '"') -> str:
    """A name in SQL."""
    return mark + str(name).replace(mark, 2 * mark) + mark
