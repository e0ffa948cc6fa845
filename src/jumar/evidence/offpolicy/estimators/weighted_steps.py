"""CWPDIS: weighted importance sampling step by step, Σ_t γ^t Σ_i w_it r_it / Σ_i w_it."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, Weighted
from jumar.evidence.offpolicy.weights import cumulative


def cwpdis(ratio: Floats, reward: Floats, start: Ints, discount: float) -> Weighted:
    """CWPDIS: step by step the mean reward, episodes weighted by their steps so far.

    >>> cwpdis(np.array([1.0, 3.0]), np.array([4.0, 0.0]), np.array([0, 1, 2]), 0.9).value
    1.0
    """
    return Weighted(cumulative(ratio, start), reward, start, np.zeros(len(start) - 1), discount)


ENTRY = Estimator(
    name="cwpdis",
    title="weighted importance sampling step by step",
    values=lambda sample: cwpdis(*sample.data),
    rank=5,
    weighted=True,
    interval="bootstrap-t",
)
