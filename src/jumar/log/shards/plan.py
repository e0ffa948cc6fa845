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

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.errors import CountsError, LogError, ParameterError
from jumar.core.text import counted, printable
from jumar.engines import cores
from jumar.log.files import LogFile, check_columns, dataset_files, files_of, open_file
from jumar.log.formats import FileOptions, Source, is_dataset, open_log
from jumar.log.formats.arrow import ArrowFile
from jumar.log.formats.source import naming, no_rows
from jumar.log.reading.options import OPTIONAL, LogSource, ReadOptions
from jumar.log.reading.parts import Parts, find_parts

PARQUET, ARROW = "Parquet", "Arrow"
LOOKED_THROUGH = 1000  # files of text whose columns are compared beforehand
PER_WORKER = 4  # shards: whoever is slow or late holds nobody up for long
BYTES_OF_A_ROW = 40  # of text, more or less


@dataclass(frozen=True)
class Unit:
    """What is read at once: a row group, or a whole file."""

    file: LogFile
    group: int | None  # None: the whole file
    first: int  # rows of the file before it
    rows: int  # in it, more or less where nothing tells
    last: int | None = None  # row group up to which it is read, where they are several

    @property
    def groups(self) -> list[int] | None:
        """The row groups that are read; None: all."""
        if self.group is None:
            return None
        return [*range(self.group, (self.group if self.last is None else self.last) + 1)]


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
        ends = [0, *accumulate(unit.rows for unit in self.units)]
        first, last = (bisect_left(ends, -(-ends[-1] * k // n)) for k in (i - 1, i))
        return first, last


def plan(sources: Sequence[LogSource], kind: str | None = None) -> FilePlan:
    """The units of a log that lies in these files, folders, patterns or data sets."""
    files: list[LogFile] = []
    for source in sources:
        files += dataset_files(source) if is_dataset(source) else files_of(str(source), kind)
    twice = [file.name for file, times in Counter(files).items() if times > 1]
    if twice:
        raise LogError(f"{min(twice)}: is given twice. Each file is counted once; name it once.")
    units = [unit for file in files for unit in _units(file)]
    if not units:
        raise no_rows(files[0].name)
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
    first = 0
    for i, rows in enumerate(head_of(file, FileOptions()).groups):
        if rows:
            yield Unit(file, i, first, rows)
        first += rows


def described(plan: FilePlan) -> str:
    """For a sentence: how much there is to read."""
    files = counted(len(plan.files), "file")
    return f"{plan.rows:,} rows in {files}"


# ---- columns -------------------------------------------------------------------------------------


class Head(NamedTuple):
    """What a file tells before its rows are read."""

    names: tuple[str, ...]  # of its columns
    schema: Any = None  # of Arrow, where columns have types
    groups: tuple[int, ...] = ()  # rows of every row group of Parquet


def head_of(file: LogFile, options: FileOptions) -> Head:
    """The head of a file; it is looked at once, if one would see that the file has changed."""
    if file.kind == PARQUET:
        options = FileOptions()
    return _kept_head(file, options) if file.stays else _kept_head.__wrapped__(file, options)


@lru_cache(maxsize=1 << 14)
def _kept_head(file: LogFile, options: FileOptions) -> Head:
    from pyarrow import parquet

    if file.kind == PARQUET:
        with naming(file.name, file.kind), file.open() as handle:
            opened = parquet.ParquetFile(handle)
            metadata, schema = opened.metadata, opened.schema_arrow
        groups = range(metadata.num_row_groups)
        rows = tuple(metadata.row_group(i).num_rows for i in groups)
        return Head(tuple(schema.names), schema, rows)
    if file.kind == ARROW:
        source = open_log(file.place, ARROW)
        assert isinstance(source, ArrowFile)
        return Head(tuple(source.names), source.schema)
    return Head(tuple(open_file(file, options).names))


class HeaderOnly(Source):
    """A file of which only the columns are looked at: it has no rows."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        self.name, self.names = name, list(names)

    def batches(self, columns: Sequence[str], text: Any) -> Iterator[Any]:
        return iter(())


def parts_of(file: LogFile, options: ReadOptions) -> Parts:
    """Which column of a log is what, by its first file. Counts are of one reward: signals beside it
    are not read."""
    names = _names(file, options.file)
    return replace(find_parts(HeaderOnly(file.name, names), options), signals={})


def _names(file: LogFile, options: FileOptions) -> list[str]:
    inside = head_of(file, options).names
    return [*inside, *(key for key, _ in file.partition if key not in inside)]


def check_alike(files: Sequence[LogFile], parts: Parts, options: ReadOptions) -> None:
    """The first file decides which columns are read. None may say more of a step, such as whether
    it was the last; and columns of one name must have one type in files of a kind that has
    types."""
    first: list[str] = []
    typed: dict[str, tuple[str, Mapping[str, str]]] = {}  # by kind: a file, and its types
    for i, file in enumerate(files):
        if i >= LOOKED_THROUGH and file.kind not in (PARQUET, ARROW):
            continue
        try:
            names, schema = _names(file, options.file), head_of(file, options.file).schema
        except LogError:
            continue  # what is wrong with a file is told when it is read
        first = first or names
        for name in names:
            if name in OPTIONAL and name not in first and name not in options.parts:
                raise LogError(
                    f"{file.name}: has a column {name!r}, which {files[0].name} has not. Leave the "
                    "file out, or give all files the same columns."
                )
        if schema is not None:
            check_columns(file.name, names, parts.columns)
            types = _types(schema, parts)
            _check_types(file.name, types, *typed.setdefault(file.kind, (file.name, types)))


def _types(schema: Any, parts: Parts) -> dict[str, str]:
    """The types of the columns that are read, in words; all text is one type."""
    import pyarrow as pa

    found = {}
    for name in parts.columns:
        if name in schema.names:
            kind = schema.field(name).type
            words = pa.types.is_dictionary(kind) or pa.types.is_large_string(kind)
            found[name] = "string" if words else str(kind)
    return found


def _check_types(
    file: str, types: Mapping[str, str], first: str, others: Mapping[str, str]
) -> None:
    for name, kind in types.items():
        other = others.get(name, kind)
        if kind != other and "null" not in (kind, other):
            raise LogError(
                f"{file}, column {printable(name)!r}: is of type {kind}, but in {first} it is of "
                f"type {other}. Write all files alike."
            )


# ---- what was counted ---------------------------------------------------------------------------


class FilePart(NamedTuple):
    """A part of a file that was counted."""

    file: str
    first: int  # row group; 0 for a file without any
    last: int  # not included
    labels: tuple[Any, Any] | None = None  # the first and the last of episodes that begin there
    rising: bool = True  # and do all between them rise?


@dataclass(frozen=True)
class CountedFiles:
    """Which parts of which files were counted; none may be counted twice."""

    parts: tuple[FilePart, ...] = ()

    def __add__(self, other: CountedFiles) -> CountedFiles:
        """
        >>> one = CountedFiles((FilePart("log.parquet", 0, 3, (1, 7)),))
        >>> (one + CountedFiles((FilePart("log.parquet", 3, 5, (8, 9)),))).parts[0][:4]
        ('log.parquet', 0, 5, (1, 9))
        >>> one + CountedFiles((FilePart("log.parquet", 2, 5),))
        Traceback (most recent call last):
        jumar.core.errors.CountsError: log.parquet: a part of it is counted twice. ...
        """
        joined: list[FilePart] = []
        for part in sorted((*self.parts, *other.parts), key=lambda part: part[:3]):
            before = joined[-1] if joined and joined[-1].file == part.file else None
            if before is None or before.last < part.first:
                joined.append(part)
                continue
            if before.last > part.first:
                raise CountsError(
                    f"{printable(part.file)}: a part of it is counted twice. Add each file of "
                    "counts once, and count every shard once."
                )
            joined[-1] = _one_part(before, part)
        return CountedFiles(tuple(joined))

    def to_dict(self) -> list[Any]:
        """In plain JSON types."""
        return [list(part) for part in self.parts]


def _one_part(one: FilePart, two: FilePart) -> FilePart:
    """Two parts of a file of which the second follows the first."""
    rising = one.rising and two.rising
    labels = one.labels or two.labels
    if one.labels and two.labels:
        if type(one.labels[1]) is not type(two.labels[0]):
            raise CountsError(
                f"{printable(one.file)}: labels of episodes are numbers in one part of it and text "
                "in another. Count the whole file again."
            )
        labels = one.labels[0], two.labels[1]
        rising = rising and one.labels[1] < two.labels[0]
    return FilePart(one.file, one.first, two.last, labels, rising)
