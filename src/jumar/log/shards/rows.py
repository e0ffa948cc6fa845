"""Batches of a log as plain arrays, ready for a compiled loop.

Names become small numbers without a look at every cell: Parquet and CSV hand over dictionaries,
and only their entries are looked up (`Lookup`). Columns of other types are converted as a whole.
What is not plain enough for that (dates in words, decimal commas, gaps, prices) raises `NotPlain`;
such a log is read the general way (`jumar.log.shards.general`), which gives the same rows and takes
longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Array, Bools, Floats, Ints
from jumar.core.names import JOINT
from jumar.core.reading import MISSING as MISSING_NAME
from jumar.core.reading import Bins
from jumar.log.formats.numpy_arrays import flags, to_numpy
from jumar.log.reading.asking import Asked
from jumar.log.reading.encoding import FLAG_WORDS, NotPlain
from jumar.log.reading.parts import Parts

MOST_COMBINED = 1 << 20  # combinations of dictionary entries that are looked up
NO_TIMES: Ints = np.zeros(0, np.int64)
NO_MARKS: Bytes = np.zeros(0, np.uint8)


Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# symbols that are no symbol
MISSING, STRANGE = -1, -2

# what the end of an episode means
AS_MARKED, ALL_END, ALL_CUT = range(3)


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
        here = slice(first, last)
        return replace(
            self,
            begins=self.begins[here],
            clock=self.clock[here],
            z=self.z[here],
            a=self.a[here],
            reward=self.reward[here],
            offset=self.offset + first,
        )


class Lookup:
    """From the names in the dictionaries of one column to the numbers that a controller gives
    them. A dictionary that was seen just before is not looked up again."""

    def __init__(self, names: Sequence[str], missing: int) -> None:
        self._number = {name: i for i, name in enumerate(names)}
        self._missing = missing
        self._last: Any = None
        self._found: Codes = np.zeros(0, np.int32)

    def __call__(self, words: Any) -> Codes:
        """(K+1,) for each word of an Arrow array, and at the end for a missing one."""
        if self._last is None or not words.equals(self._last):
            self._last = words
            found = [self.of(word) for word in words.to_pylist()]
            self._found = np.array([*found, self._missing], np.int32)
        return self._found

    def of(self, word: str | None) -> int:
        """The number of a name; an empty one is missing."""
        return self._number.get(word, STRANGE) if word else self._missing


class Symbols:
    """Observations or actions of a log, out of one column or several."""

    def __init__(
        self, columns: Sequence[str], names: Sequence[str], bins: dict[str, Bins], named: bool
    ) -> None:
        self._columns, self._bins = columns, [bins.get(column) for column in columns]
        self._number = {name: i for i, name in enumerate(names)}
        self._named = named  # a missing value is called "missing"
        missing = self._number.get(MISSING_NAME, STRANGE) if named else MISSING
        self._lookup = Lookup(names, missing)
        self._last: tuple[Any, ...] = ()
        self._combined: Codes = np.zeros(0, np.int32)

    def __call__(self, batch: Any) -> tuple[Codes, Codes]:
        """(n,) codes, and the symbol behind every code."""
        if len(self._columns) == 1:
            code, words = self._coded(batch.column(self._columns[0]), self._bins[0])
            return code, self._lookup(words)
        return self._of_several(batch)

    def _coded(self, column: Any, bins: Bins | None) -> tuple[Codes, Any]:
        """(n,) codes, and their words as an Arrow array; one past the end is a missing one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if bins is not None:
            if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
                raise NotPlain(self._columns[0])
            values = to_numpy(column.cast(pa.float64()))
            code = bins.find(values)
            code[code < 0] = len(bins.names)
            return code, pa.array(bins.names, pa.string())
        if not pa.types.is_dictionary(column.type):
            if pa.types.is_floating(column.type):
                column = pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)
            column = column.dictionary_encode()
        words = column.dictionary
        if not pa.types.is_string(words.type):
            words = words.cast(pa.string())
        indices = column.indices
        if indices.type != pa.int32():
            indices = indices.cast(pa.int32())
        return to_numpy(indices, len(words)), words

    def _of_several(self, batch: Any) -> tuple[Codes, Codes]:
        coded = [
            self._coded(batch.column(name), bins)
            for name, bins in zip(self._columns, self._bins, strict=True)
        ]
        sizes = [len(words) + 1 for _, words in coded]
        if np.prod(np.array(sizes, float)) > MOST_COMBINED:
            raise NotPlain(*self._columns)
        code = np.zeros(batch.num_rows, np.int32)
        for (one, _), size in zip(coded, sizes, strict=True):
            code = code * np.int32(size) + one
        words = tuple(words for _, words in coded)
        if len(words) != len(self._last) or not all(map(_equals, words, self._last)):
            self._last, self._combined = words, self._combinations(words)
        return code, self._combined

    def _combinations(self, words: Sequence[Any]) -> Codes:
        """The symbol behind every combination of words, of which the last of each is missing."""
        from itertools import product

        lists = [[word or "" for word in (*each.to_pylist(), "")] for each in words]
        found = []
        for cells in product(*lists):
            if self._named:
                cells = tuple(cell or MISSING_NAME for cell in cells)
            if "" in cells:
                found.append(MISSING if not any(cells) else STRANGE)
            else:
                found.append(self._number.get(JOINT.join(cells), STRANGE))
        return np.array(found, np.int32)


def _label(scalar: Any) -> Any:
    """Something that is equal where labels are, whatever dictionary they come from."""
    import pyarrow as pa

    known = is_text(scalar.type) or pa.types.is_integer(scalar.type)
    return str(scalar.as_py()) if known else scalar


def is_text(kind: Any) -> bool:
    """Does an Arrow column of this type hold text?"""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _equals(one: Any, other: Any) -> bool:
    return bool(one.equals(other))


class RowMaker:
    """Makes rows of batches, one after the other."""

    def __init__(
        self,
        parts: Parts,
        asked: Asked,
        observations: Sequence[str],
        actions: Sequence[str],
    ) -> None:
        check_plain(parts, asked)
        bins = dict(asked.bins)
        self._parts, self._asked = parts, asked
        named = asked.missing == "symbol"
        self._z = Symbols(parts.observation, observations, bins, named)
        self._a = Symbols(parts.action, actions, bins, False)
        self._last: Any = None  # the label of the last row, as an Arrow scalar

    def begin_after(self, label: Any) -> None:
        """The row before the first one has this label."""
        self._last = label

    def __call__(self, batch: Any) -> RowBatch:
        import pyarrow as pa

        try:
            return self._rows(batch)
        except (pa.ArrowException, UnicodeDecodeError) as error:  # the general way says what it is
            raise NotPlain(*self._parts.columns) from error

    def _rows(self, batch: Any) -> RowBatch:
        single = self._parts.single
        labels = batch.column(single["episode"])
        begins = self._begins(labels)
        self._last = labels[len(labels) - 1]
        clock = single.get("step") or single.get("time")
        marks, offset = self._marks(batch, single.get("terminated"))
        z, z_of = self._z(batch)
        a, a_of = self._a(batch)
        return RowBatch(
            begins,
            NO_TIMES if clock is None else _whole(batch.column(clock), clock),
            z,
            z_of,
            a,
            a_of,
            self._rewards(batch.column(single["reward"])),
            marks,
            offset,
        )

    def _begins(self, labels: Any) -> Bools:
        """(n,) has a row another label than the one before it?"""
        import pyarrow as pa
        import pyarrow.compute as pc

        whole = pa.types.is_integer(labels.type)
        if labels.null_count or not (whole or is_text(labels.type)):
            raise NotPlain(self._parts.single["episode"])
        begins = np.empty(len(labels), np.bool_)
        begins[0] = self._last is None or _label(labels[0]) != _label(self._last)
        if whole or pa.types.is_dictionary(labels.type):
            codes = to_numpy(labels if whole else labels.indices)
            np.not_equal(codes[1:], codes[:-1], out=begins[1:])
        else:
            begins[1:] = flags(pc.not_equal(labels[1:], labels[:-1]))
        return begins

    def _rewards(self, column: Any) -> Floats:
        import pyarrow as pa

        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            raise NotPlain(self._parts.single["reward"])
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        values = to_numpy(column)
        return 0.0 - values if self._asked.cost else values

    def _marks(self, batch: Any, name: str | None) -> tuple[Bytes, int]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if name is None:
            return NO_MARKS, 0
        column = batch.column(name)
        if not pa.types.is_boolean(column.type):
            column = _as_flags(column, name)
        if column.null_count:
            column = pc.fill_null(column, False)
        return np.frombuffer(column.buffers()[1], np.uint8), column.offset


def check_plain(parts: Parts, asked: Asked) -> None:
    """Is a log plain enough to be read this way, as far as its options tell?"""
    odd = (
        asked.gap is not None
        or asked.missing == "drop"
        or asked.repeated == "drop"
        or asked.prices
        or asked.dates is not None
        or asked.missing_reward is not None
        or asked.decimal is not None
        or "episode" not in parts.single
        or "reward" not in parts.single
    )
    if odd:
        raise NotPlain(*parts.columns)


def _as_flags(column: Any, name: str) -> Any:
    """Words for true and false as Arrow has them."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        return column.cast(pa.bool_()) if _only_bits(column) else _not_plain(name)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    words = [str(word).strip().lower().removesuffix(".0") for word in column.dictionary.to_pylist()]
    if any(word and word not in FLAG_WORDS for word in words):
        raise NotPlain(name)
    table = np.array([*(FLAG_WORDS.get(word, False) for word in words), False])
    return pa.array(table[to_numpy(column.indices, len(words))])


def _only_bits(column: Any) -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (ends["min"] >= 0 and ends["max"] <= 1)


def _not_plain(name: str) -> Any:
    raise NotPlain(name)


def _whole(column: Any, name: str) -> Ints:
    """A column of whole numbers or times as int64."""
    import pyarrow as pa

    kind = column.type
    if column.null_count:
        raise NotPlain(name)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_floating(kind):
        return _in_order(to_numpy(column.cast(pa.float64())), name)
    elif not pa.types.is_integer(kind):
        raise NotPlain(name)
    values = to_numpy(column)
    return values if values.dtype == np.int64 else values.astype(np.int64)


def _in_order(values: Array, name: str) -> Ints:
    """Whole numbers in the order of floating-point ones."""
    if not np.isfinite(values).all():
        raise NotPlain(name)
    bits = (values + 0.0).view(np.int64)  # no minus zero
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
