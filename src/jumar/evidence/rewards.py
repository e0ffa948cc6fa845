"""What a step can pay, what returns follow from it, and what can be gained at all.

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

from jumar.core.arrays import Floats, Frozen, Ints
from jumar.core.errors import ParameterError
from jumar.evidence.bounds import Scale, check_delta, check_discount, check_finite, log_subsets
from jumar.log.episodes import LARGEST_REWARD, SMALLEST_REWARD, Episodes
from jumar.tally.history import Counts, HistoryMdp


def _interval(name: str, pair: tuple[float, float]) -> tuple[float, float]:
    remedy = "pass (lowest, highest) reward of one step"
    try:
        lo, hi = pair
    except (TypeError, ValueError):
        raise ParameterError(f"{name} {pair!r} is not a pair; {remedy}") from None
    lo, hi = check_finite(name, lo, remedy), check_finite(name, hi, remedy)
    if lo > hi:
        raise ParameterError(f"{name} ({lo:g}, {hi:g}) has its lower end above the upper; {remedy}")
    return lo, hi


@dataclass(frozen=True)
class RewardRange:
    """What one step can pay, apart for steps that go on and the step that ends an episode.

    >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> tiger.returns(discount=0.95)
    (-100.0, 10.0)
    """

    continuing: tuple[float, float]  # (lo, hi) of a step after which the episode goes on
    ending: tuple[float, float] | None = None  # None: episodes never end by themselves
    declared: bool = True  # False: only read off a log, so an assumption

    def __post_init__(self) -> None:
        object.__setattr__(self, "continuing", _interval("continuing", self.continuing))
        if self.ending is not None:
            object.__setattr__(self, "ending", _interval("ending", self.ending))
        if self.r_max != 0 and not SMALLEST_REWARD <= self.r_max <= LARGEST_REWARD:
            unit = "larger" if self.r_max > 1 else "smaller"
            raise ParameterError(
                f"rewards: a step that pays {self.r_max:g} at most cannot be computed with. Use a "
                f"{unit} unit."
            )

    @classmethod
    def constant(cls, lo: float, hi: float) -> RewardRange:
        """The same range for every step, the ending one included.

        >>> RewardRange.constant(-1, 2).returns(discount=0.5)
        (-2.0, 4.0)
        """
        return cls((lo, hi), (lo, hi))

    def less(self, amount: float) -> RewardRange:
        """The range of the same rewards with so much less for every step.

        >>> RewardRange((1, 3), (5, 5)).less(1.0)
        RewardRange(continuing=(0.0, 2.0), ending=(4.0, 4.0), declared=True)
        """
        (lo, hi), ending = self.continuing, self.ending
        moved = ending and (ending[0] - amount, ending[1] - amount)
        return RewardRange((lo - amount, hi - amount), moved, self.declared)

    @property
    def turned(self) -> RewardRange:
        """The range of the same amounts as costs, or of costs as rewards.

        >>> RewardRange((1, 3), (0, 5)).turned
        RewardRange(continuing=(-3.0, -1.0), ending=(-5.0, 0.0), declared=True)
        """
        (lo, hi), ending = self.continuing, self.ending
        other = ending and (0.0 - ending[1], 0.0 - ending[0])
        return RewardRange((0.0 - hi, 0.0 - lo), other, self.declared)

    @property
    def r_max(self) -> float:
        """The largest absolute reward of a step."""
        return float(max(abs(r) for r in (*self.continuing, *(self.ending or ()))))

    def returns(self, discount: float) -> tuple[float, float]:
        """Lowest and highest discounted return from any state.

        Paying c for t steps and then e at the end is worth (1-γ^t)·c/(1-γ) + γ^t·e: between ending
        at once and never ending.
        """
        γ = check_discount(discount)
        lo, hi = (for_ever / (1.0 - γ) for for_ever in self.continuing)
        if self.ending is None:
            return lo, hi
        return min(lo, self.ending[0]), max(hi, self.ending[1])

    def scale(self, *, states: int, actions: int, outcomes: int, discount: float) -> Scale:
        """The numbers a bound needs, V_max and value range taken from these rewards.

        >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
        >>> tiger.scale(states=6, actions=3, outcomes=3, discount=0.95).value_range
        110.0
        """
        lo, hi = self.returns(discount)
        v_max = max(abs(lo), abs(hi))
        return Scale(states, actions, outcomes, discount, v_max, hi - lo, self.declared)


def rewards_in(mdp: HistoryMdp) -> RewardRange:
    """The least and the greatest mean reward in a model: what is assumed of a step where nobody
    declares it. Single steps may pay less, or more."""
    seen = mdp.visits > 0
    if not seen.any():
        return RewardRange((0.0, 0.0), declared=False)
    paid = float(mdp.reward[seen].min()), float(mdp.reward[seen].max())
    return RewardRange(paid, paid if (mdp.ending > 0).any() else None, declared=False)


# ---- what can be gained --------------------------------------------------------------------------


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
    """Where episodes begin, and what is gained from there in the estimated model."""

    gain: Floats  # (O,) of an episode that begins with each observation
    episodes: Ints  # (O,) int64, how many began so

    def __post_init__(self) -> None:
        self._freeze(np.float64, "gain")
        self._freeze(np.int64, "episodes")

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
