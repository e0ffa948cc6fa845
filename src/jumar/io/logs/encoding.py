"""Columns that are read batch by batch: names become small numbers, text becomes numbers.

Each encoder takes Arrow arrays of one column and in the end gives one array over all rows. A value
that cannot be what it should be is named by file, row and column. Empty text, nulls and NaN are
missing values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Floats
from jumar.core.episodes import UNKNOWN
from jumar.core.errors import LogError
from jumar.core.rows import row_number
from jumar.core.text import printable
from jumar.io.formats import Source
from jumar.io.formats.numpy_arrays import nothing, nulls, to_numpy, without_blanks
from jumar.io.logs.asking import Bins
from jumar.io.logs.numerals import CALLED, Decision, Mark, MarkEvidence, NumberWords, decide
from jumar.io.problems import MOST, Problems

NOT_A_NUMBER = "Write plain digits, such as -12.5; leave the cell empty if nobody knows."
WHICH_MARK = (
    "Say which mark is the decimal mark: decimal=',' or decimal='.' (--decimal , or --decimal .); "
    "the other one then parts thousands."
)
ONE_MARK = "Write all numbers alike, with a decimal point."
ALL_ALIKE = "Write all numbers alike, or leave decimal (--decimal) out."
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class Coded:
    """A column of names."""

    names: Sequence[str]
    code: Array  # (N,) int32, UNKNOWN where the name is missing

    def take(self, index: Any) -> Coded:
        return Coded(self.names, self.code[index])


@dataclass(frozen=True)
class Amounts:
    """A column of numbers."""

    values: Floats  # (N,) NaN where missing
    missing: (
        Bools  # (N,) nothing stands there; a NaN that was written is no number but is not nothing
    )

    def take(self, index: Any) -> Amounts:
        return Amounts(self.values[index], self.missing[index])


class NotPlain(Exception):
    """Columns have values that are not plainly numbers or times. What was read before may then mean
    something else (1.234 is a thousand beside 1.234,5): read again, and keep them as words."""

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns)
        self.columns = columns


class Encoder(ABC):
    """One column that is being read."""

    def __init__(self, source: Source, column: str) -> None:
        self._source, self._column = source, column
        self._read = 0  # rows so far

    @property
    def column(self) -> str:
        """The name of the column."""
        return self._column

    def cell(self, i: int) -> str:
        """Names entry i of the column."""
        return f"{self._source.name}, {self._source.place(i)}, column {printable(self._column)!r}"

    def missing(self, part: str, holes: Array, remedy: str, problems: Problems) -> None:
        """Tell of entries that must be there and are not."""
        more = so_in_all(self._source.rows(self._read)[holes])
        problems.add(f"{self.cell(int(holes[0]))}: the {part} is missing.{more}", remedy)

    def add(self, column: Any) -> None:
        """Take in the next batch."""
        self._add(_decoded(column))
        self._read += len(column)

    @abstractmethod
    def _add(self, column: Any) -> None:
        """Take in a batch whose dictionary, if it had one, was resolved."""

    def _cell(self, i: int) -> str:
        return self.cell(self._read + i)


class Names(Encoder):
    """Any values, as text."""

    def __init__(self, source: Source, column: str) -> None:
        super().__init__(source, column)
        self._chunks: list[Any] = []

    def _add(self, column: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), nothing(column), column)
        self._chunks.append(_encoded(column, self._source.name, self._column))

    def result(self, problems: Problems) -> Coded:
        import pyarrow as pa

        chunks = pa.chunked_array(
            self._chunks, pa.dictionary(pa.int32(), pa.string())
        ).unify_dictionaries()
        self._chunks = []
        code = np.empty(self._read, np.int32)
        at = 0
        for chunk in chunks.chunks:
            code[at : at + len(chunk)] = to_numpy(chunk.indices, UNKNOWN)
            at += len(chunk)
        return Coded(chunks.chunk(0).dictionary.to_pylist() if at else [], code)

    def refuse(
        self,
        coded: Coded,
        bad: Array,
        fact: Callable[[int], str],
        remedy: str,
        problems: Problems,
    ) -> None:
        """Tell of words that cannot be what they should be, each with its first place."""
        if len(bad) == 0:
            return
        at = {int(i): np.flatnonzero(coded.code == i) for i in bad[: MOST + 1]}
        rows = self._source.rows(self._read)

        def problem(i: int) -> tuple[str, str]:
            more = so_in_all(rows[at[i]])
            return f"{self.cell(int(at[i][0]))}: {fact(i)}.{more}", remedy

        problems.each([int(i) for i in bad], problem)


class Flags(Names):
    """Words for true and false; nothing is false."""

    def result(self, problems: Problems) -> Bools:  # type: ignore[override]
        coded = super().result(problems)
        keys = [word.strip().lower().removesuffix(".0") for word in coded.names]
        bad = np.flatnonzero([key not in _FLAGS for key in keys])
        self.refuse(
            coded,
            bad,
            lambda i: f"{printable(coded.names[i])!r} is not true or false",
            "Write true or false, yes or no, 1 or 0; an empty cell is false.",
            problems,
        )
        return np.array([*(_FLAGS.get(key, False) for key in keys), False], np.bool_)[coded.code]


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
            if self._read and self._source.readable_again:
                raise NotPlain(self._column)
            if self._read:
                numbers(_filled(column), self._cell)  # names the cell
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
        values = super().result(problems).values
        code = np.searchsorted(np.array(self._bins.edges), values, side="right").astype(np.int32)
        code[np.isnan(values)] = UNKNOWN
        return Coded(self._bins.names, code)


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
    if is_text and source.readable_again and plain:
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
    return [f"with decimal commas in {', '.join(with_commas)} (recognised; --decimal ,)"]


# ---- Arrow arrays -------------------------------------------------------------------------------


def _decoded(column: Any) -> Any:
    """The values themselves: a dictionary may list what never occurs."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        values = _plain(column.dictionary)  # Arrow does not decode every type itself
        column = pa.DictionaryArray.from_arrays(column.indices, values).cast(values.type)
    return _plain(column)


def _plain(column: Any) -> Any:
    """A column of a type that all functions of Arrow know."""
    import pyarrow as pa

    if pa.types.is_null(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column


def _encoded(column: Any, source: str, name: str) -> Any:
    """A column as numbered texts; only the distinct values are turned into text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbered = column.dictionary_encode()
        words = numbered.dictionary.cast(pa.string())
    except pa.ArrowException as error:
        raise LogError(
            f"{source}, column {printable(name)!r}: a value of type {column.type} cannot be read "
            "as a name. Store text or whole numbers."
        ) from error
    if pc.min(pc.binary_length(words)).as_py() == 0:
        return _encoded(without_blanks(column), source, name)
    return pa.DictionaryArray.from_arrays(numbered.indices, words)


def is_text(column: Any) -> bool:
    """Whether a column holds text that may have to be read as a number."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _filled(column: Any) -> Any:
    """A column of text with nothing where there are only blanks."""
    import pyarrow.compute as pc

    return without_blanks(pc.utf8_trim_whitespace(column))


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


def so_in_all(rows: Array) -> str:
    """How many rows lack something, with examples besides the first, which is named already.

    >>> so_in_all(np.array([3])), so_in_all(np.array([3, 7, 5]))
    ('', ' So it is in 3 rows in all (also 5, 7).')
    """
    if len(rows) == 1:
        return ""
    examples = ", ".join(map(row_number, sorted(rows[1:4].tolist())))
    dots = ", ..." if len(rows) > 4 else ""
    return f" So it is in {len(rows)} rows in all (also {examples}{dots})."


def quoted(value: Any) -> str:
    """A value in a message."""
    plain = value.as_py()
    return repr(printable(plain)) if isinstance(plain, str) else printable(repr(plain))
