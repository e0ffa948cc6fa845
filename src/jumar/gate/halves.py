"""Candidates of each half of a log, tested on the other half: by the proved gate, with the
approximate test as a second opinion, or by the asymptotic gate alone.

Each shortlist is scored on the episodes of the other half, in one stage or two. Of a log of the
usual size these are all scored at once. Of a large one (`dealing`) those come first that are at
hand, and others are scored only where the first leave the choice open. Units are bet on in the
order of their hashes, a bet counts with the most that it ever grew to, and what was bet on stays
bet on: so reading on, or not, for whatever reason, makes no test false (Ville).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from jumar.algorithms.entry import Algorithm
from jumar.algorithms.problem import Problem
from jumar.core.arrays import Codes, Floats, Ints
from jumar.core.resources import journal
from jumar.evidence.offpolicy.weights import effective_size
from jumar.gate import asymptotic, proved
from jumar.gate.bench import UNBOUNDED, Bench, Fitted, LoggedSteps
from jumar.gate.bets import Growth, Scores, excess
from jumar.gate.candidates import Models, blend, learned
from jumar.gate.dealing import HALF, HALVES, Dealt, DealtLog, DealtPart
from jumar.gate.limits import Limits
from jumar.gate.objectives import Kept, candidates_heeding
from jumar.gate.trials import PROVED, KeptTrial, Opinion, Trial
from jumar.memory import Memory

Only = tuple[Algorithm, Mapping[str, object]]  # an algorithm, and what it is told

SCORE, PLAIN, WEIGHT, BEYOND = range(4)  # numbers of an episode
MOST_UNITS = 1 << 19  # of a half that are scored, whatever the log
IN_TURN = 1 << 20  # steps, up to which one thread scores all
LUCK = 2.0  # standard errors by which scores may have had bad luck
WORTH_IT = 1.01  # times the gain that has passed: for less nobody reads the log again


class Half(NamedTuple):
    """One half of a log to learn from, and the other one to test on."""

    bench: Bench
    number: int
    units: int  # independent ones to test on
    delta: float
    most: float  # that can be gained
    rng: np.random.Generator
    only: Only | None = None  # the one that makes candidates
    kept: tuple[Kept, ...] = ()  # signals that must not get worse
    guides: tuple[tuple[float, Bench], ...] = ()  # what candidates that heed them learn from
    taught: bool = False  # was a memory learned, by either half?

    @property
    def own(self) -> DealtPart:
        """To learn from."""
        return DealtPart(self.number)

    @property
    def other(self) -> DealtPart:
        """To test on."""
        return DealtPart(1 - self.number)


class Tested(NamedTuple):
    """A candidate that was tested on the other half."""

    trial: Trial
    candidate: Fitted
    bench: Bench  # on which it was made


def try_halves(log: DealtLog, halves: Sequence[Half], problem: Problem) -> tuple[list[Tested], int]:
    """What came of all tests, and how many candidates were fitted."""
    proves = problem.gate == PROVED
    lists = [_draw_up(half, problem.gate) for half in halves]
    short = [x.shortlist for x in lists]
    held_out = [_score_first(x.half.bench, one) for x, one in zip(lists, short, strict=True)]
    # a t test has no sequence of bets, so it is made once: looking again would need a level of its
    # own. Kept signals are bet on once, too
    once = not proves or problem.keeps
    if log.large and not once and undecided(lists, held_out, thorough=problem.thorough):
        held_out = _score_more(log, halves, short)
    found: list[Tested] = []
    for listing, scored in zip(lists, held_out, strict=True):
        half = listing.half
        for trial, x in zip(
            (_bet if proves else _t_trials)(listing, scored), listing.listed, strict=True
        ):
            journal.debug("Tested on half %d of the log: %s", 2 - half.number, trial.summary)
            found.append(Tested(trial, x.candidate, half.bench))
    return found, sum(listing.made for listing in lists)


# ---- what is put to the test --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The candidates of one half, as whoever scores them must know them. It travels."""

    half: int  # that they were made of
    longest: Memory  # over whose history states their rows are
    candidates: tuple[Fitted, ...]
    floors: tuple[float, ...]  # one for each
    limits: Limits
    discount: float
    centre: float  # that rewards are counted from
    last: int | None  # the last hash of the other half that is scored; None: all are

    def score(self, steps: LoggedSteps, episodes: Ints) -> list[Floats]:
        """Of every candidate, (4, n): the scores of some episodes, those without a floor, the
        weights, and those beyond the cuts. The steps pay what counts here."""
        score = partial(self._score, steps, episodes)
        pairs = list(zip(self.candidates, self.floors, strict=True))
        if len(pairs) < 2 or len(steps.at) < IN_TURN:
            return [score(*pair) for pair in pairs]
        with ThreadPoolExecutor() as threads:  # most of it is compiled, and blocks nobody
            return list(threads.map(score, self.candidates, self.floors))

    def _score(self, steps: LoggedSteps, episodes: Ints, candidate: Fitted, floor: float) -> Floats:
        floors = [floor] if floor == UNBOUNDED else [floor, UNBOUNDED]
        scores = steps.scores(candidate, floors, episodes, self.limits, self.discount)
        weights = steps.weights(candidate.rows, episodes, self.discount)
        beyond = steps.beyond(candidate.rows, episodes, self.discount)
        return np.stack([scores[0], scores[-1], weights, beyond])


class Listing(NamedTuple):
    """What a half puts to the test, before any held-out score was seen."""

    half: Half
    listed: Sequence[proved.Listed]
    made: int  # candidates that were fitted

    @property
    def shares(self) -> Sequence[float]:
        """Of the level, for each candidate in turn."""
        return proved.ALONE if self.half.only else proved.shares(self.half.bench)

    @property
    def shortlist(self) -> Shortlist:
        bench, half = self.half.bench, self.half.number
        return Shortlist(
            half,
            bench.longest,
            tuple(x.candidate for x in self.listed),
            tuple(x.prospect.floor for x in self.listed),
            bench.limits,
            bench.discount,
            bench.centre,
            _last_hash(bench.log, 1 - half),
        )


def _last_hash(log: DealtLog, half: int) -> int | None:
    """Below it lie as many units of a half of a large log as are ever scored."""
    units = log.units(DealtPart(half))
    if not log.large or units <= MOST_UNITS:
        return None
    return half * HALF + int(HALF * (MOST_UNITS / units))


def _draw_up(half: Half, gate: str) -> Listing:
    """The shortlist of a half."""
    bench, own = half.bench, half.own
    make = learned(bench, *half.only) if half.only else None
    if gate == PROVED and make:
        return Listing(half, *proved.only(bench, own, make))
    if gate == PROVED:
        make = partial(candidates_heeding, bench, half.guides) if half.kept else None
        return Listing(half, *proved.shortlist(bench, own, half.units, half.delta, make, half.kept))
    if make:
        found, made = list(make(own, 1.0)), 1
    else:
        found, made = asymptotic.shortlist(bench, own, half.units, half.delta)
    none = Growth(0.0, 0.0, 0.0)  # nothing is bet
    listed = [
        proved.Listed(x, proved.Prospect(x.setting, x.promised, UNBOUNDED, none, 1)) for x in found
    ]
    return Listing(half, listed, made)


# ---- held-out scores ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What held-out units say of a candidate."""

    scores: Scores
    plain: Scores  # without a floor
    weights: Scores
    beyond: float  # share of the discounted weight beyond the cuts

    @classmethod
    def of(cls, found: Floats, dealt: Dealt, episodes: Ints) -> HeldOut:
        """Given the numbers of some episodes."""
        rows = [Scores(*dealt.by_unit(episodes, row)) for row in found]
        beyond = min(float(rows[BEYOND].mean), 1.0) if len(episodes) else 0.0
        return cls(rows[SCORE], rows[PLAIN], rows[WEIGHT], beyond)


class Rescored(NamedTuple):
    """What a shortlist made of whole episodes that were read again."""

    code: Codes  # (n,) hashes, ascending
    scores: list[Floats]  # of every candidate, (4, n)


def _score_first(bench: Bench, shortlist: Shortlist) -> list[HeldOut]:
    """On the episodes that a test begins with: of a log of the usual size, on all."""
    dealt = bench.log.dealt
    episodes = dealt.episodes(DealtPart(1 - shortlist.half), bench.log.first)
    return [HeldOut.of(x, dealt, episodes) for x in shortlist.score(bench.steps, episodes)]


def _score_more(
    log: DealtLog, halves: Sequence[Half], shortlists: Sequence[Shortlist]
) -> list[list[HeldOut]]:
    """On all episodes of a large log, up to the last hash."""
    found = []
    if log.rescore is not None:
        for one in log.rescore(list(shortlists)):
            dealt, every = Dealt(one.code), np.arange(len(one.code))
            found.append([HeldOut.of(x, dealt, every) for x in one.scores])
        return found
    for half, shortlist in zip(halves, shortlists, strict=True):
        episodes = log.dealt.episodes(half.other)
        if shortlist.last is not None:
            episodes = episodes[log.dealt.code[episodes] <= np.uint64(shortlist.last)]
        scored = shortlist.score(half.bench.steps, episodes)
        found.append([HeldOut.of(x, log.dealt, episodes) for x in scored])
    return found


def undecided(
    lists: Sequence[Listing], held_out: Sequence[Sequence[HeldOut]], *, thorough: bool = False
) -> bool:
    """May the other episodes let something pass that gains more than what has passed? Where one is
    thorough: are there others?"""
    passed, open_ = [0.0], [0.0]
    for listing, one in zip(lists, held_out, strict=True):
        half, listed, shares = listing.half, listing.listed, listing.shares
        scored, handed_on = [x.scores for x in one], 0.0
        if thorough and any(scores.units < half.units for scores in scored):
            return True
        bets = proved.outcomes(listed, scored, half.delta, shares, bounds=False)
        for x, scores, bet, share in zip(listed, scored, bets, shares, strict=False):
            handed_on += share
            level = handed_on * proved.PASSING * half.delta / HALVES
            if bet.passed:
                passed.append(x.prospect.gain)
            elif scores.units < half.units and _may_pass(x, scores, half.units, level):
                open_.append(x.prospect.gain)
    return max(open_) > WORTH_IT * max(passed)


def _may_pass(x: proved.Listed, scores: Scores, units: int, level: float) -> bool:
    """Would a bet on so many units pass, if it grew as the scores say, or a little faster?"""
    if scores.units == 0:
        return True
    growth = scores.growth_if(scores.mean + LUCK * scores.error, x.prospect.bet.floor)
    return units * growth.mean >= -math.log(level)


# ---- the tests ----------------------------------------------------------------------------------


def _bet(listing: Listing, held_out: Sequence[HeldOut]) -> list[Trial]:
    """The proved gate, with the approximate test as a second opinion."""
    half, listed = listing.half, listing.listed
    approximate = _t_trials(listing, held_out)
    kept = [k.bets(i, listed, half.own, half.other) for i, k in enumerate(half.kept)]
    grown = [[bet.log_wealth for bet in bets] for bets in kept]
    bets = proved.outcomes(listed, [x.scores for x in held_out], half.delta, listing.shares, grown)
    models = Models(half.bench, half.other)
    own = Models(half.bench, half.own) if half.taught else None
    return [
        _trial_of_bet(
            half,
            x,
            tested.scores,
            bet,
            second,
            models,
            kept=tuple(each[j].trial(bet.level, bet.bound_level) for each in kept),
            own=own,
        )
        for j, (x, tested, bet, second) in enumerate(
            zip(listed, held_out, bets, approximate, strict=True)
        )
    ]


def _trial_of_bet(
    half: Half,
    x: proved.Listed,
    scored: Scores,
    bet: proved.Shortlisted,
    approximate: Trial,
    models: Models,
    *,
    kept: tuple[KeptTrial, ...],
    own: Models | None,
) -> Trial:
    """What came of a bet, beside what the approximate test says of the same candidate, and what a
    model of the held-out half does; with `own` models of the half it was fitted on, also what both
    say that remember no more than it does."""
    candidate, gains = x.candidate, half.most > 0
    by_both = None
    if own is not None:
        by_both = (own.gain_alone(candidate) + models.gain_alone(candidate)) / 2
    return replace(
        approximate,
        promised=x.prospect.gain,
        gain=scored.mean,
        error=scored.error,
        lower=min(bet.lower, half.most),  # `most` is read off the log: it only takes claims away
        passed=bet.passed and gains,
        level=bet.level,
        refused="",
        # it was not asked about the signals to keep
        second=None if half.kept else approximate.passed,
        plain=Opinion(approximate.gain, approximate.error),
        scores=scored,
        bet=x.prospect.bet,
        opinion=blend(scored, models.gain(candidate)),
        reached=bet.reached if gains else math.inf,
        kept=kept,
        won=bool(kept) and bet.won and gains,
        by_both=by_both,
    )


def _t_trials(listing: Listing, held_out: Sequence[HeldOut]) -> list[Trial]:
    """The asymptotic gate."""
    half, listed = listing.half, listing.listed
    if not listed:
        return []
    limits = half.bench.limits
    test = asymptotic.gate(
        np.array([x.plain.values for x in held_out]),
        delta=half.delta,
        range=limits.range,
        rng=half.rng,
        declared=limits.rewards.declared,
        most=half.most,
    )
    return [_t_trial(half, test, x.candidate, y) for x, y in zip(listed, held_out, strict=True)]


def _t_trial(half: Half, test: asymptotic.Gate, candidate: Fitted, found: HeldOut) -> Trial:
    level, scores, weights = half.delta / HALVES, found.plain, found.weights.values
    lower = min(test.lower(scores.values, weights), half.most)
    refused = test.refusal(scores.values, weights)
    return Trial(
        candidate.setting,
        half.number,
        promised=candidate.promised,
        gain=scores.mean,
        error=scores.error,
        effective=effective_size(weights),
        missing=asymptotic.missing(weights, level),
        lower=lower,
        passed=lower > 0 and not refused,
        level=level,
        units=scores.units,
        refused=refused,
        weight=found.weights.mean,
        weight_error=_error(weights),
        excess=excess(weights, scores.block) if half.bench.by_propensities else 0.0,
        beyond=found.beyond,
        simplified=candidate.simplified,
    )


def _error(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
