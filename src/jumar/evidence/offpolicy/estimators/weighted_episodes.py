"""WIS: weighted importance sampling of whole episodes, Σ_i w_i G_i / Σ_i w_i."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, Weighted, returns
from jumar.evidence.offpolicy.weights import final


def wis(ratio: Floats, reward: Floats, start: Ints, discount: float) -> Weighted:
    """WIS: the mean return, episodes weighted as wholes.

    >>> three = np.array([0, 1, 2, 3])
    >>> wis(np.array([2.0, 1.0, 0.0]), np.array([3.0, 6.0, 9.0]), three, 1.0).value
    4.0
    """
    E = len(start) - 1
    G = returns(reward, start, discount)
    return Weighted(final(ratio, start), G, np.arange(E + 1), np.zeros(E), 1.0)


ENTRY = Estimator(
    name="wis",
    title="weighted importance sampling of whole episodes",
    values=lambda sample: wis(*sample.data),
    rank=6,
    weighted=True,
    interval="bootstrap-t",
)
