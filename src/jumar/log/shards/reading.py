"""The rows of a shard, read plainly where that is possible, else the general way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from jumar.core.errors import JumarError, LogError
from jumar.core.reading import row_words
from jumar.core.text import printable
from jumar.log.reading.columns import is_text
from jumar.log.reading.symbols import OF_EPISODES, two_names
from jumar.log.shards.batches import (
    NotPlain,
    OpenParquet,
    last_label,
    read_together,
    typed_batches,
)
from jumar.log.shards.general import first_row, general_rows
from jumar.log.shards.plan import FilePlan, Unit
from jumar.log.shards.rows import (
    AS_MARKED,
    Portion,
    RowBatch,
    RowMaker,
    ShardReading,
    differs,
)


class ReadGenerally(JumarError):
    """Some rows of a log are not plain. Then all of it is read the general way: a worker that reads
    plainly leaves to its neighbour what begins there, and a file is read generally as a whole."""


def rows_of(
    plan: FilePlan, first: int, last: int, reading: ShardReading
) -> tuple[Iterator[Portion], int]:
    """The rows of a shard, and what the end of an episode means there."""
    if reading.is_plain:
        return _plainly(plain_rows(plan, first, last, reading)), reading.ends
    return general_rows(plan, first, last, reading), AS_MARKED


def _plainly(portions: Iterator[Portion]) -> Iterator[Portion]:
    try:
        yield from portions
    except NotPlain as found:
        raise ReadGenerally(f"Not plain: {', '.join(found.columns)}") from None


def plain_rows(plan: FilePlan, first: int, last: int, reading: ShardReading) -> Iterator[Portion]:
    """The rows of the episodes that begin in units `first` up to `last`; NotPlain where they cannot
    be read this way."""
    options, single = reading.options, reading.parts.single
    label, cluster = single["episode"], single.get("cluster")
    make = RowMaker(reading)
    constant = [OneName(part, single[part], label) for part in OF_EPISODES if part in single]
    opened, file = OpenParquet(), None
    # an episode of another shard may go on here, and one of ours in the next
    skipping = first > 0 and _may_go_on(plan, first, reading)
    if skipping:
        make.begin_after(last_label(plan.units[first - 1], label, options.file))
    ours = [(first + i, unit) for i, unit in read_together(plan.units[first:last])]
    for i, unit in chain(ours, enumerate(plan.units[last:], last)):
        at, beyond = 0, i >= last
        if beyond and not _may_go_on(plan, i, reading):
            return
        if options.each_file and file not in (None, unit.file):
            make.begin_after(None)
            for watch in constant:
                watch.forget()
        file = unit.file
        for batch in _batches(unit, reading, beyond, opened):
            rows = make(batch)
            for watch in constant:
                watch.check(batch, rows, unit.file.name, first_row(unit) + at)
            begins = np.flatnonzero(rows.begins) if skipping or beyond else np.zeros(0, np.int64)
            next_begin = int(begins[0]) if len(begins) else len(rows)
            begin = next_begin if skipping else 0
            end = next_begin if beyond else len(rows)
            skipping = skipping and len(begins) == 0
            if begin < end:
                chosen = batch.slice(begin, end - begin)
                clusters = chosen.column(cluster) if cluster else None
                piece, labels = rows.piece(begin, end), chosen.column(label)
                portion = Portion(piece, labels, clusters, unit, i, chosen, at + begin)
                del chosen, piece, clusters, labels
                yield portion
                del portion
            over = beyond and end < len(rows)
            at += len(rows)
            del batch, rows  # or they are held while the next ones are decoded
            if over:
                return
        if skipping and i + 1 >= last:
            return  # no episode begins in this shard


def _may_go_on(plan: FilePlan, i: int, reading: ShardReading) -> bool:
    """May an episode of the unit before go on in unit i?"""
    return not reading.options.each_file or plan.units[i - 1].file == plan.units[i].file


def _batches(unit: Unit, reading: ShardReading, few: bool, opened: OpenParquet) -> Iterator[Any]:
    parts, cut = reading.parts, reading.options.cut
    words = [name for name in (*parts.observation, *parts.action) if name not in cut]
    amounts = [parts.single[part] for part in ("reward", "step") if part in parts.single]
    return typed_batches(
        unit, parts.columns, words, [*amounts, *cut], reading.options.file, few, opened
    )


def typical_length(plan: FilePlan, reading: ShardReading) -> float:
    """How many rows an episode has, more or less: by the first rows of the log."""
    try:
        portion = next(plain_rows(plan, 0, 1, reading), None) if reading.is_plain else None
    except NotPlain:
        portion = None
    if portion is None:
        portion = next(general_rows(plan, 0, 1, reading), None)
    if portion is None:
        return 1.0
    return len(portion.rows) / max(1, int(portion.rows.begins.sum()))


class OneName:
    """Is what a log tells of whole episodes, such as their cluster, the same in all rows of each?
    Episodes may go on from batch to batch and from file to file: what the last one is called, and
    where it began, is remembered."""

    def __init__(self, part: str, column: str, label: str) -> None:
        self._part, self._column, self._label = part, column, label
        self._name: str | None = None  # of the episode that is going on; None: not known
        self._begin: tuple[str, int] = ("", 0)  # file and row of its first row that we know

    def forget(self) -> None:
        """What comes next is no part of what came before."""
        self._name = None

    def check(self, batch: Any, rows: RowBatch, file: str, first: int) -> None:
        """More rows; `first` is the row of the file that the first one is. NotPlain where a cell is
        empty: another row of the episode may have the name."""
        column = _names(batch.column(self._column), self._column)
        began = np.flatnonzero(rows.begins)
        if self._name is None or rows.begins[0]:
            self._begin = file, first
        elif _word(column[0]) != self._name:
            raise self._refusal(batch, 0, self._name, self._begin, file, first)
        for row in (np.flatnonzero(differs(column) & ~rows.begins[1:]) + 1).tolist():
            name = _word(column[row - 1])
            if _word(column[row]) != name:  # a dictionary may list a word twice
                k = int(np.searchsorted(began, row))
                begin = (file, first + int(began[k - 1])) if k else self._begin
                raise self._refusal(batch, row, name, begin, file, first)
        if len(began):
            self._begin = file, first + int(began[-1])
        self._name = _word(column[len(column) - 1])

    def _refusal(
        self, batch: Any, row: int, name: str, begin: tuple[str, int], file: str, first: int
    ) -> LogError:
        label, other = (_word(batch.column(c)[row]) for c in (self._label, self._column))
        place = f"{file}, {row_words(first + row)} (episode {printable(label)})"
        before = row_words(begin[1]) + ("" if begin[0] == file else f" of {begin[0]},")
        return LogError(" ".join(two_names(place, self._part, (other, name), before)))


def _names(column: Any, name: str) -> Any:
    """A column of names or whole numbers, none of which is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count or not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise NotPlain(name)
    words = column.dictionary if pa.types.is_dictionary(column.type) else column
    if words.null_count or (is_text(words.type) and pc.min(pc.binary_length(words)).as_py() == 0):
        raise NotPlain(name)
    return column


def _word(cell: Any) -> str:
    return str(cell.as_py())
