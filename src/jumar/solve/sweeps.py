"""What a policy is worth, by sweeping over the history states: compiled, for many valuations.

Why not `solve_discounted`. Candidates by the hundred are valued to be *compared*, so a thousandth
of the range of the values is close enough, and each begins where the one before ended: a few sweeps
do. And a pair that was never tried has no number in these models; it is worth what its history
state is worth otherwise, which is no linear system that is known beforehand.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats
from jumar.solve.iteration import RawModel, worth

SWEEPS = 200, 20_000  # of the model at the most, to value a policy roughly, and exactly
CLOSE = 1e-3  # parts of the range of the values: good enough to choose candidates by


@compiled
def value_by_sweeps(
    model: RawModel,
    policy: Floats,
    discount: float,
    q: Floats,
    v: Floats,
    close: float = CLOSE,
) -> None:
    """What actions and history states are worth under a policy, in place, from what is there."""
    H, A = policy.shape
    visits = model.visits
    for _ in range(SWEEPS[1] if close < CLOSE else SWEEPS[0]):
        change, total, times = 0.0, 0.0, 0.0
        low, high = np.inf, -np.inf
        for h in range(H):
            value, mass = 0.0, 0.0
            for a in range(A):
                if visits[h, a] > 0.0:
                    q[h, a] = worth(model, h, a, v, discount)
                    value += policy[h, a] * q[h, a]
                    mass += policy[h, a]
                    total += visits[h, a] * q[h, a]
                    times += visits[h, a]
                    low, high = min(low, q[h, a]), max(high, q[h, a])
            if mass > 0.0:
                value /= mass
            else:
                value = v[h]
            change = max(change, abs(value - v[h]))
            v[h] = value
            for a in range(A):
                if not visits[h, a] > 0.0:
                    q[h, a] = value
        usual = total / times if times > 0.0 else 0.0
        for h in range(H):
            seen = False
            for a in range(A):
                seen = seen or (visits[h, a] > 0.0 and policy[h, a] > 0.0)
            if not seen:  # nothing is known of it: it is as good as the rest
                v[h] = usual
                for a in range(A):
                    if not visits[h, a] > 0.0:
                        q[h, a] = usual
        if not change > close * (1.0 - discount) * (high - low):
            break


@compiled
def values_by_step(
    model: RawModel,
    policy: Floats,
    discount: float,
    steps: int,
) -> Floats:
    """(T, K, A) what actions are worth with T, T-1, ..., 1 steps to go; a pair that was never tried
    is worth what its history state is worth otherwise."""
    K, A = policy.shape
    visits = model.visits
    values = np.zeros((steps, K, A))
    v, now = np.zeros(K), np.zeros(K)
    for t in range(steps - 1, -1, -1):
        total, times = 0.0, 0.0
        for h in range(K):
            value, mass = 0.0, 0.0
            for a in range(A):
                if visits[h, a] > 0.0:
                    q = worth(model, h, a, v, discount)
                    values[t, h, a] = q
                    value += policy[h, a] * q
                    mass += policy[h, a]
                    total += visits[h, a] * q
                    times += visits[h, a]
            now[h] = value / mass if mass > 0.0 else np.nan
        usual = total / times if times > 0.0 else 0.0
        for h in range(K):
            if np.isnan(now[h]):
                now[h] = usual
            for a in range(A):
                if not visits[h, a] > 0.0:
                    values[t, h, a] = now[h]
        v, now = now, v
    return values


@compiled
def values_leaning(
    model: RawModel,
    policy: Floats,
    discount: float,
    prior: Floats,
    leaning: float,
    q: Floats,
    v: Floats,
) -> None:
    """What actions and history states are worth under a policy, in place, from what is there; a
    prior value counts as much as `leaning` visits."""
    H, A = policy.shape
    visits = model.visits
    for _ in range(SWEEPS[0]):
        change, low, high = 0.0, np.inf, -np.inf
        for h in range(H):
            value = 0.0
            for a in range(A):
                seen = visits[h, a] * worth(model, h, a, v, discount)
                q[h, a] = (seen + leaning * prior[h, a]) / (visits[h, a] + leaning)
                value += policy[h, a] * q[h, a]
                low, high = min(low, q[h, a]), max(high, q[h, a])
            change = max(change, abs(value - v[h]))
            v[h] = value
        if not change > CLOSE * (1.0 - discount) * (high - low):
            break
