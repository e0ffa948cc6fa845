"""The scores of a candidate on held-out units, and what a gate asks about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.gate.bets import Bet, Growth, growth

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
