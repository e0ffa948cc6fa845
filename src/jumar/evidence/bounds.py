"""Bounds on what an improved controller can lose, and how many visits they ask for.

The problem: X history states ⟨n,z⟩, A actions, m outcomes of one step, discount γ, and returns
that never leave [lo, hi], so |V| <= V_max = max(|lo|, |hi|). Every bound here has one shape:

    with probability >= 1-δ    ρ(new) >= ρ(behavior) - ζ,
    ζ = factor · V_max/(1-γ) · ε(N, c) - gain,    c = log(events/δ),

N visits at least behind every estimate that is used, ε the error those visits leave, `events` the
number of ways to be wrong that δ is shared among, gain = ρ(new) - ρ(behavior) as the estimated
model sees it. A bound is then three choices, one entry of `BOUNDS`: events, the shape of ε, factor.

    sqrt(2c/N)                                Hoeffding and Weissman
    1 - 2·q,  q the exp(-c)/2 quantile        symmetric posterior Beta(N/2+1, N/2+1)
        of Beta(N/2+1, N/2+1)
    2·max_k (upper(k, N) - k/N)               Clopper-Pearson, at its worst outcome k of N

`events` stays a logarithm: X may have hundreds of digits. ε never increases with N, and
`Bound.n_needed` returns an N with ζ(N) <= ζ < ζ(N-1) as computed in double precision. For Beta
quantiles below the range of a double (c > 690) a closed form takes over that is never smaller.

Where they are from: `spibb` is Theorem 2 of Laroche, Trichelair and Tachet des Combes (ICML 2019),
`plug-in` is after their Theorem 1 (documentation, Bounds); `corollary` is of Simão, Suilen and
Jansen (AAAI 2023), `weissman` puts Theorem 2.1 of Weissman et al. (HP Labs 2003) into it;
`two-successor` and `beta` are of Wienhöft et al. (IJCAI 2023), and those that end in `history`
count the same for history MDPs. Hoeffding: JASA 1963; Clopper and Pearson: Biometrika 1934.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from jumar.core.errors import ParameterError
from jumar.core.registry import Registry
from jumar.evidence.validity import Validity

# Which policies a bound is about: "bootstrapped" ones keep the behavior where a pair is unknown,
# "all-known" ones are any that the model suggests where every pair is known. An algorithm with a
# proof of its own may add a kind and its bound.
Kind = str
BOOTSTRAPPED, ALL_KNOWN = "bootstrapped", "all-known"

_MOST = 10**300  # the largest count that is still looked at: beyond it a double overflows
_LOG2 = math.log(2.0)


def check_count(name: str, value: int, least: int, remedy: str) -> int:
    """The value as a Python int of at least `least`, or a ParameterError."""
    try:
        count = operator.index(value) + 0  # True is 1
    except TypeError:
        raise ParameterError(f"{name} {value!r} is not a whole number; {remedy}") from None
    if count < least:
        raise ParameterError(f"{name} {count} is less than {least}; {remedy}")
    return count


def check_finite(name: str, value: float, remedy: str) -> float:
    """The value as a finite float, or a ParameterError."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"{name} {value!r} is not a finite number; {remedy}")
    return number


def check_discount(discount: float) -> float:
    """γ in [0, 1), or a ParameterError."""
    γ = check_finite("discount", discount, "pass a number in [0, 1)")
    if not 0.0 <= γ < 1.0:
        raise ParameterError(
            f"discount {discount!r} is not in [0, 1): the bounds divide by 1 - discount"
        )
    return γ


def check_delta(delta: float) -> float:
    """δ strictly between 0 and 1, or a ParameterError."""
    given: object = delta  # numpy's float32 is no float, but a number all the same
    if not isinstance(given, Real) or not 0.0 < float(given) < 1.0:
        raise ParameterError(
            f"delta {delta!r} is not strictly between 0 and 1; it is the accepted chance "
            "that the statement is wrong: pass for example 0.05"
        )
    return float(given)


@dataclass(frozen=True)
class Scale:
    """The numbers of a problem that enter a bound.

    `RewardRange.scale` fills in the last three from what a step can pay.
    """

    states: int  # X, reachable history states ⟨n,z⟩; may have hundreds of digits
    actions: int  # A
    outcomes: int  # m: observations, plus one when episodes can end (or are cut at a horizon)
    discount: float  # γ in [0, 1)
    v_max: float  # largest |return| from any state
    value_range: float  # highest minus lowest return
    declared: bool = True  # False: v_max and value_range rest on rewards read off a log

    def __post_init__(self) -> None:
        for name in ("states", "actions", "outcomes"):
            count = check_count(name, getattr(self, name), 1, "pass how many there are")
            object.__setattr__(self, name, count)
        object.__setattr__(self, "discount", check_discount(self.discount))
        for name in ("v_max", "value_range"):
            value = check_finite(name, getattr(self, name), "pass RewardRange.returns or v_max")
            if value < 0.0:
                raise ParameterError(f"{name} {value:g} is negative; pass a width, not a value")
            object.__setattr__(self, name, value)


def _root(c: float, n: int) -> float:
    """L1 error of a mean of n draws in Hoeffding's and Weissman's inequalities."""
    return math.sqrt(2.0 * c / n)


def _symmetric_beta(c: float, n: int) -> float:
    """Width of the credible interval of a coin that fell half and half in n throws."""
    if c > 690.0:
        # Beta(a,a) is sub-Gaussian with variance proxy 1/(4(2a+1)) (Marchal and Arbel 2017)
        return min(1.0, math.sqrt(2.0 * (_LOG2 + c) / (n + 3)))
    from scipy.special import betainccinv

    # the same number as 1 - 2·betaincinv(n/2+1, n/2+1, δ/2), without its cancellation
    return math.sqrt(float(betainccinv(0.5, n / 2 + 1, math.exp(-c))))


def _clopper_pearson(c: float, n: int) -> float:
    """Twice the largest distance, over every k of n, of a two-sided Clopper-Pearson limit from k/n.

    So |p - k/n| <= ε/2 whatever p is, except with chance exp(-c). Not half the interval's width:
    the interval is lopsided, and its long side is the one that can be wrong.
    """
    if c > 690.0:
        # upper(k) is a quantile of Beta(k+1, n-k): mean (k+1)/(n+1), variance proxy 1/(4(n+2))
        return min(2.0, 2.0 / (n + 1) + math.sqrt(2.0 * (_LOG2 + c) / (n + 2)))
    if n > 10**12:
        # here upper(k) - k/n loses its digits; its excess over the symmetric Beta was measured
        # between 1.00/n and 1.012/n for every c up to 690
        return _symmetric_beta(c, n) + 1.02 / n
    from scipy.special import betainccinv

    tail = math.exp(-c) / 2.0

    def above(k: int) -> float:
        return float(betainccinv(k + 1, n - k, tail)) - k / n

    # above(k) has one peak, left of n/2 (the interval leans to the middle); the lower ends
    # mirror the upper ones, so this is the largest distance on either side
    lo, hi = 0, n // 2
    while hi - lo > 2:
        third = (hi - lo) // 3
        if above(lo + third) < above(hi - third):
            lo += third
        else:
            hi -= third
    return 2.0 * max(above(k) for k in range(lo, hi + 1) if k < n)


def _pairs(s: Scale) -> float:
    return math.log(s.states * s.actions)


def _log_power(exponent: int) -> float:
    """log 2^exponent."""
    return exponent * _LOG2 if exponent <= _MOST else math.inf


def log_subsets(m: int) -> float:
    """log(2^m - 2): the sides an m-outcome estimate can err on."""
    # one outcome is certain; two stay on the safe side of log 0
    return _LOG2 if m <= 2 else _log_power(m) + math.log1p(-(2.0 ** -min(m - 1, 2000)))


def _splits(s: Scale) -> float:
    """log(X·A·(m-1)): the two-way branches of a history MDP."""
    return _pairs(s) + math.log(max(s.outcomes - 1, 1))


@dataclass(frozen=True)
class Bound:
    """One bound: what it assumes, how far to trust it, and its numbers.

    >>> tiger = Scale(states=6, actions=3, outcomes=2, discount=0.95, v_max=100, value_range=110)
    >>> corollary = bound("corollary")
    >>> round(corollary.epsilon(tiger, n=50, delta=0.05), 10)
    0.5644659626
    >>> corollary.n_needed(tiger, zeta=10, delta=0.05)  # the least, 1.28e6·log(2880) rounded up
    10195899
    """

    title: str
    assumptions: tuple[str, ...]
    log_events: Callable[[Scale], float]
    radius: Callable[[float, int], float] = _root
    factor: int = 4
    applies_to: Kind = BOOTSTRAPPED
    validity: Validity = Validity.CLAIMED
    by_default: bool = False  # shown although it may neither be proved nor be small

    @property
    def of_every_pair(self) -> bool:
        """Is N a count that every pair has, and not N∧, which known pairs exceed?"""
        return self.applies_to == ALL_KNOWN

    def epsilon(self, scale: Scale, n: int, delta: float) -> float:
        """The estimation error that n visits leave; infinite for n = 0."""
        n = min(check_count("n", n, 0, "pass a number of visits"), _MOST)
        c = self.log_events(scale) - math.log(check_delta(delta))
        return math.inf if n == 0 or math.isinf(c) else self.radius(c, n)

    def zeta(self, scale: Scale, n: int, delta: float, gain: float = 0.0) -> float:
        """The loss that n visits per pair exclude; infinite for n = 0."""
        gain = check_finite("gain", gain, "pass the estimated gain, or 0")
        ε = self.epsilon(scale, n, delta)
        if math.isinf(ε):
            return math.inf
        return self.factor * scale.v_max / (1.0 - scale.discount) * ε - gain

    def n_needed(self, scale: Scale, zeta: float, delta: float) -> int | None:
        """The smallest number of visits that excludes a loss above `zeta`, before any gain; None
        when no number does: ζ comes down towards 0 and never reaches it."""
        zeta = check_finite("zeta", zeta, "pass the loss you accept")
        if zeta < 0.0 or (zeta == 0.0 and scale.v_max > 0.0):
            return None
        enough = 1
        while self.zeta(scale, enough, delta) > zeta:
            if enough > _MOST:
                return None
            enough *= 2
        too_few = enough // 2
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self.zeta(scale, middle, delta) <= zeta:
                enough = middle
            else:
                too_few = middle
        return enough


SUFFICIENT = (
    "Finite-history sufficiency: given the memory node, the current observation and the action, "
    "what happens next does not depend on the rest of the past."
)
STOPPED = (
    "Where the log does not tell what followed a step, the recording did not stop because of it."
)
_FIXED = "N∧ was chosen before the log was looked at."
_INDEPENDENT = "Visits of one history state and action are treated as independent draws."
_START = "The estimated gain is weighed with the true distribution of first observations."
_ONE_STEP_OUTCOMES = (
    "A run of actions kept from the behavior is treated as if it had no more outcomes than one "
    "step; no complete proof of this is known to us."
)
_TRANSITIONS = "Mean rewards are known, or follow from the outcome: only outcomes are estimated."
_TREE = "Every step is replaced by a tree of two-way branches, each with at least N∧ visits."
_PRIOR = (
    "The unknown probabilities are treated as drawn from a uniform prior, at the outcome that "
    "falls half and half; other outcomes leave a wider interval when N∧ is small."
)
# what is assumed where unknown pairs keep the behavior; and the step that no complete proof covers
_BOOTSTRAPPED = (SUFFICIENT, _FIXED, _INDEPENDENT, _START)
_WITH_A_GAP = (*_BOOTSTRAPPED, _ONE_STEP_OUTCOMES)

# a new bound is one entry here: `certify`, reports and tests find it by itself
BOUNDS: Registry[Bound] = Registry(
    "bound",
    {
        "spibb": Bound(
            "SPIBB, any successor",
            _BOOTSTRAPPED,
            lambda s: _LOG2 + _pairs(s) + _log_power(s.states),
            validity=Validity.PUBLISHED,
            by_default=True,
        ),
        "corollary": Bound(
            "SPIBB on a history MDP",
            _WITH_A_GAP,
            lambda s: _LOG2 + _pairs(s) + _log_power(s.outcomes),
            by_default=True,
        ),
        "weissman": Bound(
            "SPIBB on a history MDP, exact Weissman count",
            (*_WITH_A_GAP, _TRANSITIONS),
            lambda s: _pairs(s) + log_subsets(s.outcomes),
        ),
        "two-successor": Bound(
            "Two-successor transformation, as published",
            (*_WITH_A_GAP, _TREE),
            lambda s: 3 * _LOG2 + 2 * _pairs(s),
        ),
        "beta": Bound(
            "Two-successor transformation with Beta intervals, as published",
            (*_WITH_A_GAP, _TREE, _TRANSITIONS, _PRIOR),
            lambda s: 2 * _pairs(s),
            _symmetric_beta,
        ),
        "two-successor-history": Bound(
            "Two-way branches of a history MDP",
            (*_WITH_A_GAP, _TREE, _TRANSITIONS),
            lambda s: _LOG2 + _splits(s),
        ),
        "beta-history": Bound(
            "Two-way branches of a history MDP, Beta intervals",
            (*_WITH_A_GAP, _TREE, _TRANSITIONS, _PRIOR),
            _splits,
            _symmetric_beta,
        ),
        "clopper-pearson-history": Bound(
            "Two-way branches of a history MDP, Clopper-Pearson intervals",
            (*_WITH_A_GAP, _TREE, _TRANSITIONS),
            _splits,
            _clopper_pearson,
        ),
        "plug-in": Bound(
            "Estimated model, every pair known",
            (
                SUFFICIENT,
                "Every reachable history state and action was seen at least N times; N was fixed "
                "before the log was looked at, or is the power of two that the log suggests, at "
                "its share of δ.",
                "The ending of an episode, where there is one, is counted as an outcome.",
                "Episodes begin independently of each other, all by one law of first observations.",
                STOPPED,
            ),
            lambda s: _pairs(s) + _log_power(s.outcomes),
            factor=2,
            applies_to=ALL_KNOWN,
            validity=Validity.PROVED_IF_SUFFICIENT,
        ),
    },
)


def bound(name: str) -> Bound:
    """The registered bound of that name."""
    return BOUNDS.find(name)
