"""The proved gate: candidates chosen for a bet, and bet on.

On one half of the log the behavior is tilted with several strengths, thresholds and memories
(`candidates`). How fast a bet on each would grow is told by cross-validation within
that half: fitted on three quarters of it, scored on the fourth. What each would gain is told by
the same scores and by a model of the same fourth (`opinions`). The shortlist is the
one that lets expect the largest gain to be certified: bold candidates gain more, gentle ones are
surer to pass. Each is fitted once more on the whole half and bet on with the other half's scores
(`jumar.gate.scoring`, `jumar.gate.bets`).

The level of a half, α = δ/2, is used in two parts. Nine tenths of it decide what passes, in a fixed
order, the surest candidate first: each has a share of its own, and one that passes hands all it had
on to the next (the fallback procedure of Wiens 2003). So the chance that anything passes that
gains nothing is at most the sum of the shares, although bold candidates are tested at nearly all
of it. The last tenth, in equal shares, gives every candidate a lower bound on its gain, all of
them at once.

Nothing that is decided on the first half can make the test false: for every candidate, budget and
bet it holds whatever the environment, the memory, the weights, and the number of episodes. So where
fewer changes were asked for, the shortlist is simplified by a model of the first half
(`jumar.solve.simplifying`) before it is tested: what passes, and has a lower bound, is the simple
controller itself. It takes the place of the one it was made of, at the same share of the level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats
from jumar.gate.bench import Bench, Fitted
from jumar.gate.bets import Bet, Growth, Scores, growth
from jumar.gate.candidates import NO_TABLE, Make, Models, blend, candidates, refitted, simpler
from jumar.gate.dealing import FOLDS, HALVES, DealtPart
from jumar.gate.trials import PROVED, Setting
from jumar.memory import Memory

if TYPE_CHECKING:
    from jumar.gate.objectives import Kept

BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # B, in ranges of the returns
SHARES = (0.9, 0.02, 0.02, 0.02, 0.02, 0.02)  # of the level of passing: the first, the second, ...
PASSING = 0.9  # part of the level for what passes; the rest is for how much is gained
TWICE = (0.9, *[0.1 / 11] * 11)  # the same for two shortlists that are one
ALONE = (1.0,)  # the share of a candidate that is the only one
MOST_HELD = 200_000_000  # numbers in tables of candidates that are held
MOST_SCORED = 2000  # units that are scored to choose a shortlist


@dataclass(frozen=True)
class Prospect:
    """What the half a setting was fitted on lets expect of its test."""

    setting: Setting
    gain: float
    floor: float  # L = R + B, with the budget B under which the bet grew fastest
    growth: Growth
    scored: int  # units it was judged on
    kept: tuple[Prospect, ...] = ()  # the same for every signal that must not get worse

    @property
    def bet(self) -> Bet:
        return Bet(self.floor, self.growth.fraction)

    def chance(self, units: int, level: float) -> float:
        """To pass a test on so many units, on every signal."""
        from scipy.special import ndtr

        drift = units * self.growth.mean
        # the growth itself is known only as well as so many scores tell it
        noise = self.growth.deviation * math.sqrt(units * (1 + units / self.scored))
        alone = float(ndtr((drift + math.log(level)) / max(noise, 1e-9)))
        return math.prod((alone, *(prospect.chance(units, level) for prospect in self.kept)))


@dataclass(frozen=True, eq=False)
class Listed:
    """A candidate of the shortlist, ready for its test."""

    candidate: Fitted
    prospect: Prospect


@dataclass(frozen=True)
class Shortlisted:
    """What came of a bet."""

    passed: bool
    lower: float  # on the gain
    level: float  # at which it was tested
    bound_level: float  # at which its lower bound holds
    reached: float  # the least δ with which it passes; above 1 where none would do
    won: bool  # on the objective, whatever the signals to keep say


def shortlist(
    bench: Bench,
    own: DealtPart,
    units: int,
    delta: float,
    make: Make | None = None,
    kept: Sequence[Kept] = (),
) -> tuple[list[Listed], int]:
    """What to test on so many units of the other half, the surest first; and how many settings
    there were. `make` makes other candidates than the usual ones; `kept` are signals that must not
    get worse."""

    def usual(part: DealtPart, thinned: float) -> Iterator[Fitted]:
        return candidates(bench, part, PROVED, thinned)

    make = make or usual
    found = list(_prospects(bench, own, make, kept))
    level = PASSING * delta / HALVES
    hopeful = [p for p in found if p.gain > 0 and p.growth.mean > 0]
    picked = _pick_of_each(hopeful, bench.beside, units, level)
    wanted = {p.setting: p for p in picked}
    made = {c.setting: c for c in make(own, 1.0) if c.setting in wanted} if wanted else {}
    listed = [p for s, p in wanted.items() if s in made]
    fitted = simpler(bench, [made[p.setting] for p in listed], own)
    return [Listed(c, p) for c, p in zip(fitted, listed, strict=True)], len(found)


def shares(bench: Bench) -> Sequence[float]:
    """Of the level of passing, for the candidates of its shortlist."""
    return SHARES if bench.beside is None else TWICE


def only(bench: Bench, own: DealtPart, make: Make) -> tuple[list[Listed], int]:
    """The one candidate that is made of the episodes of a half, whatever that half lets expect of
    it; none where the behavior stays. How to bet on it is told as for a shortlist."""
    candidate = next(make(own, 1.0), None)
    if candidate is None:
        return [], 1
    judged = next(_prospects(bench, own, make), None)
    if judged is None:  # less than the half was too little to learn it from: a cautious bet
        floor = 2 * bench.limits.range
        judged = Prospect(candidate.setting, candidate.promised, floor, Growth(0.1, 0.0, 1.0), 1)
    return [Listed(candidate, judged)], 1


def outcomes(
    listed: Sequence[Listed],
    scores: Sequence[Scores],
    delta: float,
    shares: Sequence[float] = SHARES,
    kept: Sequence[Sequence[float]] = (),
    *,
    bounds: bool = True,
) -> list[Shortlisted]:
    """Bet on the shortlist, one after the other, with the scores of held-out units. `kept` are, for
    every signal that must not get worse, what the bets on each candidate grew to: a candidate
    passes if all its bets do, so the least of them counts. Without `bounds` on gains, which take
    longest, they are 0."""
    found, handed_on = [], 0.0
    # all bets must reach the level (intersection-union, Berger 1982): what is bad is bad on some
    # signal, and the bet on that one errs with a chance of at most the level
    alone = [scored.log_wealth(x.prospect.bet) for x, scored in zip(listed, scores, strict=True)]
    grown = [min(each) for each in zip(alone, *kept, strict=True)]
    reached = least_deltas(grown, shares)
    for i, (x, scored) in enumerate(zip(listed, scores, strict=True)):
        # HALVES: a union bound over both halves. The shares sum to 1, and what is handed on was won
        # by a rejection: the fallback procedure, in an order that was fixed on the other half.
        # Handing on the share of one that did *not* pass would spend it twice
        level = (shares[i] + handed_on) * PASSING * delta / HALVES
        passed = grown[i] >= -math.log(level)  # Ville: W >= 1/level with a chance of level at most
        handed_on = shares[i] + handed_on if passed else 0.0
        # Bonferroni over all bounds that are claimed at once, from a part of the level of their own
        own_level = (1 - PASSING) / len(shares) / (1 + len(kept)) * delta / HALVES
        lower = scored.lower(x.prospect.bet, own_level) if bounds else 0.0
        lower = max(0.0, lower) if passed else min(0.0, lower)
        won = alone[i] >= -math.log(level)
        found.append(Shortlisted(passed, lower, level, own_level, reached[i], won))
    return found


def least_deltas(log_wealths: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The least δ with which each candidate of a shortlist passes, given what its bet grew to.

    Candidate j passes with a share of its own, e^-W_j <= share_j·δ·.9/2, or with those of the
    candidates i, ..., j-1 before it too, if all of these pass with that δ. A larger δ passes
    whatever a smaller one does. Above 1 means: with none.

    >>> found = least_deltas([math.log(100), math.log(1000)], (0.9, 0.1))
    >>> [round(x, 4) for x in found]  # the second is handed on all once the first passes
    [0.0247, 0.0222]
    >>> round(least_deltas([math.log(100), math.log(1e6)], (0.9, 0.1))[1], 6)
    2.2e-05
    """
    found: list[float] = []
    for j, grown in enumerate(log_wealths):
        share, before, least = 0.0, 0.0, math.inf
        for i in range(j, -1, -1):
            share += shares[i]
            before = before if i == j else max(before, found[i])
            least = min(least, max(before, math.exp(-grown) * HALVES / (PASSING * share)))
        found.append(least)
    return found


def _pick_of_each(
    found: Sequence[Prospect], beside: Memory | None, units: int, level: float
) -> list[Prospect]:
    """Candidates with a memory that was learned have a shortlist of their own: bold as they are,
    they would leave no room for what is tried without it."""
    if beside is None:
        return _pick(found, units, level)
    usual = _pick([p for p in found if p.setting.memory != beside], units, level)
    learned = _pick([p for p in found if p.setting.memory == beside], units, level)
    return sorted(usual + learned, key=lambda p: -p.chance(units, level))


def _pick(found: Sequence[Prospect], units: int, level: float) -> list[Prospect]:
    """One after the other, what adds most to the gain that is likely to be certified; then in the
    order of how sure they are."""
    options = [(p, (p.gain, p.chance(units, level))) for p in found]
    picked: list[tuple[Prospect, tuple[float, float]]] = []
    for _ in SHARES:
        value, best = _expected([pair for _, pair in picked]) * (1 + 1e-3), None
        for option in options:
            with_it = _expected([pair for _, pair in (*picked, option)])
            # of two that are alike the first, whatever rounding says
            if with_it > value * (1 + 1e-9):
                value, best = with_it, option
        if best is None:
            break
        picked.append(best)
    if not picked and options:  # too little for any to pass: what would come first is told
        picked.append(max(options, key=lambda option: option[0].growth.mean))
    return [p for p, _ in sorted(picked, key=lambda option: -option[1][1])]


def _expected(picked: Sequence[tuple[float, float]]) -> float:
    """The gain to expect if the boldest that passes is deployed, and gentler ones pass whenever
    bolder ones do."""
    total, covered = 0.0, 0.0
    for gain, chance in sorted(picked, reverse=True):
        if chance > covered:
            total += gain * (chance - covered)
            covered = chance
    return total


def _prospects(
    bench: Bench, own: DealtPart, make: Make, kept: Sequence[Kept] = ()
) -> Iterator[Prospect]:
    """Every setting, judged by cross-validation within the part it would be fitted on."""
    floors = _floors(bench)
    others = [_KeptScores(signal) for signal in kept]
    found: dict[Setting, list[list[Floats]]] = {}  # by part left out, then by floor
    expected: dict[Setting, list[float]] = {}
    for fold in own.folds:
        left_out, rest = own.only(fold), own.without(fold)
        if bench.log.units(left_out) == 0 or bench.log.units(rest) == 0:
            continue
        scores_of = bench.scorer(left_out, MOST_SCORED // FOLDS)
        models = Models(bench, left_out)
        known: dict[int, tuple[Fitted, list[Floats]]] = {}  # by tables that candidates share
        made = []  # for other signals, which have tables of their own
        for candidate in make(rest, 1 - 1 / FOLDS):
            expected.setdefault(candidate.setting, []).append(models.gain(candidate))
            if id(candidate.above) not in known:
                if len(known) * candidate.above.size > MOST_HELD:
                    known.clear()  # those that share a table come one after the other
                known[id(candidate.above)] = candidate, scores_of(candidate, floors)
            found.setdefault(candidate.setting, []).append(known[id(candidate.above)][1])
            if kept:
                made.append(replace(candidate, above=NO_TABLE, below=NO_TABLE))
        for other in others:
            other.add(made, rest, left_out)
    for setting, parts in found.items():
        whole = [np.concatenate(part) for part in zip(*parts, strict=True)]
        grown = [growth(x, floor) for x, floor in zip(whole, floors, strict=True)]
        best = max(range(len(BUDGETS)), key=lambda i: grown[i].mean)
        judged = Scores(whole[best], np.zeros(len(whole[best]), np.int64))
        gain = blend(judged, float(np.mean(expected[setting]))).merit
        seen = tuple(other.prospect(setting) for other in others)
        yield Prospect(setting, gain, floors[best], grown[best], judged.units, seen)


def _floors(bench: Bench) -> list[float]:
    return [bench.limits.range * (1 + budget) for budget in BUDGETS]


class _KeptScores:
    """What left-out parts say of candidates, as a signal that must not get worse sees them."""

    def __init__(self, kept: Kept) -> None:
        self._kept, self._floors = kept, _floors(kept.bench)
        self._scores: dict[Setting, list[list[Floats]]] = {}

    def add(self, made: Sequence[Fitted], rest: DealtPart, left_out: DealtPart) -> None:
        """Candidates that were made of the rest."""
        scores_of = self._kept.bench.scorer(left_out, MOST_SCORED // FOLDS)
        for candidate in refitted(self._kept.bench, made, rest):
            parts = self._scores.setdefault(candidate.setting, [])
            parts.append(scores_of(candidate, self._floors))

    def prospect(self, setting: Setting) -> Prospect:
        """What they let expect of its bet."""
        whole = [np.concatenate(part) for part in zip(*self._scores[setting], strict=True)]
        grown = [self._kept.growth(x, f) for x, f in zip(whole, self._floors, strict=True)]
        best = max(range(len(BUDGETS)), key=lambda i: grown[i].mean)
        gain, scored = float(whole[best].mean()), len(whole[best])
        return Prospect(setting, gain, self._floors[best], grown[best], scored)
