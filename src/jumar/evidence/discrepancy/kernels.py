"""The compiled loop over the steps of a log that adds up what followed."""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints


@compiled
def returns_by_pair(
    steps: Ints,  # (N,) which step of the log
    start: Ints,  # (E+1,) where each episode begins; one may be empty
    reward: Floats,  # (N,) of every step of the log
    alone: Floats,  # (N,) what a step is worth if it is the last of its episode
    pair: Ints,  # (N,) its (h, a); -1: nobody knows what followed
    size: int,
    discount: float,
) -> Floats:
    """(size,) the sum of the returns from every visit of a pair on."""
    total = np.zeros(size)
    for e in range(len(start) - 1):
        back = 0.0
        for t in range(start[e + 1] - 1, start[e] - 1, -1):
            i = steps[t]
            back = alone[i] if t == start[e + 1] - 1 else reward[i] + discount * back
            if pair[i] >= 0:
                total[pair[i]] += back
    return total
