"""How a log is read in parts, and its rows as plain arrays, ready for a compiled loop.

Names become small numbers without a look at every cell: Parquet and CSV hand over dictionaries,
and only their entries are looked up. What is not plain enough for that (dates in words, decimal
commas, gaps, prices) raises `NotPlain`; such a log is read the general way
(`jumar.log.shards.general`), which gives the same rows and takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.errors import LogError
from jumar.core.names import JOINT
from jumar.core.reading import MISSING as MISSING_NAME
from jumar.core.reading import Bins
from jumar.log.episodes import Episodes, Labels, Origin, Remarks
from jumar.log.formats.numpy_arrays import flags, to_numpy, without_blanks
from jumar.log.formats.source import no_rows
from jumar.log.reading.assembling import columns_of, reading_of
from jumar.log.reading.columns import as_names, flag_table, is_text
from jumar.log.reading.options import ReadOptions
from jumar.log.reading.parts import Parts
from jumar.log.reading.symbols import OF_EPISODES
from jumar.log.shards.batches import NotPlain

if TYPE_CHECKING:
    from jumar.log.shards.plan import FilePlan, Unit
    from jumar.log.shards.whole import WholeEpisodes

MOST_COMBINED = 1 << 20  # combinations of dictionary entries that are looked up
NO_TIMES: Ints = np.zeros(0, np.int64)
NO_MARKS: Bytes = np.zeros(0, np.uint8)

Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# symbols that are no symbol
MISSING, STRANGE = -1, -2

# what the end of an episode means
AS_MARKED, ALL_END, ALL_CUT = range(3)


@dataclass(frozen=True)
class ShardReading:
    """How a log is to be read. It travels to workers."""

    options: ReadOptions  # with the names of observations and actions
    parts: Parts
    plainly: bool = True  # or did some row turn out not to be plain?

    @property
    def observations(self) -> tuple[str, ...]:
        return self.options.given("observation") or ()

    @property
    def actions(self) -> tuple[str, ...]:
        return self.options.given("action") or ()

    @property
    def ends(self) -> int:
        """What the end of an episode means to a compiled loop."""
        if "terminated" in self.parts.single:
            return AS_MARKED
        return ALL_END if self.options.ends == "terminated" else ALL_CUT

    @property
    def is_plain(self) -> bool:
        """Can its rows be handed to a compiled loop as they come, as far as one can tell
        beforehand?"""
        options, single = self.options, self.parts.single
        odd = (
            options.missing == "drop"
            or options.repeated == "drop"
            or options.gap
            or options.prices
            or options.dates
            or options.decimal
            or options.missing_reward is not None
        )
        return self.plainly and not odd and "episode" in single and "reward" in single

    def as_log(self, found: WholeEpisodes | None, plan: FilePlan) -> Episodes:
        """Episodes with all that is known of where they come from."""
        if found is None:
            raise no_rows(plan.files[0].name)
        origin = Origin(
            plan.files[0].name if len(plan.files) == 1 else f"{len(plan.files):,} files",
            np.arange(len(found.reward)),
            [str(e) for e in range(1, len(found) + 1)],
            Remarks(rows=plan.rows, costs=bool(self.options.cost)),
            columns_of(self.parts),
            self.options.cost is not None,
            reading_of(self.parts, self.options),
        )
        clusters = None
        if "cluster" in self.parts.single:  # only their hashes are kept
            _, number = np.unique(found.code, return_inverse=True)
            clusters = Labels.of([str(n + 1) for n in number.tolist()])
        return Episodes(
            self.observations,
            self.actions,
            found.z,
            found.a,
            found.reward,
            found.start,
            found.final,
            found.terminated,
            origin,
            cluster=clusters,
        )


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some consecutive rows of a log. n of them."""

    begins: Bools  # (n,) does an episode begin here?
    clock: Ints  # (n,) or empty
    z: Codes  # (n,)
    z_of: Codes  # the observation behind every code, or MISSING or STRANGE
    a: Codes  # (n,)
    a_of: Codes
    reward: Floats  # (n,) NaN where there is none
    marks: Bytes  # bitmap of the rows with which the process ended, or empty
    offset: int  # where it begins, in bits

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def observations(self) -> Codes:
        """(n,)"""
        return self.z_of[self.z]

    @property
    def actions(self) -> Codes:
        """(n,)"""
        return self.a_of[self.a]

    @property
    def marked(self) -> Bools:
        """(n,) did the process end with this row?"""
        if len(self.marks) == 0:
            return np.zeros(len(self), np.bool_)
        first, last = self.offset // 8, (self.offset + len(self) + 7) // 8
        bits = np.unpackbits(self.marks[first:last], bitorder="little")
        return bits[self.offset % 8 :][: len(self)].astype(np.bool_)

    def piece(self, first: int, last: int) -> RowBatch:
        """Some of the rows."""
        if first == 0 and last >= len(self):
            return self
        names = ("begins", "clock", "z", "a", "reward")
        rows: Any = {name: getattr(self, name)[first:last] for name in names}
        return replace(self, offset=self.offset + first, **rows)


class Portion(NamedTuple):
    """Rows as they come, and the Arrow batch they were made of."""

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
        return labels.cast(pa.string()) if pa.types.is_dictionary(labels.type) else labels

    def places(self, rows: Ints) -> Ints:
        """Where rows stand in the log: numbers that rise as one reads on."""
        found: Ints = (self.number << 40) + self.first + rows
        return found


class Symbols:
    """Observations or actions of a log, out of one column or several. Dictionaries that were seen
    just before are not looked up again."""

    def __init__(self, reading: ShardReading, part: str) -> None:
        self._columns, self._cut = reading.parts.of(part), reading.options.cut
        names = reading.options.given(part) or ()
        self._number = {name: i for i, name in enumerate(names)}
        # is a missing value called "missing"?
        self._named = part == "observation" and reading.options.missing == "symbol"
        self._last: tuple[Any, ...] = ()
        self._of: Codes = np.zeros(0, np.int32)

    def __call__(self, batch: Any) -> tuple[Codes, Codes]:
        """(n,) codes, and the symbol behind every code."""
        coded = [_coded(batch.column(name), name, self._cut.get(name)) for name in self._columns]
        if np.prod([float(len(words) + 1) for _, words in coded]) > MOST_COMBINED:
            raise NotPlain(*self._columns)
        code = coded[0][0]
        for one, words in coded[1:]:
            code = code * np.int32(len(words) + 1) + one
        words = tuple(words for _, words in coded)
        if not self._last or not all(a.equals(b) for a, b in zip(words, self._last, strict=True)):
            self._last, self._of = words, self._combinations(words)
        return code, self._of

    def _combinations(self, words: Sequence[Any]) -> Codes:
        """The symbol behind every combination of words, of which the last of each is missing."""
        lists = [[word or "" for word in (*each.to_pylist(), "")] for each in words]
        found = []
        for cells in product(*lists):
            if self._named:
                cells = tuple(cell or MISSING_NAME for cell in cells)
            if all(cells):
                found.append(self._number.get(JOINT.join(cells), STRANGE))
            else:
                found.append(STRANGE if any(cells) else MISSING)
        return np.array(found, np.int32)


def _coded(column: Any, name: str, bins: Bins | None) -> tuple[Codes, Any]:
    """(n,) codes, and their words as an Arrow array; one past the end is a missing one."""
    import pyarrow as pa

    if bins is not None:
        code = bins.find(_numbers(column, name))
        code[code < 0] = len(bins.names)
        return code, pa.array(bins.names, pa.string())
    if not pa.types.is_dictionary(column.type):
        column = as_names(column, "", name)
    words, indices = column.dictionary, column.indices
    words = words if pa.types.is_string(words.type) else words.cast(pa.string())
    indices = indices if indices.type == pa.int32() else indices.cast(pa.int32())
    return to_numpy(indices, len(words)), words


class RowMaker:
    """Makes rows of batches, one after the other."""

    def __init__(self, reading: ShardReading) -> None:
        self._single, self._cost = reading.parts.single, bool(reading.options.cost)
        self._columns = reading.parts.columns
        self._z, self._a = Symbols(reading, "observation"), Symbols(reading, "action")
        self._told = [self._single[part] for part in OF_EPISODES if part in self._single]
        self._last: Any = None  # the label of the last row, as an Arrow scalar
        self._names: dict[str, str] = {}  # what it tells of its episode, by column

    def begin_after(self, label: Any) -> None:
        """The row before the first one has this label."""
        self._last, self._names = label, {}

    def __call__(self, batch: Any) -> RowBatch:
        import pyarrow as pa

        try:
            return self._rows(batch)
        except (pa.ArrowException, UnicodeDecodeError, LogError) as error:
            raise NotPlain(*self._columns) from error  # the general way says what it is

    def _rows(self, batch: Any) -> RowBatch:
        single = self._single
        labels = batch.column(single["episode"])
        begins = self._begins(labels)
        self._last = labels[len(labels) - 1]
        for name in self._told:
            self._check_one_name(batch.column(name), name, begins)
        clock = single.get("step") or single.get("time")
        reward = _numbers(batch.column(single["reward"]), single["reward"])
        return RowBatch(
            begins,
            NO_TIMES if clock is None else _whole(batch.column(clock), clock),
            *self._z(batch),
            *self._a(batch),
            0.0 - reward if self._cost else reward,
            *_marks(batch, single.get("terminated")),
        )

    def _begins(self, labels: Any) -> Bools:
        """(n,) has a row another label than the one before it?"""
        import pyarrow as pa

        whole = pa.types.is_integer(labels.type)
        if labels.null_count or not (whole or is_text(labels.type)):
            raise NotPlain(self._single["episode"])
        begins = np.empty(len(labels), np.bool_)
        begins[0] = self._last is None or _label(labels[0]) != _label(self._last)
        begins[1:] = differs(labels)
        return begins

    def _check_one_name(self, column: Any, name: str, begins: Bools) -> None:
        """Is what a log tells of whole episodes, such as their cluster, there and the same in all
        rows of each? The general way fills empty cells, and tells what is wrong."""
        import pyarrow as pa

        words = column.dictionary if pa.types.is_dictionary(column.type) else column
        words = without_blanks(words) if is_text(words.type) else words
        known = is_text(words.type) or pa.types.is_integer(words.type)
        if not known or column.null_count or words.null_count:
            raise NotPlain(name)
        first = _label(column[0])
        if (differs(column) & ~begins[1:]).any() or (
            not begins[0] and self._names.get(name, first) != first
        ):
            raise NotPlain(name)
        self._names[name] = _label(column[len(column) - 1])


def _label(scalar: Any) -> Any:
    """Something that is equal where labels are, whatever dictionary they come from."""
    import pyarrow as pa

    known = is_text(scalar.type) or pa.types.is_integer(scalar.type)
    return str(scalar.as_py()) if known else scalar


def differs(column: Any) -> Bools:
    """(n-1,) has a row another value than the one before? A dictionary may list a word twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type) or pa.types.is_integer(column.type):
        codes = to_numpy(getattr(column, "indices", column))
        return np.asarray(codes[1:] != codes[:-1])
    return flags(pc.not_equal(column[1:], column[:-1]))


def _numbers(column: Any, name: str) -> Floats:
    """(n,) NaN where there is none."""
    import pyarrow as pa

    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise NotPlain(name)
    plain = column.type == pa.float64()
    return to_numpy(column if plain else column.cast(pa.float64(), safe=False))


def _marks(batch: Any, name: str | None) -> tuple[Bytes, int]:
    """True and false as a bitmap, and where it begins."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name is None:
        return NO_MARKS, 0
    column = batch.column(name)
    if not pa.types.is_boolean(column.type):
        code, words = _coded(column, name, None)
        table, bad = flag_table(words.to_pylist())
        if bad.any():
            raise NotPlain(name)
        column = pa.array(table[code])
    if column.null_count:
        column = pc.fill_null(column, False)
    return np.frombuffer(column.buffers()[1], np.uint8), column.offset


def _whole(column: Any, name: str) -> Ints:
    """A column of whole numbers or times as int64."""
    import pyarrow as pa

    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if column.null_count or not (plain or pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise NotPlain(name)
    column = column.cast(pa.int32()) if pa.types.is_date32(kind) else column
    return to_numpy(column.cast(pa.int64()))
