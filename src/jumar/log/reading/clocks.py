"""Steps and times: what rows are sorted by, and how long a pause between them is.

Numbers stay numbers, and whole ones stay whole: a float may not tell two nanoseconds apart. Times
become whole micro- or nanoseconds. Text is tried as numbers, then as ISO 8601 without and with a
time zone; all rows of a column must agree. Dates as people write them (31.05.2024) need their
format, as for `time.strptime`: 05/04/2024 may be two days. Years of two digits lie from 1969 to
2068.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Array, Bools, Ints
from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.log.formats.numpy_arrays import nulls, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Mark, NumberWords
from jumar.log.reading.columns import Cells, is_text

Kind = Literal["numbers", "times", "zoned times"]
PER_SECOND = {"us": 10**6, "ns": 10**9}
MICROSECONDS = 10**6

NOT_A_TIME = (
    "Write 2024-05-31 or 2024-05-31T14:30, all with or all without a time zone, or numbers; or say "
    "how dates are written: dates='%d/%m/%Y' (--dates %d/%m/%Y). If the column says something "
    "else, rename it."
)
FILL_IN = "Fill it in, or rename or leave out the column."

_DIRECTIVES = "dmbBYyHIMSfp%"
_LONG_NAME = re.compile(r"([A-Za-z]{3})[A-Za-z]*\.?")  # of a month, which Python shortens


@dataclass(frozen=True)
class Clock:
    """When each row was written."""

    column: str
    values: Array  # (N,) int64 or float64
    per_second: int | None  # units in a second; nothing if these are plain numbers

    def take(self, index: Any) -> Clock:
        return Clock(self.column, self.values[index], self.per_second)


def read_clock(
    column: Cells, part: str, dates: str | None, decimal: Mark | None, problems: Problems
) -> Clock:
    """A column of steps (numbers only, if it is text) or of times."""
    import pyarrow.compute as pc

    text, values = column.is_text, column.values
    if text:
        values = without_blanks(pc.utf8_trim_whitespace(values))
    holes = np.flatnonzero(nulls(values))
    if len(holes):
        column.refuse_holes(part, holes, FILL_IN, problems)
        return Clock(column.name, np.zeros(len(values), np.int64), None)
    if text and dates is not None and part == "time":
        return _dated(column, dates, problems)
    kinds = kinds_of(values.type, part)
    if text and decimal is not None:
        words, code = NumberWords.of(column.coded.names), column.coded.code
        if words.valid[decimal].all():
            return _finite(column, ("", words.values(decimal)[code]), problems)
        kinds = kinds[1:]
    for kind in kinds:
        if (found := converted(values, kind)) is not None:
            return _finite(column, found, problems)
    _refuse(column, part, problems)
    return Clock(column.name, np.zeros(len(values), np.int64), None)


def _finite(column: Cells, found: tuple[str, Array], problems: Problems) -> Clock:
    unit, values = found
    if values.dtype == np.float64:
        problems.each(
            np.flatnonzero(~np.isfinite(values)),
            lambda i: (
                f"{column.cell(int(i))}: {values[i]} is not a number to sort by.",
                "Write a finite one.",
            ),
        )
    return Clock(column.name, values, PER_SECOND.get(unit))


def _dated(column: Cells, format: str, problems: Problems) -> Clock:
    """A column of dates in a format."""
    names = column.coded.names
    values, fits = parsed(names, format)
    column.refuse_words(
        np.flatnonzero(~fits),
        lambda i: f"{printable(names[i])!r} is not a date like {printable(format)}",
        "Write all dates alike, or give another format (--dates).",
        problems,
    )
    return Clock(column.name, values[column.coded.code], MICROSECONDS)


def _refuse(column: Cells, part: str, problems: Problems) -> None:
    """Tell of the words that are not of the kind of the first one, or of the first one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = column.coded.names
    trimmed = pc.utf8_trim_whitespace(pa.array(words, pa.string()))

    def is_of(kind: Kind, i: int) -> bool:
        return converted(trimmed.slice(i, 1), kind) is not None

    kinds = [kind for kind in kinds_of(trimmed.type, part) if is_of(kind, 0)]
    strange = [i for i in range(len(words)) if not is_of(kinds[0], i)] if kinds else [0]
    fact, remedy = "is not a time" + " like the others" * bool(kinds), NOT_A_TIME
    if part == "step":
        fact, remedy = "is not a number", "Number the steps 1, 2, 3, ..."
    if not strange:
        strange, fact, remedy = [0], f"these are not all {kinds[0]}", "Write them all alike."
    column.refuse_words(
        np.array(strange), lambda i: f"{printable(words[i])!r} {fact}", remedy, problems
    )


# ---- Arrow columns ------------------------------------------------------------------------------


def kinds_of(kind: Any, part: str) -> Sequence[Kind]:
    """What a column of a type may hold."""
    import pyarrow as pa

    if pa.types.is_temporal(kind):
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        return ["zoned times" if zoned else "times"]
    if not is_text(kind) or part == "step":
        return ["numbers"]
    return ["numbers", "times", "zoned times"]


def converted(column: Any, kind: Kind) -> tuple[str, Array] | None:
    """The unit and the values of a column that is all of a kind."""
    import pyarrow as pa

    for unit, target in _targets(column.type, kind):
        try:
            # a double is only a last resort, and may round what is not whole
            values = column.cast(target, safe=target != pa.float64())
            return unit, to_numpy(values.cast(pa.int64()) if unit else values)
        except pa.ArrowException:
            continue
    return None


def _targets(given: Any, kind: Kind) -> list[tuple[str, Any]]:
    import pyarrow as pa

    if kind == "numbers":
        return [("", pa.int64()), ("", pa.float64())]
    if pa.types.is_duration(given):
        return [(unit, pa.duration(unit)) for unit in PER_SECOND]
    if pa.types.is_time(given):
        return [(unit, pa.time64(unit)) for unit in PER_SECOND]
    zone = "UTC" if kind == "zoned times" else None
    return [(unit, pa.timestamp(unit, zone)) for unit in PER_SECOND]


# ---- dates as people write them -----------------------------------------------------------------


def check_format(text: str) -> str:
    """The format, or an error that shows how to write one.

    >>> check_format("%d.%m.%Y")
    '%d.%m.%Y'
    """
    letters = re.findall("%(.?)", text)
    if not letters or not {*letters} <= {*_DIRECTIVES} or len({*letters}) < len(letters):
        raise ParameterError(
            f"dates: {printable(text)!r} is not a format of dates. Write it like %d/%m/%Y or "
            f"%Y%m%d %H:%M, with each of %{' %'.join(_DIRECTIVES[:-1])} once at most."
        )
    return text


def parsed(words: Sequence[str], format: str) -> tuple[Ints, Bools]:
    """Words read with a format: microseconds since 1970, and whether each word is a date.

    >>> values, fits = parsed(["31.05.2024", "31.02.2024", "soon"], "%d.%m.%Y")
    >>> fits.tolist(), values[:1].astype("datetime64[us]").tolist()
    ([True, False, False], [datetime.datetime(2024, 5, 31, 0, 0)])
    """
    named = "%b" in format or "%B" in format
    plain = format.replace("%B", "%b")
    values = np.zeros(len(words), "datetime64[us]")
    fits = np.zeros(len(words), np.bool_)
    for i, word in enumerate(words):
        with suppress(ValueError):
            values[i] = datetime.strptime(_LONG_NAME.sub(r"\1", word) if named else word, plain)
            fits[i] = True
    return values.astype(np.int64), fits
