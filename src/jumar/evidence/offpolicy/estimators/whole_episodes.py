"""IS: importance sampling of whole episodes, w_{T-1} G."""

from __future__ import annotations

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, returns
from jumar.evidence.offpolicy.ranges import importance_range
from jumar.evidence.offpolicy.weights import final


def importance(ratio: Floats, reward: Floats, start: Ints, discount: float) -> Floats:
    """(E,) IS: the return, times the weight of the whole episode.

    >>> import numpy as np
    >>> importance(np.array([2.0, 0.5]), np.array([1.0, 2.0]), np.array([0, 2]), 0.5).tolist()
    [2.0]
    """
    return final(ratio, start) * returns(reward, start, discount)


def floored_importance(
    ratio: Floats, reward: Floats, start: Ints, discount: float, lowest: float
) -> Floats:
    """(E,) IS of the return above its least possible value, and that value: never below `lowest`.

    The mean is that of IS, as weights have mean 1.
    """
    return lowest + final(ratio, start) * (returns(reward, start, discount) - lowest)


ENTRY = Estimator(
    name="is",
    title="importance sampling of whole episodes",
    values=lambda sample: importance(*sample.data),
    rank=3,
    range=lambda possible: importance_range(
        possible.largest_weights,
        possible.low,
        possible.high,
        less=1.0 if possible.difference else 0.0,
    ),
    floored=lambda sample, least: floored_importance(*sample.data, float(least[0])),
)
