"""Numbers as people write them: 3.5 and 3,5, 1,234.5 and 1.234,5 and 1 234,5.

Plain numbers are taken as they are. Of other columns each distinct word is tried under both decimal
marks. A word that is a number under one of them only (3,5 or 1.234,5) is *evidence* for that mark;
one under which the other mark stands between thousands (1.234,5 or 1.234.567) is a *proof* that it
does. A word that is a number under both, but not the same one (1.234), is *unclear*. If nobody says
which mark it is, all words of a log decide together:

- evidence for one mark decides; evidence for both is a contradiction;
- an unclear word with the other mark (1.234 beside 3,5) is read as thousands only with a proof, and
  not if only some files of the log have semicolons between columns: they were written apart;
- without any evidence a point is a decimal point, as everywhere, but a comma is refused. Between
  semicolons, which come with decimal commas, a point needs evidence too.

Spaces and apostrophes between thousands are always clear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats
from jumar.core.errors import LogError
from jumar.core.reading import NO_NUMBER
from jumar.core.text import printable
from jumar.log.files import MIXED, SEMICOLONS
from jumar.log.formats.numpy_arrays import flags, nulls, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.columns import Cells

Mark = Literal[".", ","]
MARKS: tuple[Mark, Mark] = (".", ",")
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
CALLED = {".": "point", ",": "comma"}
COMMAS = "with decimal commas in"  # how it is told that they were recognised

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
        return {mark: _matches(self.words, _number(mark)) for mark in MARKS}

    @cached_property
    def has(self) -> dict[Mark, Bools]:
        """Whether a mark stands in a word that is a number."""
        number = self.valid["."] | self.valid[","]
        return {mark: _matches(self.words, re.escape(mark)) & number for mark in MARKS}

    @cached_property
    def blank(self) -> Bools:
        """(K,) nothing, or what people write in place of a number that they do not have."""
        return _matches(self.words, f"^(?i:{'|'.join(map(re.escape, NO_NUMBER))})?$")

    @property
    def bad(self) -> Bools:
        """(K,) words that are no number whatever the mark."""
        return ~(self.valid["."] | self.valid[","] | self.blank)

    def evidence(self, mark: Mark) -> Bools:
        """(K,) words that are numbers under this mark only."""
        return self.valid[mark] & ~self.valid[OTHER[mark]]

    @property
    def unclear(self) -> Bools:
        """(K,) words that are different numbers under both."""
        return self.valid["."] & self.valid[","] & (self.has["."] | self.has[","])

    def meanings(self, i: int) -> str:
        """What an unclear word may be, larger number first."""
        both = sorted((self.values(mark)[i] for mark in MARKS), key=abs, reverse=True)
        return " or ".join(f"{value:.12g}" for value in both)

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


class Decision(NamedTuple):
    """The decimal mark of a log, or the words that stand against every choice."""

    mark: Mark
    against: list[Bools]  # for each column, (K,) words that make it unclear
    why: str = ""  # what is wrong with them; nothing: they have two meanings

    @property
    def is_clear(self) -> bool:
        return not any(words.any() for words in self.against)


def decide(columns: Sequence[NumberWords], doubtful: bool = False, apart: bool = False) -> Decision:
    """The decimal mark of some columns. `doubtful`: may even a point part thousands? `apart`: were
    they written in two ways?

    >>> def mark(*texts):
    ...     found = decide([NumberWords.of(texts)])
    ...     return found.mark if found.is_clear else "unclear"
    >>> mark("3,5", "2"), mark("3.5", "1.234"), mark("1.234,5", "1.234"), mark("1 234", "-7")
    (',', '.', ',', '.')
    >>> mark("3,5", "1.234"), mark("3,5", "3.5"), mark("1,234"), mark("1.234")
    ('unclear', 'unclear', 'unclear', '.')
    """
    unclear = [words.unclear for words in columns]
    told = [mark for mark in MARKS if any(words.evidence(mark).any() for words in columns)]
    if len(told) == 2:
        first = next(w for w in columns if (w.evidence(".") | w.evidence(",")).any())
        i = int(np.flatnonzero(first.evidence(".") | first.evidence(","))[0])
        mark: Mark = "." if first.evidence(".")[i] else ","
        why = f"has a decimal {CALLED[OTHER[mark]]}, but others a decimal {CALLED[mark]}"
        return Decision(mark, [words.evidence(OTHER[mark]) for words in columns], why)
    if told:
        (mark,) = told
        other = OTHER[mark]
        proof = any((words.evidence(mark) & words.has[other]).any() for words in columns)
        strange = [u & words.has[other] for u, words in zip(unclear, columns, strict=True)]
        return Decision(mark, [s & (apart or not proof) for s in strange])
    commas = any((u & words.has[","]).any() for u, words in zip(unclear, columns, strict=True))
    return Decision(".", [u & (commas or doubtful) for u in unclear])


# ---- columns ------------------------------------------------------------------------------------


def read_amounts(
    columns: Sequence[Cells], given: Mark | None, problems: Problems
) -> tuple[dict[str, Amounts], list[str]]:
    """The columns of numbers by name, and what was recognised, for the remarks."""
    plain: dict[str, Amounts] = {}
    written: list[Cells] = []
    for column in columns:
        doubtful = given == "," or _is_doubtful(column)
        found = None if column.is_text and doubtful else plain_amounts(column)
        if found is None:
            written.append(column)
        else:
            plain[column.name] = found
    words = [NumberWords.of(column.coded.names) for column in written]
    separator = columns[0].source.separator if columns else ""
    if separator and given is None and any(w.evidence(",").any() for w in words):
        # 1.234 may be a thousand there
        written = [column for column in columns if column.is_text]
        words = [NumberWords.of(column.coded.names) for column in written]
    decision = decide(words, any(map(_is_doubtful, written)), separator == MIXED)
    commas = []
    for column, its, against in zip(written, words, decision.against, strict=True):
        # what is no text has a point
        mark = given or ("." if column.is_mixed and not _is_doubtful(column) else None)
        plain[column.name] = _written(column, its, decision._replace(against=[against]), mark,
                                      problems)  # fmt: skip
        if mark is None and decision.mark == "," and its.has[","].any():
            commas.append(printable(column.name))
    said = f"{COMMAS} {', '.join(commas)} (recognised; --decimal ,)"
    return plain, [said] if commas else []


def _is_doubtful(column: Cells) -> bool:
    return column.source.separator in (SEMICOLONS, MIXED)


def _written(
    column: Cells, words: NumberWords, decision: Decision, given: Mark | None, problems: Problems
) -> Amounts:
    """Numbers that are not all plain; `given`: the decimal mark, if it is known."""
    names, code = column.coded.names, column.coded.code
    wrong, points = words.bad, column.source.has_points

    def refuse(bad: Bools, fact: Any, remedy: str) -> None:
        column.refuse_words(
            np.flatnonzero(bad), lambda i: f"{printable(names[i])!r} {fact(i)}", remedy, problems
        )

    if given is not None:
        strange = ~words.valid[given] & ~wrong & ~words.blank
        fact = f"is not a number with a decimal {CALLED[given]}"
        refuse(strange, lambda _: fact, ONE_MARK if points else ALL_ALIKE)
    refuse(wrong, lambda _: "is not a number", NOT_A_NUMBER)
    if given is None and not wrong.any():  # else it is too early to wonder what the others mean
        refuse(
            decision.against[0],
            lambda i: decision.why or f"could be {words.meanings(i)}",
            ONE_MARK if points else WHICH_MARK,
        )
    values = words.values(given or decision.mark)
    return Amounts(np.append(values, np.nan)[code], np.append(words.blank, True)[code])


def plain_amounts(column: Cells) -> Amounts | None:
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
    except pa.ArrowException:
        for i, value in enumerate(values):
            try:
                value.cast(pa.float64(), safe=False)
            except pa.ArrowException as error:
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
