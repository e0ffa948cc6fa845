"""Scores of held-out units, and bets against "the candidate gains no more than m".

Scores D have a mean and a floor: D >= -L. Somebody who starts with 1 and stakes, on every unit, the
same share λ < 1 of what he has is left with

    W = Π_i ( 1 - λ + λ·(D_i + L)/(m + L) ).

If the gain is m or less, every factor has a mean of at most 1 given the units before it. So W is a
nonnegative supermartingale, and ever reaches 1/α with a chance of at most α, whatever the law of D,
its skewness, its largest value, and however many units there are (Ville 1939; Waudby-Smith and
Ramdas 2023). The same holds for a mixture of several shares. A candidate passes if the bet on
m = 0 ever reaches 1/α; the lower bound on its gain is the largest m whose bet does. W falls as m
grows, so every smaller m is rejected too.

"Ever" means: after any of a sequence of blocks of units, in an order that has nothing to do with
what they show (`dealing`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by

FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95, 0.98)
SECOND = (0.4,)  # of the best share: the bet beside it
WEIGHTS = (0.88, 0.12)
HALVINGS = 50


@dataclass(frozen=True)
class Growth:
    """How fast a bet grows per episode."""

    fraction: float  # λ
    mean: float  # of the logarithm
    deviation: float


def growth(scores: Floats, floor: float) -> Growth:
    """The share that would have grown fastest on these scores.

    >>> growth(np.array([2.0, -1.0, 2.0, -1.0]), 1.0).fraction
    0.2
    """
    factors = np.log1p(np.array(FRACTIONS)[:, None] * (scores / floor)[None, :])
    means = factors.mean(1)
    best = int(means.argmax())
    spread = float(factors[best].std(ddof=1)) if len(scores) > 1 else math.inf
    return Growth(FRACTIONS[best], float(means[best]), spread)


@dataclass(frozen=True)
class Bet:
    """A mixture of shares, fixed before the scores are seen (or no factor has a mean of 1)."""

    floor: float  # L
    fraction: float  # the share that has most of the stake

    @property
    def shares(self) -> tuple[tuple[float, float], ...]:
        """Shares λ and their parts of the stake, which sum to 1."""
        lower = [self.fraction * part for part in SECOND]
        return tuple(zip((self.fraction, *lower), WEIGHTS, strict=True))

    def log_wealth(self, scores: Floats, block: Ints, gain: float = 0.0) -> float:
        """The logarithm of the most that is ever had, betting on a gain above `gain`.

        >>> sure = Bet(floor=1.0, fraction=0.5)
        >>> round(sure.log_wealth(np.ones(10), np.arange(10)), 2)
        3.94
        """
        if len(scores) == 0:
            return 0.0
        # >= 0 as long as no score lies below the floor: or W is no supermartingale (`scoring`)
        unit = (scores + self.floor) / (self.floor + gain)
        size = int(block.max()) + 1
        # block by block in the order of hashes, which the scores had no part in: Ville bounds the
        # most that is had after any of them, not the most over orders that were tried
        logs = np.array(
            [
                math.log(part) + np.cumsum(sum_by(block, np.log1p(λ * (unit - 1.0)), size))
                for λ, part in self.shares
            ]
        )
        most = logs.max(0)
        return max(0.0, float((most + np.log(np.exp(logs - most).sum(0))).max()))

    def lower(self, scores: Floats, block: Ints, level: float) -> float:
        """The largest gain that is rejected at this level, -L at least: a lower bound on the
        gain."""
        if len(scores) == 0:
            return -self.floor
        needed, low = -math.log(level), -self.floor * (1 - 1e-9)
        if not self.log_wealth(scores, block, low) >= needed:
            return -self.floor
        high = max(float(scores.max()), 0.0)
        for _ in range(HALVINGS):  # wealth falls as the gain grows, so bisecting finds the end
            middle = (low + high) / 2
            if self.log_wealth(scores, block, middle) >= needed:
                low = middle
            else:
                high = middle
        return low


def excess(weights: Floats, block: Ints) -> float:
    """The logarithm of the most that is ever had, betting that weights, which are never negative,
    have a mean above 1. Where it is 1, the chance to reach -ln α is at most α, however skewed they
    are and however many: W_i - 1 >= -1 is bet on as scores are, all shares at once.

    >>> block = np.arange(100)
    >>> excess(np.ones(100), block), round(excess(np.where(block == 7, 1e9, 0.9), block), 1)
    (0.0, 19.4)
    """
    if len(weights) == 0:
        return 0.0
    size = int(block.max()) + 1
    logs = [np.cumsum(sum_by(block, np.log1p(λ * (weights - 1.0)), size)) for λ in FRACTIONS]
    had = np.logaddexp.reduce(np.array(logs), axis=0) - math.log(len(FRACTIONS))
    return max(0.0, float(had.max()))


LARGEST_WEIGHT = 1e150  # a smaller weight only makes a score smaller: floor and test hold


def deviation_of(scores: Floats) -> Floats:
    """(...) the standard deviation along the last axis, also where squares of scores overflow.

    >>> deviation_of(np.array([[0.0, 2.0], [0.0, 2e200]])).tolist()
    [1.4142135623730951, 1.414213562373095e+200]
    """
    with np.errstate(over="ignore"):
        found: Floats = np.sqrt(scores.var(-1, ddof=1))
    if np.isinf(found).any():
        largest = np.abs(scores).max(-1)
        unit = scores / np.maximum(largest, 1.0)[..., None]
        found = np.where(np.isinf(found), largest * unit.std(-1, ddof=1), found)
    return found


@dataclass(frozen=True, eq=False)
class Scores:
    """One score for each of U units.

    >>> two = Scores(np.array([1.0, 3.0]), np.array([0, 1]))
    >>> two.mean, two.variance, two.error
    (2.0, 2.0, 1.0)
    """

    values: Floats  # (U,)
    block: Ints  # (U,) in which each is bet on

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        """The estimated gain."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """Of a score."""
        with np.errstate(over="ignore"):  # infinite where weights are astronomical
            return float(self.values.var(ddof=1)) if self.units > 1 else math.inf

    @property
    def deviation(self) -> float:
        """Of a score."""
        return float(deviation_of(self.values)) if self.units > 1 else math.inf

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.units) if self.units > 1 else math.inf

    def log_wealth(self, bet: Bet, gain: float = 0.0) -> float:
        """See `Bet.log_wealth`."""
        return bet.log_wealth(self.values, self.block, gain)

    def lower(self, bet: Bet, level: float) -> float:
        """See `Bet.lower`."""
        return bet.lower(self.values, self.block, level)

    def growth_if(self, gain: float, floor: float) -> Growth:
        """How a bet would grow if scores had this mean, and none were below the floor."""
        return growth(np.maximum(self.values - self.mean + gain, -floor), floor)
