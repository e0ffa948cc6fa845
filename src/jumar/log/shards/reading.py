"""How a log is to be read, and the rows of a shard of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.errors import JumarError, LogError
from jumar.core.text import printable
from jumar.log.episodes import Episodes, Labels, Origin, Remarks
from jumar.log.files import LogFile
from jumar.log.formats import FileOptions
from jumar.log.formats.numpy_arrays import to_numpy
from jumar.log.formats.source import Source
from jumar.log.reading.asking import OPTIONAL, Asked
from jumar.log.reading.assembling import columns_of as logged_columns
from jumar.log.reading.assembling import reading_of
from jumar.log.reading.encoding import NotPlain
from jumar.log.reading.labels import OF_EPISODES
from jumar.log.reading.ordering import PIECE
from jumar.log.reading.parts import Parts, find_parts
from jumar.log.several import check_columns, open_file
from jumar.log.shards import general
from jumar.log.shards.batches import (
    OpenParquet,
    columns_of,
    first_label,
    last_label,
    read_together,
    share_no_label,
    typed_batches,
)
from jumar.log.shards.constant import OneName
from jumar.log.shards.plan import FilePlan, Unit
from jumar.log.shards.rows import ALL_CUT, ALL_END, AS_MARKED, RowBatch, RowMaker, check_plain

if TYPE_CHECKING:
    from jumar.log.shards.whole import WholeEpisodes


@dataclass(frozen=True)
class ShardReading:
    """How a log is to be read. It travels to workers."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    asked: Asked
    options: FileOptions
    parts: Parts
    each_file: bool = False  # are labels of episodes numbered anew in every file?
    plainly: bool = True  # or did some row turn out not to be plain?

    @property
    def given(self) -> general.Given:
        return {"observation": self.observations, "action": self.actions}

    def as_log(self, found: WholeEpisodes | None, plan: FilePlan) -> Episodes:
        """Episodes with all that is known of where they come from."""
        if found is None:
            raise LogError(f"{plan.files[0].name}: the log is empty: it has no rows.")
        origin = Origin(
            plan.files[0].name if len(plan.files) == 1 else f"{len(plan.files):,} files",
            np.arange(len(found.reward)),
            [str(e) for e in range(1, len(found) + 1)],
            Remarks(rows=plan.rows, costs=self.asked.cost),
            logged_columns(self.parts),
            self.asked.cost_said,
            reading_of(self.parts, self.asked),
        )
        log = found.as_log(self.observations, self.actions, origin)
        if "cluster" not in self.parts.single:
            return log
        _, number = np.unique(found.code, return_inverse=True)  # of clusters only hashes are kept
        return replace(log, cluster=Labels.of([str(n + 1) for n in number.tolist()]))

    @property
    def ends(self) -> int:
        """What the end of an episode means to a compiled loop."""
        if "terminated" in self.parts.single:
            return AS_MARKED
        return ALL_END if self.asked.ends == "terminated" else ALL_CUT


class Portion(NamedTuple):
    """RowBatch as they come, and the Arrow batch they were made of."""

    rows: RowBatch
    labels: Any  # of every row: an Arrow array
    clusters: Any  # likewise, where there are any
    unit: Unit
    number: int  # of the unit in its plan
    batch: Any
    first: int  # rows of the unit before the batch

    def labels_of(self, rows: Ints) -> Any:
        """The labels of some rows: whole numbers, or text as an Arrow array."""
        import pyarrow as pa

        if pa.types.is_integer(self.labels.type):
            return to_numpy(self.labels)[rows].astype(np.int64)
        labels = self.labels.take(pa.array(rows))
        if pa.types.is_dictionary(labels.type):
            labels = labels.cast(pa.string())
        return labels

    def places(self, rows: Ints) -> Ints:
        """Where rows stand in the log: numbers that rise as one reads on."""
        found: Ints = (self.number << 40) + self.first + rows
        return found


def parts_of(file: LogFile, asked: Asked, options: FileOptions) -> Parts:
    """Which column of a log is what, by its first file. Counts are of one reward: signals beside it
    are not read."""
    found = find_parts(_Header(file.name, columns_of(file, options)), asked)
    return replace(found, signals={})


class _Header(Source):
    """A file of which only the columns are looked at: it has no rows."""

    def __init__(self, name: str, names: list[str]) -> None:
        self.name, self.names = name, names

    def batches(self, columns: Sequence[str], text: Any) -> Iterator[Any]:
        return iter(())


def is_plain(reading: ShardReading) -> bool:
    """Can its rows be handed to a compiled loop as they come, as far as one can tell beforehand?"""
    try:
        check_plain(reading.parts, reading.asked)
    except NotPlain:
        return False
    return reading.plainly


class ReadGenerally(JumarError):
    """Some rows of a log are not plain. Then all of it is read the general way: a worker that reads
    plainly leaves to its neighbour what begins there, and a file is read generally as a whole."""


def rows_of(
    plan: FilePlan, first: int, last: int, reading: ShardReading
) -> tuple[Iterator[Portion], int]:
    """The rows of a shard, and what the end of an episode means there."""
    if is_plain(reading):
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
    parts = reading.parts
    label, cluster = parts.single["episode"], parts.single.get("cluster")
    words = [n for n in (*parts.observation, *parts.action) if n not in reading.asked.bins]
    amounts = [
        *(parts.single[part] for part in ("reward", "step") if part in parts.single),
        *reading.asked.bins,
    ]
    names = reading.observations, reading.actions
    make = RowMaker(parts, reading.asked, *names)
    constant = [
        OneName(part, parts.single[part], label) for part in OF_EPISODES if part in parts.single
    ]
    opened, file = OpenParquet(), None
    skipping = first > 0 and _goes_on(plan, first, reading)
    if skipping:
        make.begin_after(last_label(plan.units[first - 1], label, reading.options))
    ours = [(first + i, unit) for i, unit in read_together(plan.units[first:last])]
    for i, unit in chain(ours, enumerate(plan.units[last:], last)):
        at = 0
        if i == last and not _goes_on(plan, i, reading):
            return
        if reading.each_file and file not in (None, unit.file):
            make.begin_after(None)
            for watch in constant:
                watch.forget()
            if i > last:
                return
        file = unit.file
        few = i >= last
        wanted = parts.columns, words, amounts
        for batch in typed_batches(unit, *wanted, reading.options, few, opened):
            rows = make(batch)
            for watch in constant:
                watch.check(batch, rows, unit.file.name, _before(unit) + at + 1)
            begin, end = 0, len(rows)
            if skipping or i >= last:
                begins = np.flatnonzero(rows.begins)
                if skipping:  # the episode of another shard goes on here
                    begin = int(begins[0]) if len(begins) else end
                    skipping = len(begins) == 0
                if i >= last:  # only to see how our last episode goes on
                    end = int(begins[0]) if len(begins) else end
            if begin < end:
                chosen, piece = batch.slice(begin, end - begin), rows.piece(begin, end)
                clusters = chosen.column(cluster) if cluster else None
                labels, place = chosen.column(label), at + begin
                portion = Portion(piece, labels, clusters, unit, i, chosen, place)
                del chosen, piece, clusters, labels
                yield portion
                del portion
            over = i >= last and end < len(rows)
            at += len(rows)
            del batch, rows  # or they are held while the next ones are decoded
            if over:
                return
        if skipping and i + 1 >= last:
            return  # no episode begins in this shard


def _goes_on(plan: FilePlan, i: int, reading: ShardReading) -> bool:
    """May an episode of the unit before go on in unit i?"""
    before, unit = plan.units[i - 1], plan.units[i]
    if reading.each_file and unit.file != before.file:
        return False
    return not share_no_label(before, unit, reading.parts.single["episode"])


def typical_length(plan: FilePlan, reading: ShardReading) -> float:
    """How many rows an episode has, more or less: by the first rows of the log."""
    try:
        portion = next(plain_rows(plan, 0, 1, reading), None) if is_plain(reading) else None
    except NotPlain:
        portion = None
    if portion is None:
        portion = next(general_rows(plan, 0, 1, reading), None)
    if portion is None:
        return 1.0
    return len(portion.rows) / max(1, int(portion.rows.begins.sum()))


def general_rows(plan: FilePlan, first: int, last: int, reading: ShardReading) -> Iterator[Portion]:
    """The rows of the files that begin in units `first` up to `last`, read the general way. An
    episode does not go on from one file to the next."""
    import pyarrow as pa

    for i, unit in enumerate(plan.units[first:last], first):
        if unit.group not in (None, 0):
            continue  # the whole file is read where it begins
        source, before = open_file(unit.file, reading.options), 0
        may_come = [reading.parts.single.get(part) for part in OPTIONAL]  # in a later row
        wanted = [
            name
            for name in reading.parts.columns
            if not (source.may_have_more and name in may_come)
        ]
        check_columns(unit.file.name, source.names, wanted)
        label = None
        for piece in general.pieces(source, reading.parts, reading.asked):
            log = general.episodes_of(piece, reading.parts, reading.asked, reading.given)
            rows = general.rows_of(log)
            assert log.origin is not None
            label = str(log.origin.label[-1])
            names = pa.array([str(label) for label in log.origin.label], pa.string())
            index = (np.cumsum(rows.begins) - 1).astype(np.int32)
            labels = pa.DictionaryArray.from_arrays(pa.array(index), names)
            clusters = None
            if reading.asked.gap is not None and log.cluster is None:  # pieces are one unit
                whole = pa.array([PIECE.sub("", str(name)) for name in log.origin.label])
                clusters = pa.DictionaryArray.from_arrays(pa.array(index), whole)
            if log.cluster is not None:
                names = pa.array(log.cluster.names, pa.string())
                of = log.cluster.code[index].astype(np.int32)
                clusters = pa.DictionaryArray.from_arrays(pa.array(of), names)
            yield Portion(rows, labels, clusters, unit, i, None, before)
            before += len(rows)
        if label is not None and "episode" in reading.parts.single:
            _check_over(plan, i, label, reading)


def _check_over(plan: FilePlan, i: int, label: str, reading: ShardReading) -> None:
    """The last episode of a file must not go on in the next one: a worker that reads that one the
    plain way passes over it, as an episode that began elsewhere."""
    file = plan.units[i].file
    after = next((unit for unit in plan.units[i:] if unit.file != file), None)
    if after is None:
        return
    column = reading.parts.single["episode"]
    try:
        begins_with = first_label(after, column, reading.options)
    except NotPlain:
        source = open_file(after.file, reading.options)
        batch = next(iter(source.batches([column], [column])), None)
        first = batch.column(column)[0].as_py() if batch is not None and len(batch) else None
        begins_with = None if first is None else str(first)
    if begins_with == label and not reading.each_file:
        raise Unordered(
            f"{file.name}: its last episode, {printable(label)!r}, goes on in {after.file.name}. "
            "As this log is written, episodes cannot lie in two files. Put all rows of an episode "
            "into one file."
        )


def explain(portion: Portion, row: int, reading: ShardReading, unordered: bool) -> LogError:
    """What is wrong with a row that a compiled loop refused."""
    unit, file = portion.unit, portion.unit.file
    place = f"{file.name}, row {_before(unit) + portion.first + row + 1}"
    not_in_order = Unordered(
        f"{place}: the rows of this episode are not in order, and a log this large is read as "
        "it lies. Sort it by episode and step, or say sort=True (--sort), which needs DuckDB: "
        "pip install 'jumar[duckdb]'."
    )
    if unordered and not file.sorted_at:
        return not_in_order
    if portion.batch is None:
        return LogError(f"{place}: cannot be counted.")
    begins = np.flatnonzero(portion.rows.begins[: row + 1])
    begin = int(begins[-1]) if len(begins) else 0
    source = _Header(file.name, list(portion.batch.schema.names))
    piece = general.Piece(
        _Shifted(source, unit), [portion.batch.slice(begin)], portion.first + begin
    )
    try:
        general.episodes_of(piece, reading.parts, reading.asked, reading.given)
    except LogError as error:
        return error
    return not_in_order  # sorted, nothing is wrong with it: an end stood before the last step


def _before(unit: Unit) -> int:
    """Rows of the file before a unit; in text the header is one."""
    return unit.first + (1 if unit.file.kind in ("CSV", "TSV") else 0)


class _Shifted(_Header):
    """A file whose rows begin elsewhere."""

    def __init__(self, source: Source, unit: Unit) -> None:
        super().__init__(source.name, source.names)
        self._before = _before(unit)

    def rows(self, n: int) -> Ints:
        return np.arange(1, n + 1, dtype=np.int64) + self._before


class Unordered(LogError):
    """The rows of a log do not lie so that it can be read in parts."""
