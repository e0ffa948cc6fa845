"""Steps and times: what rows are sorted by, and how long a pause between them is.

Numbers stay numbers, and whole ones stay whole: a float may not tell two nanoseconds apart. Times
become whole micro- or nanoseconds. Text is tried as numbers, then as ISO 8601 without and with a
time zone; all rows of a column must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError
from jumar.io.formats import Source
from jumar.io.logs.encoding import Encoder, is_text, nulls, quoted, without_blanks

Kind = Literal["numbers", "times", "zoned times"]
PER_SECOND = {"us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Clock:
    """When each row was written."""

    column: str
    values: Array  # (N,) int64 or float64
    per_second: int | None  # units in a second; nothing if these are plain numbers

    def __getitem__(self, index: Any) -> Clock:
        return Clock(self.column, self.values[index], self.per_second)


class Times(Encoder):
    """A column of steps (numbers only, if it is text) or of times."""

    def __init__(self, source: Source, column: str, part: str) -> None:
        super().__init__(source, column)
        self._part = part
        self._kind: Kind | None = None
        self._holes = [np.zeros(0, np.int64)]  # the entries that are missing, by batch

    def _add(self, column: Any) -> None:
        import pyarrow.compute as pc

        if is_text(column):
            column = without_blanks(pc.utf8_trim_whitespace(column))
        if column.null_count:
            # reported at the end: in NDJSON, a column that is not there looks like this too
            self._holes.append(self._read + np.flatnonzero(nulls(column)))
            return
        if len(column) == 0:
            return
        unit, values = self._read_as(column, self._kinds(column))
        if values.dtype == np.float64:
            for i in np.flatnonzero(~np.isfinite(values))[:1]:
                raise LogError(
                    f"{self._cell(int(i))}: {values[i]} is not a number to sort by. Write a finite "
                    "one."
                )
        self._chunks.append((unit, values))  # the values in that unit

    def _kinds(self, column: Any) -> Sequence[Kind]:
        """What the column may hold."""
        import pyarrow as pa

        if pa.types.is_temporal(column.type):
            zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
            return ["zoned times" if zoned else "times"]
        if not is_text(column) or self._part == "step":
            return ["numbers"]
        return ["numbers", "times", "zoned times"]

    def _read_as(self, column: Any, kinds: Sequence[Kind]) -> tuple[str, Array]:
        for kind in kinds:
            if self._kind in (None, kind) and (found := _converted(column, kind)) is not None:
                self._kind = kind
                return found
        first = column.slice(0, 1)
        fitting = [kind for kind in kinds if _converted(first, kind) is not None]
        kind = self._kind or [*fitting, kinds[0]][0]
        for i in range(len(column)):
            if kind not in kinds or _converted(column.slice(i, 1), kind) is None:
                fact = f"{self._cell(i)}: {quoted(column[i])} is not"
                if self._part == "step":
                    raise LogError(f"{fact} a number. Number the steps 1, 2, 3, ...")
                raise LogError(
                    f"{fact} a time like the others. Write 2024-05-31 or 2024-05-31T14:30, all "
                    "with or all without a time zone; or numbers. If the column says something "
                    "else, rename it."
                )
        raise LogError(f"{self._cell(0)}: these are not all {kind}. Write them all alike.")

    def result(self) -> Clock:
        holes = np.concatenate(self._holes)
        if len(holes):
            raise self.missing(self._part, holes, "Fill it in, or rename or leave out the column.")
        units = {unit for unit, _ in self._chunks}
        if "ns" in units:  # micro- and nanoseconds in one column
            self._chunks = [(unit, self._fine(unit, values)) for unit, values in self._chunks]
            units = {"ns"}
        values = np.concatenate([values for _, values in self._chunks] or [np.zeros(0, np.int64)])
        self._chunks = []
        return Clock(self._column, values, PER_SECOND.get("".join(units)))

    def _fine(self, unit: str, values: Array) -> Array:
        if unit == "ns":
            return values
        if np.abs(values).max() > np.iinfo(np.int64).max // 1000:
            raise LogError(
                f"{self._source.name}, column {self._column!r}: nanoseconds and times before 1678 "
                "or after 2262 do not go together. Round to microseconds."
            )
        return values * 1000


def _converted(column: Any, kind: Kind) -> tuple[str, Array] | None:
    """The unit and the values of a column that is all of a kind."""
    import pyarrow as pa

    for unit, target in _targets(column.type, kind):
        try:
            # a double is only a last resort, and may round what is not whole
            values = column.cast(target, safe=target != pa.float64())
            if unit:
                values = values.cast(pa.int64())
            return unit, np.from_dlpack(values)
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
