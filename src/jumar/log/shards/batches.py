"""The rows of a unit as Arrow batches, with types that need the least work.

Names come with their dictionary, amounts as numbers. A text file whose amounts are not plain
numbers raises `NotPlain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from jumar.log.files import LogFile, check_columns, open_untold, with_told
from jumar.log.formats import FileOptions
from jumar.log.formats.arrow import check_rows
from jumar.log.formats.delimited import DelimitedFile
from jumar.log.formats.source import naming
from jumar.log.shards.plan import ARROW, PARQUET, Unit

BATCH_ROWS = 1 << 17  # larger ones gain nothing; a few megabytes
WHOLE_ROWS = 1 << 20  # of a row group that is decoded at once, which is a tenth faster
FEW_ROWS = 1 << 12  # in which an episode that has begun is likely to end
TYPED = (PARQUET, ARROW, "CSV", "TSV")


class NotPlain(Exception):
    """Columns that cannot be handed to a compiled loop as they come."""

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns)
        self.columns = columns


def typed_batches(
    unit: Unit,
    columns: Sequence[str],
    words: Sequence[str],
    amounts: Sequence[str],
    options: FileOptions,
    few: bool = False,
    opened: OpenParquet | None = None,
) -> Iterator[Any]:
    """Batches of a unit; `words` are columns of names, `amounts` columns of numbers. `few`: hardly
    more than the first rows will be needed. `opened`: the file that was read before it."""
    file = unit.file
    told = dict(file.partition)
    inside = [name for name in columns if name not in told]
    if file.kind == PARQUET:
        batches = _of_parquet(unit, inside, words, few, opened or OpenParquet())
    elif file.kind in TYPED:
        source = open_untold(file, options)
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


@lru_cache(maxsize=16)
def _kept_metadata(file: LogFile) -> Any:
    # A file of many row groups is opened once for each, and its end names them all.
    from pyarrow import parquet

    with file.open() as handle:
        return parquet.read_metadata(handle)


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
