"""What a step can pay, and the least and greatest return that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from jumar.core.errors import ParameterError
from jumar.evidence.bounds import Scale, check_finite
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
        """The largest absolute reward of a step."""
        return float(max(abs(r) for r in (*self.continuing, *(self.ending or ()))))

    def returns(self, discount: float) -> tuple[float, float]:
        """Lowest and highest discounted return from any state.

        Paying c for t steps and then e at the end is worth (1-γ^t)·c/(1-γ) + γ^t·e: between ending
        at once and never ending.
        """
        γ = check_finite("discount", discount, "pass a number in [0, 1)")
        if not 0.0 <= γ < 1.0:
            raise ParameterError(f"discount {discount!r} is not in [0, 1)")
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
