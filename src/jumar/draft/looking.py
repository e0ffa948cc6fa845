"""What stands in each column of a log, before anybody has said what it means."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.reading import NO_NUMBER
from jumar.draft import ranges
from jumar.log.formats import Source, no_rows
from jumar.log.formats.numpy_arrays import to_numpy
from jumar.log.formats.places import TextFile
from jumar.log.reading.clocks import MICROSECONDS, parsed

ROWS = 200_000  # more rows would not change a proposal
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y",
           "%y{0}%m{0}%d")  # fmt: skip
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d. %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%y",
          "%d %b %y", "%d. %b %y")  # fmt: skip
DATES = tuple(order.format(mark) for mark in "./-" for order in _ORDERS) + _NAMED
TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
GAPS = (("",), (" ", "T", ", "))  # between date and time
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
    formats: tuple[str, ...] = ()  # that dates may have, where they are not plain ISO 8601

    @cached_property
    def missing(self) -> Bools:  # (N,)
        return np.asarray(self.code < 0)

    @property
    def distinct(self) -> int:
        return len(self.names)

    @property
    def is_number(self) -> bool:
        return self.distinct > 0 and not np.isnan(self.number_of).any()

    @property
    def is_whole(self) -> bool:
        return self.is_number and bool((self.number_of == np.floor(self.number_of)).all())

    @property
    def is_time(self) -> bool:
        return self.distinct > 0 and not np.isnan(self.time_of).any()

    @property
    def is_flag(self) -> bool:
        """Are all values yes or no?"""
        values = {name.strip().lower() for name in self.names}
        return 0 < len(values) <= 2 and any(values <= pair for pair in FLAGS)

    def edges(
        self, action: Ints | None, combined: bool, follows: Floats | None = None
    ) -> tuple[float, ...] | None:
        """Where to cut it into ranges; None if it holds names, or numbers that may be names."""
        many = self.is_number and ranges.needs_ranges(self.distinct, len(self.code), combined)
        most = ranges.MOST_COMBINED if combined else ranges.MOST_RANGES
        return ranges.cut(self.numbers, action, follows, most) if many else None

    @property
    def stands_together(self) -> bool:
        """Do equal values follow each other?"""
        return 1 + int((self.code[1:] != self.code[:-1]).sum()) == self.distinct

    @cached_property
    def numbers(self) -> Floats:
        """(N,) the values as numbers, NaN where there is none."""
        return np.asarray(np.append(self.number_of, np.nan)[self.code])

    @cached_property
    def times(self) -> Floats:
        """(N,) the values as seconds, NaN where there is none."""
        return np.asarray(np.append(self.time_of, np.nan)[self.code])


@dataclass(frozen=True)
class FirstLook:
    """The columns of a log, by name, in the order of the file."""

    name: str
    columns: Mapping[str, Column]
    rows: int  # rows looked at


def find_turns(path: str | os.PathLike[str]) -> str | None:
    """The key of a JSON file under which the first object keeps a list of objects: its turns."""
    if not str(path).lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson")):
        return None
    try:
        with TextFile(Path(path)).lines() as file:
            start = file.read(1 << 20)
        found, _ = json.JSONDecoder().raw_decode(start.lstrip("\ufeff \r\n\t["))
    except (OSError, ValueError, RecursionError):
        return None
    return _list_of_objects(found)


def _list_of_objects(found: Any, prefix: str = "", depth: int = 0) -> str | None:
    if not isinstance(found, dict) or depth > 3:
        return None
    for key, value in found.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            return f"{prefix}{key}"
    for key, value in found.items():
        if inner := _list_of_objects(value, f"{prefix}{key}.", depth + 1):
            return inner
    return None


def look(source: Source) -> FirstLook:
    """Read the columns as text, up to `ROWS` rows."""
    import pyarrow as pa

    # outer keys of nested turns are there under two names; the plain one is enough
    names = [name for name in dict.fromkeys(source.in_all) if not name.startswith("last.")]
    batches, rows = [], 0
    for batch in source.batches(names, names):
        batches.append(batch.slice(0, ROWS - rows))
        rows += batches[-1].num_rows
        if rows >= ROWS:
            break
    if rows == 0:
        raise no_rows(source.name)
    columns = {
        name: _column(name, pa.chunked_array([batch.column(i) for batch in batches]))
        for i, name in enumerate(names)
    }
    return FirstLook(source.name, columns, rows)


def _column(name: str, values: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        values = values.cast(pa.timestamp("us"), safe=False)
    if not pa.types.is_string(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowException:  # nested values
            told = [None if value is None else str(value) for value in values.to_pylist()]
            values = pa.chunked_array([pa.array(told, pa.string())])
    encoded = pc.utf8_trim_whitespace(values).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    texts = [text or "" for text in encoded.dictionary.to_pylist()]
    code = to_numpy(encoded.indices, -1).astype(np.int64)
    kept = _kept(texts)
    renumbered = np.full(len(texts) + 1, -1)
    renumbered[kept] = np.arange(len(kept))
    names = tuple(texts[i] for i in kept)
    times, formats = _times(names)
    numbers = np.array([as_number(word) for word in names], np.float64)
    return Column(name, names, renumbered[code], numbers, times, formats)


def _kept(texts: list[str]) -> list[int]:
    """Which values are there. Among numbers, n/a and its like are not; among words, "none" may be
    what was done."""
    filled = [i for i, text in enumerate(texts) if text and text.lower() != "nan"]
    known = [i for i in filled if texts[i].lower() not in NO_NUMBER]
    if len(known) < len(filled) and known:
        amounts = all(not np.isnan(as_number(texts[i])) for i in known)
        return known if amounts else filled
    return filled


def as_number(text: str) -> float:
    """The number that a text writes, with a point or a comma; NaN if it is none.

    >>> as_number("3,5"), as_number("1.234,5"), as_number("12 000"), as_number("low")
    (3.5, 1234.5, 12000.0, nan)
    """
    plain = text.replace("\u00a0", "").replace(" ", "")
    if "," in plain and "." in plain:
        last = max(plain.rfind(","), plain.rfind("."))
        plain = plain[:last].replace(",", "").replace(".", "") + "." + plain[last + 1 :]
    try:
        number = float(plain.replace(",", "."))
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) and "_" not in plain else math.nan


def _times(words: Sequence[str]) -> tuple[Floats, tuple[str, ...]]:
    """Seconds since 1970 of dates and times as people write them, NaN where words are none; and
    the formats they may have, where they are not plain ISO 8601."""
    import pyarrow as pa

    none = np.full(len(words), np.nan), ()
    if len(words) == 0 or not any(letter.isdigit() for letter in words[0]):
        return none
    try:
        moments = pa.array(words, pa.string()).cast(pa.timestamp("us"))
        return to_numpy(moments.cast(pa.int64())) / MICROSECONDS, ()
    except pa.ArrowException:
        found = guesses(words)
    return (parsed(words, found[0])[0] / MICROSECONDS, tuple(found)) if found else none


def guesses(words: Sequence[str]) -> list[str]:
    """The formats that fit every word of a column of dates, without those that mean the same as one
    before.

    >>> guesses(["05/04/2024", "31/05/2024"]), guesses(["05/04/2024", "06/05/2024"])
    (['%d/%m/%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    times = TIMES if ":" in words[0] else ("",)
    formats = [day + gap + time for time in times for gap in GAPS[bool(time)] for day in DATES]
    found: dict[bytes, str] = {}
    for format in formats:
        if parsed(words[:1], format)[1][0]:
            values, fits = parsed(words, format)
            if fits.all():
                found.setdefault(values.tobytes(), format)
    return list(found.values())
