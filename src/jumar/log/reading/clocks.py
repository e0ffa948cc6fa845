"""Steps and times: what rows are sorted by, and how long a pause between them is.

Numbers stay numbers, and whole ones stay whole: a float may not tell two nanoseconds apart. Times
become whole micro- or nanoseconds. Text is tried as numbers, then as ISO 8601 without and with a
time zone, then as dates people write; all rows of a column must agree.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Array
from jumar.core.text import printable
from jumar.log.episodes import UNKNOWN
from jumar.log.formats import Source
from jumar.log.formats.numpy_arrays import flags, to_numpy, without_blanks
from jumar.log.problems import Problems
from jumar.log.reading.dates import Dates, guesses, parsed, spoken
from jumar.log.reading.encoding import Coded, Encoder, Names, NotPlain, is_text
from jumar.log.reading.numerals import Mark, MarkEvidence, NumberWords, decide

Kind = Literal["numbers", "times", "zoned times"]
PER_SECOND = {"us": 10**6, "ns": 10**9}

NOT_A_TIME = (
    "Write 2024-05-31 or 2024-05-31T14:30, all with or all without a time zone; or numbers. If the "
    "column says something else, rename it."
)
FILL_IN = "Fill it in, or rename or leave out the column."
FINITE = "Write a finite one."


@dataclass(frozen=True)
class Clock:
    """When each row was written."""

    column: str
    values: Array  # (N,) int64 or float64
    per_second: int | None  # units in a second; nothing if these are plain numbers

    def take(self, index: Any) -> Clock:
        return Clock(self.column, self.values[index], self.per_second)


class Times(Encoder):
    """A column of steps (numbers only, if it is text) or of times. As with numbers, what is not
    plain is kept as words until the column is complete."""

    def __init__(
        self,
        source: Source,
        column: str,
        part: Literal["step", "time"],
        format: str | None = None,
        decimal: Mark | None = None,
        as_words: bool = False,
    ) -> None:
        super().__init__(source, column)
        self._part, self._format, self._decimal = part, format, decimal
        self._kind: Kind | None = None
        self._chunks: list[tuple[str, Array]] = []  # the unit, and the values in it
        self._holes = [np.zeros(0, np.int64)]  # entries of a typed column that are missing
        self._words = Names(source, column) if as_words else None
        self.guessed = ""  # the format of the dates, where nobody said it

    def _add(self, column: Any) -> None:
        import pyarrow.compute as pc

        if is_text(column):
            column = without_blanks(pc.utf8_trim_whitespace(column))
        elif column.null_count and self._words is None:
            nulls = np.flatnonzero(flags(column.is_null()))
            self._holes.append(self._read + nulls)
            return
        if self._words is None and len(column):
            found = self._plainly(column)
            if found is not None:
                self._chunks.append(found)
                return
            if self._read:
                raise NotPlain(self._column)
            self._words = Names(self._source, self._column)
        if self._words is not None:
            self._words.add(column)

    @property
    def _told(self) -> tuple[str, str]:
        """The fact and the remedy for what is no step or time."""
        if self._part == "step":
            return "is not a number", "Number the steps 1, 2, 3, ..."
        return "is not a time like the others", NOT_A_TIME

    def _plainly(self, column: Any) -> tuple[str, Array] | None:
        """The unit and the values, if all are plainly numbers or all plainly times."""
        import pyarrow as pa

        formatted = self._format is not None and self._part == "time"
        if column.null_count or (formatted and not pa.types.is_temporal(column.type)):
            return None
        if self._decimal == "," and is_text(column):  # plain numbers are those with a point
            return None
        for kind in self._kinds(column):
            if self._kind in (None, kind) and (found := _converted(column, kind)) is not None:
                mixed = bool(self._chunks) and found[0] != self._chunks[0][0]  # us and ns
                if mixed or not np.isfinite(found[1]).all():  # to be told all at once, in the end
                    return None
                self._kind = kind
                return found
        return None

    def _kinds(self, column: Any) -> Sequence[Kind]:
        """What the column may hold."""
        import pyarrow as pa

        if pa.types.is_temporal(column.type):
            zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
            return ["zoned times" if zoned else "times"]
        if not is_text(column) or self._part == "step":
            return ["numbers"]
        return ["numbers", "times", "zoned times"]

    def _joined(self) -> Clock:
        unit = self._chunks[0][0] if self._chunks else ""
        values = np.concatenate([values for _, values in self._chunks] or [np.zeros(0, np.int64)])
        self._chunks = []
        return Clock(self._column, values, PER_SECOND.get(unit))

    # ---- what is not plain ------------------------------------------------------------------

    def result(self, problems: Problems) -> Clock:
        holes = np.concatenate(self._holes)
        if self._words is None and len(holes):
            self.missing(self._part, holes, FILL_IN, problems)
        if self._words is None:
            return self._joined()
        coded = self._words.result(problems)
        holes = np.flatnonzero(coded.code == UNKNOWN)
        if len(holes):
            self._words.missing(self._part, holes, FILL_IN, problems)
        unit, values = self._meaning(coded, problems)
        return Clock(self._column, np.append(values, 0)[coded.code], PER_SECOND.get(unit))

    def _meaning(self, coded: Coded, problems: Problems) -> tuple[str, Array]:
        """The unit, and the value of each word."""
        import pyarrow as pa

        words = pa.array(coded.names, pa.string())
        nothing = "", np.zeros(len(words), np.int64)
        if len(words) == 0:
            return nothing
        if self._format is not None and self._part == "time":
            return self._as_dates(coded, [parsed(coded.names, self._format)], problems)
        written = NumberWords.of(coded.names)
        if self._decimal is not None and written.valid[self._decimal].all():
            return "", written.values(self._decimal)
        kinds = self._kinds(words)
        for kind in kinds:
            if (found := _converted(words, kind)) is not None:
                self._refuse_endless(coded, found[1], problems)
                return found
        if self._part == "time" and (dates := guesses(coded.names)):
            return self._as_dates(coded, dates, problems)
        decision = decide(written, MarkEvidence())
        if written.valid[decision.mark].all() and decision.is_clear:
            return "", written.values(decision.mark)
        self._refuse(coded, words, kinds, problems)
        return nothing

    def _as_dates(
        self, coded: Coded, dates: Sequence[Dates], problems: Problems
    ) -> tuple[str, Array]:
        best = max(dates, key=lambda found: int(found.fits.sum()))
        assert self._words is not None
        strange = np.flatnonzero(~best.fits)
        if len(strange):
            fact, remedy = self._told
            if self._format is not None:
                fact = f"is not a date like {printable(best.format)}"
                remedy = "Write all dates alike, or give another format (--dates)."
            self._words.refuse(
                coded, strange, lambda i: f"{printable(coded.names[i])!r} {fact}", remedy, problems
            )
        elif len(dates) > 1:
            both = " or ".join(f"{spoken(one.format)}" for one in dates)
            option = " or ".join(f"dates={one.format!r}" for one in dates[:2])
            differ = np.flatnonzero(dates[0].values != dates[1].values)
            self._words.refuse(
                coded,
                differ[:1],
                lambda i: (
                    f"{printable(coded.names[i])!r} could be {both}, and no other date of "
                    "the column decides it"
                ),
                f"Say which: {option} (--dates {shlex.quote(dates[0].format)}).",
                problems,
            )
        if self._format is None:
            self.guessed = best.format
        return "us", best.values

    def _refuse_endless(self, coded: Coded, values: Array, problems: Problems) -> None:
        if values.dtype == np.float64 and self._words is not None:
            endless = np.flatnonzero(~np.isfinite(values))
            self._words.refuse(coded, endless, lambda i: _endless(values[i]), FINITE, problems)

    def _refuse(self, coded: Coded, words: Any, kinds: Sequence[Kind], problems: Problems) -> None:
        """Tell of the words that are not of the kind of the first one."""
        assert self._words is not None
        first = words.slice(0, 1)
        kind = next((kind for kind in kinds if _converted(first, kind) is not None), kinds[0])
        strange = [i for i in range(len(words)) if _converted(words.slice(i, 1), kind) is None]
        fact, remedy = self._told
        if not strange:
            strange, fact, remedy = [0], f"these are not all {kind}", "Write them all alike."
        self._words.refuse(
            coded,
            np.array(strange),
            lambda i: f"{printable(coded.names[i])!r} {fact}",
            remedy,
            problems,
        )


def _endless(value: float) -> str:
    return f"{value} is not a number to sort by"


def _converted(column: Any, kind: Kind) -> tuple[str, Array] | None:
    """The unit and the values of a column that is all of a kind."""
    import pyarrow as pa

    for unit, target in _targets(column.type, kind):
        try:
            # a double is only a last resort, and may round what is not whole
            values = column.cast(target, safe=target != pa.float64())
            if unit:
                values = values.cast(pa.int64())
            return unit, to_numpy(values)
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
