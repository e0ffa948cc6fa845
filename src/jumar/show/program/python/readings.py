"""From a raw reading, columns and their values, to the name of what is seen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from jumar.show.program.python.data import DECIMAL, MISSING, OBSERVATION_COLUMNS
from jumar.show.program.python.names import _short, _shown

# ---- readings ----

JOINT = "+"
_GAPS = " '\u00a0\u2009\u202f\u2019"  # between thousands
NO_NUMBER = (
    "n/a",
    "na",
    "n.a.",
    "#n/a",
    "null",
    "none",
    "missing",
    "-",
    "--",
    "?",
)  # in lower case


class BadReading(ValueError):
    """A reading of which no observation can be made."""


class UnknownName(BadReading):
    """An observation or an action that the controller does not know."""


def observation(reading: Mapping[Any, object], decimal: str | None = None) -> str:
    """What a reading is called: {"vibration": 3.2, "noise": "quiet"} may be "mid+quiet".

    Empty text, None, NaN, and words such as n/a in place of a number are missing values. Other
    columns are ignored. Numbers in text have the decimal mark of the log, or the one that is given.
    """
    return _joined("observation", OBSERVATION_COLUMNS, reading, decimal, MISSING)


def _joined(
    kind: str,
    columns: Sequence[tuple[str, Any]],
    reading: Mapping[Any, object],
    decimal: str | None = None,
    missing: str | None = None,
) -> str:
    names = []
    for column, ranges in columns:
        if column not in reading:
            known = [name for name in reading if isinstance(name, str)]
            close = get_close_matches(column, known, n=1)
            hint = f" Did you mean it by {_short(close[0])}?" if close else ""
            raise BadReading(f"no column {_short(column)}, which is part of the {kind}.{hint}")
        name = _name(column, reading[column], ranges, decimal)
        if name is None and missing is None:
            raise BadReading(f"column {_short(column)}: the {kind} is missing.")
        names.append(missing if name is None else name)
    return JOINT.join(map(str, names))


def _name(column: str, value: Any, ranges: Any, decimal: str | None) -> str | None:
    """What a value is called; None where it is missing."""
    if getattr(value, "ndim", None) == 0:  # a number of numpy, as rows of pandas have them
        value = value.item()
    if value is None or (isinstance(value, str) and not value):
        return None
    if isinstance(value, float) and value != value:  # only NaN differs from itself
        return None
    if not ranges:
        return _text(value)
    number = _number(column, value, decimal)
    if number != number:
        return None
    name: str = ranges[::2][bisect_right(ranges[1::2], number)]
    return name


def _text(value: Any) -> str:
    """A value as the log has it in its text: 2.0 is 2, True is true."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    sign, digits, shift = Decimal(repr(float(value))).normalize().as_tuple()
    if not isinstance(shift, int):  # infinite
        return "-inf" if sign else "inf"
    power = len(digits) - 1 + shift
    if -7 < power < 10:
        return format(Decimal((sign, digits, shift)), "f")
    first, *rest = map(str, digits)
    point = "." if rest else ""
    return f"{'-' * sign}{first}{point}{''.join(rest)}e{power:+d}"


def _number(column: str, value: Any, decimal: str | None) -> float:
    """A value as a number; NaN where there is none."""
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise BadReading(f"column {_short(column)}: {_shown(value)} is no number.") from None
    mark = decimal or DECIMAL
    other = "." if mark == "," else ","
    text = value.strip().replace("\u2212", "-")  # the minus sign of a typesetter
    if not text or text.lower() in NO_NUMBER or re.fullmatch(r"(?i)[+-]?nan", text):
        return float("nan")
    power = "(?:[eE][+-]?[0-9]+)?"
    plain = rf"[+-]?(?:[0-9]+(?:[{mark}][0-9]*)?|[{mark}][0-9]+){power}|(?i:[+-]?inf(?:inity)?)"
    thousands = rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_GAPS}{other}][0-9]{{3}})+(?:[{mark}][0-9]*)?{power}"
    if not re.fullmatch(plain, text):
        place = f"column {_short(column)}: {_shown(value)}"
        if not re.fullmatch(thousands, text):
            remedy = f" Say --decimal {other}." if text.count(other) == 1 else ""
            raise BadReading(f"{place} is no number with a decimal {_CALLED[mark]}.{remedy}")
        if decimal is None and text.count(other) == 1 and mark not in text:
            raise BadReading(
                f"{place} has a {_CALLED[other]} that may part thousands or decimals. Leave out "
                "what parts thousands, or say --decimal."
            )
    return float(re.sub(f"[{_GAPS}{other}]", "", text).replace(",", "."))


_CALLED = {".": "point", ",": "comma"}
