"""Steps and times: what rows are sorted by, and how long a pause between them is.

Numbers stay numbers, and whole ones stay whole: a float may not tell two nanoseconds apart. Times
become whole micro- or nanoseconds. Text is tried as numbers, then as ISO 8601 without and with a
time zone, then as dates people write (31.05.2024, 05/31/2024 14:30, 31-May-2024, May 31, 2024); all
rows of a column must agree.

A format is written as in `time.strptime`. Without one, every format that fits the first word is
tried on all words of the column. If one fits, or several that mean the same, it is the one; two
that differ (05/04/2024) are not guessed between. Years of two digits lie from 1969 to 2068.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.log.formats.numpy_arrays import nulls, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.amounts import Mark, NumberWords, decide
from jumar.log.reading.columns import Cells, is_text

Kind = Literal["numbers", "times", "zoned times"]
PER_SECOND = {"us": 10**6, "ns": 10**9}
MICROSECONDS = 10**6

NOT_A_TIME = (
    "Write 2024-05-31 or 2024-05-31T14:30, all with or all without a time zone; or numbers. If the "
    "column says something else, rename it."
)
FILL_IN = "Fill it in, or rename or leave out the column."

_DIRECTIVES = "dmbBYyHIMSfp%"
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y",
           "%y{0}%m{0}%d")  # fmt: skip
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d. %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%y",
          "%d %b %y", "%d. %b %y")  # fmt: skip
DATES = tuple(order.format(mark) for mark in "./-" for order in _ORDERS) + _NAMED
TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
GAPS = (("",), (" ", "T", ", "))  # between date and time
_LONG_NAME = re.compile(r"([A-Za-z]{3})[A-Za-z]*\.?")  # of a month, which Python shortens
_SPOKEN = {"d": "day", "m": "month", "b": "month", "Y": "year", "y": "year"}


@dataclass(frozen=True)
class Clock:
    """When each row was written."""

    column: str
    values: Array  # (N,) int64 or float64
    per_second: int | None  # units in a second; nothing if these are plain numbers
    guessed: str = ""  # the format of the dates, where nobody said it

    def take(self, index: Any) -> Clock:
        return Clock(self.column, self.values[index], self.per_second, self.guessed)

    @property
    def remark(self) -> str:
        """What was recognised, for the remarks."""
        option = f"(recognised; --dates {shlex.quote(self.guessed)})"
        return f"whose dates in {printable(self.column)!r} are {spoken(self.guessed)} {option}"


def read_clock(
    column: Cells, part: str, dates: str | None, decimal: Mark | None, problems: Problems
) -> Clock:
    """A column of steps (numbers only, if it is text) or of times."""
    import pyarrow.compute as pc

    text, values = column.is_text, column.values
    if text:
        values = without_blanks(pc.utf8_trim_whitespace(values))
    nothing = Clock(column.name, np.zeros(len(values), np.int64), None)
    holes = np.flatnonzero(nulls(values))
    if len(holes):
        column.refuse_holes(part, holes, FILL_IN, problems)
        return nothing
    format = dates if part == "time" else None
    if not text or (format is None and decimal != ","):  # plain numbers have a point
        for kind in kinds_of(values.type, part):
            if (found := converted(values, kind)) is not None:
                return _finite(column, found, problems)
    words = NumberWords.of(column.coded.names)  # says so if a value cannot be read at all
    found = _numbers(words, decimal) if format is None else None
    if found is None and text and decimal == "," and format is None:
        kinds = kinds_of(values.type, part)[1:]
        found = next((c for kind in kinds if (c := converted(words.words, kind))), None)
    guess = ""
    if found is None and part == "time":
        fits = (
            guesses(column.coded.names) if format is None else [parsed(column.coded.names, format)]
        )
        if fits:
            best = _settled(column, fits, format, problems)
            found, guess = ("us", best.values), "" if format else best.format
    if found is None:
        _refuse(column, words, part, problems)
        return nothing
    unit, of_words = found
    return Clock(column.name, of_words[column.coded.code], PER_SECOND.get(unit), guess)


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


def _numbers(words: NumberWords, given: Mark | None) -> tuple[str, Array] | None:
    """The values of words that are all numbers, but not plain ones."""
    decision = decide([words])
    mark = given or decision.mark
    clear = given is not None or decision.is_clear
    return ("", words.values(mark)) if clear and words.valid[mark].all() else None


def _settled(column: Cells, dates: Sequence[Dates], given: str | None, problems: Problems) -> Dates:
    """The one format of a column; what is against it is told."""
    best, names = max(dates, key=lambda found: int(found.fits.sum())), column.coded.names
    fact, remedy = "is not a time like the others", NOT_A_TIME
    if given is not None:
        fact = f"is not a date like {printable(given)}"
        remedy = "Write all dates alike, or give another format (--dates)."
    column.refuse_words(
        np.flatnonzero(~best.fits),
        lambda i: f"{printable(names[i])!r} {fact}",
        remedy,
        problems,
    )
    if best.fits.all() and len(dates) > 1:
        both = np.flatnonzero(dates[0].values != dates[1].values)[:1]
        meanings = " or ".join(spoken(found.format) for found in dates)
        option = " or ".join(f"dates={found.format!r}" for found in dates)
        column.refuse_words(
            both,
            lambda i: (
                f"{printable(names[i])!r} could be {meanings}, and no other date of the column "
                "decides it"
            ),
            f"Say which: {option} (--dates {shlex.quote(dates[0].format)}).",
            problems,
        )
    return best


def _refuse(column: Cells, words: NumberWords, part: str, problems: Problems) -> None:
    """Tell of the words that are not of the kind of the first one."""
    names, kinds = words.words, kinds_of(words.words.type, part)
    kind = next((k for k in kinds if converted(names.slice(0, 1), k) is not None), kinds[0])
    strange = [i for i in range(len(names)) if converted(names.slice(i, 1), kind) is None]
    fact, remedy = "is not a time like the others", NOT_A_TIME
    if part == "step":
        fact, remedy = "is not a number", "Number the steps 1, 2, 3, ..."
    if not strange:
        strange, fact, remedy = [0], f"these are not all {kind}", "Write them all alike."
    column.refuse_words(
        np.array(strange),
        lambda i: f"{printable(column.coded.names[i])!r} {fact}",
        remedy,
        problems,
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


class Dates(NamedTuple):
    """Words read as dates."""

    format: str
    values: Array  # (K,) int64 microseconds since 1970; any number where a word is no date
    fits: Bools  # (K,)


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


def parsed(words: Sequence[str], format: str) -> Dates:
    """Words read with a format.

    >>> found = parsed(["31.05.2024", "31.02.2024", "soon"], "%d.%m.%Y")
    >>> found.fits.tolist(), found.values[:1].astype("datetime64[us]").tolist()
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
    return Dates(format, values.astype(np.int64), fits)


def guesses(words: Sequence[str]) -> list[Dates]:
    """All that a column of dates may mean: the formats that fit every word, without those that mean
    the same as one before. If none fits all, those that fit the first word.

    >>> [found.format for found in guesses(["05/04/2024", "31/05/2024"])]
    ['%d/%m/%Y']
    >>> [found.format for found in guesses(["05/04/2024", "06/05/2024"])]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    times = TIMES if ":" in words[0] else ("",)
    formats = [day + gap + time for time in times for gap in GAPS[bool(time)] for day in DATES]
    formats = [format for format in formats if parsed(words[:1], format).fits[0]]
    tried = [parsed(words, format) for format in formats]
    found: list[Dates] = []
    for dates in tried:
        if dates.fits.all() and not any((dates.values == one.values).all() for one in found):
            found.append(dates)
    return found or tried


def spoken(format: str) -> str:
    """A format for people.

    >>> spoken("%d.%m.%Y %H:%M"), spoken("%d-%b-%Y")
    ('day.month.year', 'day-month-year')
    """
    date = re.sub("[ T,]*%[HI].*", "", format)
    return re.sub("%(.)", lambda letter: _SPOKEN.get(letter[1], letter[1]), date)
