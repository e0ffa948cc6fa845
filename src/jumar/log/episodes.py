"""Episodes: a log of observations, actions and rewards, in columns.

Step t of episode e stands in row start[e] + t. An episode is over for one of two reasons,
and they must not be confused: the process *ended* (``terminated``), or the recording was cut off. A
cut-off episode may carry the observation that would have been acted on next; without it the
successor of the last step is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Frozen, Ints, freeze
from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.names import check_names
from jumar.core.reading import place_words
from jumar.core.text import Shown, printable
from jumar.log.origin import UNKNOWN, Labels, Origin, Remarks
from jumar.memory.frames import Framed, named

__all__ = [
    "LARGEST_REWARD",
    "METADATA",
    "SIGNAL",
    "SMALLEST_REWARD",
    "UNKNOWN",
    "Episodes",
    "Labels",
    "Origin",
    "Remarks",
    "check_draws",
    "not_a_chance",
]

METADATA = b"jumar"  # where a table keeps the names that never occur
SIGNAL = "signal:"  # how the column of a signal is called, before its name

# fourth powers and their sums are still numbers, and not 0
LARGEST_REWARD = 1e60
SMALLEST_REWARD = 1e-60

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
    # name -> (N,) float64: what else every step brings beside the reward; more is better
    signals: Mapping[str, Floats] = field(default_factory=dict)
    # propensities are frequencies in so many draws; 0: exact; None: nobody said
    propensity_draws: int | None = None

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
        self._put(signals=_frozen_signals(self.signals))
        self._check_shape()
        self._check_values()

    def _check_shape(self) -> None:
        n, e = len(self.observation), len(self.start) - 1
        if e < 1 or n == 0:
            raise LogError("The log is empty: it has no steps. Give at least one episode.")
        of_steps = {repr(name): getattr(self, name) for name in _OF_STEPS}
        of_steps |= {f"the signal {printable(name)!r}": s for name, s in self.signals.items()}
        of_episodes = {repr(name): getattr(self, name) for name in _OF_EPISODES}
        for many, size, columns in (("steps", n, of_steps), ("episodes", e, of_episodes)):
            for name, column in columns.items():
                if column is not None and len(column) != size:
                    told = f"{size} {many}, but {len(column)} in {name}"
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
        self._check_amounts("reward", self.reward)
        for name, signal in self.signals.items():
            self._check_amounts(f"signal {printable(name)!r}", signal)
        if self.propensity is not None:
            for row in np.flatnonzero(~((self.propensity > 0) & (self.propensity <= 1)))[:1]:
                raise LogError(f"{self.where(int(row))}: {not_a_chance(self.propensity[row])}")
        check_draws(self.propensity_draws)
        for part, labels in (("cluster", self.cluster), ("behavior", self.behavior)):
            nameless = () if labels is None else np.flatnonzero(labels.code == UNKNOWN)
            for i in nameless[:1]:
                raise LogError(
                    f"{self.where(int(self.start[i]))}: the {part} is missing. Every episode needs "
                    "one; name it, or leave the episode out."
                )

    def _check_amounts(self, what: str, values: Floats) -> None:
        """Numbers that can be computed with."""
        for row in np.flatnonzero(~(np.abs(values) <= LARGEST_REWARD))[:1]:
            r, place = values[row], self.where(int(row))
            if np.isfinite(r):
                raise LogError(
                    f"{place}: {what} {r:g} is too large to compute with. Use a larger unit."
                )
            many = "signals" if what.startswith("signal") else "rewards"
            raise LogError(
                f"{place}: {what} is {r}; {many} must be finite numbers. Correct it, or leave the "
                "episode out."
            )
        largest = float(np.abs(values).max())
        if 0 < largest < SMALLEST_REWARD:
            at = int(np.abs(values).argmax())
            raise LogError(
                f"{self.where(at)}: {what} {values[at]:g} is the largest of all, and too "
                "small to compute with. Use a smaller unit."
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
        place = place_words(self.origin.source, self.origin.row[row], self.origin.files)
        return f"{place} (episode {label})"

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

    def with_reward(self, signal: str) -> Episodes:
        """The same log with one of its signals as the reward: everything that works on a reward
        works on it. The signals stay; the reward that was there is not among them.

        >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 1.0], [0, 2], [-1], [True],
        ...                signals={"safety": [0.0, -3.0]})
        >>> log.with_reward("safety").returns(0.5).tolist()
        [-1.5]
        """
        if signal not in self.signals:
            place = "Log" if self.origin is None else self.origin.source
            told = not_one_of("signal", signal, tuple(self.signals) or ("(none)",))
            raise LogError(
                f"{place}: {told} A column becomes a signal where the log is read: "
                f"columns={{'{SIGNAL}{printable(str(signal))}': COLUMN}}."
            )
        origin = self.origin
        if origin is not None:
            costs = signal in origin.remarks.cost_signals
            column = origin.columns.get(f"{SIGNAL}{signal}")
            columns = {**origin.columns, **({"reward": column} if column else {})}
            remarks = replace(origin.remarks, costs=costs, rewards_assumed=False)
            origin = replace(origin, remarks=remarks, columns=columns, cost_said=True)
        return replace(self, reward=self.signals[signal], origin=origin)

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
            signals={name: signal[rows] for name, signal in self.signals.items()},
        )

    def __add__(self, other: Episodes) -> Episodes:
        """The two logs one after the other. Clusters and behaviors of equal names are one.

        A log with propensities, clusters, behaviors or signals cannot be added to one without: they
        would be unknown for the other log.
        """
        other = other.align(self.observations, self.actions)
        for part in ("propensity", "cluster", "behavior"):
            if (getattr(self, part) is None) != (getattr(other, part) is None):
                raise LogError(
                    f"Only one of the two logs has a column {part!r}. Give both one, or leave it "
                    f"out of both: dataclasses.replace(log, {part}=None)."
                )
        for name in sorted(set(self.signals) ^ set(other.signals))[:1]:
            raise LogError(
                f"Only one of the two logs has a signal {printable(name)!r}. Give both one, or "
                "leave signals out of both: dataclasses.replace(log, signals={})."
            )
        told = [name for name in (*_OF_STEPS, *_OF_EPISODES) if name != "node"]
        draws = {self.propensity_draws, other.propensity_draws}
        return replace(
            self,
            start=np.concatenate([self.start, other.start[1:] + self.n_steps]),
            origin=self.origin and other.origin and self.origin + other.origin,
            node=(self.node or other.node) and _nodes(self) + _nodes(other),
            **{name: _joined(getattr(self, name), getattr(other, name)) for name in told},
            signals={name: _joined(s, other.signals[name]) for name, s in self.signals.items()},
            # exact in one log is not exact in both
            propensity_draws=draws.pop() if len(draws) == 1 else max(k or 0 for k in draws) or None,
        )

    def to_arrow(self) -> Any:
        """One row per step, and one more for every final observation, as a table of pyarrow that
        `jumar.read_logs` reads back. Episodes have the labels of the file they come from, if all
        differ; else numbers."""
        return _as_table(self)

    @property
    def labels(self) -> list[str] | None:
        """(E,) what the file calls each episode, if all have other names; else nothing."""
        if self.origin is None:
            return None
        found = [str(label) for label in self.origin.label]
        return found if len(set(found)) == len(found) else None

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


def _nodes(log: Episodes) -> Labels:
    """The nodes, even where the log does not tell any."""
    return log.node or Labels((), np.full(log.n_steps, UNKNOWN, np.int32))


def _frozen_signals(signals: Mapping[str, Any]) -> Mapping[str, Floats]:
    """Read-only copies under names that can stand over a column."""
    if not isinstance(signals, Mapping):
        raise LogError("signals: expected a mapping from names to columns of numbers.")
    if signals:
        check_names("signal", tuple(signals), LogError)
    found = {
        name: freeze(values, np.float64, f"signal {printable(name)!r}", LogError)
        for name, values in signals.items()
    }
    return MappingProxyType(found)


def _taken(column: Any, index: Ints) -> Any:
    """Some entries of a column, if the log has it."""
    return None if column is None else column[index]


def _joined(one: Any, other: Any) -> Any:
    """A column of two logs one after the other, if they have it."""
    return np.concatenate([one, other]) if isinstance(one, np.ndarray) else one and one + other


def check_draws(draws: Any) -> int | None:
    """How many draws a propensity is the frequency of, if that was said: a ParameterError else."""
    if draws is None or (type(draws) is int and draws >= 0):
        return draws
    raise ParameterError(
        f"propensity_draws: {printable(repr(draws))[:40]} is no number of draws. Write 64 "
        "(--propensity-draws 64) if every propensity is the frequency of the action in 64 draws, "
        "or 0 if propensities are exact."
    )


def not_a_chance(value: float) -> str:
    """The message for a propensity that is not a probability."""
    if value == 0:
        return "the propensity is 0, but the action was taken. Write how likely it was."
    return (
        f"the propensity is {value:g}; how likely an action was lies above 0 and is at most 1. "
        "Write it as a fraction, such as 0.25."
    )


def _as_table(log: Episodes) -> Any:
    import pyarrow as pa

    cut = np.flatnonzero(log.final_observation != UNKNOWN)
    none = np.zeros(len(cut), np.int64)
    episode = np.append(np.repeat(np.arange(len(log)), log.lengths), cut)
    step = np.append(np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths), none)
    step[log.n_steps :] = log.lengths[cut]
    order = np.lexsort([step, episode])
    is_final = order >= log.n_steps
    episode, ends_here = episode[order], np.zeros(log.n_steps, np.bool_)
    ends_here[log.last] = log.terminated

    def of_steps(values: Array) -> Any:  # nothing stands in the row of a final observation
        padded = np.append(values, none.astype(values.dtype))
        return pa.array(padded[order], mask=is_final)

    labels = log.labels
    if labels == [str(e) for e in range(len(log))]:
        labels = None
    seen = np.append(log.observation, log.final_observation[cut])
    columns = {
        "episode": episode if labels is None else pa.array(labels, pa.string()).take(episode),
        "step": step[order],
        "observation": named(seen[order], log.observations),
        "action": named(np.append(log.action, none)[order], log.actions, is_final),
        "reward": of_steps(log.reward),
        "terminated": of_steps(ends_here),
    }
    if log.node is not None:
        code = np.append(log.node.code, none + UNKNOWN)[order]
        columns["node"] = named(np.maximum(code, 0), log.node.names, code == UNKNOWN)
    if log.propensity is not None:
        columns["propensity"] = of_steps(log.propensity)
    columns |= {SIGNAL + name: of_steps(signal) for name, signal in log.signals.items()}
    for part, told in (("cluster", log.cluster), ("behavior", log.behavior)):
        if told is not None:
            columns[part] = named(told.code[episode], told.names)
    kept = {"observations": list(log.observations), "actions": list(log.actions)}
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(kept).encode()})
