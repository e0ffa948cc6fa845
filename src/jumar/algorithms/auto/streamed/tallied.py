"""Scores of a candidate that were added up, and not kept.

Of every held-out unit is added up, per block,

    log(1 + λ·D/L)       for the two shares λ of the bet that was fixed before: the bet against
                         "no gain", exactly as if every score had been kept;
    how many scores lie in each of many narrow ranges, and how far in it: for all other bets.

With m the gain that is bet against, a score D adds log(1 - λ + λ·(D + L)/(m + L)), which is concave
in D. So within a range it lies above the straight line between the ends of the range, and the sum
of these lines over the scores is a lower bound of the sum of the logarithms: bets are at most
underestimated, and the lower bound on a gain is valid, and at most too low. Ranges are 1/128 of
D + 2L wide, so that a score near 0 is told apart to L/64; the line differs from the curve by a few
millionths of the logarithm. Counts and positions are whole numbers, all other sums are exact
(`jumar.core.exact`): nothing depends on the order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.algorithms.auto.asymptotic import normal
from jumar.algorithms.auto.bets import FRACTIONS, Bet, Growth
from jumar.algorithms.auto.dealing import BLOCKS
from jumar.algorithms.auto.scored import Scored
from jumar.algorithms.auto.streamed import kernels
from jumar.algorithms.auto.trials import Opinion
from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.exact import ExactSums

MOST_SCORE = 1e150  # its square is a number; a smaller score only makes a bet smaller
MOST_SQUARE = 1e300
SCORE, WEIGHT, PLAIN, BEYOND = 0, 2, 4, 6  # sums; those of squares come after the first three


@dataclass(frozen=True)
class Wager:
    """What was fixed before any score was seen: how to bet, and what gain to expect."""

    bet: Bet
    expected: float  # scores are added up as distances from here: less cancels


class Tallied(Scored):
    """The scores of one candidate, added up. B blocks, S shares of the bet."""

    def __init__(self, wager: Wager) -> None:
        self.wager = wager
        self._units = 0
        self.largest = -math.inf
        self.sums = ExactSums(BEYOND + 1)
        self.terms = ExactSums(len(wager.bet.shares) * BLOCKS)
        self.count: Ints = np.zeros((BLOCKS, 0), np.int64)  # (B, bins) scores in each range
        self.offset: Ints = np.zeros((BLOCKS, 0), np.int64)  # (B, bins) how far in it, in all

    # ---- adding ---------------------------------------------------------------------------------

    def add(self, found: Sequence[Floats], block: Ints) -> None:
        """Some more units: their scores, weights, those beyond the cuts, and scores without a
        floor; and the blocks they are in."""
        scores, weights, beyond, plain = found
        n, bet = len(scores), self.wager.bet
        if n == 0:
            return
        scores = np.clip(scores, -bet.floor, MOST_SCORE)
        weights, beyond = np.minimum(weights, MOST_SCORE), np.minimum(beyond, MOST_SCORE)
        self._units += n
        self.largest = max(self.largest, float(scores.max()))
        apart = scores - self.wager.expected
        plain = np.clip(plain, -MOST_SCORE, MOST_SCORE) - self.wager.expected
        squares = apart * apart, weights * weights, plain * plain
        columns = (apart, squares[0], weights, squares[1], plain, squares[2], beyond)
        for i, values in enumerate(columns):
            self.sums.add(np.full(n, i), np.minimum(values, MOST_SQUARE))
        shares = np.array([λ for λ, _ in bet.shares])
        terms = np.empty((len(shares), n))
        kernels.bet_terms(scores, bet.floor, shares, terms)
        for k, row in enumerate(terms):
            self.terms.add(k * BLOCKS + block, row)
        bins, within = np.empty(n, np.int64), np.empty(n, np.int64)
        kernels.bins_of(scores, bet.floor, bins, within)
        self._reach(int(bins.max()) + 1)
        kernels.add_to_cells(block, bins, within, self.count, self.offset)

    def merge(self, other: Tallied) -> None:
        """Add what was added up elsewhere."""
        self._units += other._units
        self.largest = max(self.largest, other.largest)
        self.sums.merge(other.sums, np.arange(len(self.sums)))
        self.terms.merge(other.terms, np.arange(len(self.terms)))
        bins = other.count.shape[1]
        self._reach(bins)
        self.count[:, :bins] += other.count
        self.offset[:, :bins] += other.offset

    def _reach(self, bins: int) -> None:
        more = bins - self.count.shape[1]
        if more > 0:
            self.count = np.pad(self.count, ((0, 0), (0, more)))
            self.offset = np.pad(self.offset, ((0, 0), (0, more)))

    def __getstate__(self) -> dict[str, Any]:
        """Most ranges are empty: only the others travel."""
        at = np.flatnonzero(self.count)
        cells = at, self.count.ravel()[at], self.offset.ravel()[at], self.count.shape[1]
        return {**self.__dict__, "count": None, "offset": None, "cells": cells}

    def __setstate__(self, state: dict[str, Any]) -> None:
        at, count, offset, bins = state["cells"]
        self.__dict__.update({name: value for name, value in state.items() if name != "cells"})
        self.count, self.offset = np.zeros((2, BLOCKS, bins), np.int64)
        self.count.ravel()[at], self.offset.ravel()[at] = count, offset

    # ---- what is asked --------------------------------------------------------------------------

    @property
    def units(self) -> int:
        return self._units

    @property
    def mean(self) -> float:
        return self.wager.expected + float(self.sums.rounded()[SCORE]) / self.units

    @property
    def variance(self) -> float:
        return self._variance(SCORE)

    @property
    def effective(self) -> float:
        """How many of its own episodes the weights are worth (`effective_size`)."""
        total, squares = self._sums(WEIGHT)
        return total / squares * total if squares > 0 else 0.0

    def missing(self, level: float) -> float:
        """How far the weights fall short of 1 (`asymptotic.missing`)."""
        return max(0.0, 1.0 - self.weight - normal(level) * self.weight_error)

    @property
    def weight(self) -> float:
        """The mean of the weights."""
        return float(self.sums.rounded()[WEIGHT]) / self.units

    @property
    def weight_error(self) -> float:
        """Its standard error."""
        return math.sqrt(self._variance(WEIGHT) / self.units)

    @property
    def plain(self) -> Opinion:
        """The gain by the scores without a floor."""
        if self.units == 0:
            return Opinion(self.wager.expected, math.inf)
        gain = self.wager.expected + float(self.sums.rounded()[PLAIN]) / self.units
        return Opinion(gain, math.sqrt(self._variance(PLAIN) / self.units))

    @property
    def beyond(self) -> float:
        """The share of the discounted weight that lies beyond where recordings stop."""
        return min(float(self.sums.rounded()[BEYOND]) / self.units, 1.0) if self.units else 0.0

    def _variance(self, of: int) -> float:
        n = self.units
        if n < 2:
            return math.inf
        total, squares = self._sums(of)
        return max(0.0, (squares - total / n * total) / (n - 1))

    def _sums(self, of: int) -> tuple[float, float]:
        """The sum of something, and of its squares."""
        rounded = self.sums.rounded()
        return float(rounded[of]), float(rounded[of + 1])

    def log_wealth(self, bet: Bet, gain: float = 0.0) -> float:
        if self.units == 0:
            return 0.0
        if gain == 0.0 and bet == self.wager.bet:
            return bet.most_ever([*self.terms.rounded().reshape(-1, BLOCKS)])
        return self._cells.log_wealth(bet, gain)

    def lower(self, bet: Bet, level: float) -> float:
        if self.units == 0:
            return -bet.floor
        cells = self._cells
        return bet.largest_rejected(lambda m: cells.log_wealth(bet, m), self.largest, level)

    def growth_if(self, gain: float, floor: float) -> Growth:
        """Scores are taken for the mean of their range."""
        values, times = self._cells.means()
        moved = np.maximum(values - self.mean + gain, -floor)
        logs = np.log1p(np.array(FRACTIONS)[:, None] * (moved / floor)[None, :])
        means = logs @ times / self.units
        best = int(means.argmax())
        apart = float((logs[best] - means[best]) ** 2 @ times)
        spread = math.sqrt(apart / (self.units - 1)) if self.units > 1 else math.inf
        return Growth(FRACTIONS[best], float(means[best]), spread)

    @property
    def _cells(self) -> _Cells:
        block, bins = np.nonzero(self.count)
        share = self.offset[block, bins] / kernels.WITHIN
        edge = _edges(int(bins.max()) + 2)
        return _Cells(self.wager.bet.floor, block, bins, self.count[block, bins], share, edge)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The ranges that have scores. C cells, one for each range and block."""

    floor: float  # L
    block: Ints  # (C,)
    bins: Ints  # (C,)
    count: Ints  # (C,) scores in it
    share: Floats  # (C,) how far in the range they lie, summed: from 0 to `count`
    edge: Floats  # (bins+1,) 2 + D/L where each range begins

    def log_wealth(self, bet: Bet, gain: float) -> float:
        """See `Bet.log_wealth`; never more than that."""
        unit = (self.edge - 1.0) * (self.floor / (bet.floor + gain))
        if bet.floor != self.floor:
            unit = (self.floor * (self.edge - 2.0) + bet.floor) / (bet.floor + gain)
        steps = []
        for λ, _ in bet.shares:
            at = np.log1p(λ * (unit - 1.0))
            low, high = at[self.bins], at[self.bins + 1]
            line = self.count * low + self.share * (high - low)
            steps.append(sum_by(self.block, line, BLOCKS))
        return bet.most_ever(steps)

    def means(self) -> tuple[Floats, Ints]:
        """The mean score of each cell, and how many there are."""
        low, high = self.edge[self.bins], self.edge[self.bins + 1]
        above = low + self.share / self.count * (high - low)
        return self.floor * (above - 2.0), self.count


def _edges(size: int) -> Floats:
    """(size,) where ranges begin."""
    raw = (np.arange(size, dtype=np.int64) + (1023 << kernels.FINE)) << (52 - kernels.FINE)
    return raw.view(np.float64)
