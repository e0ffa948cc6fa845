"""Where a series of numbers is going: the mean of the next Δ, with an interval.

*What is fitted.* A parabola; where a cubic forecasts something else, by more than one standard
error of the difference, the cubic; and the level of the latest, as if nothing changed any more. The
forecast is the parabola's, and the interval spans those of all three: where the trend bends a
parabola misses, and where it jumps a parabola overshoots. Each end of each is wrong with a chance
of 0.8 δ; what they span was measured to miss with about δ in all, or less often (see the page
"When the process drifts").

*What is known to be 0 on average*, as weights less 1 are whatever drifts, is fitted along with the
polynomial, and taken as 0 in what comes. It takes most of the skewness of heavy weights out.

*The errors.* With weights h, residuals e and leverages l, g_i = h_i e_i / (1 - l_i), the error of
θ = Σ h_i y_i is (Σ g_i²)^½ (HC3: every episode may have a variance of its own); with clusters it is
the same jackknife over clusters. Without, neighbouring episodes may be alike: the error is
multiplied by ((1 + r)/(1 - r))^½, where r is the correlation of neighbouring residuals, corrected
for what the fit takes away (-(p(1 + r) + 2r)/m for p parameters and m numbers). The quantile is
Student's.

Neighbours that are too alike and numbers that are nearly all the same are refused.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import ROUNDING, Floats, Ints, sum_by
from jumar.core.errors import LogError
from jumar.evidence.plausible import NONE_BELOW

DEGREE = 2
ALIKE = 0.7  # correlation of neighbours; at 0.8, 10 % missed in logs of 200
SHARE = 0.8  # of δ, for each end of each answer; 0.5 would do for one answer alone
LATEST = 0.15  # of the numbers: the last twentieth of a log


class Trended(NamedTuple):
    """A forecast of one number, as `Evidenced` takes it."""

    value: float
    low: float
    high: float
    error: float


class _Fit(NamedTuple):
    value: float  # the forecast
    pull: Floats  # (m,) h: its weights
    residual: Floats  # (m,)
    basis: Floats  # (m, p) orthonormal columns
    slope: Floats  # (m,) the weights of the coefficient of x; 0 without


def trend(
    y: Floats, ahead: int, *, delta: float, unit: Ints | None = None, x: Floats | None = None
) -> Trended:
    """The mean of the next `ahead` numbers after `y` (m,), with an interval that misses with a
    chance of `delta`. `unit` (m,) numbers clusters; `x` (m,) is known to be 0 on average; a
    LogError where nothing can be said.

    >>> x = np.arange(100.0)
    >>> found = trend(x**2 + (-1) ** x, 1, delta=0.05)
    >>> found.low < 100**2 < found.high
    True
    """
    from scipy.special import stdtrit  # scipy.stats takes a second to load

    _check_spread(y)
    size = float(np.abs(y).max())
    y = y / size  # squares of huge numbers are no numbers
    x = np.zeros(len(y)) if x is None else x / max(float(np.abs(x).max()), 1e-300)
    flat, bent = (_fit(y, ahead, degree, x) for degree in (DEGREE, DEGREE + 1))
    fitted = bent.basis.shape[1]
    chain = 1.0 if unit is not None else _chain(bent.residual, fitted)
    units = len(y) if unit is None else int(unit.max()) + 1
    quantile = max(0.0, float(stdtrit(units - fitted, 1 - SHARE * delta)))
    latest = np.arange(len(y)) >= (1 - LATEST) * len(y)
    pull = latest / latest.sum()
    pull = pull - float(pull @ x) * bent.slope
    level = _Fit(float(pull @ y), pull, bent.residual, bent.basis, bent.slope)
    apart = chain * _error(bent.pull - flat.pull, bent.residual, bent.basis, unit)
    spanned = [flat, level, *[bent] * (abs(bent.value - flat.value) > apart)]
    errors = [chain * _error(*fit[1:4], unit) for fit in spanned]
    low, high = (
        end(fit.value + sign * quantile * error for fit, error in zip(spanned, errors, strict=True))
        for sign, end in ((-1, min), (1, max))
    )
    return Trended(*(size * x for x in (flat.value, low, high, errors[0])))


def _fit(y: Floats, ahead: int, degree: int, x: Floats) -> _Fit:
    """A polynomial through y, and the mean of what comes next, where x is 0."""
    m = len(y)
    place = 2 * np.arange(m + ahead) / (m - 1) - 1
    design = np.polynomial.legendre.legvander(place, degree)
    beside = np.ptp(x) > ROUNDING
    if beside:
        design = np.column_stack([design, np.append(x, np.zeros(ahead))])
    Q, R = (np.asarray(part) for part in np.linalg.qr(design[:m]))
    pull = Q @ np.linalg.solve(R.T, design[m:].mean(0))
    slope = Q[:, -1] / R[-1, -1] if beside else np.zeros(m)
    return _Fit(float(pull @ y), pull, y - Q @ (Q.T @ y), Q, slope)


def _error(pull: Floats, residual: Floats, basis: Floats, unit: Ints | None) -> float:
    """The jackknife over units of a sum `pull`·y. Without unit c it changes by

    h_c (I - Q_c Q_cᵀ)⁻¹ e_c = h_c·e_c + (h_c Q_c) (I - Q_cᵀ Q_c)⁻¹ (Q_cᵀ e_c).
    """
    m, p = basis.shape
    if unit is None:
        left = np.maximum(1 - (basis**2).sum(1), 1e-9)
        return math.sqrt(float(((pull * residual / left) ** 2).sum()))
    he, hQ, Qe, QQ = (
        np.stack([sum_by(unit, column, int(unit.max()) + 1) for column in columns.T], 1)
        for columns in (
            (pull * residual)[:, None],
            pull[:, None] * basis,
            residual[:, None] * basis,
            (basis[:, :, None] * basis[:, None, :]).reshape(m, p * p),
        )
    )
    without = (1 + 1e-9) * np.eye(p) - QQ.reshape(-1, p, p)
    change = he[:, 0] + (hQ * np.linalg.solve(without, Qe[:, :, None])[:, :, 0]).sum(1)
    return math.sqrt(float((change**2).sum()))


def _chain(residual: Floats, fitted: int) -> float:
    """How much larger an error is because neighbours are alike."""
    square = float((residual**2).sum())
    if square <= ROUNDING**2 * len(residual):
        return 1.0
    r = float((residual[1:] * residual[:-1]).sum()) / square
    r = max(0.0, r + (fitted * (1 + r) + 2 * r) / len(residual))
    if r > ALIKE:
        raise LogError(
            f"Each episode is so much like the one before (correlation {min(r, 1):.2f}) that a "
            "trend cannot be told from chance. Nothing is forecast."
        )
    return math.sqrt((1 + r) / (1 - r))


def _check_spread(y: Floats) -> None:
    """A LogError where nearly all numbers are the same: the few others are the forecast."""
    others = len(y) - int(np.unique(y, return_counts=True)[1].max())
    if others < NONE_BELOW:
        raise LogError(
            f"All but {others} of the last {len(y):,} episodes bring exactly the same: too few "
            "others to tell where they go. Nothing is forecast."
        )
