"""DR: doubly robust, V̂(x_0) + Σ_t γ^t w_t (r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t))."""

from __future__ import annotations

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, surprise
from jumar.evidence.offpolicy.estimators.step_by_step import pdis


def doubly_robust(
    ratio: Floats, reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float
) -> Floats:
    """(E,) DR: PDIS of what Q̂ did not expect, and what it expects at the start.

    `q_taken` (N,) is Q̂(x_t, a_t), `v` (N,) is V̂(x_t) = Σ_a π(a | x_t) Q̂(x_t, a).

    >>> import numpy as np
    >>> one = np.array([0, 1])
    >>> doubly_robust(np.array([2.0]), np.array([5.0]), np.array([4.0]), np.array([3.0]), one, 0.9)
    array([5.])
    """
    x = surprise(reward, q_taken, v, start, discount)
    first: Floats = v[start[:-1]]
    return first + pdis(ratio, x, start, discount)


ENTRY = Estimator(
    name="dr",
    title="doubly robust",
    values=lambda sample: doubly_robust(*sample.data_with_values),
    rank=1,
    from_beginnings=True,
    baseline=lambda sample: sample.behavior_dr,
)
