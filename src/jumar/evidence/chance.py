"""Tests by chance: p-values that are counted instead of looked up.

A test compares a statistic with B others drawn under the hypothesis, and

    p = (1 + how many of the B are at least as large) / (B + 1),

which is never 0 and, when the log is one more draw of the same kind, never too small too often,
whatever B. B follows the size of the log: the larger, the fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError

MOST_RESAMPLES = 999
WORK = 3e8  # numbers to touch in all draws of one test; some ten seconds at most
LEAST_LEVEL = 1e-4  # a p-value of B draws is at least 1 in B + 1


@dataclass(frozen=True)
class Settings:
    """How sure a test must be, and how much it may compute."""

    level: float = 0.01  # a test fails when its p is at most this
    resamples: int | None = None  # draws under the hypothesis; without it, what the size allows

    def __post_init__(self) -> None:
        if not LEAST_LEVEL <= self.level < 1:
            raise ParameterError(
                f"level: {self.level!r} must lie from {LEAST_LEVEL:g} to 1, such as 0.01."
            )
        B = self.resamples
        if B is not None and (B < 1 or (B + 1) * self.level < 1 - 1e-9):
            raise ParameterError(
                f"resamples: with {B} no p-value can be as small as the level {self.level:g}. "
                f"Give at least {self._least}."
            )

    @property
    def _least(self) -> int:
        """Draws with which a p-value can reach the level."""
        return math.ceil(1 / self.level - 1e-9) - 1

    def draws(self, work: float, most: int = MOST_RESAMPLES, in_all: float = WORK) -> int:
        """How many draws, when one of them touches so many numbers."""
        if self.resamples is not None:
            return self.resamples
        return max(self._least, min(most, int(in_all / max(work, 1.0))))


def p_value(statistic: float, drawn: Floats) -> float:
    """The share of draws at least as large, the log itself among them.

    >>> import numpy as np
    >>> p_value(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    slack = 1e-9 * max(1.0, abs(statistic))  # equal up to rounding is equal
    return float((1 + (drawn >= statistic - slack).sum()) / (len(drawn) + 1))
