"""Dates as people write them: 31.05.2024, 05/31/2024 14:30, 31-May-2024, May 31, 2024.

A format is written as in `time.strptime`. Without one, every format that fits the first word is
tried on all words of the column. If one fits, or several that mean the same, it is the one; two
that differ (05/04/2024) are not guessed between. Years of two digits lie from 1969 to 2068.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Ints
from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.io.formats.numpy_arrays import flags, to_numpy

_DIRECTIVES = {
    "d": r"(?P<d>\d{1,2})",
    "m": r"(?P<m>\d{1,2})",
    "b": r"(?P<b>[A-Za-z]{3,9})\.?",
    "B": r"(?P<b>[A-Za-z]{3,9})",
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d{1,6})",
    "p": r"(?P<p>[AaPp]\.?[Mm]\.?)",
    "%": "%",
}
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_MONTH = {name[:n]: i for i, name in enumerate(_MONTHS, 1) for n in (3, len(name))} | {"sept": 9}

_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y",
           "%y{0}%m{0}%d")  # fmt: skip
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d. %b %Y", "%d/%b/%Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%y",
          "%d %b %y", "%d. %b %y")  # fmt: skip
DATES = tuple(order.format(mark) for mark in "./-" for order in _ORDERS) + _NAMED
TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
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
    known = [letter for letter in _DIRECTIVES if letter != "%"]
    letters = re.findall("%(.?)", text)
    for letter in letters:
        if letter not in _DIRECTIVES:
            raise ParameterError(
                f"dates: %{printable(letter)} is not one of %{' %'.join(known)}. {example}."
            )
        if letter != "%" and letters.count(letter) > 1:
            raise ParameterError(f"dates: %{letter} is there twice. {example}.")
    for one, other in (("b", "B"), ("b", "m"), ("B", "m"), ("Y", "y"), ("H", "I")):
        if one in letters and other in letters:
            raise ParameterError(f"dates: %{one} and %{other} say the same. {example}.")
    if not set(letters) - {"%"}:
        raise ParameterError(f"dates: {printable(text)!r} is not a format of dates. {example}.")
    return text


def parsed(words: Any, format: str) -> Dates:
    """Arrow text read with a format.

    >>> import pyarrow as pa
    >>> found = parsed(pa.array(["31.05.2024", "31.02.2024", "soon"]), "%d.%m.%Y")
    >>> found.fits.tolist(), found.values[:1].astype("datetime64[us]").tolist()
    ([True, False, False], [datetime.datetime(2024, 5, 31, 0, 0)])
    """
    import pyarrow.compute as pc

    found = pc.extract_regex(words, _pattern(format))
    fits = flags(found.is_valid())
    parts = {field.name: pc.struct_field(found, i) for i, field in enumerate(found.type)}
    number = {name: _whole(parts[name]) for name in parts if name not in "bpf"}
    zero = np.zeros(len(fits), np.int64)
    year = number.get("Y", zero + 1970)
    if "y" in number:
        year = number["y"] + np.where(number["y"] >= 69, 1900, 2000)
    month = _month(parts["b"]) if "b" in parts else number.get("m", zero + 1)
    day = number.get("d", zero + 1)
    hour = number.get("H", zero)
    if "I" in number:
        fits &= (number["I"] >= 1) & (number["I"] <= 12)
        hour = number["I"] % 12
    if "p" in parts:
        hour = hour + 12 * _are_pm(parts["p"])
    minute, second = number.get("M", zero), number.get("S", zero)
    fits &= (month >= 1) & (month <= 12) & (hour <= 23) & (minute <= 59) & (second <= 59)
    first = ((year - 1970) * 12 + np.where(fits, month, 1) - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]") + (day - 1)
    fits &= (day >= 1) & (days.astype("datetime64[M]") == first)  # there is no 31 February
    seconds = ((days.astype(np.int64) * 24 + hour) * 60 + minute) * 60 + second
    values = seconds * MICROSECONDS + (_micros(parts["f"]) if "f" in parts else 0)
    return Dates(format, values, fits)


def guesses(words: Any) -> list[Dates]:
    """All that a column of dates may mean: the formats that fit every word, without those that mean
    the same as one before. If none fits all, those that fit the first word.

    >>> import pyarrow as pa
    >>> [found.format for found in guesses(pa.array(["05/04/2024", "31/05/2024"]))]
    ['%d/%m/%Y']
    >>> [found.format for found in guesses(pa.array(["05/04/2024", "06/05/2024"]))]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    tried = [parsed(words, format) for format in _fitting(words[0].as_py())]
    tried = [dates for dates in tried if dates.fits[0]]
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


def _fitting(word: str) -> Iterator[str]:
    """The formats that fit one word."""
    date, gap, time = _cut(word)
    for times in TIMES if time else ("",):
        if time and not re.fullmatch(_pattern(times)[1:-1], time):
            continue
        for dates in DATES:
            if re.fullmatch(_pattern(dates)[1:-1], date):
                yield dates + gap + times


def _cut(word: str) -> tuple[str, str, str]:
    """A date and the time behind it, and what stands between them."""
    found = re.fullmatch(r"(.*?)(T|,? )\s*(\d{1,2}:.*)", word)
    return (found[1], found[2], found[3]) if found else (word, "", "")


def _pattern(format: str) -> str:
    """A regular expression for a format, of the kind that Arrow and Python both read."""
    pieces = re.split(r"(%.|\s+)", format)
    return "^" + "".join(map(_piece, pieces)) + "$"


def _piece(piece: str) -> str:
    if piece.startswith("%"):
        return _DIRECTIVES[piece[1]]
    return r"\s+" if piece.isspace() else re.escape(piece)


def _whole(texts: Any) -> Ints:
    import pyarrow as pa

    filled = texts.fill_null("0")
    values: Ints = to_numpy(filled.cast(pa.int64()))
    return values


def _micros(texts: Any) -> Ints:
    import pyarrow.compute as pc

    return _whole(pc.utf8_rpad(texts, 6, "0"))


def _month(texts: Any) -> Ints:
    """The number of each month, 0 for a word that is none."""
    numbered = texts.fill_null("").dictionary_encode()
    known = [_MONTH.get(word.lower(), 0) for word in numbered.dictionary.to_pylist()]
    months: Ints = np.array([*known, 0], np.int64)[to_numpy(numbered.indices)]
    return months


def _are_pm(texts: Any) -> Ints:
    words: Sequence[str] = texts.fill_null("").to_pylist()
    return np.array([word[:1] in ("p", "P") for word in words], np.int64)
