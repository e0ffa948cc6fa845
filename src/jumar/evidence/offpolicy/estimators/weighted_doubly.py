"""WDR: weighted doubly robust,
mean V̂(x_0) + Σ_t γ^t Σ_i w_it (r_it + γ V̂_{i,t+1} - Q̂_it) / Σ_i w_it."""

from __future__ import annotations

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, Weighted, surprise
from jumar.evidence.offpolicy.weights import cumulative


def weighted_doubly_robust(
    ratio: Floats, reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float
) -> Weighted:
    """WDR: what Q̂ expects at the start, and CWPDIS of what it did not expect."""
    x = surprise(reward, q_taken, v, start, discount)
    return Weighted(cumulative(ratio, start), x, start, v[start[:-1]], discount)


ENTRY = Estimator(
    name="wdr",
    title="weighted doubly robust",
    values=lambda sample: weighted_doubly_robust(*sample.data_with_values),
    rank=4,
    weighted=True,
    baseline=lambda sample: sample.behavior_dr,
    interval="bootstrap-t",
)
