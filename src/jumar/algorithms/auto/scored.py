"""The scores of a candidate on held-out units, as far as a gate asks about them.

A log in memory keeps every score (`Scores`). Of a log that is read in parts only sums are kept
(`jumar.algorithms.auto.streamed`). A gate cannot tell which of the two it asks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.bets import Bet, Growth, growth
from jumar.core.arrays import Floats, Ints


class Scored(ABC):
    """What held-out units say of a candidate."""

    @property
    @abstractmethod
    def units(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """The estimated gain."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Of a score."""

    @abstractmethod
    def log_wealth(self, bet: Bet, gain: float = 0.0) -> float:
        """See `Bet.log_wealth`."""

    @abstractmethod
    def lower(self, bet: Bet, level: float) -> float:
        """See `Bet.lower`."""

    @abstractmethod
    def growth_if(self, gain: float, floor: float) -> Growth:
        """How a bet would grow if scores had this mean, and none were below the floor."""

    def __len__(self) -> int:
        return self.units

    @property
    def deviation(self) -> float:
        """Of a score."""
        return math.sqrt(self.variance)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.units) if self.units > 1 else math.inf


@dataclass(frozen=True, eq=False)
class Scores(Scored):
    """Every score. U units.

    >>> two = Scores(np.array([1.0, 3.0]), np.array([0, 1]))
    >>> two.mean, two.variance, two.error
    (2.0, 2.0, 1.0)
    """

    values: Floats  # (U,)
    block: Ints  # (U,) in which each is bet on

    @property
    def units(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        return float(self.values.var(ddof=1)) if self.units > 1 else math.inf

    def log_wealth(self, bet: Bet, gain: float = 0.0) -> float:
        return bet.log_wealth(self.values, self.block, gain)

    def lower(self, bet: Bet, level: float) -> float:
        return bet.lower(self.values, self.block, level)

    def growth_if(self, gain: float, floor: float) -> Growth:
        return growth(np.maximum(self.values - self.mean + gain, -floor), floor)
