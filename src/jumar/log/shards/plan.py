"""Which files, and which parts of them, make up a log.

A log may be one file, several, a folder, or a pattern (``logs/2024-*.parquet``), on this machine or
in an object store (``s3://bucket/logs``), or a ``pyarrow.dataset``. Files are read in the order of
their names. What is read at once is a *unit*: a row group of a Parquet file, or a whole file of
another format. Units in a row make a *shard*, the work of one worker.

An episode may go on from one unit to the next, and from one file to the next. It belongs to the
shard in which it begins: the worker of that shard reads on until it is over, and the worker of the
next one passes over its rows. So shards can be counted apart, by anybody, and add up.

Folders that are called ``key=value`` (hive partitions) are columns of that name.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from jumar.core.errors import LogError, ParameterError
from jumar.core.text import counted
from jumar.engines import cores
from jumar.log.files import LogFile, files_of
from jumar.log.formats import FileOptions, is_dataset
from jumar.log.formats.source import naming
from jumar.log.shards.datasets import dataset_files

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

PARQUET = "Parquet"
PER_WORKER = 4  # shards: whoever is slow or late holds nobody up for long
BYTES_OF_A_ROW = 40  # of text, more or less

LogSource: TypeAlias = "str | os.PathLike[str] | Dataset"


@dataclass(frozen=True)
class Unit:
    """What is read at once: a row group, or a whole file."""

    file: LogFile
    group: int | None  # None: the whole file
    first: int  # rows of the file before it
    rows: int  # in it, more or less where nothing tells
    more: int = 0  # row groups after it that are read with it

    @property
    def groups(self) -> list[int] | None:
        """The row groups that are read; None: all."""
        return None if self.group is None else [*range(self.group, self.group + 1 + self.more)]


@dataclass(frozen=True)
class FilePlan:
    """All units of a log, in order."""

    units: tuple[Unit, ...]
    files: tuple[LogFile, ...] = field(default=())
    sources: tuple[LogFile, ...] = ()  # what was sorted to make it

    @property
    def rows(self) -> int:
        """How many there are, more or less."""
        return sum(unit.rows for unit in self.units)

    def shards(
        self,
        most_rows: int,
        workers: int | None = None,
        share: tuple[int, int] = (1, 1),
        finished: Collection[tuple[int, int]] = (),
    ) -> list[tuple[int, int]]:
        """First and last unit (not included) of neighbouring pieces with hardly more rows than
        that; several for every worker. With share (i, n) only those of the i-th of n parts of the
        log. Shards that are finished stay as they are."""
        first, last = self._share(*share)
        units = self.units[first:last]
        rows = sum(unit.rows for unit in units)
        hands = workers or cores()
        pieces = max(PER_WORKER * hands, -(-rows // (most_rows * hands)) * hands)  # alike for all
        wanted = max(1, -(-rows // pieces))
        kept = {a: b for a, b in finished if first <= a and b <= last}
        found, begin, size = [], first, 0
        for i, unit in enumerate(units, first):
            if i in kept and i >= begin:  # kept ones may overlap, if --shard was another
                found += [(begin, i)] if begin < i else []
                found.append((i, kept[i]))
                begin, size = kept[i], 0
            if i < begin:
                continue
            size += unit.rows
            if size >= wanted:
                found.append((begin, i + 1))
                begin, size = i + 1, max(0, size - wanted)  # what is too much here, the next lacks
        if begin < last:
            found.append((begin, last))
        return found

    def _share(self, i: int, n: int) -> tuple[int, int]:
        """The units of the i-th of n parts: neighbours, and about as many rows in each."""
        if not 1 <= i <= n:
            raise ParameterError(f"shard: {i}/{n}: expected 1/{n} to {n}/{n}.")
        ends, rows = [0], 0
        for unit in self.units:
            rows += unit.rows
            ends.append(rows)
        first, last = (bisect_left(ends, -(-rows * k // n)) for k in (i - 1, i))
        return first, last


def plan(
    sources: Sequence[LogSource], kind: str | None = None, options: FileOptions | None = None
) -> FilePlan:
    """The units of a log that lies in these files, folders, patterns or data sets."""
    files: list[LogFile] = []
    for source in sources:
        if is_dataset(source):
            files += dataset_files(source, options or FileOptions())
        else:
            files += files_of(str(source), kind)
    twice = [file.name for file, times in Counter(files).items() if times > 1]
    if twice:
        raise LogError(f"{min(twice)}: is given twice. Each file is counted once; name it once.")
    units = [unit for file in files for unit in _units(file)]
    if not units:
        raise LogError(f"{files[0].name}: the log is empty: it has no rows.")
    return FilePlan(tuple(units), tuple(files))


def rows_of_parquet(path: Path) -> int:
    """As its end tells; 0 where it cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, ValueError):
        return 0


def _units(file: LogFile) -> Iterator[Unit]:
    if file.kind != PARQUET:
        yield Unit(file, None, 0, max(1, file.size // BYTES_OF_A_ROW))
        return
    from pyarrow import parquet

    first = 0
    with naming(file.name, file.kind), file.open() as handle:
        metadata = parquet.ParquetFile(handle).metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    for i, rows in enumerate(sizes):
        if rows:
            yield Unit(file, i, first, rows)
        first += rows


def described(plan: FilePlan) -> str:
    """For a sentence: how much there is to read."""
    files = counted(len(plan.files), "file")
    return f"{plan.rows:,} rows in {files}"
