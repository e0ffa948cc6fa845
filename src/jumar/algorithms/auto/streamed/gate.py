"""From the first pass to shortlists, and from the second to a choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
from jumar.algorithms.auto.dealing import HALVES, LEAST, DealtPart
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.opinions import Models
from jumar.algorithms.auto.selecting import MORE_MEMORY
from jumar.algorithms.auto.streamed.bench import CountedBench, memories_kept, number_counts
from jumar.algorithms.auto.streamed.first_pass import FirstPass
from jumar.algorithms.auto.streamed.second_pass import (
    Ground,
    HalfScoring,
    HeldOut,
    PlacedSteps,
    Scoring,
)
from jumar.algorithms.auto.streamed.tallied import Wager
from jumar.algorithms.auto.trials import PROVED, Selection
from jumar.core.arrays import Codes
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.core.history import Counts, check_discount
from jumar.core.journal import Watch
from jumar.core.memory import Memory
from jumar.evidence.bounds import check_delta
from jumar.evidence.rewards import RewardRange
from jumar.large.locating import Locator


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

    scoring: Scoring  # for the second pass
    halves: tuple[HalfList, ...]  # none where there is too little to test
    tried: Tried
    whole: Counts  # of the whole log, over the longest memory that is tried
    watch: Watch

    def conclude(self, held_out: HeldOut) -> Selection:
        """The choice, given the scores of all episodes."""
        tests: list[Tested] = []
        for half, made in enumerate(self.halves):
            scored = held_out.scored(half)
            bets = proved.outcomes(made.listed, scored, self.tried.delta)
            models = Models(made.bench, DealtPart(1 - half))
            found = []
            for x, scores, bet in zip(made.listed, scored, bets, strict=True):
                level = self.tried.delta / HALVES
                weighed = Weighed(
                    scores.effective, scores.missing(level), scores.weight, scores.weight_error
                )
                trial = trial_of_bet(
                    half, x, scores, bet, weighed, models, self.tried.delta, self.tried.most
                )
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
    memory, delta, rewards, horizon, more_memory
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
    if first.tally.discount != discount:
        raise ParameterError(
            f"discount: {discount} is not that of the first pass, {first.tally.discount}."
        )
    facts, paid = first.tally.facts, first.tally.paid
    limits = limits_of(facts, discount, rewards, horizon)
    memories, counts = memories_kept(first.counts, chain(behavior.memory, memory, more_memory))
    numbered, whole, rows = number_counts(counts, memories, behavior)
    ground = Ground(whole.memory, whole.states, rows, discount)
    bench = CountedBench(
        numbered=numbered,
        limits=limits,
        delta=delta,
        whole=whole,
        controller_known=behavior,
        ground=ground,
        tally=first.tally,
        sampled=_on(ground, first),
        sampled_code=_codes(first),
    )
    units = [bench.units(DealtPart(half)) for half in range(HALVES)]
    halves = []
    for half in range(HALVES):
        if min(units) < LEAST or not paid.differ:
            break
        own = bench.learning_from(half)
        listed, made = proved.shortlist(own, DealtPart(half), units[1 - half], delta)
        halves.append(HalfList(own, listed, made))
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
    )
    scoring = Scoring(ground, tuple(map(_scoring, halves)), first.tally.together)
    return Shortlists(scoring, tuple(halves), tried, whole, watch)


def _on(ground: Ground, first: FirstPass) -> PlacedSteps | None:
    some = first.sample.episodes
    if some is None:
        return None
    at = Locator(ground.memory, ground.states).at(some.z, some.a, some.start)
    return PlacedSteps.on(ground, at, some.a, some.reward, some.start)


def _codes(first: FirstPass) -> Codes:
    some = first.sample.episodes
    return np.zeros(0, np.uint64) if some is None else some.code


def _scoring(half: HalfList) -> HalfScoring:
    return HalfScoring(
        tuple(x.candidate for x in half.listed),
        tuple(Wager(x.prospect.bet, x.prospect.gain) for x in half.listed),
        half.bench.limits,
        half.bench.centre,
    )
