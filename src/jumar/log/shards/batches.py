"""The rows of a unit as Arrow batches, with types that need the least work.

Names come with their dictionary, amounts as numbers. A text file whose amounts are not plain
numbers raises `NotPlain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.log.files import LogFile
from jumar.log.formats import FileOptions, open_log
from jumar.log.formats.arrow import ArrowFile, check_rows
from jumar.log.formats.delimited import DelimitedFile
from jumar.log.formats.source import naming
from jumar.log.reading.asking import OPTIONAL, Asked
from jumar.log.reading.encoding import NotPlain
from jumar.log.reading.parts import Parts
from jumar.log.several import check_columns, open_file, open_untold, with_told
from jumar.log.shards.footers import Ends, ends_of
from jumar.log.shards.plan import PARQUET, Unit

BATCH_ROWS = 1 << 17  # larger ones gain nothing; a few megabytes
WHOLE_ROWS = 1 << 20  # of a row group that is decoded at once, which is a tenth faster
FEW_ROWS = 1 << 12  # in which an episode that has begun is likely to end
LOOKED_THROUGH = 1000  # files whose columns are compared beforehand
ARROW = "Arrow"
TYPED = (PARQUET, ARROW, "CSV", "TSV")


def columns_of(file: LogFile, options: FileOptions) -> list[str]:
    """The names of the columns of a file, with those that its folders tell."""
    inside = schema_of(file).names if file.kind == PARQUET else open_file(file, options).names
    return [*inside, *(key for key, _ in file.partition if key not in inside)]


def schema_of(file: LogFile) -> Any:
    """The columns of a Parquet or Arrow file and their types."""
    from pyarrow import parquet

    if file.kind == ARROW:
        source = open_log(file.place, ARROW)
        assert isinstance(source, ArrowFile)
        return source.schema
    with naming(file.name, file.kind), file.open() as handle:
        return parquet.ParquetFile(handle).schema_arrow


def check_alike(files: Sequence[LogFile], parts: Parts) -> None:
    """Columns of one name must have one type in all files of a kind that has types."""
    import pyarrow as pa

    firsts: dict[str, tuple[str, dict[str, str]]] = {}
    for file in files:
        if file.kind not in (PARQUET, ARROW):
            continue
        schema = schema_of(file)
        types = {}
        for name in parts.columns:
            if name in schema.names:
                kind = schema.field(name).type
                words = pa.types.is_dictionary(kind) or pa.types.is_large_string(kind)
                types[name] = "string" if words else str(kind)
        told = {name for name, _ in file.partition}
        check_columns(file.name, [*types, *told], parts.columns)
        first = firsts.setdefault(file.kind, (file.name, types))
        for name, kind in types.items():
            empty = file.kind == ARROW and "null" in (kind, first[1].get(name))
            if first[1].get(name, kind) != kind and not empty:
                raise LogError(
                    f"{file.name}, column {printable(name)!r}: is of type {kind}, but in "
                    f"{first[0]} it is of type {first[1][name]}. Write all files alike."
                )


def check_none_has_more(files: Sequence[LogFile], asked: Asked, options: FileOptions) -> None:
    """The first file decides which columns are read. One that says more of a step, such as whether
    it was the last, must not come up later."""
    first: list[str] = []
    for file in files[:LOOKED_THROUGH]:
        names: list[str] = []
        with suppress(LogError):  # what is wrong with a file is told when it is read
            names = columns_of(file, options)
        first = first or names
        for name in names:
            if name in OPTIONAL and name not in first and name not in asked.columns:
                raise LogError(
                    f"{file.name}: has a column {name!r}, which {files[0].name} has not. Leave the "
                    "file out, or give all files the same columns."
                )


def typed_batches(
    unit: Unit,
    columns: Sequence[str],
    words: Sequence[str],
    amounts: Sequence[str],
    options: Any,
    few: bool = False,
    opened: OpenParquet | None = None,
) -> Iterator[Any]:
    """Batches of a unit; `words` are columns of names, `amounts` columns of numbers. `few`: hardly
    more than the first rows will be needed. `opened`: the file that was read before it."""
    file = unit.file
    told = dict(file.partition)
    if file.kind == PARQUET:
        inside = [name for name in columns if name not in told]
        batches = _of_parquet(unit, inside, words, few, opened or OpenParquet())
    elif file.kind in TYPED:
        source = open_untold(file, options)
        inside = [name for name in columns if name not in told]
        check_columns(file.name, source.names, inside)
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


def read_together(units: Sequence[Unit]) -> Iterator[tuple[int, Unit]]:
    """Neighbouring row groups of a file that are small, as one unit each, with the number of the
    last of them: to read each by itself takes longer than its rows do."""
    held: Unit | None = None
    for i, unit in enumerate(units):
        joined = held and _joined(held, unit)
        if held and not joined:
            yield i - 1, held
        held = joined or unit
    if held:
        yield len(units) - 1, held


def _joined(one: Unit, two: Unit) -> Unit | None:
    rows = one.rows + two.rows
    follows = one.groups and two.group == one.groups[-1] + 1 and one.file == two.file
    return replace(one, rows=rows, more=one.more + 1) if follows and rows <= BATCH_ROWS else None


class OpenParquet:
    """The Parquet file that is being read: it may have many row groups, which are read one by
    one."""

    def __init__(self) -> None:
        self._last: tuple[LogFile, list[str]] | None = None
        self._file: Any = None

    def of(self, file: LogFile, text: list[str]) -> Any:
        """A file whose columns of `text` come with a dictionary."""
        from pyarrow import parquet

        if self._last != (file, text):
            known = _kept_metadata(file) if file.stays else None
            self._file = parquet.ParquetFile(
                file.open(), metadata=known, read_dictionary=text, buffer_size=1 << 20
            )
            self._last = file, text
        return self._file


def _of_parquet(
    unit: Unit, columns: Sequence[str], words: Sequence[str], few: bool, opened: OpenParquet
) -> Iterator[Any]:
    with naming(unit.file.name, PARQUET):
        text = [name for name in words if name in columns]
        try:
            file = opened.of(unit.file, text)
        except KeyError as error:  # lists, say: the general way tells what is wrong
            raise NotPlain(*text) from error
        groups = unit.groups
        if few or groups is None or unit.rows > WHOLE_ROWS:
            size, seen = min(BATCH_ROWS, FEW_ROWS) if few else BATCH_ROWS, 0
            for batch in file.iter_batches(
                size, row_groups=groups, columns=list(columns), use_threads=False
            ):
                batch.validate(full=True)  # a damaged file may hold codes without a name
                seen += batch.num_rows
                yield batch
            check_rows(file, groups, seen)
            return
        table = file.read_row_groups(groups, columns=list(columns), use_threads=False)
        table.validate(full=True)
        if unit.more:  # each row group has dictionaries of its own
            table = table.unify_dictionaries().combine_chunks()
        check_rows(file, groups, table.num_rows)
        yield from table.to_batches(max_chunksize=2 * BATCH_ROWS)


@lru_cache(maxsize=16)
def _kept_metadata(file: LogFile) -> Any:
    # A file of many row groups is opened once for each, and its end names them all.
    from pyarrow import parquet

    with file.open() as handle:
        return parquet.read_metadata(handle)


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


def first_label(unit: Unit, column: str, options: FileOptions) -> str | None:
    """The label of the first row of a unit, as text; None if it has no rows or no label."""
    for batch in typed_batches(unit, [column], [], [], options):
        label = batch.column(column)[0].as_py()
        return None if label is None else str(label)
    return None


def share_no_label(one: Unit, other: Unit, column: str) -> bool:
    """Does the end of a Parquet file tell, without a look at the rows, that no label is in both?"""
    first, second = (_least_and_most(unit, column) for unit in (one, other))
    if first is None or second is None:
        return False
    return first[1] < second[0] or second[1] < first[0]


def _least_and_most(unit: Unit, column: str) -> Ends | None:
    """The ends of a column of whole numbers, where they are known."""
    file, group = unit.file, unit.group
    if column in dict(file.partition) or not file.stays or group is None:
        return None  # the folder tells what the column is, or the file may have changed
    with naming(file.name, PARQUET):
        every = ends_of(file)
    return every[group].get(column) if group < len(every) else None
