"""Intervals for the mean μ of n independent values of one kind, at level δ.

With x̄ the mean, s² the unbiased variance, L = ln(1/δ) on one side and δ/2 in place of δ on each of
two sides, b - a the range of a value:

    hoeffding     x̄ ± (b-a) √(L / 2n)
    bernstein     x̄ ± [ √(2 s² (L + ln 2) / n) + 7 (b-a) (L + ln 2) / (3 (n-1)) ]
    truncated     the same, below only, for min(x, c): needs only x >= a
    t             x̄ ± t_{n-1}(1-δ) s / √n
    bootstrap-t   quantiles of (x̄* - x̄)/s* put in place of Student's

The first three are theorems (Hoeffding 1963; Maurer and Pontil 2009, Theorem 4; Thomas, Theocharous
and Ghavamzadeh 2015): cutting values off at c lowers their mean, so a lower bound for what is left
is one for μ, and c may be anything that does not depend on the values it is used on. It is chosen
on a twentieth of them, which is then left out. The last two are right as n grows.

The bootstrap draws whole episodes, so it also serves the weighted estimators, which are no means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from jumar.core.arrays import ALIKE, Floats
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.registry import Registry
from jumar.evidence.bounds import check_delta
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.validity import Validity

Sides = Literal["two", "lower", "upper"]
DRAWS = 2000  # of the bootstrap
HELD_OUT = 20  # one value in so many chooses where to truncate


@dataclass(frozen=True)
class Interval:
    """lower <= μ <= upper, except with a chance of δ; an end that is not claimed is infinite."""

    lower: float
    upper: float


EVERYTHING = Interval(-math.inf, math.inf)


def tails(delta: float, sides: Sides) -> float:
    """The chance of being wrong that each claimed end may use.

    >>> tails(0.05, "two"), tails(0.05, "lower")
    (0.025, 0.05)
    """
    delta = check_delta(delta)
    if sides not in get_args(Sides):
        raise ParameterError(not_one_of("sides", sides, get_args(Sides)))
    return delta / 2 if sides == "two" else delta


def hoeffding(
    values: Floats, delta: float, *, low: float, high: float, sides: Sides = "two"
) -> Interval:
    """Hoeffding's interval for values in [low, high].

    >>> hoeffding(np.full(50, 0.5), 2 / math.e, low=0, high=1)
    Interval(lower=0.4, upper=0.6)
    """
    _check_range(values, low, high)
    L = -math.log(tails(delta, sides))
    return _around(float(values.mean()), (high - low) * math.sqrt(L / (2 * len(values))), sides)


def bernstein(
    values: Floats, delta: float, *, low: float, high: float, sides: Sides = "two"
) -> Interval:
    """The empirical Bernstein interval of Maurer and Pontil for values in [low, high]."""
    _check_range(values, low, high)
    return _around(
        float(values.mean()), _bernstein_radius(values, high - low, tails(delta, sides)), sides
    )


def truncated(values: Floats, delta: float, *, low: float, rng: np.random.Generator) -> Interval:
    """A lower bound for values that are at least `low`, however large they can be."""
    L = math.log(2 / tails(delta, "lower"))
    _check_range(values, low, math.inf)
    n = len(values)
    held = max(2, n // HELD_OUT)
    if n - held < 2:
        return Interval(low, math.inf)
    order = rng.permutation(n)
    above = values - low
    c = _cut(above[order[:held]], n - held, L)
    kept = np.minimum(above[order[held:]], c)
    radius = _bernstein_radius(kept, c, delta)
    return Interval(low + max(0.0, float(kept.mean()) - radius), math.inf)


def student(values: Floats | Weighted, delta: float, *, sides: Sides = "two") -> Interval:
    """Student's t; around a ratio, with how each value pulls at it."""
    from scipy.special import stdtrit

    share = tails(delta, sides)
    if len(values) < 2:
        return EVERYTHING
    quantile = float(stdtrit(len(values) - 1, 1 - share))
    return _around(_centre(values)[0], quantile * standard_error(values), sides)


def bootstrap_t(
    sample: Floats | Weighted,
    delta: float,
    *,
    rng: np.random.Generator,
    sides: Sides = "two",
    draws: int = DRAWS,
) -> Interval:
    """The studentised bootstrap, over episodes."""
    share = tails(delta, sides)
    if len(sample) < 2:
        return EVERYTHING
    (value, pulls), error = _centre(sample), standard_error(sample)
    if not pulls.any():  # all alike: every draw is the same
        return _around(value, 0.0, sides)
    found, errors = _resample(sample, draws, rng=rng)
    off = _rounded(found - value)
    # a draw of equal values has no spread: it lies infinitely far off, or not at all
    far = np.where(off == 0, 0.0, np.copysign(np.inf, off))
    t = np.divide(off, errors, out=far, where=errors > ALIKE * error)
    high = float(np.quantile(t, 1 - share, method="higher"))  # no mean of two may be infinite
    low = float(np.quantile(t, share, method="lower"))
    return _sided(value - high * error, value - low * error, sides)


def standard_error(sample: Floats | Weighted) -> float:
    """s/√n of the values, or of how each episode pulls at a weighted estimate."""
    n = len(sample)
    if n < 2:
        return math.inf
    _, pulls = _centre(sample)
    largest = float(np.abs(pulls).max())
    if largest == 0:
        return 0.0
    return largest * math.sqrt(float(((pulls / largest) ** 2).sum()) / (n - 1) / n)


# ---- the parts ----------------------------------------------------------------------------------


def _check_range(values: Floats, low: float, high: float) -> None:
    ends = float(values.min()), float(values.max())
    # what rounding adds is measured by the numbers that were added up
    slack = 1e-9 * max(abs(x) for x in (*ends, low, high) if math.isfinite(x))
    off = ends[0] < low - slack, ends[1] > high + slack
    if any(off):
        raise ParameterError(
            f"values run from {ends[0]:g} to {ends[1]:g}, outside the range {low:g} to "
            f"{high:g} that was given; the interval would be false. Give the true range."
        )


def _bernstein_radius(values: Floats, width: float, share: float) -> float:
    n, L = len(values), math.log(2 / share)
    if n < 2:
        return math.inf
    return standard_error(values) * math.sqrt(2 * L) + 7 * width * L / (3 * (n - 1))


def _cut(pilot: Floats, n: int, L: float) -> float:
    """Where to cut off, so that the bound for n more values like these would be highest."""
    values = np.sort(pilot)
    if values[-1] <= 0:
        return 0.0
    least = values[values > 0][0] / 10
    cuts = np.unique(np.concatenate([values, np.geomspace(least, values[-1], 200)]))
    m = len(values)
    below = np.searchsorted(values, cuts, side="right")
    unit = values / values[-1]  # squares of large weights would overflow
    sums, squares = (np.append(0.0, np.cumsum(unit**power))[below] for power in (1, 2))
    c = cuts / values[-1]
    mean = (sums + (m - below) * c) / m
    variance = np.maximum(0.0, squares + (m - below) * c**2 - m * mean**2) / (m - 1)
    bound = mean - np.sqrt(2 * variance * L / n) - 7 * c * L / (3 * (n - 1))
    return float(cuts[np.argmax(bound)])


def _centre(sample: Floats | Weighted) -> tuple[float, Floats]:
    """The estimate, and how each episode pulls at it."""
    if isinstance(sample, Weighted):
        return sample.value, sample.influence
    mean = float(sample.mean())
    if (sample == sample[0]).all():  # a rounded mean must not look like a spread
        return mean, np.zeros(len(sample))
    return mean, sample - mean


def _resample(
    sample: Floats | Weighted, draws: int, *, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    from jumar.core import kernels

    if isinstance(sample, Weighted):
        s = sample
        return kernels.resample_weighted(
            s.weight, s.x, s.start, s.offset, s.sizes, s.discount, draws, rng
        )
    return kernels.resample_mean(np.ascontiguousarray(sample), draws, rng)


def _rounded(off: Floats) -> Floats:
    """Differences in which what is only rounding is 0, so that ties are ties in any unit."""
    return np.where(np.abs(off) <= ALIKE * np.abs(off).max(), 0.0, off)


def _around(middle: float, radius: float, sides: Sides) -> Interval:
    return _sided(middle - radius, middle + radius, sides)


def _sided(lower: float, upper: float, sides: Sides) -> Interval:
    return Interval(
        -math.inf if sides == "upper" else lower, math.inf if sides == "lower" else upper
    )


# ---- what is known of each ----------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """An interval, and what is known of it before it is computed."""

    title: str
    validity: Validity
    needs: Literal["range", "floor", "nothing"]  # of the values: both ends, the lower one
    compute: Callable[..., Interval]  # (values, δ) and low, high, sides; low, rng; or rng, sides
    for_weighted: bool = False  # also for estimators that are no means
    # below each trusted size (`trust`), in % of logs whose 95 % interval covered the truth: over
    # all hard processes, and in the worst of them; the least of PDIS and its weighted mean
    measured: tuple[tuple[int, int, int], ...] = ()


_PROVED, _LIMIT = Validity.PROVED, Validity.ASYMPTOTIC
INTERVALS: Registry[Method] = Registry(
    "interval",
    {
        "hoeffding": Method("Hoeffding", _PROVED, "range", hoeffding),
        "bernstein": Method("empirical Bernstein", _PROVED, "range", bernstein),
        "truncated": Method("truncated empirical Bernstein", _PROVED, "floor", truncated),
        "t": Method(
            "Student t", _LIMIT, "nothing",
            lambda values, delta, *, rng, sides: student(values, delta, sides=sides),  # no dice
            measured=((10, 80, 54), (100, 79, 53)),
        ),
        "bootstrap-t": Method(
            "studentised bootstrap", _LIMIT, "nothing", bootstrap_t, True,
            ((10, 88, 66), (100, 85, 65)),
        ),
    },
)  # fmt: skip
