"""BiCGSTAB (van der Vorst 1992) for v = r + γPv, compiled: no two sums ever in another order.

scipy has it too, but its sums are those of BLAS, which spreads vectors of more than 10,000 numbers
over threads: beside other work they wait for each other (40 times as long, measured), and the last
digits depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints


@compiled
def residual(pointer: Ints, target: Ints, weight: Floats, right: Floats, v: Floats) -> Floats:
    """(n,) right - v + γPv, the rows of γP standing one after the other."""
    left = np.empty(len(v))
    for i in range(len(v)):
        follows = 0.0
        for l in range(pointer[i], pointer[i + 1]):
            follows += weight[l] * v[target[l]]
        left[i] = right[i] - (v[i] - follows)
    return left


@compiled
def _inner(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled
def bicgstab(
    pointer: Ints,  # (n+1,)
    target: Ints,  # (L,)
    weight: Floats,  # (L,)
    right: Floats,  # (n,)
    near: Floats,  # (n,) where to begin
    tolerance: float,  # of the residual against the right-hand side
    most: int,  # rounds
) -> tuple[Floats, bool]:
    """(n,) the solution, and whether the residual is small enough."""
    v, nothing = near.copy(), np.zeros(len(near))
    r = residual(pointer, target, weight, right, v)
    enough = tolerance * np.sqrt(_inner(right, right))
    if np.sqrt(_inner(r, r)) <= enough:
        return v, True
    shadow, p, step = r.copy(), r.copy(), np.zeros(len(v))
    rho, alpha, omega = _inner(shadow, r), 1.0, 1.0
    for _ in range(most):
        if rho == 0.0 or omega == 0.0:
            return v, False
        step = -residual(pointer, target, weight, nothing, p)
        along = _inner(shadow, step)
        if along == 0.0:
            return v, False
        alpha = rho / along
        s = r - alpha * step
        t = -residual(pointer, target, weight, nothing, s)
        size = _inner(t, t)
        omega = _inner(t, s) / size if size > 0.0 else 0.0
        v += alpha * p + omega * s
        r = s - omega * t
        if np.sqrt(_inner(r, r)) <= enough:
            return v, True
        before, rho = rho, _inner(shadow, r)
        if omega != 0.0:
            p = r + (rho / before) * (alpha / omega) * (p - omega * step)
    return v, False
