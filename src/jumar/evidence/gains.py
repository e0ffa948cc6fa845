"""What can be gained at all, and what is gained from the worst place to begin.

An improvement cannot gain more than the best return less what the behavior collects already. The
estimate of a model knows nothing of that; a bound that builds on one takes the smaller number.

The gain is an average over first observations. Their law ν is unknown; the log has the shares ν̂ of
E episodes. With O observations and probability 1-δ (Weissman et al. 2003)

    ‖ν - ν̂‖₁ <= r = √( 2/E · ln((2^O - 2)/δ) ),

whatever the gains are, so also for gains that were computed from the same log. Hence

    Σ ν(z) gain(z) >= the least mean over all laws within r of ν̂:

the best first observations lose r/2 of their mass to the worst one. With a single record r is
above 2 and every law is possible: what is left is the gain of the worst beginning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, freeze
from jumar.core.errors import ParameterError
from jumar.evidence.bounds import check_delta, log_subsets
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import Episodes
from jumar.tally.history import Counts


def most_gain(log: Episodes, rewards: RewardRange, discount: float) -> float:
    """The most that could be gained up to where recordings stop: the best return the rewards allow,
    less the mean return of the log. Where no episode ended, none goes on for longer than it did.

    >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 3.0], [0, 1, 2], [-1, -1], [True] * 2)
    >>> most_gain(log, RewardRange.constant(0, 5), discount=0.0)
    3.0
    """
    high = rewards.returns(discount)[1]
    pays = rewards.continuing[1]
    if not log.terminated.any():
        high = float(np.mean([pays * _steps_weight(discount, T) for T in log.lengths.tolist()]))
    elif not log.terminated.all():
        high = max(high, pays)  # a recording may also stop after one step
    return max(0.0, high - float(log.returns(discount).mean()))


def _steps_weight(discount: float, steps: int) -> float:
    """1 + γ + ... + γ^(steps-1), without cancellation near γ = 1."""
    if discount == 0.0:
        return 1.0
    return -math.expm1(steps * math.log(discount)) / (1.0 - discount)


@dataclass(frozen=True, eq=False)
class Starts(Frozen):
    """Where episodes begin, and what is gained from there in the estimated model.

    >>> even = Starts(gain=[0.0, 1.0], episodes=[500, 500])
    >>> even.mean, round(even.least(delta=0.05), 4)
    (0.5, 0.4571)
    >>> Starts(gain=[0.0, 1.0], episodes=[0, 1]).least(delta=0.05)  # one record says nothing
    0.0
    """

    gain: Floats  # (O,) of an episode that begins with each observation
    episodes: Ints  # (O,) int64, how many began so

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", freeze(self.gain, np.float64))
        object.__setattr__(self, "episodes", freeze(self.episodes, np.int64))
        if len(self.gain) != len(self.episodes) or self.episodes.sum() < 1:
            raise ParameterError(
                f"starts: {len(self.gain)} gains and {int(self.episodes.sum())} episodes over "
                f"{len(self.episodes)} observations; give one gain per observation, and a log."
            )

    @property
    def mean(self) -> float:
        """The estimated gain: the mean over the episodes of the log."""
        return float(self.gain @ self.episodes / self.episodes.sum())

    def radius(self, delta: float) -> float:
        """How far, in L1, the law of first observations may be from that of the log."""
        O, E = len(self.gain), int(self.episodes.sum())
        if O == 1:
            return 0.0  # there is only one way to begin
        return min(2.0, math.sqrt(2.0 / E * (log_subsets(O) - math.log(check_delta(delta)))))

    def least(self, delta: float) -> float:
        """The least mean gain of all laws of first observations that δ leaves possible."""
        order = np.argsort(-self.gain, kind="stable")
        share = self.episodes[order] / self.episodes.sum()
        moved = self.radius(delta) / 2
        before = np.cumsum(share) - share
        kept = share - np.clip(moved - before, 0.0, share)
        return float(kept @ self.gain[order] + (1.0 - kept.sum()) * self.gain[order[-1]])


def starts_of(counts: Counts, gain: Floats) -> Starts:
    """The beginnings that a log has, with the gain (H,) of the model from each history state. All
    observations with which an episode could begin must have been seen in the first node."""
    first = (counts.states[:, :-1] == counts.memory.initial()).all(1)
    return Starts(gain[first], counts.starts[first])
