"""The scores of held-out episodes, in one stage or two.

Each shortlist is scored on the episodes of the other half. Of a log of the usual size these are all
scored at once. Of a large one (`dealt_log`) those come first that are at hand, and others are
scored only where the first leave the choice open. Units are bet on in the order of their hashes, a
bet counts with the most that it ever grew to, and what was bet on stays bet on: so reading on, or
not, for whatever reason, makes no test false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Codes, Floats, Ints
from jumar.gate import proved
from jumar.gate.bench import UNBOUNDED, Bench, Fitted, LoggedSteps
from jumar.gate.dealing import HALVES, Dealt, DealtPart
from jumar.gate.dealt_log import DealtLog
from jumar.gate.limits import Limits
from jumar.gate.scored import Scores
from jumar.memory import Memory

SCORE, PLAIN, WEIGHT, BEYOND = range(4)  # numbers of an episode
MOST_UNITS = 1 << 19  # of a half that are scored, whatever the log
IN_TURN = 1 << 20  # steps, up to which one thread scores all
LUCK = 2.0  # standard errors by which scores may have had bad luck
WORTH_IT = 1.01  # times the gain that has passed: for less nobody reads the log again
HALF = 1 << 63  # hashes of a half


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
        if len(self.candidates) < 2 or len(steps.at) < IN_TURN:
            return [self._score(steps, episodes, i) for i in range(len(self.candidates))]
        with ThreadPoolExecutor() as threads:  # most of it is compiled, and blocks nobody
            every = range(len(self.candidates))
            return list(threads.map(lambda i: self._score(steps, episodes, i), every))

    def _score(self, steps: LoggedSteps, episodes: Ints, i: int) -> Floats:
        candidate, floors = self.candidates[i], [self.floors[i]]
        if floors[0] != UNBOUNDED:
            floors.append(UNBOUNDED)
        scores = steps.scores(candidate, floors, episodes, self.limits, self.discount)
        weights = steps.weights(candidate.rows, episodes, self.discount)
        beyond = steps.beyond(candidate.rows, episodes, self.discount)
        return np.stack([scores[0], scores[-1], weights, beyond])


def shortlist_of(
    bench: Bench, half: int, made: Sequence[Fitted], floors: Sequence[float]
) -> Shortlist:
    """The candidates of a half, with the floors of their scores."""
    last = last_hash(bench.log, 1 - half)
    return Shortlist(
        half,
        bench.longest,
        tuple(made),
        tuple(floors),
        bench.limits,
        bench.discount,
        bench.centre,
        last,
    )


def last_hash(log: DealtLog, half: int) -> int | None:
    """Below it lie as many units of a half of a large log as are ever scored."""
    units = log.units(DealtPart(half))
    if not log.large or units <= MOST_UNITS:
        return None
    return half * HALF + int(HALF * (MOST_UNITS / units))


class Rescored(NamedTuple):
    """What a shortlist made of whole episodes that were read again."""

    code: Codes  # (n,) hashes, ascending
    scores: list[Floats]  # of every candidate, (4, n)


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


def score_first(bench: Bench, shortlist: Shortlist) -> list[HeldOut]:
    """On the episodes that a test begins with: of a log of the usual size, on all."""
    dealt = bench.log.dealt
    episodes = dealt.episodes(DealtPart(1 - shortlist.half), bench.log.first)
    return [HeldOut.of(x, dealt, episodes) for x in shortlist.score(bench.steps, episodes)]


def score_more(
    log: DealtLog, benches: Sequence[Bench], shortlists: Sequence[Shortlist]
) -> list[list[HeldOut]]:
    """On all episodes of a large log, up to the last hash."""
    if log.rescore is not None:
        found = []
        for one in log.rescore(list(shortlists)):
            dealt, every = Dealt(one.code), np.arange(len(one.code))
            found.append([HeldOut.of(x, dealt, every) for x in one.scores])
        return found
    found = []
    for bench, shortlist in zip(benches, shortlists, strict=True):
        episodes = log.dealt.episodes(DealtPart(1 - shortlist.half))
        if shortlist.last is not None:
            episodes = episodes[log.dealt.code[episodes] <= np.uint64(shortlist.last)]
        scored = shortlist.score(bench.steps, episodes)
        found.append([HeldOut.of(x, log.dealt, episodes) for x in scored])
    return found


class Standing(NamedTuple):
    """What is known of the shortlist of one half so far."""

    listed: Sequence[proved.Listed]
    held_out: Sequence[HeldOut]
    units: int  # held out, in the whole log
    shares: Sequence[float]  # of the level, for each candidate


def undecided(stages: Sequence[Standing], delta: float, *, thorough: bool = False) -> bool:
    """May the other episodes let something pass that gains more than what has passed? Where one is
    thorough: are there others?"""
    passed, open_ = [0.0], [0.0]
    for listed, held_out, units, shares in stages:
        scored = [x.scores for x in held_out]
        if thorough and any(scores.units < units for scores in scored):
            return True
        bets = proved.outcomes(listed, scored, delta, shares, bounds=False)
        handed_on = 0.0
        for x, scores, bet, share in zip(listed, scored, bets, shares, strict=False):
            handed_on += share
            level = handed_on * proved.PASSING * delta / HALVES
            if bet.passed:
                passed.append(x.prospect.gain)
            elif scores.units < units and _may_pass(x, scores, units, level):
                open_.append(x.prospect.gain)
    return max(open_) > WORTH_IT * max(passed)


def _may_pass(x: proved.Listed, scores: Scores, units: int, level: float) -> bool:
    """Would a bet on so many units pass, if it grew as the scores say, or a little faster?"""
    if scores.units == 0:
        return True
    growth = scores.growth_if(scores.mean + LUCK * scores.error, x.prospect.bet.floor)
    return units * growth.mean >= -math.log(level)
