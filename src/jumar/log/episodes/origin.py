"""Where a log was read from, and what a person should know of how that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from jumar.core.arrays import Array, Ints
from jumar.core.reading import Files, LogReading
from jumar.core.text import Shown, printable


@dataclass(frozen=True)
class Remarks:
    """What a person should know about how a log was read: what was corrected, left out or
    assumed.

    >>> (Remarks(rows=10, gaps=1) + Remarks(rows=5, costs=True)).rows
    15
    """

    rows: int = 0  # rows read
    out_of_order: int = 0  # rows that belong before the row of their episode above them
    first_out_of_order: int | None = None  # where the first of them stands
    interleaved: int = 0  # episodes with rows of others in between
    repeated: int = 0  # rows left out because they repeat another
    dropped: int = 0  # episodes left out because of a missing value
    replaced: int = 0  # observations that are called "missing"
    gaps: int = 0  # places where a gap split an episode
    rewards_assumed: bool = False  # rewards were computed from prices
    costs: bool = False  # rewards are costs, negated
    cost_signals: tuple[str, ...] = ()  # signals that are costs, negated
    began: float | None = None  # the first and the last moment, in seconds, where dates are known
    ended: float | None = None
    guessed: tuple[str, ...] = ()  # what was recognised and not said: separator, decimals, dates

    def __add__(self, other: Remarks) -> Remarks:
        """The remarks on two logs, one after the other."""
        sums = {
            f.name: getattr(self, f.name) + getattr(other, f.name)
            for f in fields(self)
            if f.name not in _NOT_SUMS
        }
        first = self.first_out_of_order
        return Remarks(
            **sums,
            first_out_of_order=other.first_out_of_order if first is None else first,
            rewards_assumed=self.rewards_assumed or other.rewards_assumed,
            costs=self.costs or other.costs,
            cost_signals=tuple(dict.fromkeys(self.cost_signals + other.cost_signals)),
            guessed=tuple(dict.fromkeys(self.guessed + other.guessed)),
            began=min((t for t in (self.began, other.began) if t is not None), default=None),
            ended=max((t for t in (self.ended, other.ended) if t is not None), default=None),
        )


_NOT_SUMS = (
    "first_out_of_order",
    "rewards_assumed",
    "costs",
    "cost_signals",
    "guessed",
    "began",
    "ended",
)


@dataclass(frozen=True, eq=False, repr=False)
class Origin(Shown):
    """Where a log was read from, so that an error can name the place."""

    source: str
    row: Array  # (N,) int32 or int64, place of each step in the file (`jumar.core.reading`)
    label: Sequence[object]  # (E,) what the file calls each episode
    remarks: Remarks = Remarks()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # part -> its columns
    cost_said: bool = False  # did somebody say whether rewards are costs?
    reading: LogReading | None = None  # how columns were read; None: unknown, or in two ways
    files: Files = ()  # where it is several

    @property
    def summary(self) -> str:
        return f"{printable(self.source)}, {len(self.label):,} episodes, {len(self.row):,} steps"

    def take(self, rows: Ints, episodes: Ints) -> Origin:
        """The origin of some episodes."""
        labels = [self.label[e] for e in episodes.tolist()]
        return replace(self, row=self.row[rows], label=labels)

    def __add__(self, other: Origin) -> Origin:
        """The origin of two logs one after the other."""
        source = self.source if self.source == other.source else f"{self.source} + {other.source}"
        return Origin(
            source,
            np.concatenate([self.row, other.row]),
            [*self.label, *other.label],
            self.remarks + other.remarks,
            {**other.columns, **self.columns},
            self.cost_said and other.cost_said,
            self.reading if self.reading == other.reading else None,
            self.files if self.files == other.files else (),
        )
