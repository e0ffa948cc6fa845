"""Replay: a log, step by step through a memory. Made once per memory, and handed on.

A replay numbers the history states ⟨n, z⟩ that occur in a log, in lexicographic order, and tells
the number at every step and after the last one. Counts, first returns, weights, checks, order
tests, selection and bootstrap know a log by these numbers.

    onto(memory)     the replay over a coarser memory, by looking numbers up
    part(episodes)   the replay of some episodes

Neither reads the log again, and each gives the same numbers as a fresh replay.

`Replays` holds the replays of one log. Every function that takes a log also takes its `Replays`;
then nothing is replayed twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from jumar.core.arrays import Array, Bools, Floats, Frozen, Ints, blocks, number_rows
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.resources import Watch, journal
from jumar.core.text import Shown, counted, listing, printable
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.formats import collected, is_dataset
from jumar.log.reading import ArrowTable, File, LogFiles, read_logs
from jumar.log.reading.options import READING
from jumar.memory import Memory
from jumar.memory.base import find_projection
from jumar.memory.refinement import project_states
from jumar.policy.controller import Controller
from jumar.tally.history import Counts, check_tables

ENDED, UNSEEN = -1, -2  # what follows a step, where it is not a history state


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Frozen, Shown):
    """A log over a memory. H history states, N steps, E episodes, A actions.

    >>> from jumar.memory import window
    >>> log = Episodes(("good", "worn"), ("keep",), [0, 1, 1], [0, 0, 0], [1.0, 0.0, -5.0],
    ...                start=[0, 3], final_observation=[-1], terminated=[True])
    >>> replay = Replay.of(log, window(1))
    >>> replay.at.tolist(), replay.follows.tolist()
    ([0, 1, 1], [1, 1, -1])
    """

    log: Episodes
    memory: Memory  # bound to the alphabet of the log
    states: Ints  # (H, W+1) int64, sorted; the states in which episodes were cut off among them
    at: Ints  # (N,) int64, the state of every step
    after: Ints  # (E,) int64, the state after the last step of every episode, ENDED or UNSEEN

    @property
    def summary(self) -> str:
        return (
            f"{len(self.log):,} episodes over a {self.memory}: {len(self.states):,} history states"
        )

    def __post_init__(self) -> None:
        for array in (self.states, self.at, self.after):
            array.setflags(write=False)  # made below and used nowhere else: no need to copy

    @classmethod
    def of(cls, log: Episodes, memory: Memory) -> Replay:
        """Read the log."""
        memory = memory.on(len(log.observations), len(log.actions))
        found, at = [], np.empty(log.n_steps, np.int64)
        after, before = np.where(log.terminated, ENDED, UNSEEN), 0
        for episodes, steps, own in blocks(log.start):
            z, a, final = log.observation[steps], log.action[steps], log.final_observation[episodes]
            nodes = memory.replay(z, a, own)
            cut = np.flatnonzero(final != UNKNOWN)  # one more observation was seen
            last = own[1:][cut] - 1
            rows = np.empty((len(z) + len(cut), nodes.shape[1] + 1), np.int64)
            np.concatenate([nodes, memory.step(nodes[last], z[last], a[last])], out=rows[:, :-1])
            np.concatenate([z, final[cut]], out=rows[:, -1])
            states, number = number_rows(rows)
            at[steps] = before + number[: len(z)]
            after[episodes.start + cut] = before + number[len(z) :]
            before += len(states)
            found.append(states)
        if len(found) > 1:
            states, number = number_rows(np.concatenate(found))
            after = _renumbered(after, number)
            for _, steps, _ in blocks(log.start):
                at[steps] = number[at[steps]]
        return cls(log, memory, states, at, after)

    # ---- other replays ----------------------------------------------------------------------

    def project(self, memory: Memory) -> tuple[Ints, Ints]:
        """The (K, w+1) states of a coarser memory, sorted, and (H,) the one that each state here
        becomes."""
        memory = memory.on(*self.memory.alphabet)
        return number_rows(project_states(self.memory, memory, self.states))

    def onto(self, memory: Memory) -> Replay:
        """The replay of the same log over a memory that remembers less."""
        memory = memory.on(*self.memory.alphabet)
        if memory == self.memory:
            return self
        states, of = self.project(memory)
        return Replay(self.log, memory, states, of[self.at], _renumbered(self.after, of))

    def part(self, episodes: Ints) -> Replay:
        """The replay of the chosen episodes, in the given order; a mask chooses too."""
        return self._part(self.log.chosen(episodes), self.log.select(episodes))

    def _part(self, episodes: Ints, log: Episodes) -> Replay:
        at, after = self.at[self.log.steps_of(episodes)], self.after[episodes]
        occurs = np.zeros(len(self.states), np.bool_)
        occurs[at] = True
        occurs[after[after >= 0]] = True
        number = np.cumsum(occurs) - 1
        states = self.states[occurs]
        return Replay(log, self.memory, states, number[at], _renumbered(after, number))

    # ---- step by step -----------------------------------------------------------------------

    @property
    def pair(self) -> Ints:
        """(N,) h·A + a at every step."""
        pair: Ints = self.at * len(self.log.actions) + self.log.action
        return pair

    @cached_property
    def follows(self) -> Ints:
        """(N,) the state after every step, ENDED where the process ended, UNSEEN where it is
        unknown."""
        follows = np.append(self.at[1:], UNSEEN)
        follows[self.log.last] = self.after
        return _sealed(follows)

    @property
    def known(self) -> Bools:
        """(N,) is it known what followed?"""
        known = np.ones(self.log.n_steps, np.bool_)
        known[self.log.last] = self.after != UNSEEN
        return known

    @property
    def outcome(self) -> Ints:
        """(N,) the next observation, |Z| for the end, UNKNOWN where it is unknown."""
        log = self.log
        outcome = np.append(log.observation[1:], UNKNOWN)
        outcome[log.last] = np.where(log.terminated, len(log.observations), log.final_observation)
        return outcome

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """(C, 2) the pairs with each of their outcomes, sorted; (N,) that of every step."""
        cells, at = number_rows(np.column_stack([self.pair, self.outcome + 1]))  # from 0, not -1
        cells[:, 1] -= 1
        return _sealed(cells), _sealed(at)

    @cached_property
    def moves(self) -> tuple[Ints, Ints]:
        """(L, 2) the pairs with each of their successors, sorted; (N,) that of every step, or -1
        where the process ended or it is unknown."""
        goes_on = self.follows >= 0
        moves, which = number_rows(np.column_stack([self.pair[goes_on], self.follows[goes_on]]))
        move = np.full(self.log.n_steps, -1)
        move[goes_on] = which
        return _sealed(moves), _sealed(move)

    # ---- state by state ---------------------------------------------------------------------

    @cached_property
    def taken(self) -> Ints:
        """(H, A) how often each action was done, whether or not it is known what followed."""
        H, A = self._table()
        return _sealed(np.bincount(self.pair, minlength=H * A).reshape(H, A))

    def _table(self) -> tuple[int, int]:
        """H and A, of which there must be room for some tables."""
        H, A = len(self.states), len(self.log.actions)
        check_tables(H, A)
        return H, A

    @property
    def acted(self) -> tuple[Ints, Ints]:
        """The states in which something was done, which excludes some in which episodes were cut
        off; and (N,) the number of that of every step among them."""
        some = self.taken.any(1)
        return self.states[some], (np.cumsum(some) - 1)[self.at]

    @cached_property
    def counts(self) -> Counts:
        """What the log says about each history state."""
        log, (H, A) = self.log, self._table()
        pair, known = self.pair, self.known

        def per_pair(weights: Floats | None = None, chosen: Any = known) -> Any:
            w = None if weights is None else weights[chosen]
            return np.bincount(pair[chosen], w, H * A).reshape(H, A)

        moves, move = self.moves
        return Counts(
            observations=log.observations,
            actions=log.actions,
            memory=self.memory,
            states=self.states,
            visits=per_pair(),
            reward_sum=per_pair(log.reward),
            ends=per_pair(chosen=self.follows == ENDED),
            starts=np.bincount(self.at[log.start[:-1]], minlength=H),
            pair=moves[:, 0],
            successor=moves[:, 1],
            times=np.bincount(move + 1, minlength=len(moves) + 1)[1:],
            unfinished=int((~known).sum()),
        )


class Replays(Shown):
    """The replays of one log.

    It holds the finest replays only: one, or a few where no memory refines the others. A coarser
    one is looked up in a finer one when it is asked for, and is kept as long as it is used. So
    a log of N steps costs 8·N bytes for each replay that is held, and as much again for what was
    asked of it step by step (`follows`, `moves`).
    """

    def __init__(self, log: Episodes, part_of: tuple[Replays, Ints] | None = None) -> None:
        self.log = log
        self._part_of = part_of  # the replays of a larger log, and which of its episodes these are
        self._finest: list[Replay] = []
        self._in_use: WeakValueDictionary[Memory, Replay] = WeakValueDictionary()

    @property
    def summary(self) -> str:
        held = ", ".join(str(replay.memory) for replay in self._finest) or "no memory yet"
        return f"{self.log.summary}; over {held}"

    @classmethod
    def of(cls, log: Episodes | Replays) -> Replays:
        """The replays of a log, or what was handed on instead of one."""
        return log if isinstance(log, Replays) else cls(log)

    @classmethod
    def holding(cls, replay: Replay) -> Replays:
        """The replays of a log of which one is at hand."""
        found = cls(replay.log)
        found._finest.append(replay)
        return found

    def over(self, memory: Memory) -> Replay:
        """The replay over a memory.

        >>> from jumar.memory import window
        >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [0.0, 0.0], start=[0, 2],
        ...                final_observation=[-1], terminated=[True])
        >>> replays = Replays(log)
        >>> replays.over(window(1)) is replays.over(window(1))
        True
        """
        memory = memory.on(len(self.log.observations), len(self.log.actions))
        found = self._in_use.get(memory)
        if found is None:
            finer = self._finer(memory)
            found = self._make(memory) if finer is None else finer.onto(memory)
            self._in_use[memory] = found
            if finer is None:
                kept = [r for r in self._finest if not find_projection(memory, r.memory)]
                self._finest = [*kept, found]
        return found

    def part(self, episodes: Ints) -> Replays:
        """The replays of the chosen episodes, in the given order; a mask chooses too."""
        return Replays(self.log.select(episodes), (self, self.log.chosen(episodes)))

    def align(self, observations: Sequence[str], actions: Sequence[str]) -> Replays:
        """The replays of the same log with the names numbered as given."""
        log = self.log.align(observations, actions)
        return self if log is self.log else Replays(log)

    def _finer(self, memory: Memory) -> Replay | None:
        return next((r for r in self._finest if find_projection(r.memory, memory)), None)

    def _make(self, memory: Memory) -> Replay:
        if self._part_of is not None:
            whole, episodes = self._part_of
            # replaying the whole log for a small part of it costs more
            large = 2 * self.log.n_steps >= whole.log.n_steps
            if large or whole._finer(memory) is not None:
                return whole.over(memory)._part(episodes, self.log)
        watch = Watch()
        found = Replay.of(self.log, memory)
        journal.info(
            "Replayed %s over %s: %s (%s)",
            counted(self.log.n_steps, "step"),
            memory,
            counted(len(found.states), "history state"),
            watch,
        )
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Replays) and self.log == other.log

    def __hash__(self) -> int:
        return hash(self.log)

    def __reduce__(self) -> tuple[type[Replays], tuple[Episodes]]:
        return Replays, (self.log,)  # another process makes its own


def count(log: Episodes | Replays, memory: Memory) -> Counts:
    """Replay a memory over a log and count what happened in each history state.

    Parameters
    ----------
    log
        What `read_logs` returns, or its `Replays`.
    memory
        What is remembered, as ``window(2)``.

    Returns
    -------
    Counts
        Visits, endings, rewards and what followed what.

    Examples
    --------
    >>> from jumar.memory import window
    >>> log = Episodes(("good", "worn"), ("keep",), [0, 1, 1], [0, 0, 0], [1.0, 0.0, -5.0],
    ...                start=[0, 3], final_observation=[-1], terminated=[True])
    >>> c = count(log, window(1))
    >>> c.visits.ravel().tolist(), c.ends.ravel().tolist(), c.times.tolist()
    ([1, 2], [0, 1], [1, 1])
    """
    return Replays.of(log).over(memory).counts


def _renumbered(after: Ints, number: Ints) -> Ints:
    """The new numbers of states; ENDED and UNSEEN stay."""
    found: Ints = np.where(after < 0, after, number[np.maximum(after, 0)])
    return found


def _sealed(array: Array) -> Array:
    array.setflags(write=False)
    return array


# what a caller may pass for a log
LogLike = Episodes | Replays | File | ArrowTable | LogFiles


def log_of(
    log: LogLike, like: Controller | None = None, columns: Mapping[str, str] | None = None
) -> Episodes | Replays:
    """The log, read if it is a file or a table, with names numbered as a controller does, and with
    other names of columns.

    >>> log_of(42)
    Traceback (most recent call last):
        ...
    jumar.core.errors.ParameterError: log: 42 is no log. Pass a file, a table, or ...
    """
    if isinstance(log, Episodes | Replays):
        return log
    files = log if isinstance(log, LogFiles) else LogFiles((log,))
    reading, sources = dict(files.reading), [collected(source) for source in files.listed]
    for source in sources:
        if not isinstance(source, str | os.PathLike | ArrowTable) and not is_dataset(source):
            raise ParameterError(
                f"log: {printable(repr(source)[:40])} is no log. Pass a file, a table, or what "
                "jumar.read_logs returns."
            )
    if not sources:
        raise ParameterError("logs: there is nothing to read. Give a file or a folder.")
    if columns is not None:
        reading["columns"] = {**(reading.get("columns") or {}), **columns}
    if like is not None:
        reading |= {"observations": like.observations, "actions": like.actions}
    return read_logs(sources[0] if len(sources) == 1 else sources, **reading)


def told_log(log: LogLike, words: dict[str, Any], *, whole: bool = True) -> LogLike:
    """The log, read as those of some keywords say that are words of `read_logs`. They are taken
    out; with `whole` nothing else may be among them.

    >>> told_log("calls.csv", {"episode": "call", "ends": "cut"}).reading
    {'ends': 'cut', 'columns': {'episode': 'call'}}
    """
    reading = {name: words.pop(name) for name in READING if name in words}
    for name in words if whole else ():
        raise ParameterError(not_one_of("keyword", name, READING))
    if not reading:
        return log
    if isinstance(log, Episodes | Replays | LogFiles):
        raise ParameterError(
            f"{listing(reading)}: this log already says how it is read. Say it where it is read, "
            "jumar.read_logs, or hand over the file or table itself."
        )
    return LogFiles(log, reading)
