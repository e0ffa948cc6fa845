"""Columns of numbers: plain ones are read at once, others when it is clear how they are written.

As soon as one cell is not a plain number, the column is kept as words until it is complete; then
`numerals` decides what its points and commas mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats
from jumar.core.errors import LogError
from jumar.core.reading import Bins
from jumar.core.text import printable
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import nulls, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.encoding import Coded, Encoder, Names, NotPlain, is_text, quoted
from jumar.log.reading.numerals import CALLED, Decision, Mark, MarkEvidence, NumberWords, decide

NOT_A_NUMBER = "Write plain digits, such as -12.5; leave the cell empty if nobody knows."
WHICH_MARK = (
    "Say which mark is the decimal mark: decimal=',' or decimal='.' (--decimal , or --decimal .); "
    "the other one then parts thousands."
)
COMMAS = "with decimal commas in"  # how it is told that they were recognised
ONE_MARK = "Write all numbers alike, with a decimal point."
ALL_ALIKE = "Write all numbers alike, or leave decimal (--decimal) out."


@dataclass(frozen=True)
class Amounts:
    """A column of numbers."""

    values: Floats  # (N,) NaN where missing
    missing: (
        Bools  # (N,) nothing stands there; a NaN that was written is no number but is not nothing
    )

    def take(self, index: Any) -> Amounts:
        return Amounts(self.values[index], self.missing[index])


class Numbers(Encoder):
    """Numbers. Plain ones are read at once; as soon as one is not plain, all are kept as words
    until the column is complete and it is clear how its numbers are written."""

    def __init__(self, source: Source, column: str, as_words: bool = False) -> None:
        super().__init__(source, column)
        self._values: list[Floats] = [np.zeros(0)]
        self._missing: list[Bools] = [np.zeros(0, np.bool_)]
        self.words = WrittenNumbers(source, column) if as_words else None

    def _add(self, column: Any) -> None:
        if self.words is None:
            plain = _plain_numbers(column) if is_text(column) else column
            if plain is not None:
                self._missing.append(nulls(plain))
                self._values.append(numbers(plain, self._cell))
                return
            if self._read:
                raise NotPlain(self._column)
            self.words = WrittenNumbers(self._source, self._column)
        self.words.add(column)

    def result(self, problems: Problems) -> Amounts:
        if self.words is not None:
            return self.words.result(problems)
        found = Amounts(np.concatenate(self._values), np.concatenate(self._missing))
        self._values, self._missing = [], []
        return found


class Ranges(Numbers):
    """Numbers, as the names of the ranges they fall into."""

    def __init__(self, source: Source, column: str, bins: Bins, as_words: bool = False) -> None:
        super().__init__(source, column, as_words)
        self._bins = bins

    def result(self, problems: Problems) -> Coded:  # type: ignore[override]
        return Coded(self._bins.names, self._bins.find(super().result(problems).values))


class WrittenNumbers(Encoder):
    """Numbers that are not all plain, kept as words until it is known how they are written."""

    def __init__(self, source: Source, column: str) -> None:
        super().__init__(source, column)
        self._names = Names(source, column)
        self._typed: list[tuple[int, Any]] = []  # batches that hold numbers, and where they begin
        self.given: Mark | None = None  # the decimal mark that was asked for
        self.elsewhere = MarkEvidence()  # what other columns tell

    def _add(self, column: Any) -> None:
        import pyarrow as pa

        if not is_text(column):
            self._typed.append((self._read, column))
            column = pa.nulls(len(column), pa.string())
        self._names.add(column)

    @cached_property
    def coded(self) -> Coded:
        """The column as words."""
        return self._names.result(Problems())

    @cached_property
    def words(self) -> NumberWords:
        return NumberWords.of(self.coded.names)

    @property
    def decision(self) -> Decision:
        return decide(self.words, self.elsewhere, self.given)

    def result(self, problems: Problems) -> Amounts:
        decision = self.decision
        wrong = self.words.bad
        if self.given is not None:
            strange = ~self.words.valid[self.given] & ~wrong & ~self.words.blank
            fact = f"is not a number with a decimal {CALLED[self.given]}"
            self._refuse(strange, lambda _: fact, ALL_ALIKE, problems)
        self._refuse(wrong, lambda _: "is not a number", NOT_A_NUMBER, problems)
        if not wrong.any():  # else it is too early to wonder what the others mean
            words, why = self.words, decision.why
            self._refuse(
                decision.against,
                lambda i: why or f"could be {words.meanings(i)}",
                ONE_MARK if self._source.has_points else WHICH_MARK,
                problems,
            )
        values = np.append(self.words.values(decision.mark), np.nan)[self.coded.code]
        missing = np.append(self.words.blank, True)[self.coded.code]
        for first, column in self._typed:
            here = slice(first, first + len(column))
            missing[here] = nulls(column)
            values[here] = numbers(column, lambda i, first=first: self.cell(first + i))
        return Amounts(values, missing)

    def _refuse(
        self, words: Bools, fact: Callable[[int], str], remedy: str, problems: Problems
    ) -> None:
        names = self.coded.names
        self._names.refuse(
            self.coded,
            np.flatnonzero(words),
            lambda i: f"{printable(names[i])!r} {fact(i)}",
            remedy,
            problems,
        )


def are_doubtful(source: Source) -> bool:
    """Whether a point in a number may part thousands: semicolons come with decimal commas."""
    return source.separator == "semicolons"


def settle_marks(source: Source, numbers: Sequence[Numbers], given: Mark | None) -> list[str]:
    """Tell every column of numbers what the others say about the decimal mark. Returns what was
    recognised, for the remarks."""
    written = {encoder.column: encoder.words for encoder in numbers if encoder.words is not None}
    is_text = bool(source.separator)  # all columns were written by one hand
    plain = [encoder.column for encoder in numbers if encoder.words is None]
    for words in written.values():
        words.given = given
    if is_text and plain:
        marks = MarkEvidence.of([words.words for words in written.values()]).marks
        if given is None and "," in marks:
            raise NotPlain(*plain)  # 1.234 may be a thousand there
    if given is not None:
        return []
    for name, words in written.items():
        if is_text:
            others = [other.words for column, other in written.items() if column != name]
            words.elsewhere = MarkEvidence.of(others, are_doubtful(source))
    with_commas = [printable(n) for n, words in written.items() if words.decision.mark == ","]
    if not with_commas:
        return []
    return [f"{COMMAS} {', '.join(with_commas)} (recognised; --decimal ,)"]


# ---- Arrow arrays -------------------------------------------------------------------------------


def _filled(column: Any) -> Any:
    """A column of text with nothing where there are only blanks."""
    import pyarrow.compute as pc

    column = pc.utf8_trim_whitespace(column)
    return without_blanks(column)


def _plain_numbers(column: Any) -> Any | None:
    """Text as numbers, if every cell is a plain one or empty."""
    import pyarrow as pa

    try:
        return column.cast(pa.float64())  # nearly always; no need to look for blanks then
    except pa.ArrowException:
        try:
            return _filled(column).cast(pa.float64())
        except pa.ArrowException:
            return None


def numbers(column: Any, cell: Any) -> Any:
    """A column as numbers, NaN where there is nothing."""
    import pyarrow as pa

    try:
        return to_numpy(column.cast(pa.float64(), safe=False))
    except pa.ArrowException:
        for i, value in enumerate(column):
            try:
                value.cast(pa.float64(), safe=False)
            except pa.ArrowException as error:
                raise LogError(
                    f"{cell(i)}: {quoted(value)} is not a number. {NOT_A_NUMBER}"
                ) from error
        raise
