"""Names that a log gives to its steps or episodes; where it was read from, and how that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from jumar.core.arrays import Array, Frozen, Ints, freeze
from jumar.core.errors import LogError
from jumar.core.reading import Files, LogReading
from jumar.core.text import Shown, printable

UNKNOWN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Frozen, Shown):
    """Names that a log gives to its steps or episodes: memory nodes, clusters, behaviors."""

    names: tuple[str, ...]  # all different
    code: Array  # (N,) or (E,) int32, UNKNOWN where the log does not say

    @property
    def summary(self) -> str:
        return f"{len(self.names):,} names for {len(self.code):,} entries"

    def __post_init__(self) -> None:
        code = freeze(self.code, np.int32, "labels", LogError)
        self._put(names=tuple(self.names), code=code)
        if len(code) and (code.min() < UNKNOWN or code.max() >= len(self.names)):
            raise LogError(f"labels: a number is out of range; there are {len(self.names)} names.")
        if len(set(self.names)) < len(self.names):
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise LogError(f"labels: {printable(twice)!r} is there twice. Names must differ.")

    @classmethod
    def of(cls, names: Sequence[str]) -> Labels:
        """One name per entry, numbered in the order of the alphabet.

        >>> Labels.of(["plant b", "plant a", "plant b"]).code.tolist()
        [1, 0, 1]
        """
        found = sorted(set(names))
        number = {name: i for i, name in enumerate(found)}
        return cls(tuple(found), np.array([number[name] for name in names], np.int32))

    def __len__(self) -> int:
        return len(self.code)

    @property
    def present(self) -> tuple[tuple[str, ...], Ints]:
        """The names that occur, and the number of each entry among them. (A part of a log may have
        names that only occur elsewhere.)"""
        numbers, code = np.unique(self.code[self.code != UNKNOWN], return_inverse=True)
        among = np.full(len(self.code), UNKNOWN, np.int64)
        among[self.code != UNKNOWN] = code
        return tuple(self.names[i] for i in numbers.tolist()), among

    def __getitem__(self, index: Array) -> Labels:
        """The labels of some entries, or of all in another order."""
        return Labels(self.names, self.code[index])

    def __add__(self, other: Labels) -> Labels:
        """The labels of two logs one after the other; equal names are one."""
        names = tuple(dict.fromkeys((*self.names, *other.names)))
        number = {name: i for i, name in enumerate(names)}
        theirs = np.array([*(number[name] for name in other.names), UNKNOWN], np.int32)
        return Labels(names, np.concatenate([self.code, theirs[other.code]]))


@dataclass(frozen=True)
class Remarks:
    """What a person should know about how a log was read: what was corrected, left out or
    assumed."""

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
    guessed: tuple[str, ...] = ()  # what was recognised and not said: the separator

    def __add__(self, other: Remarks) -> Remarks:
        """The remarks on two logs, one after the other."""
        sums = {
            f.name: getattr(self, f.name) + getattr(other, f.name)
            for f in fields(self)
            if type(f.default) is int
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
