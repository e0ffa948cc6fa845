"""Where a series of numbers is going: the mean of the next Δ, with an interval.

*What is fitted.* A parabola. Where a cubic forecasts something else, by more than one standard
error of the difference, the interval spans both. A straight line is half as wide and misses two to
three times as often as it says where the trend is curved; what lies before the last third, above
all an early jump, has no part in it (`benchmarks/forecasts.py`, docs/drift.md).

*The interval.* With weights h, residuals e and leverages l, g_i = h_i e_i / (1 - l_i), the error of
θ = Σ h_i y_i is (Σ g_i²)^½ (HC3: every episode may have a variance of its own); with clusters it is
the same jackknife over clusters. Without, neighbouring episodes may be alike: the error is
multiplied by ((1 + r)/(1 - r))^½, where r is the correlation of neighbouring residuals, corrected
for what the fit takes away (-(p(1 + r) + 2r)/m for p parameters and m numbers). The quantile is
Student's.

A jump, neighbours that are too alike, and numbers that are nearly all the same are refused: the
interval would not hold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import LogError
from jumar.evidence.plausible import NONE_BELOW

DEGREE = 2
ALIKE = 0.8  # correlation of neighbours: at 0.9 an interval of 90 % missed 17 %
JUMPS = 20  # places where one is sought
JUMP = 3.2  # standard errors: as large in one log in 20 without any
LEAST_STRETCH = 5  # episodes before and after a jump
ROUNDING = 1e-12  # of the largest number: what is left below it is no residual


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


def trend(y: Floats, ahead: int, *, delta: float, unit: Ints | None = None) -> Trended:
    """The mean of the next `ahead` numbers after `y` (m,), with an interval that misses with a
    chance of `delta`. `unit` (m,) numbers clusters; a LogError where nothing can be said.

    >>> x = np.arange(100.0)
    >>> found = trend(x**2 + np.sin(100 * x), 1, delta=0.05)
    >>> found.low < 100**2 < found.high
    True
    """
    from scipy.special import stdtrit  # scipy.stats takes a second to load

    _check_spread(y)
    size = float(np.abs(y).max())
    y = y / size  # squares of huge numbers are no numbers
    fits = [_fit(y, ahead, degree) for degree in (DEGREE, DEGREE + 1)]
    chain = 1.0 if unit is not None else _chain(fits[1].residual, DEGREE + 2)
    _check_jump(fits[1], unit)
    units = len(y) if unit is None else int(unit.max()) + 1
    errors = [chain * _error(fit.pull, fit.residual, fit.basis, unit) for fit in fits]
    reach = [
        float(stdtrit(units - len(fit.basis.T), 1 - delta / 2)) * error
        for fit, error in zip(fits, errors, strict=True)
    ]
    flat, bent = fits
    apart = chain * _error(bent.pull - flat.pull, bent.residual, bent.basis, unit)
    used = (0, 1) if abs(bent.value - flat.value) > apart else (0,)
    low = min(fits[i].value - reach[i] for i in used)
    high = max(fits[i].value + reach[i] for i in used)
    return Trended(*(size * x for x in (flat.value, low, high, errors[0])))


def _fit(y: Floats, ahead: int, degree: int) -> _Fit:
    """A polynomial through y, and the mean of what comes next."""
    m = len(y)
    place = 2 * np.arange(m + ahead) / (m - 1) - 1
    design = np.polynomial.legendre.legvander(place, degree)
    Q, R = (np.asarray(x) for x in np.linalg.qr(design[:m]))
    pull = Q @ np.linalg.solve(R.T, design[m:].mean(0))
    return _Fit(float(pull @ y), pull, y - Q @ (Q.T @ y), Q)


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


def _neighbours(residual: Floats, fitted: int) -> float:
    """The correlation of neighbouring residuals, corrected for what the fit took away."""
    square = float((residual**2).sum())
    if square <= ROUNDING**2 * len(residual):
        return 0.0
    r = float((residual[1:] * residual[:-1]).sum()) / square
    return r + (fitted * (1 + r) + 2 * r) / len(residual)


def _chain(residual: Floats, fitted: int) -> float:
    """How much larger an error is because neighbours are alike."""
    r = max(0.0, _neighbours(residual, fitted))
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


def _check_jump(fit: _Fit, unit: Ints | None) -> None:
    """A LogError where a step explains what a cubic does not."""
    m, Q = fit.basis.shape[0], fit.basis
    stretch = LEAST_STRETCH if unit is None else LEAST_STRETCH * math.ceil(m / (unit.max() + 1))
    found = [(0.0, m)]
    for place in np.unique(np.linspace(stretch, m - stretch, JUMPS).astype(np.int64)):
        step = (np.arange(m) >= place).astype(np.float64)
        step -= Q @ (Q.T @ step)
        step /= math.sqrt(float(step @ step))
        height = float(step @ fit.residual)
        residual = fit.residual - height * step
        r = 0.0 if unit is not None else min(max(0.0, _neighbours(residual, DEGREE + 3)), ALIKE)
        error = _error(step, residual, np.column_stack([Q, step]), unit)
        error *= math.sqrt((1 + r) / (1 - r))
        if error > ROUNDING:
            found.append((abs(height) / error, m - int(place)))
    most, since = max(found)
    if most > JUMP:
        raise LogError(
            f"What an episode brings seems to have jumped about {since:,} episodes before the end "
            f"of the log ({most:.1f} standard errors off a smooth trend). A trend that broke is "
            "not carried on. Nothing is forecast; use what came after the jump, once there is "
            "enough of it."
        )
