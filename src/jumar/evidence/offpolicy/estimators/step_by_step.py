"""PDIS: importance sampling step by step, Σ_t γ^t w_t r_t."""

from __future__ import annotations

from jumar.core.arrays import Floats, Ints
from jumar.evidence.offpolicy.estimators.common import Estimator, returns, step_of, surprise
from jumar.evidence.offpolicy.possible import Possible
from jumar.evidence.offpolicy.weights import cumulative


def pdis(ratio: Floats, reward: Floats, start: Ints, discount: float) -> Floats:
    """(E,) PDIS: every reward, times the weight of the steps up to it.

    >>> import numpy as np
    >>> pdis(np.array([2.0, 0.5]), np.array([1.0, 2.0]), np.array([0, 2]), 0.5).tolist()
    [3.0]
    """
    return returns(cumulative(ratio, start) * reward, start, discount)


def floored_pdis(
    ratio: Floats, reward: Floats, start: Ints, discount: float, least: Floats
) -> Floats:
    """(E,) PDIS of what comes above the worst, and the worst: never below least[0].

    least[t] (H,) is the least return from step t on. It is used as a Q̂ that knows nothing else, so
    the mean is that of PDIS, and no surprise is negative.

    >>> import numpy as np
    >>> worst = np.array([-3.0, -2.0, -1.0])  # three steps at -1 each
    >>> floored_pdis(np.array([2.0]), np.array([0.0]), np.array([0, 1]), 1.0, worst).tolist()
    [3.0]
    """
    known: Floats = least[step_of(start)]
    first: Floats = known[start[:-1]]
    x = surprise(reward, known, known, start, discount)
    return first + pdis(ratio, x, start, discount)


def _range(possible: Possible) -> tuple[float, float]:
    low, high = possible.sample.steps.pdis_range(
        possible.rewards, possible.sample.discount, possible.horizon
    )
    if possible.difference:
        return low - possible.returns[1], high - possible.returns[0]
    return low, high


ENTRY = Estimator(
    name="pdis",
    title="importance sampling step by step",
    values=lambda sample: pdis(*sample.data),
    rank=2,
    from_beginnings=True,
    range=_range,
    floored=lambda sample, least: floored_pdis(*sample.data, least),
)
