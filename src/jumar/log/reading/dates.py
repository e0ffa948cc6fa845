"""Dates as people write them: 31.05.2024, 05/31/2024 14:30, 31-May-2024, May 31, 2024.

A format is written as in `time.strptime`. Without one, every format that fits the first word is
tried on all words of the column. If one fits, or several that mean the same, it is the one; two
that differ (05/04/2024) are not guessed between. Years of two digits lie from 1969 to 2068.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from jumar.core.arrays import Array, Bools
from jumar.core.errors import ParameterError
from jumar.core.text import printable

_DIRECTIVES = "dmbBYyHIMSfp"
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y",
           "%y{0}%m{0}%d")  # fmt: skip
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d. %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%y",
          "%d %b %y", "%d. %b %y")  # fmt: skip
DATES = tuple(order.format(mark) for mark in "./-" for order in _ORDERS) + _NAMED
TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
GAPS = (("",), (" ", "T", ", "))  # between date and time
_LONG_NAME = re.compile(r"([A-Za-z]{3})[A-Za-z]*\.?")  # of a month, which Python shortens
_SPOKEN = {"d": "day", "m": "month", "b": "month", "Y": "year", "y": "year"}

MICROSECONDS = 10**6


@dataclass(frozen=True)
class Dates:
    """Words read as dates."""

    format: str
    values: Array  # (K,) int64 microseconds since 1970; any number where a word is no date
    fits: Bools  # (K,)


def check_format(text: str) -> str:
    """The format, or an error that shows how to write one.

    >>> check_format("%d.%m.%Y")
    '%d.%m.%Y'
    """
    example = "Write it like %d/%m/%Y or %Y%m%d %H:%M"
    letters = [letter for letter in re.findall("%(.?)", text) if letter != "%"]
    for letter in letters:
        if letter not in _DIRECTIVES or not letter:
            raise ParameterError(
                f"dates: %{printable(letter)} is not one of %{' %'.join(_DIRECTIVES)}. {example}."
            )
        if letters.count(letter) > 1:
            raise ParameterError(f"dates: %{letter} is there twice. {example}.")
    for one, other in (("b", "B"), ("b", "m"), ("B", "m"), ("Y", "y"), ("H", "I")):
        if one in letters and other in letters:
            raise ParameterError(f"dates: %{one} and %{other} say the same. {example}.")
    if not letters:
        raise ParameterError(f"dates: {printable(text)!r} is not a format of dates. {example}.")
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
