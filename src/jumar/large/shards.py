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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from jumar.core.errors import LogError, ParameterError
from jumar.core.text import counted, printable
from jumar.engines import cores
from jumar.io.addresses import Address
from jumar.io.formats import (
    FarFile,
    FileOptions,
    folder_format,
    format_of,
    is_dataset,
    located,
    open_log,
)
from jumar.io.formats.source import naming
from jumar.large.datasets import dataset_files
from jumar.large.log_files import LogFile, log_file

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
            files += _files(str(source), kind)
    twice = (
        {file.name for i, file in enumerate(files) if file in files[:i]} if len(files) < 999 else ()
    )
    for name in sorted(twice):
        raise LogError(f"{name}: is given twice. Each file is counted once; name it once.")
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


def _files(source: str, kind: str | None) -> list[LogFile]:
    if source.startswith("file://"):
        source = unquote(source.removeprefix("file://").removeprefix("localhost"))
    if "://" in source:
        return _far_files(source, kind)
    source = str(located(source))
    path = Path(source)
    if path.is_dir():
        whole = folder_format(path)
        if whole is not None:
            raise LogError(
                f"{source}: a log of {whole} is not read in parts. Write it as Parquet first: "
                "jumar convert FOLDER -o log.parquet."
            )
        inside = sorted(p for p in path.rglob("*") if p.is_file() and _is_log(p, path))
        if not inside:
            raise LogError(
                f"{source}: the folder has no log files. Logs end in .parquet, .csv, .tsv, .arrow "
                "or .ndjson; names that begin with a point or an underscore are passed over."
            )
        return [log_file(str(p), p.stat(), kind, p.relative_to(path).parts) for p in inside]
    if any(mark in source for mark in "*?[") and not path.exists():
        import glob

        found = sorted(p for p in glob.glob(source, recursive=True) if Path(p).is_file())
        if not found:
            raise LogError(f"{printable(source)}: no file fits this pattern. Check the path.")
        return [log_file(p, Path(p).stat(), kind, Path(p).parts) for p in found]
    opened = open_log(source, kind)  # says what is wrong with it
    return [log_file(opened.name, path.stat(), kind)]


def _is_log(path: Path, root: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    return not hidden and format_of(path) is not None


# ---- object stores ------------------------------------------------------------------------------


def _far_files(text: str, kind: str | None) -> list[LogFile]:
    from pyarrow import fs

    address = Address.of(text)
    system, path = address.opened()
    info = address.asked(system.get_file_info, path)
    if info.type == fs.FileType.File:
        found = [info]
    elif info.type == fs.FileType.NotFound:
        raise LogError(f"{address.called}: there is no such file or folder.")
    else:
        found = address.asked(system.get_file_info, fs.FileSelector(path, recursive=True))
    files = []
    for entry in sorted(found, key=lambda entry: entry.path):
        inner = entry.path[len(path) :].strip("/")
        hidden = any(part.startswith((".", "_")) for part in inner.split("/"))
        known = kind or format_of(Path(entry.base_name))
        if entry.type == fs.FileType.File and address.fits(entry.path) and not hidden and known:
            far = FarFile(address.name_of(entry.path), system, entry.path, entry.size)
            files.append(replace(log_file(far.name, entry, known, inner.split("/")), far=far))
    if not files:
        raise LogError(f"{address.called}: there are no log files.")
    return files


def described(plan: FilePlan) -> str:
    """For a sentence: how much there is to read."""
    files = counted(len(plan.files), "file")
    return f"{plan.rows:,} rows in {files}"
