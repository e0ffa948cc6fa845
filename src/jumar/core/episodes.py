"""Episodes: a log of observations, actions and rewards, in columns.

Step t of episode e stands in row start[e] + t. An episode is over for one of two reasons,
and they must not be confused: the process *ended* (``terminated``), or the recording was cut off. A
cut-off episode may carry the observation that would have been acted on next; without it the
successor of the last step is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Frozen, Ints, freeze
from jumar.core.errors import LogError, not_one_of
from jumar.core.frames import Framed, named
from jumar.core.names import check_names
from jumar.core.reading import LogReading
from jumar.core.rows import row_words
from jumar.core.shown import Shown
from jumar.core.text import printable

UNKNOWN = -1
METADATA = b"jumar"  # where a table keeps the names that never occur
# fourth powers and their sums are still numbers, and not 0
LARGEST_REWARD = 1e60
SMALLEST_REWARD = 1e-60


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
            guessed=tuple(dict.fromkeys(self.guessed + other.guessed)),
            began=min((t for t in (self.began, other.began) if t is not None), default=None),
            ended=max((t for t in (self.ended, other.ended) if t is not None), default=None),
        )


_NOT_SUMS = ("first_out_of_order", "rewards_assumed", "costs", "guessed", "began", "ended")


@dataclass(frozen=True, eq=False, repr=False)
class Origin(Shown):
    """Where a log was read from, so that an error can name the place."""

    source: str
    row: Array  # (N,) int32 or int64, place of each step in the file (`jumar.core.rows`)
    label: Sequence[object]  # (E,) what the file calls each episode
    remarks: Remarks = Remarks()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # part -> its columns
    cost_said: bool = False  # did somebody say whether rewards are costs?
    reading: LogReading | None = None  # how columns were read; None: unknown, or in two ways

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
        )


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Frozen, Shown):
    """Names that a log gives to its steps or episodes: memory nodes, clusters, behaviors.

    >>> Labels(("calm", "alert"), [0, 1, -1]).code.tolist()
    [0, 1, -1]
    """

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


# the columns of a log, where it has them
_OF_STEPS = ("observation", "action", "reward", "node", "propensity")
_OF_EPISODES = ("final_observation", "terminated", "cluster", "behavior")


@dataclass(frozen=True, eq=False, repr=False)
class Episodes(Frozen, Shown, Framed):
    """A log. E episodes, N steps.

    As a table (`to_pandas`, `to_polars`, `to_arrow`) it is what `jumar.write_logs` writes.

    >>> log = Episodes(
    ...     observations=("good", "worn"), actions=("keep", "repair"),
    ...     observation=[0, 1, 1], action=[0, 1, 0], reward=[1.0, -2.0, 0.5],
    ...     start=[0, 2, 3], final_observation=[-1, 0], terminated=[True, False])
    >>> len(log), log.n_steps, log.returns(0.5).tolist()
    (2, 3, [0.0, 0.5])
    """

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    observation: Ints  # (N,) int64, what was seen before acting
    action: Ints  # (N,) int64
    reward: Floats  # (N,) float64
    start: Ints  # (E+1,) int64, first row of each episode; start[E] = N
    final_observation: Ints  # (E,) int64, seen after the last step of a cut-off episode, or -1
    terminated: Bools  # (E,) bool, the process ended with the last step
    # where it was read from: a log is the same wherever it stands
    origin: Origin | None = field(default=None, compare=False)
    node: Labels | None = None  # (N,) where the controller says it was, if the log tells
    propensity: Floats | None = None  # (N,) float64, how likely the logged action was, in (0, 1]
    cluster: Labels | None = None  # (E,) the person, plant or machine; None: all independent
    behavior: Labels | None = None  # (E,) which controller made the episode

    @property
    def summary(self) -> str:
        said = f"{len(self):,} episodes, {self.n_steps:,} steps, "
        said += f"{len(self.observations)} observations, {len(self.actions)} actions"
        return said if self.origin is None else f"{said}, from {printable(self.origin.source)}"

    def __post_init__(self) -> None:
        self._put(
            observations=check_names("observation", self.observations, LogError),
            actions=check_names("action", self.actions, LogError),
        )
        whole = ("observation", "action", "start", "final_observation")
        self._freeze(np.int64, *whole, error=LogError)
        amounts = ("reward",) if self.propensity is None else ("reward", "propensity")
        self._freeze(np.float64, *amounts, error=LogError)
        self._freeze(np.bool_, "terminated", error=LogError)
        self._check_shape()
        self._check_values()

    def _check_shape(self) -> None:
        n, e = len(self.observation), len(self.start) - 1
        if e < 1 or n == 0:
            raise LogError("The log is empty: it has no steps. Give at least one episode.")
        for many, size, columns in (("steps", n, _OF_STEPS), ("episodes", e, _OF_EPISODES)):
            for name in columns:
                column = getattr(self, name)
                if column is not None and len(column) != size:
                    told = f"{size} {many}, but {len(column)} in {name!r}"
                    raise LogError(f"Columns differ in length: {told}.")
        if self.start[0] != 0 or self.start[-1] != n:
            raise LogError(f"start must run from 0 to {n}, not {self.start[0]} to {self.start[-1]}")
        for i in np.flatnonzero(np.diff(self.start) < 1)[:1]:
            raise LogError(
                f"Episode {i}: has no steps. Leave out episodes in which nothing was done."
            )
        for name, low, size, values in (
            ("observation", 0, len(self.observations), self.observation),
            ("action", 0, len(self.actions), self.action),
            ("final observation", UNKNOWN, len(self.observations), self.final_observation),
        ):
            for i in np.flatnonzero((values < low) | (values >= size))[:1]:
                raise LogError(f"{name} {i}: number {values[i]} is out of range; there are {size}.")
        for i in np.flatnonzero(self.terminated & (self.final_observation != UNKNOWN))[:1]:
            raise LogError(
                f"Episode {i}: ended by itself and yet carries a final observation. "
                "Only a cut-off episode has one; write -1."
            )

    def _check_values(self) -> None:
        for row in np.flatnonzero(~(np.abs(self.reward) <= LARGEST_REWARD))[:1]:
            r, place = self.reward[row], self.where(int(row))
            if np.isfinite(r):
                raise LogError(
                    f"{place}: reward {r:g} is too large to compute with. Use a larger unit."
                )
            raise LogError(
                f"{place}: reward is {r}; rewards must be finite numbers. Correct it, or leave the "
                "episode out."
            )
        largest = float(np.abs(self.reward).max())
        if 0 < largest < SMALLEST_REWARD:
            at = int(np.abs(self.reward).argmax())
            raise LogError(
                f"{self.where(at)}: reward {self.reward[at]:g} is the largest of all, and too "
                "small to compute with. Use a smaller unit."
            )
        if self.propensity is not None:
            for row in np.flatnonzero(~((self.propensity > 0) & (self.propensity <= 1)))[:1]:
                raise LogError(f"{self.where(int(row))}: {not_a_chance(self.propensity[row])}")
        for part, labels in (("cluster", self.cluster), ("behavior", self.behavior)):
            nameless = () if labels is None else np.flatnonzero(labels.code == UNKNOWN)
            for i in nameless[:1]:
                raise LogError(
                    f"{self.where(int(self.start[i]))}: the {part} is missing. Every episode needs "
                    "one; name it, or leave the episode out."
                )

    def __len__(self) -> int:
        return len(self.terminated)

    @property
    def n_steps(self) -> int:
        return len(self.observation)

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @property
    def last(self) -> Ints:
        """(E,) the row of every episode's last step."""
        return self.start[1:] - 1

    def episode_of(self, row: int) -> int:
        """The episode a row belongs to."""
        return int(np.searchsorted(self.start, row, side="right")) - 1

    def where(self, row: int) -> str:
        """Names a step: file, row and episode where they are known.

        >>> Episodes(("z",), ("a",), [0, 0], [0, 0], [0, 0], [0, 2], [-1], [True]).where(1)
        'Log, episode 0, step 1'
        """
        e = self.episode_of(row)
        if self.origin is None:
            return f"Log, episode {e}, step {row - self.start[e]}"
        label = printable(str(self.origin.label[e]))
        return f"{self.origin.source}, {row_words(self.origin.row[row])} (episode {label})"

    def returns(self, discount: float) -> Floats:
        """(E,) discounted return of every episode, counted from its first step."""
        power = discount ** (np.arange(self.n_steps) - np.repeat(self.start[:-1], self.lengths))
        sums: Floats = np.add.reduceat(power * self.reward, self.start[:-1])
        return sums

    def beyond_cut(self, discount: float) -> float:
        """The share of the discounted weight that lies beyond the cuts: the mean of γ^T over
        episodes of T steps that were cut off, and 0 for those that ended.

        >>> log = Episodes(("z",), ("a",), [0] * 4, [0] * 4, [0.0] * 4, start=[0, 2, 4],
        ...                final_observation=[-1, 0], terminated=[True, False])
        >>> log.beyond_cut(0.5)
        0.125
        """
        return float(np.where(self.terminated, 0.0, discount**self.lengths).mean())

    def chosen(self, episodes: Ints) -> Ints:
        """The numbers of the chosen episodes, in the given order; a mask chooses too."""
        episodes = np.asarray(episodes)
        if episodes.dtype == np.bool_:
            if len(episodes) != len(self):
                raise LogError(f"select: a mask of {len(episodes)} for {len(self)} episodes.")
            episodes = np.flatnonzero(episodes)
        episodes = episodes.astype(np.int64)
        if len(episodes) and not (episodes.min() >= 0 and episodes.max() < len(self)):
            raise LogError(f"select: there are {len(self)} episodes, numbered from 0.")
        return episodes

    def steps_of(self, episodes: Ints) -> Ints:
        """The rows of some episodes, one episode after the other."""
        lengths = self.lengths[episodes]
        before = np.cumsum(lengths) - lengths
        rows: Ints = np.arange(lengths.sum()) + np.repeat(self.start[episodes] - before, lengths)
        return rows

    def select(self, episodes: Ints) -> Episodes:
        """The chosen episodes, in the given order; a mask chooses too."""
        episodes = self.chosen(episodes)
        start = np.concatenate([[0], np.cumsum(self.lengths[episodes])])
        rows = self.steps_of(episodes)
        return replace(
            self,
            start=start,
            origin=self.origin and self.origin.take(rows, episodes),
            **{name: _taken(getattr(self, name), rows) for name in _OF_STEPS},
            **{name: _taken(getattr(self, name), episodes) for name in _OF_EPISODES},
        )

    def __add__(self, other: Episodes) -> Episodes:
        """The two logs one after the other. Clusters and behaviors of equal names are one.

        A log with propensities, clusters or behaviors cannot be added to one without: they would be
        unknown for the other log.
        """
        other = other.align(self.observations, self.actions)
        for part in ("propensity", "cluster", "behavior"):
            if (getattr(self, part) is None) != (getattr(other, part) is None):
                raise LogError(
                    f"Only one of the two logs has a column {part!r}. Give both one, or leave it "
                    f"out of both: dataclasses.replace(log, {part}=None)."
                )
        told = [name for name in (*_OF_STEPS, *_OF_EPISODES) if name != "node"]
        return replace(
            self,
            start=np.concatenate([self.start, other.start[1:] + self.n_steps]),
            origin=self.origin and other.origin and self.origin + other.origin,
            node=(self.node or other.node) and self._nodes() + other._nodes(),
            **{name: _joined(getattr(self, name), getattr(other, name)) for name in told},
        )

    def to_arrow(self) -> Any:
        """One row per step, and one more for every final observation, as a table of pyarrow that
        `jumar.read_logs` reads back. Episodes have the labels of the file they come from, if all
        differ; else numbers."""
        import pyarrow as pa

        cut = np.flatnonzero(self.final_observation != UNKNOWN)
        N, extra = self.n_steps, len(cut)
        episode = np.repeat(np.arange(len(self)), self.lengths)
        step = np.arange(N) - np.repeat(self.start[:-1], self.lengths)
        ends_here = np.zeros(N, np.bool_)
        ends_here[self.last] = self.terminated
        episode = np.concatenate([episode, cut])
        step = np.concatenate([step, self.lengths[cut]])
        order = np.lexsort([step, episode])
        missing = np.concatenate([np.zeros(N, np.bool_), np.ones(extra, np.bool_)])[order]

        def names(codes: Array, alphabet: Sequence[str], mask: Bools | None = None) -> Any:
            return named(codes[order], alphabet, mask)

        def padded(values: Any, filler: Any) -> Any:
            return np.concatenate([values, np.full(extra, filler, values.dtype)])

        columns = {
            "episode": self._labelled(episode[order]),
            "step": step[order],
            "observation": names(
                np.concatenate([self.observation, self.final_observation[cut]]), self.observations
            ),
            "action": names(padded(self.action, 0), self.actions, missing),
            "reward": pa.array(padded(self.reward, 0.0)[order], mask=missing),
            "terminated": pa.array(padded(ends_here, False)[order], mask=missing),
        }
        if self.node is not None:
            code = padded(self.node.code, UNKNOWN)
            columns["node"] = names(np.maximum(code, 0), self.node.names, code[order] == UNKNOWN)
        if self.propensity is not None:
            columns["propensity"] = pa.array(padded(self.propensity, 0.0)[order], mask=missing)
        for part, labels in (("cluster", self.cluster), ("behavior", self.behavior)):
            if labels is not None:
                columns[part] = names(labels.code[episode], labels.names)
        kept = {"observations": list(self.observations), "actions": list(self.actions)}
        return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(kept).encode()})

    @property
    def labels(self) -> list[str] | None:
        """(E,) what the file calls each episode, if all have other names; else nothing."""
        if self.origin is None:
            return None
        found = [str(label) for label in self.origin.label]
        return found if len(set(found)) == len(found) else None

    def _labelled(self, episode: Ints) -> Any:
        """The column of the episodes: numbers where their names are the numbers."""
        import pyarrow as pa

        labels = self.labels
        if labels is None or labels == [str(e) for e in range(len(self))]:
            return episode
        return pa.array(labels, pa.string()).take(pa.array(episode))

    def _nodes(self) -> Labels:
        """The nodes, even where the log does not tell any."""
        return self.node or Labels((), np.full(self.n_steps, UNKNOWN, np.int32))

    def align(self, observations: Sequence[str], actions: Sequence[str]) -> Episodes:
        """The same log with the names numbered as given, so that it fits a controller."""
        if tuple(observations) == self.observations and tuple(actions) == self.actions:
            return self
        # a name that never occurs need not be known
        seen = np.unique(np.concatenate([self.observation, self.final_observation]))
        z = self._renumbering("observation", observations, seen[seen != UNKNOWN])
        a = self._renumbering("action", actions, np.unique(self.action))
        final = self.final_observation
        return replace(
            self,
            observations=tuple(observations),
            actions=tuple(actions),
            observation=z[self.observation],
            action=a[self.action],
            final_observation=np.where(final == UNKNOWN, UNKNOWN, z[final]),
        )

    def _renumbering(self, kind: str, new: Sequence[str], used: Ints) -> Ints:
        """The new number of every name that occurs; an unknown one is an error with its place."""
        old: tuple[str, ...] = getattr(self, f"{kind}s")
        number = np.full(len(old), UNKNOWN, np.int64)
        for i in used:
            if old[i] not in new:
                rows = np.flatnonzero(getattr(self, kind) == i)
                place = self.where(int(rows[0])) if len(rows) else "Log, a final observation"
                raise LogError(f"{place}: {not_one_of(kind, old[i], new)}")
            number[i] = list(new).index(old[i])
        return number


def _taken(column: Any, index: Ints) -> Any:
    """Some entries of a column, if the log has it."""
    return None if column is None else column[index]


def _joined(one: Any, other: Any) -> Any:
    """A column of two logs one after the other, if they have it."""
    return np.concatenate([one, other]) if isinstance(one, np.ndarray) else one and one + other


def not_a_chance(value: float) -> str:
    """The message for a propensity that is not a probability."""
    if value == 0:
        return "the propensity is 0, but the action was taken. Write how likely it was."
    return (
        f"the propensity is {value:g}; how likely an action was lies above 0 and is at most 1. "
        "Write it as a fraction, such as 0.25."
    )
