"""Backward steps through a chain: v ← r + γPv, and the same for its length. Compiled.

Once a step changes nothing, no later one does: the result for any longer horizon is the same, to
the last bit.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints


@compiled
def backward_steps(
    source: Ints,  # (L,) of the steps that go on
    target: Ints,  # (L,)
    probability: Floats,  # (L,)
    paid: Floats,  # (K,)
    discount: float,
    horizon: int,
) -> tuple[Floats, Floats, bool]:
    """(K,) values and (K,) mean lengths over a horizon, and whether they have come to rest."""
    K = len(paid)
    v, steps = np.zeros(K), np.zeros(K)
    worth, length = np.empty(K), np.empty(K)
    for _ in range(horizon):
        worth[:] = 0.0
        length[:] = 0.0
        for e in range(len(source)):
            worth[source[e]] += probability[e] * v[target[e]]
            length[source[e]] += probability[e] * steps[target[e]]
        resting = True
        for k in range(K):
            value, more = paid[k] + discount * worth[k], 1.0 + length[k]
            resting = resting and value == v[k] and more == steps[k]
            v[k], steps[k] = value, more
        if resting:
            return v, steps, True
    return v, steps, False
