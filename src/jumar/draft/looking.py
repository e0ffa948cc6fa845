"""What stands in each column of a log, before anybody has said what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Ints
from jumar.io.formats import Source

ROWS = 200_000  # more rows would not change a proposal
NOTHING = ("", "na", "n/a", "nan", "none", "null", "-", "?", "missing")  # in lower case
FLAGS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"0", "1"}, {"t", "f"})


@dataclass(frozen=True)
class Column:
    """One column: every value as text, a code for each row, and the values as numbers if they are
    numbers."""

    name: str
    names: tuple[str, ...]  # the distinct values
    code: Ints  # (N,) which value stands in a row; -1 where there is none
    number_of: Floats  # (len(names),) the value as a number; NaN where it is none
    time_of: Floats  # (len(names),) seconds; NaN where it is no date

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.code)

    @cached_property
    def missing(self) -> Bools:
        """(N,) is there nothing?"""
        return np.asarray(self.code < 0)

    @property
    def distinct(self) -> int:
        """Values that differ."""
        return len(self.names)

    @property
    def is_number(self) -> bool:
        """Are all values numbers?"""
        return self.distinct > 0 and not np.isnan(self.number_of).any()

    @property
    def is_whole(self) -> bool:
        """Are all values whole numbers?"""
        return self.is_number and bool((self.number_of == np.floor(self.number_of)).all())

    @property
    def is_time(self) -> bool:
        """Are all values dates or times?"""
        return self.distinct > 0 and not np.isnan(self.time_of).any()

    @property
    def is_flag(self) -> bool:
        """Are all values yes or no?"""
        values = {name.strip().lower() for name in self.names}
        return 0 < len(values) <= 2 and any(values <= pair for pair in FLAGS)

    @cached_property
    def numbers(self) -> Floats:
        """(N,) the values as numbers, NaN where there is none."""
        return _taken(self.number_of, self.code)

    @cached_property
    def times(self) -> Floats:
        """(N,) the values as seconds, NaN where there is none."""
        return _taken(self.time_of, self.code)

    @property
    def flags(self) -> Bools:
        """(N,) is it true? Only of a column of flags."""
        true = [name.strip().lower() in ("true", "yes", "y", "1", "t") for name in self.names]
        return np.append(np.array(true, np.bool_), False)[self.code]


def _taken(values: Floats, code: Ints) -> Floats:
    return np.asarray(np.append(values, np.nan)[code])


@dataclass(frozen=True)
class FirstLook:
    """The columns of a log, by name, in the order of the file."""

    name: str
    columns: Mapping[str, Column]
    rows: int  # rows looked at
    all_read: bool


def look(source: Source) -> FirstLook:
    """Read the columns as text, up to `ROWS` rows."""
    import pyarrow as pa

    names = list(dict.fromkeys(source.names))
    batches, rows = [], 0
    stream = iter(source.batches(names, names))
    for batch in stream:
        batches.append(batch.slice(0, ROWS - rows))
        rows += batches[-1].num_rows
        if rows >= ROWS:
            break
    all_read = next(stream, None) is None
    columns = {}
    for i, name in enumerate(names):
        chunks = [batch.column(i) for batch in batches]
        values = pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.string())
        columns[name] = _column(name, values)
    return FirstLook(source.name, columns, rows, all_read)


def _column(name: str, values: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_temporal(values.type) and not pa.types.is_duration(values.type):
        values = values.cast(pa.timestamp("us"), safe=False)
    if not pa.types.is_string(values.type):
        values = _as_text(values)
    encoded = pc.utf8_trim_whitespace(values).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    texts = [text or "" for text in encoded.dictionary.to_pylist()]
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    kept = [i for i, text in enumerate(texts) if text.lower() not in NOTHING]
    renumbered = np.full(len(texts) + 1, -1)
    renumbered[kept] = np.arange(len(kept))
    names = tuple(texts[i] for i in kept)
    return Column(name, names, renumbered[code], _numbers(names), _times(names))


def _as_text(values: Any) -> Any:
    import pyarrow as pa

    try:
        return values.cast(pa.string())
    except pa.ArrowException:  # nested values
        return pa.chunked_array([pa.array([str(v) for v in values.to_pylist()], pa.string())])


def _numbers(names: Iterable[str]) -> Floats:
    return np.array([as_number(name) for name in names], np.float64)


def as_number(text: str) -> float:
    """The number that a text writes, with a point or a comma; NaN if it is none.

    >>> as_number("3,5"), as_number("1.234,5"), as_number("12 000"), as_number("low")
    (3.5, 1234.5, 12000.0, nan)
    """
    plain = text.replace("\u00a0", "").replace(" ", "")
    if "," in plain and "." in plain:
        last = max(plain.rfind(","), plain.rfind("."))
        plain = plain[:last].replace(",", "").replace(".", "") + "." + plain[last + 1 :]
    plain = plain.replace(",", ".")
    if "_" in plain or not plain:
        return float("nan")
    try:
        number = float(plain)
    except ValueError:
        return float("nan")
    return number if np.isfinite(number) else float("nan")


_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%Y/%m/%d",
    "%d-%b-%Y",
)


def _times(names: tuple[str, ...]) -> Floats:
    """Seconds since 1970 of dates and times as people write them; NaN where a text is none."""
    for form in _FORMATS:
        try:
            found = [datetime.strptime(name, form).replace(tzinfo=UTC) for name in names]
        except ValueError:
            continue
        return np.array([moment.timestamp() for moment in found], np.float64)
    return np.full(len(names), np.nan)


def runs(code: Array) -> int:
    """How many stretches of equal values there are.

    >>> runs(np.array([1, 1, 2, 2, 1]))
    3
    """
    return 1 + int((code[1:] != code[:-1]).sum()) if len(code) else 0
