"""What a step can pay, and the least and greatest return that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumar.core.errors import ParameterError
from jumar.evidence.bounds import Scale, check_count, check_finite
from jumar.log.episodes import LARGEST_REWARD, SMALLEST_REWARD
from jumar.tally.history import HistoryMdp


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


def steps_weight(discount: float, steps: int) -> float:
    """1 + γ + ... + γ^(steps-1), without cancellation near γ = 1."""
    if discount == 1.0 or steps == 0:
        return float(steps)
    if discount == 0.0:
        return 1.0
    return -math.expm1(steps * math.log(discount)) / (1.0 - discount)


@dataclass(frozen=True)
class RewardRange:
    """What one step can pay, apart for steps that go on and the step that ends an episode.

    >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> tiger.returns(discount=0.95)
    (-100.0, 10.0)
    >>> tiger.v_max(discount=0.95)
    100.0
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
    def constant(cls, lo: float, hi: float, *, declared: bool = True) -> RewardRange:
        """The same range for every step, the ending one included.

        Parameters
        ----------
        lo
            What a step pays at least.
        hi
            What a step pays at most.
        declared
            Known, and not read off a log.

        Returns
        -------
        RewardRange
            The range.

        Examples
        --------
        >>> RewardRange.constant(-1, 2).returns(discount=0.5)
        (-2.0, 4.0)
        """
        return cls((lo, hi), (lo, hi), declared)

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
        """The largest absolute reward of a step.

        >>> RewardRange(continuing=(-1, -1), ending=(-100, 10)).r_max
        100.0
        """
        return float(max(abs(r) for r in (*self.continuing, *(self.ending or ()))))

    def returns(self, discount: float, horizon: int | None = None) -> tuple[float, float]:
        """Lowest and highest discounted return from any state.

        Without a horizon, paying c for t steps and then e at the end is worth
        (1-γ^t)·c/(1-γ) + γ^t·e: between ending at once and never ending. With a horizon of T
        steps a state may have any number of them left, none included (worth 0); both
        "t steps, then cut off" and "t steps, then end" move one way as t grows, so their
        extremes are at the smallest and the largest t.

        >>> RewardRange((-1, 2)).returns(discount=1.0, horizon=3)
        (-3.0, 6.0)
        """
        γ = check_finite("discount", discount, "pass a number from 0 to 1")
        if horizon is None:
            if not 0.0 <= γ < 1.0:
                raise ParameterError(
                    f"discount {discount!r} is not in [0, 1); a larger one needs a horizon"
                )
        else:
            horizon = check_count("horizon", horizon, 1, "pass the largest number of steps")
            if not 0.0 <= γ <= 1.0:
                raise ParameterError(f"discount {discount!r} is not in [0, 1]")

        def candidates(c: float, e: float | None) -> list[float]:
            if horizon is None:
                return [c / (1.0 - γ)] if e is None else [c / (1.0 - γ), e]
            cut_off = [0.0, steps_weight(γ, horizon) * c]
            if e is None:
                return cut_off
            last = horizon - 1
            return [*cut_off, e, steps_weight(γ, last) * c + γ**last * e]

        (lo, hi), (lo_end, hi_end) = self.continuing, self.ending or (None, None)
        return min(candidates(lo, lo_end)), max(candidates(hi, hi_end))

    def v_max(self, discount: float, horizon: int | None = None) -> float:
        """The largest absolute return from any state.

        >>> round(RewardRange(continuing=(-100, 10)).v_max(discount=0.95), 9)
        2000.0
        """
        return max(map(abs, self.returns(discount, horizon)))

    def scale(
        self,
        *,
        states: int,
        actions: int,
        outcomes: int,
        discount: float,
        horizon: int | None = None,
    ) -> Scale:
        """The numbers a bound needs, V_max and value range taken from these rewards.

        >>> tiger = RewardRange(continuing=(-1, -1), ending=(-100, 10))
        >>> tiger.scale(states=6, actions=3, outcomes=3, discount=0.95).value_range
        110.0
        """
        lo, hi = self.returns(discount, horizon)
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
