"""The rows of a unit as Arrow batches, with types that need the least work.

Names come with their dictionary, amounts as numbers. A text file whose amounts are not plain
numbers raises `NotPlain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from jumar.log.files import LogFile, check_columns, open_untold, with_told
from jumar.log.formats import FileOptions
from jumar.log.formats.arrow import check_rows
from jumar.log.formats.delimited import DelimitedFile
from jumar.log.formats.source import naming
from jumar.log.shards.plan import ARROW, PARQUET, Unit

BATCH_ROWS = 1 << 17  # larger ones gain nothing; a few megabytes
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
) -> Iterator[Any]:
    """Batches of a unit; `words` are columns of names, `amounts` columns of numbers. `few`: hardly
    more than the first rows will be needed."""
    file = unit.file
    told = dict(file.partition)
    inside = [name for name in columns if name not in told]
    if file.kind == PARQUET:
        batches = _of_parquet(unit, inside, words, few)
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


@lru_cache(maxsize=16)
def _kept_metadata(file: LogFile) -> Any:
    # A file of many row groups is opened once for each, and its end names them all.
    from pyarrow import parquet

    with file.open() as handle:
        return parquet.read_metadata(handle)


def _of_parquet(
    unit: Unit, columns: Sequence[str], words: Sequence[str], few: bool
) -> Iterator[Any]:
    from pyarrow import parquet

    with naming(unit.file.name, PARQUET):
        text = [name for name in words if name in columns]
        known = _kept_metadata(unit.file) if unit.file.stays else None
        try:
            file = parquet.ParquetFile(
                unit.file.open(), metadata=known, read_dictionary=text, buffer_size=1 << 20
            )
        except KeyError as error:  # lists, say: the general way tells what is wrong
            raise NotPlain(*text) from error
        groups, seen = unit.groups, 0
        size = min(BATCH_ROWS, FEW_ROWS) if few else BATCH_ROWS
        for batch in file.iter_batches(
            size, row_groups=groups, columns=list(columns), use_threads=False
        ):
            batch.validate(full=True)  # a damaged file may hold codes without a name
            seen += batch.num_rows
            yield batch
        check_rows(file, groups, seen)


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
