"""The proved gate: candidates chosen for a bet, and bet on.

On one half of the log the behavior is tilted with several strengths, thresholds and memories
(`jumar.selection.candidates`). How fast a bet on each would grow is told by cross-validation within
that half: fitted on three quarters of it, scored on the fourth. The shortlist is the one that lets
expect the largest gain to be certified: bold candidates gain more, gentle ones are surer to pass.
Each is fitted once more on the whole half and bet on with the other half's scores
(`jumar.selection.scoring`, `jumar.selection.bets`), at its share of the level.

Nothing that is decided on the first half can make the test false: for every candidate, budget and
bet the chance that it passes without a gain is at most its share of δ/2, whatever the environment,
the memory, the weights, and the number of episodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jumar.arrays import Floats, Ints
from jumar.selection.bets import Bet, Growth, growth
from jumar.selection.candidates import Fitted, Workbench
from jumar.selection.dealing import HALVES
from jumar.selection.trials import Setting

BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # B, in ranges of the returns
SHARES = (0.4, 0.3, 0.2, 0.1)  # of the level, for the first of the shortlist, the second, ...
FOLDS = 4
MOST_SCORED = 2000  # episodes that are scored to choose a shortlist


@dataclass(frozen=True)
class Prospect:
    """What the half a setting was fitted on lets expect of its test."""

    setting: Setting
    gain: float
    floor: float  # L = R + B, with the budget B under which the bet grew fastest
    growth: Growth

    @property
    def bet(self) -> Bet:
        return Bet(self.floor, self.growth.fraction)

    def chance(self, units: int, level: float) -> float:
        """To pass a test on so many units."""
        from scipy.special import ndtr

        drift, noise = units * self.growth.mean, math.sqrt(units) * self.growth.deviation
        return float(ndtr((drift + math.log(level)) / max(noise, 1e-9)))


@dataclass(frozen=True, eq=False)
class Listed:
    """A candidate of the shortlist, ready for its test."""

    candidate: Fitted
    prospect: Prospect
    level: float  # its share of δ/2


def shortlist(bench: Workbench, own: Ints, units: int, delta: float) -> tuple[list[Listed], int]:
    """What to test on so many units of the other half; and how many settings there were."""
    found = list(_prospects(bench, own))
    picked = _pick([p for p in found if p.gain > 0 and p.growth.mean > 0], units, delta)
    wanted = {p.setting: (p, share * delta / HALVES) for p, share in zip(picked, SHARES)}  # noqa: B905
    made = {c.setting: c for c in bench.tilted(own) if c.setting in wanted} if wanted else {}
    return [Listed(made[s], *wanted[s]) for s in wanted if s in made], len(found)


def _pick(found: Sequence[Prospect], units: int, delta: float) -> list[Prospect]:
    """One after the other, what adds most to the gain that is likely to be certified."""
    picked: list[tuple[float, float]] = []  # gain and chance
    prospects: list[Prospect] = []
    for share in SHARES:
        value, best = _expected(picked) * (1 + 1e-3), None
        for prospect in found:
            pair = prospect.gain, prospect.chance(units, share * delta / HALVES)
            if (with_it := _expected([*picked, pair])) > value:
                value, best = with_it, (prospect, pair)
        if best is None:
            break
        prospects.append(best[0])
        picked.append(best[1])
    return prospects


def _expected(picked: Sequence[tuple[float, float]]) -> float:
    """The gain to expect if the boldest that passes is deployed, and gentler ones pass whenever
    bolder ones do."""
    total, covered = 0.0, 0.0
    for gain, chance in sorted(picked, reverse=True):
        if chance > covered:
            total += gain * (chance - covered)
            covered = chance
    return total


def _prospects(bench: Workbench, own: Ints) -> Iterator[Prospect]:
    """Every setting, judged by cross-validation within the episodes it would be fitted on."""
    fold = bench.dealt.block[own] % FOLDS
    floors = [bench.limits.range * (1 + budget) for budget in BUDGETS]
    found: dict[Setting, list[list[Floats]]] = {}
    for i in range(FOLDS):
        scored = own[fold == i][: MOST_SCORED // FOLDS]
        if len(scored) == 0 or (fold == i).all():
            continue
        for candidate in bench.tilted(own[fold != i], 1 - 1 / FOLDS):
            parts = found.setdefault(candidate.setting, [[] for _ in BUDGETS])
            for part, floor in zip(parts, floors, strict=True):
                part.append(bench.scores(candidate, scored, floor)[0])
    for setting, parts in found.items():
        scores = [np.concatenate(part) for part in parts]
        grown = [growth(x, floor) for x, floor in zip(scores, floors, strict=True)]
        best = max(range(len(BUDGETS)), key=lambda i: grown[i].mean)
        yield Prospect(setting, _doubted(scores[best]), floors[best], grown[best])


def _doubted(scores: Floats) -> float:
    """A mean, less half its standard error: of many settings the luckiest looks best."""
    if len(scores) < 2:
        return -math.inf
    return float(scores.mean()) - float(scores.std(ddof=1)) / math.sqrt(len(scores)) / 2
