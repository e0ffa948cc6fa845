"""The two passes over the shards of a log, on any engine.

A worker reads its own shard and hands back sums: counts of every fold of every half, facts, a few
episodes; in the second pass, what the bets need of the scores. Both passes read each row once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jumar import engines
from jumar.algorithms.auto.dealing import FOLDS, HALVES, DealtPart, fold_of, half_of
from jumar.algorithms.auto.streamed.first_pass import FirstPass, LogTally
from jumar.algorithms.auto.streamed.keeping import FirstUnits
from jumar.algorithms.auto.streamed.second_pass import HeldOut, Scoring
from jumar.core.errors import LogError
from jumar.engines import Recipe
from jumar.large.counted import Counted, total
from jumar.large.counting import Counting, Stretches, check_together
from jumar.large.locating import Locator
from jumar.large.order import EpisodeOrder
from jumar.large.reading import Portion, explain, rows_of
from jumar.large.tally import Refused, tally
from jumar.large.whole import Assembly, EpisodeRows, label_codes, whole_episodes

Shard = tuple[int, int]
Progress = Callable[[int, int], None]  # rows that are done, and all
LOOKED_AT = 2_500  # units of every fold of every half, for shortlists and checks
MOST_LOOKED_AT = 1_000_000  # steps of them
HELD = 1 << 17  # units of every half that the test begins with
MOST_HELD = 2_000_000  # steps of them: some 50 MB
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

        def expected(units: int, steps: int) -> float:
            if self.length is None or self.together:
                return 1.0
            return min(units * self.length, steps) / self.rows

        return (
            FirstUnits(
                LOOKED_AT,
                MOST_LOOKED_AT,
                expected=expected(LOOKED_AT * HALVES * FOLDS, MOST_LOOKED_AT),
            ),
            FirstUnits(HELD, MOST_HELD, by_fold=False, expected=expected(HELD * HALVES, MOST_HELD)),
        )

    @property
    def together(self) -> bool:
        """Are several episodes one independent unit?"""
        reading = self.counting.reading
        return "cluster" in reading.parts.single or reading.asked.gap is not None

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
    tally: LogTally
    looked_at: FirstUnits
    held: FirstUnits
    stretches: Stretches


@dataclass(frozen=True)
class Survey:
    """The first pass, as a worker does it."""

    log: LogInParts

    def __call__(self, shard: Shard) -> Surveyed:
        return self._survey(*self.log.portions(shard))

    def _survey(self, portions: Iterator[Portion], ends: int) -> Surveyed:
        log, job = self.log, self.log.counting
        names = job.reading.observations, job.reading.actions
        found = tally(job.memory, ends, HALVES * FOLDS)
        facts = LogTally(log.discount, together=log.together)
        looked_at, held = log.kept()
        assembly = Assembly(ends)
        orders: dict[str, EpisodeOrder] = {}
        for portion in portions:
            began = np.flatnonzero(portion.rows.begins)
            code = label_codes(portion, began, log.key, job.reading.each_file)
            try:
                found.add(portion.rows, half_of(code) * FOLDS + fold_of(code))
            except Refused as refused:
                raise explain(portion, refused.row, job.reading, refused.unordered) from None
            order = orders.setdefault(portion.unit.file.name, EpisodeOrder())
            order.add(portion.labels_of(began))
            for over in assembly.add(portion.rows, began, code, portion.places(began)):
                _look(over, facts, (looked_at, held))
                del over
            del portion  # or its rows are held while the next ones are decoded
        for over in assembly.finish():
            _look(over, facts, (looked_at, held))
        found.finish()
        stretches = {file: order.stretch for file, order in orders.items()}
        kept = looked_at.in_one_piece(), held.in_one_piece()
        return Surveyed(found.counted(*names), facts, *kept, stretches)


def _look(over: EpisodeRows, facts: LogTally, kept: tuple[FirstUnits, ...]) -> None:
    """Take note of whole episodes."""
    facts.add(over.reward, over.start, over.terminated, over.code)
    for first in kept:
        first.add(over)


@dataclass(frozen=True, eq=False)
class LargeLog:
    """A log after the first pass."""

    first: FirstPass
    whole: Counted  # of the whole log, over the longest memory that is tried


def survey(log: LogInParts, *, progress: Progress | None = None, **workers: Any) -> LargeLog:
    """The first pass over all shards."""
    tallies = LogTally(log.discount, together=log.together)
    looked_at, held = log.kept()
    waiting: list[tuple[Counted, ...]] = []  # of every shard, of every fold
    stretches: dict[Shard, Stretches] = {}
    done = 0
    for shard, one in engines.run(Recipe(Survey, log), log.shards, **workers):
        waiting.append(one.counted)
        if sum(len(part.states) for counted in waiting for part in counted) > MOST_WAITING:
            waiting = [_together(waiting)]
        tallies.merge(one.tally)
        looked_at.merge(one.looked_at)
        held.merge(one.held)
        stretches[shard] = one.stretches
        done += log.counting.rows(shard)
        if progress is not None:
            progress(done, 2 * log.rows)
    parts = _together(waiting)
    check_together(log.counting, stretches)
    folds = [DealtPart(h, (f,)) for h in range(HALVES) for f in range(FOLDS)]
    if log.length is not None and looked_at.lacks([tallies.units_in(fold) for fold in folds]):
        # the first episodes are much shorter than the others, which therefore are fewer
        return survey(replace(log, length=None), progress=progress, **workers)
    counts = {divmod(i, FOLDS): part.counts for i, part in enumerate(parts) if len(part.states)}
    return LargeLog(FirstPass(counts, tallies, looked_at, held), total(parts))


def _together(shards: Sequence[tuple[Counted, ...]]) -> tuple[Counted, ...]:
    """The counts of every fold, over all shards."""
    return tuple(total(counted) for counted in zip(*shards, strict=True))


@dataclass(frozen=True, eq=False)
class Score:
    """The second pass, as a worker does it."""

    log: LogInParts
    scoring: Scoring

    def __call__(self, shard: Shard) -> HeldOut:
        return self._score(*self.log.portions(shard))

    def _score(self, portions: Iterator[Portion], ends: int) -> HeldOut:
        ground = self.scoring.ground
        locator, found = Locator(ground.memory, ground.states), self.scoring.nothing()
        each_file = self.log.counting.reading.each_file
        for whole in whole_episodes(portions, ends, self.log.key, each_file):
            at = locator.at(whole.z, whole.a, whole.start)
            if len(at) and at.min() < 0:
                raise LogError(
                    "A history came up that was not there when the log was counted. Has the log "
                    "changed since? Run again."
                )
            self.scoring.score_steps(at, whole, found)
        return found


def score(
    log: LogInParts, scoring: Scoring, *, progress: Progress | None = None, **workers: Any
) -> HeldOut:
    """The second pass over all shards; none where nothing is to be scored."""
    total, done = scoring.nothing(), log.rows
    if scoring.empty:
        return total
    for shard, one in engines.run(Recipe(Score, log, scoring), log.shards, **workers):
        total.merge(one)
        done += log.counting.rows(shard)
        if progress is not None:
            progress(done, 2 * log.rows)
    return total
