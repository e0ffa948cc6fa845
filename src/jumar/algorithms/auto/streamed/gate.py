"""From the first pass to shortlists, and from the second to a choice."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from jumar import engines
from jumar.algorithms.auto import proved
from jumar.algorithms.auto.board import chain
from jumar.algorithms.auto.concluding import (
    Tested,
    Tried,
    Weighed,
    conclude,
    told,
    trial_of_bet,
)
from jumar.algorithms.auto.dealing import FOLDS, HALVES, LEAST, DealtPart
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.makers import CandidatesLike, Makers, makers_of
from jumar.algorithms.auto.opinions import Models
from jumar.algorithms.auto.scored import Scored
from jumar.algorithms.auto.selecting import MORE_MEMORY
from jumar.algorithms.auto.streamed.bench import CountedBench, memories_kept, number_counts
from jumar.algorithms.auto.streamed.first_pass import FirstPass
from jumar.algorithms.auto.streamed.keeping import FirstUnits
from jumar.algorithms.auto.streamed.second_pass import (
    Ground,
    HalfScoring,
    HeldOut,
    PlacedSteps,
    ScoreHeld,
    Scoring,
)
from jumar.algorithms.auto.streamed.tallied import Wager
from jumar.algorithms.auto.trials import PROVED, Selection
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.core.history import Counts, check_discount
from jumar.core.journal import Watch
from jumar.core.memory import Memory
from jumar.engines import Recipe
from jumar.evidence.bounds import check_delta
from jumar.evidence.rewards import RewardRange
from jumar.large.locating import Locator
from jumar.large.whole import WholeEpisodes
from jumar.solve.simplifying import share_of

SAMPLED = proved.MOST_SCORED // FOLDS  # units of every fold that shortlists are chosen by
LUCK = 2.0  # standard errors by which scores may have had bad luck
WORTH_IT = 1.01  # times the gain that has passed: for less nobody reads the log again


def longest_memory(
    behavior: Controller, memory: Memory | None = None, more_memory: int = MORE_MEMORY
) -> Memory:
    """The memory over which the first pass must count: it refines all that are tried."""
    return chain(behavior.memory, memory, more_memory)[-1]


@dataclass(frozen=True, eq=False)
class HalfList:
    """The shortlist of one half, and where it was made."""

    bench: CountedBench
    listed: list[proved.Listed]
    made: int  # candidates that were fitted


@dataclass(frozen=True, eq=False)
class Shortlists:
    """What is to be tested, before any held-out score was seen."""

    scoring: Scoring  # for held-out episodes
    halves: tuple[HalfList, ...]  # none where there is too little to test
    units: tuple[int, ...]  # of each half, in the whole log
    tried: Tried
    whole: Counts  # of the whole log, over the longest memory that is tried
    watch: Watch

    def score_first(self, held: FirstUnits, jobs: int | None = None) -> HeldOut:
        """The scores of the episodes that the first pass kept: those that are bet on first. `jobs`
        threads do it, by default as many as there are cores."""
        found = self.scoring.nothing()
        if self.scoring.empty:
            return found
        pieces, threads = held.pieces(), jobs or engines.cores()
        shares = [pieces[i::threads] for i in range(min(threads, len(pieces)))]
        for _, some in engines.run(Recipe(ScoreHeld, self.scoring), shares, jobs=threads):
            found.merge(some)
        return found

    def undecided(self, held_out: HeldOut, *, thorough: bool = False) -> bool:
        """May the other episodes let something pass that gains more than what has passed? Where
        one is thorough: are there others?

        Whoever reads on goes on with the same bets, on units in the order of their hashes, and a
        bet counts with the most that it ever grew to. So reading on, or not, for whatever reason,
        makes no test false.
        """
        passed, open_ = [0.0], [0.0]
        for half, made in enumerate(self.halves):
            scored, all_of_it = held_out.scored(half), self.units[1 - half]
            if thorough and any(scores.units < all_of_it for scores in scored):
                return True
            bets = proved.outcomes(made.listed, scored, self.tried.delta, bounds=False)
            handed_on = 0.0
            for x, scores, bet, share in zip(
                made.listed, scored, bets, proved.SHARES, strict=False
            ):
                handed_on += share
                level = handed_on * proved.PASSING * self.tried.delta / HALVES
                if bet.passed:
                    passed.append(x.prospect.gain)
                elif scores.units < all_of_it and _may_pass(x, scores, all_of_it, level):
                    open_.append(x.prospect.gain)
        return max(open_) > WORTH_IT * max(passed)

    def conclude(self, held_out: HeldOut) -> Selection:
        """The choice, given the scores of held-out episodes: all, or those that come first."""
        tests: list[Tested] = []
        for half, made in enumerate(self.halves):
            scored = held_out.scored(half)
            bets = proved.outcomes(made.listed, scored, self.tried.delta)
            models = Models(made.bench, DealtPart(1 - half))
            found = []
            for x, scores, bet in zip(made.listed, scored, bets, strict=True):
                level = self.tried.delta / HALVES
                weighed = Weighed(
                    scores.effective,
                    scores.missing(level),
                    scores.weight,
                    scores.weight_error,
                    scores.beyond,
                    scores.plain,
                )
                trial = trial_of_bet(half, x, scores, bet, weighed, models, self.tried.most)
                found.append(Tested(trial, x.candidate, made.bench))
            told(half, found)
            tests += found
        return conclude(self.tried, tests, sum(half.made for half in self.halves), self.watch)


def shortlists(
    first: FirstPass,
    behavior: Controller,
    *,
    discount: float,
    memory: Memory | None = None,
    delta: float = 0.05,
    rewards: RewardRange | None = None,
    horizon: int | None = None,
    more_memory: int = MORE_MEMORY,
    simplify: bool | float = False,
    candidates: CandidatesLike | Makers | None = None,
) -> Shortlists:
    """What to test on each half of a log that was read once.

    Parameters
    ----------
    first
        What the first pass left: counts over `longest_memory`, and the rest.
    behavior
        The controller that made the log, whose names the counts and the sample have.
    discount
        Weight of the next step against this one; the one that the tally was made with.
    memory, delta, rewards, horizon, more_memory, simplify, candidates
        As for `jumar.select`. Whoever reads the log checks it against declared rewards
        (`evidence.consistency.check_rewards`), and can name the place.

    Returns
    -------
    Shortlists
        What the second pass scores, and what concludes from it.
    """
    watch = Watch()
    check_delta(delta)
    check_discount(discount)
    makers = makers_of(candidates)
    if first.tally.discount != discount:
        raise ParameterError(
            f"discount: {discount} is not that of the first pass, {first.tally.discount}."
        )
    facts, paid = first.tally.facts, first.tally.paid
    limits = limits_of(facts, discount, rewards, horizon)
    memories, counts = memories_kept(first.counts, chain(behavior.memory, memory, more_memory))
    numbered, whole, rows = number_counts(counts, memories, behavior)
    ground = Ground(whole.memory, whole.states, rows, discount)
    sample = first.looked_at.first(SAMPLED)
    bench = CountedBench(
        numbered=numbered,
        limits=limits,
        delta=delta,
        whole=whole,
        cells=counts,
        controller_known=behavior,
        ground=ground,
        tally=first.tally,
        sampled=_on(ground, sample),
        sampled_code=np.zeros(0, np.uint64) if sample is None else sample.code,
        simplify=share_of(simplify),
        makers=makers,
    )
    units = [bench.units(DealtPart(half)) for half in range(HALVES)]

    def listed(half: int) -> HalfList:
        own = bench.learning_from(half)
        return HalfList(own, *proved.shortlist(own, DealtPart(half), units[1 - half], delta))

    halves = []
    if min(units) >= LEAST and paid.differ:  # else nothing is tested, and nothing can pass
        if makers is not None and makers.own:  # nobody's function is called by two threads at once
            halves = list(map(listed, range(HALVES)))
        else:
            with ThreadPoolExecutor(HALVES) as threads:  # most of it is compiled, blocks nobody
                halves = list(threads.map(listed, range(HALVES)))
    tried = Tried(
        PROVED,
        delta,
        facts.episodes,
        sum(units),
        behavior,
        limits,
        float(limits.high[0] - paid.mean),
        paid.beyond,
        tuple(memories),
        makers.names if makers else (),
    )
    scoring = Scoring(ground, tuple(map(_scoring, halves)), first.tally.together)
    return Shortlists(scoring, tuple(halves), tuple(units), tried, whole, watch)


def _on(ground: Ground, some: WholeEpisodes | None) -> PlacedSteps | None:
    if some is None:
        return None
    at = Locator(ground.memory, ground.states).at(some.z, some.a, some.start)
    return PlacedSteps.on(ground, at, some.a, some.reward, some.start)


def _may_pass(x: proved.Listed, scores: Scored, units: int, level: float) -> bool:
    """Would a bet on so many units pass, if it grew as the scores say, or a little faster?"""
    if scores.units == 0:
        return True
    growth = scores.growth_if(scores.mean + LUCK * scores.error, x.prospect.bet.floor)
    return units * growth.mean >= -math.log(level)


def _scoring(half: HalfList) -> HalfScoring:
    return HalfScoring(
        tuple(x.candidate for x in half.listed),
        tuple(Wager(x.prospect.bet, x.prospect.gain) for x in half.listed),
        half.bench.limits,
        half.bench.centre,
    )
