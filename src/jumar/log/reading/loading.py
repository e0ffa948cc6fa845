"""From batches to columns of numbers, one entry per row of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, hashed
from jumar.core.errors import LogError, ParameterError
from jumar.core.reading import file_of, place_words, row_words
from jumar.core.text import printable
from jumar.log.files import NUMBERED, SeveralFiles
from jumar.log.formats import Source, no_rows
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Amounts, read_amounts
from jumar.log.reading.clocks import Clock, read_clock
from jumar.log.reading.columns import Cells, Coded, as_names, decoded, read_flags, so_in_all
from jumar.log.reading.options import COMBINED, NEEDED, OPTIONAL, ReadOptions
from jumar.log.reading.parts import Parts, those_that_came

AMOUNTS = ("reward", "propensity")  # parts that are numbers
CLOCKS = ("step", "time")
SINGLE: Any = [part for part in (*NEEDED, *OPTIONAL) if part not in COMBINED]


@dataclass(frozen=True)
class LogRows:
    """The rows of a log. N of them; columns that the log does not have are None."""

    source: Source
    parts: Parts
    guessed: tuple[str, ...]  # what was recognised and not said
    row: Array  # (N,) where each stands in the file (`jumar.core.reading`)
    episode: Coded | None
    step: Clock | None
    time: Clock | None
    observation: tuple[Coded, ...]  # one per column that makes up the observation
    action: tuple[Coded, ...]
    reward: Amounts | None
    terminated: Bools | None  # (N,)
    node: Coded | None
    propensity: Amounts | None
    cluster: Coded | None
    behavior: Coded | None
    priced: Mapping[str, Amounts]  # by column
    signals: Mapping[str, Amounts]  # by name

    def __len__(self) -> int:
        return len(self.row)

    @property
    def clock(self) -> Clock | None:
        """What the rows of an episode are sorted by."""
        return self.step or self.time

    @property
    def columns(self) -> tuple[Any, ...]:
        """All that the rows say."""
        return tuple(getattr(self, field.name) for field in fields(self)[4:])

    def take(self, index: Array) -> LogRows:
        """Some rows, or all in another order."""
        columns = (_take(column, index) for column in (self.row, *self.columns))
        return LogRows(self.source, self.parts, self.guessed, *columns)

    def row_words(self, i: int) -> str:
        """Where a row stands in the file; or in which of several."""
        return row_words(self.row[i], self.source.files)

    def place(self, i: int) -> str:
        """The same, with the file."""
        return place_words(self.source.name, self.row[i], self.source.files)

    def file(self, i: int) -> str:
        """The file of a row, where the log is several."""
        return file_of(self.row[i], self.source.files)

    def cell(self, i: int, column: str) -> str:
        """Names one entry of a column."""
        return f"{self.place(i)}, column {printable(column)!r}"

    def so_in_all(self, which: Array) -> str:
        """How many rows lack something, the first of which is named already."""
        return so_in_all(self.row[which], self.source.files)


def _take(column: Any, index: Array) -> Any:
    if column is None:
        return None
    if isinstance(column, tuple):
        return tuple(_take(each, index) for each in column)
    if isinstance(column, Mapping):
        return {name: _take(each, index) for name, each in column.items()}
    return column[index] if hasattr(column, "dtype") else column.take(index)


def load(
    source: Source,
    parts: Parts,
    options: ReadOptions,
    batches: Iterable[Any] | None = None,
    before: int = 0,
) -> LogRows:
    """Read a log, or some batches of it that come after so many rows."""
    import pyarrow as pa

    if options.decimal == "," and source.has_points:
        raise ParameterError(
            f"decimal: numbers of {source.name} have a decimal point. Leave it out (--decimal)."
        )
    columns = _Columns(source, parts, options)
    n = columns.add(source.batches(parts.columns, columns.names) if batches is None else batches)
    if n == 0:
        raise no_rows(source.name)
    came = those_that_came(source, parts, options)
    columns.rows = source.rows(before + n)[before:]
    problems = Problems()
    amounts = {
        name: read_amounts(columns.column(name), options.decimal, problems)
        for name in columns.numbers
    }
    single = {part: columns.single(part, amounts, problems) for part in came.single}
    if "episode" not in single:
        if options.gap is None:  # every row is one
            single["episode"] = columns.each_row()
        elif options.each_file:  # told apart by gaps alone
            single["episode"] = columns.files()
    rows = LogRows(
        source=source,
        parts=came,
        guessed=source.guessed,
        row=columns.rows,
        observation=tuple(columns.symbol(name, amounts) for name in parts.observation),
        action=tuple(columns.symbol(name, amounts) for name in parts.action),
        priced={name: amounts[name] for name in parts.priced},
        signals={name: amounts[column] for name, column in parts.signals.items()},
        **{part: single.get(part) for part in SINGLE},
    )
    pa.default_memory_pool().release_unused()  # Arrow keeps what the batches took for the next ones
    problems.check()
    return rows


class _Columns:
    """The columns of a log as they come: names as small numbers, all else as it is."""

    rows: Array

    def __init__(self, source: Source, parts: Parts, options: ReadOptions) -> None:
        self._source, self._parts, self._options = source, parts, options
        symbols = [*parts.observation, *parts.action]
        single = parts.single
        self.names = {
            *(name for part, name in single.items() if part not in (*AMOUNTS, *CLOCKS)),
            *(name for name in symbols if name not in options.cut),
        }
        amounts = [single[part] for part in AMOUNTS if part in single]
        cut = [name for name in symbols if name in options.cut]
        # columns of numbers, but for steps and times
        self.numbers = dict.fromkeys([*amounts, *cut, *parts.priced, *parts.signals.values()])
        clocks = [single[part] for part in CLOCKS if part in single]
        self._coded: dict[str, list[Any]] = {name: [] for name in self.names}
        self._kept: dict[str, list[Any]] = {name: [] for name in (*self.numbers, *clocks)}
        self._pointed: dict[str, tuple[bool, str]] = {}  # of names: are they numbers with a point?

    def add(self, batches: Iterable[Any]) -> int:
        """Take in all batches; returns how many rows they have."""
        import pyarrow as pa

        n = 0
        for batch in batches:
            n += batch.num_rows
            for name, chunks in self._coded.items():
                column = decoded(batch.column(name))
                if self._source.files and batch.num_rows:
                    self._check_kind(name, bool(pa.types.is_floating(column.type)))
                chunks.append(as_names(column, self._source.name, name))
            for name, chunks in self._kept.items():
                chunks.append(decoded(batch.column(name)))
        return n

    def _check_kind(self, name: str, pointed: bool) -> None:
        """10000000000 in one file and 1e+10 in another would be two names."""
        here = self._source.files[-1].name
        first, there = self._pointed.setdefault(name, (pointed, here))
        if pointed != first:
            words = {True: "numbers with a point", False: "whole numbers or text"}
            raise LogError(
                f"{here}: the column {printable(name)!r} is given by {words[pointed]}, but by "
                f"{words[first]} in {there}. Write all files alike."
            )

    def column(self, name: str, coded: bool = False) -> Cells:
        chunks = self._coded[name] if coded else self._kept[name]
        return Cells(name, chunks, self._source, self.rows)

    def single(self, part: str, amounts: Mapping[str, Amounts], problems: Problems) -> Any:
        """What a part of one column says."""
        name = self._parts.single[part]
        if part in AMOUNTS:
            return amounts[name]
        if part in CLOCKS:
            asked = self._options
            return read_clock(self.column(name), part, asked.dates, asked.decimal, problems)
        column = self.column(name, coded=True)
        if part == "terminated":
            return read_flags(column, problems)
        if part == "episode":
            remedy = "Write in every row which episode it belongs to."
            holes = np.flatnonzero(column.coded.code < 0)
            column.refuse_holes(part, holes, remedy, problems)
            if self._options.each_file and not len(holes):
                return self._by_file(column.coded)
        return column.coded

    def files(self) -> Coded:
        """The labels of the files, for rows whose episodes have none."""
        assert isinstance(self._source, SeveralFiles)
        return Coded(self._source.labels, self._file.astype(np.int32))

    def each_row(self) -> Coded:
        """The number of every row, as a label."""
        code = np.arange(len(self.rows), dtype=np.int32)
        return Coded([str(row) for row in self.rows.tolist()], code)

    @property
    def _file(self) -> Array:
        """(N,) the file of each row."""
        before = [file.before for file in self._source.files]
        return np.searchsorted(before, self.rows, side="left") - 1

    def _by_file(self, labels: Coded) -> Coded:
        """The labels with those of their files before them, numbered as they come."""
        files, size = self.files(), len(labels.names)
        keys, code = hashed(files.code.astype(np.int64) * size + labels.code)
        names = [
            f"{files.names[key // size]}{NUMBERED}{labels.names[key % size]}"
            for key in keys.tolist()
        ]
        return Coded(names, code.astype(np.int32))

    def symbol(self, name: str, amounts: Mapping[str, Amounts]) -> Coded:
        """A column of observations or actions."""
        bins = self._options.cut.get(name)
        if bins is None:
            return self.column(name, coded=True).coded
        return Coded(bins.names, bins.find(amounts[name].values))
