"""Whole episodes that a pass over a log keeps: those whose hashes come first.
A large log as the gate sees it: read in parts, on any engine.

A worker reads its own shard and hands back what adds up: counts of every fold of every half, facts,
and the episodes whose hashes come first. Where the test must go on beyond those (`staging`), the
log is read once more, and workers hand back the scores of its episodes. Both passes read each row
once, and nothing depends on how the log was cut or in which order its parts were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from jumar import engines
from jumar.core.arrays import Bools, Codes, Floats, Ints, RowIndex, number_rows
from jumar.core.errors import LogError
from jumar.engines import Recipe
from jumar.evidence.practice import practice_of
from jumar.gate import dealing
from jumar.gate.bench import LoggedSteps
from jumar.gate.dealing import (
    BLOCKS,
    CHANGED,
    FOLDS,
    HALF,
    HALVES,
    LEAST_KEPT,
    Dealt,
    DealtLog,
    RunningFacts,
    half_of,
    last_of_first,
    part_of,
)
from jumar.gate.halves import Rescored, Shortlist
from jumar.log.shards.general import explain
from jumar.log.shards.order import EpisodeOrder
from jumar.log.shards.reading import rows_of
from jumar.log.shards.rows import Portion
from jumar.log.shards.whole import Assembly, WholeEpisodes, label_codes, whole_episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.tally.counted import Counted, tally_of, total
from jumar.tally.counting import Counting, Stretches, check_together
from jumar.tally.running import Refused, tally

SPARE = 1.5  # times as many are let in as are expected to be kept
EVERY_HASH = np.iinfo(np.uint64).max


class FirstUnits:
    """The first units of every group of a log, in the order of their hashes: so many `units`, and
    no more than so many `steps`. A group is a fold of a half, or a half.

    The first of the whole are among the first of every part, so parts can be looked at apart and
    in any order. Where it is known how long an episode is, more or less, and how many `rows` there
    are, most others are turned away by their hash alone, from the first row on.
    """

    def __init__(
        self,
        units: int,
        steps: int,
        *,
        by_fold: bool = True,
        length: float | None = None,
        rows: int = 0,
    ) -> None:
        self.units, self.steps, self.by_fold = units, steps, by_fold
        self._pieces: list[WholeEpisodes] = []
        self._waiting = 0  # steps and episodes that came since `last` was looked for
        # the last hash of every group that is let in; once it is full, that is kept
        share = 1.0
        if length is not None and rows:
            few = 4 * LEAST_KEPT  # of which it is not sure how many have such hashes
            kept = min(units * length, max(steps, few * length))
            share = SPARE * kept * (HALVES * FOLDS if by_fold else HALVES) / rows
        self.last = self._quantiles(share)
        self.full = np.zeros(len(self.last), np.bool_)

    def pieces(self) -> list[WholeEpisodes]:
        """In no order, as they came."""
        self._settle()
        return self._pieces

    @property
    def lacks(self) -> bool:
        """Were units turned away that belong to the first, for episodes are shorter than others?"""
        self._settle()
        return bool((~self.full & (self.last < EVERY_HASH)).any())

    def wanted(self, code: Codes) -> Bools:
        """(E,) which of some episodes may belong to the first; ever fewer as groups fill up."""
        inside: Bools = code <= self.last[self._group_of(code)]
        return inside

    def add(self, some: WholeEpisodes) -> None:
        """Some more episodes."""
        chosen = self._wanted_of(some)
        self._pieces += chosen
        self._waiting += sum(len(piece.reward) + len(piece) for piece in chosen)
        if self._waiting > self.steps * len(self.last):
            self._settle()

    def in_one_piece(self) -> FirstUnits:
        """The same, put together: each piece is some work to whoever adds or scores them."""
        pieces = self.pieces()
        self._pieces = [WholeEpisodes.joined(pieces)] if pieces else []
        return self

    def merge(self, other: FirstUnits) -> None:
        """Add what was found elsewhere, where others may have been turned away already."""
        pieces = other.pieces()
        self.last = np.where(other.full, np.minimum(self.last, other.last), self.last)
        self.full |= other.full
        for piece in pieces:
            self.add(piece)

    def _group_of(self, code: Codes) -> Ints:
        return part_of(code) if self.by_fold else half_of(code)

    def _quantiles(self, share: float) -> Codes:
        """(G,) the hash of every group below which such a share of its hashes lies."""
        groups = HALVES * FOLDS if self.by_fold else HALVES
        found = np.full(groups, EVERY_HASH, np.uint64)
        for g in range(groups if share < 1.0 else 0):
            half, fold = divmod(g, FOLDS) if self.by_fold else (g, 0)
            # a fold has every fourth block of its half
            every = FOLDS if self.by_fold else 1
            whole, rest = divmod(share * (BLOCKS / every), 1.0)
            found[g] = half * HALF + int((whole * every + fold + rest) * (HALF / BLOCKS))
        return found

    def _settle(self) -> None:
        """Let in no hash any more that is not among the first, and let go of those that are not."""
        if not self._waiting:
            return
        self._waiting = 0
        code = np.concatenate([piece.code for piece in self._pieces])
        lengths = np.concatenate([np.diff(piece.start) for piece in self._pieces])
        group = self._group_of(code)
        for g in range(len(self.last)):
            own = group == g
            last = last_of_first(code[own], lengths[own], self.units, self.steps)
            if last is not None:
                self.last[g], self.full[g] = last, True
        self._pieces = [kept for piece in self._pieces for kept in self._wanted_of(piece)]

    def _wanted_of(self, some: WholeEpisodes) -> list[WholeEpisodes]:
        """What may belong to the first, in one piece or none."""
        chosen = np.flatnonzero(self.wanted(some.code))
        if len(chosen) in (0, len(some)):
            return [some] if len(chosen) else []
        return [some.select(chosen)]


Shard = tuple[int, int]
Progress = Callable[[int, int], None]  # rows that are done, and all
MOST_WAITING = 200_000  # history states in counts that are not added up yet


@dataclass(frozen=True)
class LogInParts:
    """A log that is read in parts: which shards there are, and how its episodes are dealt."""

    counting: Counting  # over the longest memory that is tried
    shards: tuple[Shard, ...]
    key: bytes  # of the hash of the labels
    discount: float
    length: float | None  # of an episode, more or less; None: it was misjudged

    def kept(self) -> tuple[FirstUnits, FirstUnits]:
        """What is looked at, and what is held for the test: nothing yet."""

        about: Any = {"length": None if self.together else self.length, "rows": self.rows}
        return (
            FirstUnits(dealing.SAMPLED, dealing.SAMPLED_STEPS, **about),
            FirstUnits(dealing.FIRST, dealing.FIRST_STEPS, by_fold=False, **about),
        )

    @property
    def together(self) -> bool:
        """Are several episodes one independent unit?"""
        reading = self.counting.reading
        return "cluster" in reading.parts.single or reading.options.gap is not None

    @property
    def rows(self) -> int:
        """More or less."""
        return self.counting.plan.rows

    def portions(self, shard: Shard) -> tuple[Iterator[Portion], int]:
        """The rows of a shard, and what the end of an episode means there."""
        return rows_of(self.counting.plan, *shard, self.counting.reading)

    def generally(self) -> LogInParts:
        """The same log, with all rows read the general way."""
        return replace(self, counting=self.counting.generally())


@dataclass(frozen=True)
class Surveyed:
    """What the first pass over a shard leaves."""

    counted: tuple[Counted, ...]  # of every fold of every half
    facts: RunningFacts
    looked_at: FirstUnits
    held: FirstUnits
    stretches: Stretches


@dataclass(frozen=True)
class Survey:
    """The first pass, as a worker does it."""

    log: LogInParts

    def __call__(self, shard: Shard) -> Surveyed:
        log, job = self.log, self.log.counting
        portions, ends = log.portions(shard)
        names = job.reading.observations, job.reading.actions
        found = tally(job.memory, ends, HALVES * FOLDS)
        facts = RunningFacts(log.discount, together=log.together)
        looked_at, held = log.kept()
        assembly = Assembly(ends)
        order = EpisodeOrder()
        for portion in portions:
            began = np.flatnonzero(portion.rows.begins)
            code = label_codes(portion, began, log.key, job.reading.options.each_file)
            try:
                found.add(portion.rows, part_of(code))
            except Refused as refused:
                raise explain(portion, refused.row, job.reading, refused.unordered) from None
            order.add(portion.unit.file.name, portion.labels_of(began))
            for over in assembly.add(portion.rows, began, code, portion.places(began)):
                _look(over, facts, (looked_at, held))
                del over
            del portion  # or its rows are held while the next ones are decoded
        for over in assembly.finish():
            _look(over, facts, (looked_at, held))
        found.finish()
        kept = looked_at.in_one_piece(), held.in_one_piece()
        return Surveyed(found.counted(*names), facts, *kept, order.stretches)


def _look(over: WholeEpisodes, facts: RunningFacts, kept: tuple[FirstUnits, ...]) -> None:
    """Take note of whole episodes."""
    facts.add(over.reward, over.start, over.terminated, over.code)
    for first in kept:
        first.add(over)


@dataclass(frozen=True, eq=False)
class LargeLog:
    """A log that was read once."""

    log: LogInParts
    counted: tuple[Counted, ...]  # every fold of every half, over the longest memory that is tried
    facts: RunningFacts
    looked_at: FirstUnits  # of every fold: to judge shortlists by, and for checks
    held: FirstUnits  # of every half: what a test begins with

    @property
    def whole(self) -> Counted:
        """The counts of the whole log."""
        return total(self.counted)

    def dealt(self, behavior: Controller, **workers: Any) -> DealtLog:
        """As the gate sees it."""
        reading, plan = self.log.counting.reading, self.log.counting.plan
        episodes = _at_hand([*self.held.pieces(), *self.looked_at.pieces()])
        seen = reading.as_log(episodes, plan)
        assert episodes is not None  # or there would be nothing to read
        code = episodes.code
        return DealtLog(
            practice_of(seen, behavior),
            Dealt(code),
            episodes.place,
            self.facts,
            np.flatnonzero(self.held.wanted(code)),
            np.flatnonzero(self.looked_at.wanted(code)),
            self.counted,
            partial(rescored, self.log, self.counted, behavior, **workers),
        )


def _at_hand(pieces: Sequence[WholeEpisodes]) -> WholeEpisodes | None:
    """Each episode once, in the order of hashes."""
    if not pieces:
        return None
    found = WholeEpisodes.joined(pieces)
    order = np.lexsort([found.place, found.code])
    code, place = found.code[order], found.place[order]
    again = (code[1:] == code[:-1]) & (place[1:] == place[:-1])
    return found.select(order[np.concatenate([[True], ~again])])


def survey(log: LogInParts, *, progress: Progress | None = None, **workers: Any) -> LargeLog:
    """The first pass over all shards."""
    facts = RunningFacts(log.discount, together=log.together)
    looked_at, held = log.kept()
    waiting: list[tuple[Counted, ...]] = []  # of every shard, of every fold
    stretches: dict[Shard, Stretches] = {}
    done = 0
    for shard, one in engines.run(Recipe(Survey, log), log.shards, **workers):
        waiting.append(one.counted)
        if sum(len(part.states) for counted in waiting for part in counted) > MOST_WAITING:
            waiting = [_together(waiting)]
        facts.merge(one.facts)
        looked_at.merge(one.looked_at)
        held.merge(one.held)
        stretches[shard] = one.stretches
        done += log.counting.rows(shard)
        if progress is not None:
            progress(done, 2 * log.rows)
    check_together(log.counting, stretches)
    if log.length is not None and (looked_at.lacks or held.lacks):
        return survey(replace(log, length=None), progress=progress, **workers)
    return LargeLog(log, _together(waiting), facts, looked_at, held)


def _together(shards: Sequence[tuple[Counted, ...]]) -> tuple[Counted, ...]:
    """The counts of every fold, over all shards."""
    return tuple(total(counted) for counted in zip(*shards, strict=True))


# ---- once more ----------------------------------------------------------------------------------

Scored = tuple[Codes, Ints, list[Floats]]  # hashes and places of episodes, scores of candidates


@dataclass(frozen=True, eq=False)
class Rescore:
    """The second pass, as a worker does it."""

    log: LogInParts
    memory: Memory  # the longest that is tried
    states: Ints  # (H, W+1) of it
    behavior: Floats  # (H, A) rows
    shortlists: tuple[Shortlist, ...]

    def __call__(self, shard: Shard) -> list[list[Scored]]:
        portions, ends = self.log.portions(shard)
        index = RowIndex(self.states)
        found: list[list[Scored]] = [[] for _ in self.shortlists]
        each_file = self.log.counting.reading.options.each_file
        for whole in whole_episodes(portions, ends, self.log.key, each_file):
            nodes = self.memory.replay(whole.z, whole.a, whole.start)
            met, number = number_rows(np.column_stack([nodes, whole.z]))
            at = index.find(met)[number]
            if len(at) and at.min() < 0:
                raise LogError(CHANGED)
            half = half_of(whole.code)
            for mine, shortlist in zip(found, self.shortlists, strict=True):
                chosen = half != shortlist.half
                if shortlist.last is not None:
                    chosen &= whole.code <= np.uint64(shortlist.last)
                episodes = np.flatnonzero(chosen)
                steps = LoggedSteps(
                    at,
                    whole.a,
                    whole.reward - shortlist.centre,
                    whole.start,
                    whole.terminated,
                    self.behavior[at, whole.a],
                    self.behavior,
                    at,
                )
                scores = shortlist.score(steps, episodes)
                mine.append((whole.code[episodes], whole.place[episodes], scores))
        return found


def rescored(
    log: LogInParts,
    counted: tuple[Counted, ...],
    behavior: Controller,
    shortlists: list[Shortlist],
    *,
    progress: Progress | None = None,
    **workers: Any,
) -> list[Rescored]:
    """The second pass over all shards: what each shortlist makes of the episodes of the other
    half."""
    memory = shortlists[0].longest
    states = tally_of(counted, memory).states
    rows = behavior.lift(memory).rows_at(states)
    worker = Recipe(Rescore, log, memory, states, rows, tuple(shortlists))
    pieces: list[list[Scored]] = [[] for _ in shortlists]
    done = log.rows
    for shard, one in engines.run(worker, log.shards, **workers):
        for mine, more in zip(pieces, one, strict=True):
            mine += more
        done += log.counting.rows(shard)
        if progress is not None:
            progress(done, 2 * log.rows)
    return [_in_order(some, shortlist) for some, shortlist in zip(pieces, shortlists, strict=True)]


def _in_order(pieces: Sequence[Scored], shortlist: Shortlist) -> Rescored:
    """The scores of all episodes, in the order of their hashes, then of their places."""
    code = np.concatenate([code for code, _, _ in pieces])
    place = np.concatenate([place for _, place, _ in pieces])
    order = np.lexsort([place, code])
    scores = [
        np.concatenate([found[j] for *_, found in pieces], axis=1)[:, order]
        for j in range(len(shortlist.candidates))
    ]
    return Rescored(code[order], scores)
