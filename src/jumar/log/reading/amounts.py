"""Numbers as people write them: 3.5 and 3,5, 1,234.5 and 1.234,5 and 1 234,5.

Plain numbers are taken as they are. Where somebody says which mark is the decimal mark, the other
one parts thousands, as spaces and apostrophes always do. Nobody said: a point is a decimal point,
as everywhere, but a comma that may be a decimal comma is refused. So is a point that may part
thousands (1.234), where semicolons stand between columns: they come with decimal commas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Bools, Floats
from jumar.core.errors import LogError
from jumar.core.reading import NO_NUMBER
from jumar.core.text import printable
from jumar.log.files import SEMICOLONS
from jumar.log.formats.numpy_arrays import flags, nulls, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.columns import Cells

Mark = Literal[".", ","]
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
CALLED = {".": "point", ",": "comma"}

NOT_A_NUMBER = "Write plain digits, such as -12.5; leave the cell empty if nobody knows."
WHICH_MARK = (
    "Say which mark is the decimal mark: decimal=',' or decimal='.' (--decimal , or --decimal .); "
    "the other one then parts thousands."
)
ONE_MARK = "Write all numbers alike, with a decimal point."
ALL_ALIKE = "Write all numbers alike, or leave decimal (--decimal) out."

_GAPS = " \u00a0\u2009\u202f'\u2019"  # spaces (plain, fixed, thin, thin and fixed) and apostrophes
_SPECIAL = r"(?i:nan|inf|infinity)"


@dataclass(frozen=True)
class Amounts:
    """A column of numbers."""

    values: Floats  # (N,) NaN where missing
    missing: Bools  # (N,) nothing is there; a NaN that was written is no number, but not nothing

    def take(self, index: Any) -> Amounts:
        return Amounts(self.values[index], self.missing[index])


@dataclass(frozen=True)
class NumberWords:
    """The distinct words of a column, and which of them are numbers under which mark."""

    words: Any  # (K,) Arrow text, without blanks around it

    @classmethod
    def of(cls, words: Sequence[str]) -> NumberWords:
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(pa.array(words, pa.string()))
        return cls(pc.replace_substring(trimmed, "\u2212", "-"))  # a minus sign of a typesetter

    @cached_property
    def valid(self) -> dict[Mark, Bools]:
        return {mark: _matches(self.words, _number(mark)) for mark in OTHER}

    @cached_property
    def blank(self) -> Bools:
        """(K,) nothing, or what people write in place of a number that they do not have."""
        return _matches(self.words, f"^(?i:{'|'.join(map(re.escape, NO_NUMBER))})?$")

    @property
    def bad(self) -> Bools:
        """(K,) words that are no number whatever the mark."""
        return ~(self.valid["."] | self.valid[","] | self.blank)

    def unclear(self, points: bool) -> Bools:
        """(K,) words in which a mark may mean something else than in plain numbers. `points`: may
        even a point part thousands?

        >>> words = NumberWords.of(["3,5", "1.234", "1.234,5", "1,234.5", "3.5", "1 234", "7"])
        >>> words.unclear(False).tolist(), words.unclear(True)[:2].tolist()
        ([True, False, True, False, False, False, False], [True, True])
        """
        marked = _matches(self.words, "[.,]" if points else ",")
        return self.valid[","] & (marked | ~self.valid["."])

    def values(self, mark: Mark) -> Floats:
        """(K,) the numbers under a mark; NaN where there is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        digits = pc.replace_substring_regex(self.words, f"[{_GAPS}{OTHER[mark]}]", "")
        if mark == ",":
            digits = pc.replace_substring(digits, ",", ".")
        kept = pc.if_else(pa.array(self.valid[mark]), digits, pa.scalar(None, pa.string()))
        values: Floats = to_numpy(kept.cast(pa.float64()))
        return values


def read_amounts(column: Cells, given: Mark | None, problems: Problems) -> Amounts:
    """A column of numbers; `given`: the decimal mark, if somebody said it."""
    semicolons = given is None and column.source.separator == SEMICOLONS
    if not column.is_text or not (given == "," or semicolons):
        plain = _plain(column)
        if plain is not None:
            return plain
    names, code = column.coded.names, column.coded.code
    words, mark = NumberWords.of(names), given or "."

    def fact(i: int) -> str:
        word = printable(names[i])
        if words.bad[i]:
            return f"{word!r} is not a number"
        if given is not None or not words.valid["."][i]:
            return f"{word!r} is not a number with a decimal {CALLED[mark]}"
        large, small = sorted((words.values(each)[i] for each in OTHER), key=abs, reverse=True)
        return f"{word!r} could be {large:.12g} or {small:.12g}"

    column.refuse_words(np.flatnonzero(words.bad), fact, NOT_A_NUMBER, problems)
    remedy = WHICH_MARK if given is None else ALL_ALIKE
    strange = words.unclear(semicolons) if given is None else ~words.valid[mark] & ~words.blank
    column.refuse_words(
        np.flatnonzero(strange & ~words.bad),
        fact,
        ONE_MARK if column.source.has_points else remedy,
        problems,
    )
    values = words.values(mark)
    return Amounts(np.append(values, np.nan)[code], np.append(words.blank, True)[code])


def _plain(column: Cells) -> Amounts | None:
    """A column of plain numbers; None if some of its text is not plain."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column.values
    if column.is_text:
        try:
            values = values.cast(pa.float64())  # nearly always; no need to look for blanks then
        except pa.ArrowException:
            try:
                values = without_blanks(pc.utf8_trim_whitespace(values)).cast(pa.float64())
            except pa.ArrowException:
                return None
    try:
        return Amounts(to_numpy(values.cast(pa.float64(), safe=False)), nulls(values))
    except pa.ArrowException as error:
        for i, value in enumerate(values):
            try:
                value.cast(pa.float64(), safe=False)
            except pa.ArrowException:
                plain = value.as_py()
                quoted = plain if isinstance(plain, str) else repr(plain)
                raise LogError(
                    f"{column.cell(i)}: {printable(quoted)} is not a number. {NOT_A_NUMBER}"
                ) from error
        raise


def _number(mark: Mark) -> str:
    """What a number looks like under a decimal mark."""
    groups = "|".join(
        rf"[1-9]\d{{0,2}}(?:{gap}\d{{3}})+" for gap in (f"[{_GAPS}]", f"[{OTHER[mark]}]")
    )
    power = r"(?:[eE][+-]?\d+)?"
    return rf"^[+-]?(?:(?:\d+|{groups})(?:[{mark}]\d*)?{power}|[{mark}]\d+{power}|{_SPECIAL})$"


def _matches(words: Any, pattern: str) -> Bools:
    import pyarrow.compute as pc

    found: Bools = flags(pc.match_substring_regex(words, pattern))
    return found
