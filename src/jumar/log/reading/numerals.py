"""Numbers as people write them: 3.5 and 3,5, 1,234.5 and 1.234,5 and 1 234,5.

Each distinct word of a column is tried under both decimal marks. A word that is a number under one
of them only (3,5 or 1.234,5) is *evidence* for that mark; one under which the other mark stands
between thousands (1.234,5 or 1.234.567) is a *proof* that it does. A word that is a number under
both, but not the same one (1.234), is *unclear*. Then, if nobody says which mark it is:

- evidence for one mark decides the column; evidence for both is a contradiction;
- an unclear word with the other mark (1.234 beside 3,5) is read as thousands only with a proof;
- a column in which every mark is unclear goes with the other columns of a text file. If these do
  not use decimal commas, a point is a decimal point, as everywhere; all else is refused. Between
  semicolons, which come with decimal commas, a point needs evidence too.

Spaces and apostrophes between thousands are always clear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Bools, Floats
from jumar.core.reading import NO_NUMBER
from jumar.log.formats.numpy_arrays import flags, to_numpy

Mark = Literal[".", ","]
MARKS: tuple[Mark, Mark] = (".", ",")
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
CALLED = {".": "point", ",": "comma"}

_SPACES = " \u00a0\u2009\u202f"  # plain, fixed, thin, and thin and fixed
_GAPS = f"{_SPACES}'\u2019"
_SPECIAL = r"(?i:nan|inf|infinity)"


def _valid(mark: Mark) -> str:
    """What a number looks like under a decimal mark."""
    groups = "|".join(
        rf"[1-9]\d{{0,2}}(?:{gap}\d{{3}})+" for gap in (f"[{_GAPS}]", f"[{OTHER[mark]}]")
    )
    power = r"(?:[eE][+-]?\d+)?"
    return rf"^[+-]?(?:(?:\d+|{groups})(?:[{mark}]\d*)?{power}|[{mark}]\d+{power}|{_SPECIAL})$"


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
        return {mark: _matches(self.words, _valid(mark)) for mark in MARKS}

    @cached_property
    def has(self) -> dict[Mark, Bools]:
        """Whether a mark stands in a word that is a number."""
        number = self.valid["."] | self.valid[","]
        return {mark: _contains(self.words, mark) & number for mark in MARKS}

    @cached_property
    def blank(self) -> Bools:
        """(K,) nothing, or what people write in place of a number that they do not have."""
        marks = "|".join(map(re.escape, NO_NUMBER))
        return _matches(self.words, f"^(?i:{marks})?$")

    @property
    def bad(self) -> Bools:
        """(K,) words that are no number whatever the mark."""
        return ~(self.valid["."] | self.valid[","] | self.blank)

    def evidence(self, mark: Mark) -> Bools:
        """(K,) words that are numbers under this mark only."""
        return self.valid[mark] & ~self.valid[OTHER[mark]]

    def proof(self, mark: Mark) -> Bools:
        """(K,) words that prove: under this decimal mark, the other one parts thousands."""
        return self.evidence(mark) & self.has[OTHER[mark]]

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


@dataclass(frozen=True)
class MarkEvidence:
    """What the columns of a file tell about its decimal mark."""

    marks: frozenset[Mark] = frozenset()  # those with evidence
    proved: frozenset[Mark] = frozenset()  # decimal marks beside which the other parts thousands
    doubtful: bool = False  # whether even a point may part thousands

    @classmethod
    def of(cls, columns: Sequence[NumberWords], doubtful: bool = False) -> MarkEvidence:
        return cls(
            frozenset(m for m in MARKS if any(words.evidence(m).any() for words in columns)),
            frozenset(m for m in MARKS if any(words.proof(m).any() for words in columns)),
            doubtful,
        )


@dataclass(frozen=True)
class Decision:
    """The decimal mark of a column, or the words that stand against every choice."""

    mark: Mark
    against: Bools  # (K,) words that make it unclear
    why: str = ""  # what is wrong with them; nothing: they have two meanings

    @property
    def is_clear(self) -> bool:
        return not self.against.any()


def decide(words: NumberWords, elsewhere: MarkEvidence, given: Mark | None = None) -> Decision:
    """The decimal mark of a column.

    >>> def mark(*texts, elsewhere=MarkEvidence()):
    ...     found = decide(NumberWords.of(texts), elsewhere)
    ...     return found.mark if found.is_clear else "unclear"
    >>> mark("3,5", "2"), mark("3.5", "1.234"), mark("1.234,5", "1.234"), mark("1 234", "-7")
    (',', '.', ',', '.')
    >>> mark("3,5", "1.234"), mark("3,5", "3.5"), mark("1,234"), mark("1.234")
    ('unclear', 'unclear', 'unclear', '.')
    >>> german = MarkEvidence(frozenset(","))
    >>> mark("1,234", elsewhere=german), mark("1.234", elsewhere=german)
    (',', 'unclear')
    >>> mark("1.234", elsewhere=MarkEvidence(doubtful=True))
    'unclear'
    """
    nothing = np.zeros(len(words.words), np.bool_)
    if given is not None:
        return Decision(given, nothing)
    own = MarkEvidence.of([words])
    if len(own.marks) == 2:
        first = int(np.flatnonzero(words.evidence(".") | words.evidence(","))[0])
        mark: Mark = "." if words.evidence(".")[first] else ","
        other = f"has a decimal {CALLED[OTHER[mark]]}, but others a decimal {CALLED[mark]}"
        return Decision(mark, words.evidence(OTHER[mark]), other)
    unclear = words.unclear
    if own.marks:
        (mark,) = own.marks
        strange = unclear & words.has[OTHER[mark]]
        settled = mark in own.proved or mark in elsewhere.proved
        return Decision(mark, nothing if settled else strange)
    if not unclear.any():
        return Decision(".", nothing)
    for mark in MARKS:
        if unclear[~words.has[mark]].any():
            continue
        # all marks are this one: is it the decimal mark, or does it part thousands?
        if mark == "." and "," not in elsewhere.marks and not elsewhere.doubtful:
            return Decision(".", nothing)
        if elsewhere.marks == {mark}:
            return Decision(mark, nothing)
        if elsewhere.marks == elsewhere.proved == {OTHER[mark]}:
            return Decision(OTHER[mark], nothing)
    return Decision(".", unclear)


def _matches(words: Any, pattern: str) -> Bools:
    import pyarrow.compute as pc

    found: Bools = flags(pc.match_substring_regex(words, pattern))
    return found


def _contains(words: Any, text: str) -> Bools:
    import pyarrow.compute as pc

    found: Bools = flags(pc.match_substring(words, text))
    return found
