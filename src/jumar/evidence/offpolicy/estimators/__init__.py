"""Estimators of what a controller is worth, from episodes that another one made.

With the weights w_t of `evidence.offpolicy.weights`, the return G = Σ γ^t r_t, T the length of an
episode, Q̂ any function of history states and actions, V̂(x) = Σ_a π(a | x) Q̂(x, a) and V̂ = 0
after the last step:

    IS        w_{T-1} G
    PDIS      Σ_t γ^t w_t r_t
    DR        V̂(x_0) + Σ_t γ^t w_t (r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t))

are one number per episode with mean ρ(π), whatever Q̂ is: E[w_t (Q̂_t)] = E[w_{t-1} V̂_t], so what DR
adds to PDIS is 0 on average, and where Q̂ is close to the truth it takes most of the noise away.
Q̂ must not have seen the episode it is used on (`jumar.evidence.offpolicy.crossfit`).

The weighted ones divide by the weight that is there instead of the number of episodes,

    WIS       Σ_i w_i G_i / Σ_i w_i
    CWPDIS    Σ_t γ^t Σ_i w_it r_it / Σ_i w_it
    WDR       mean V̂(x_0) + Σ_t γ^t Σ_i w_it (r_it + γ V̂_{i,t+1} - Q̂_it) / Σ_i w_it,

episodes that are over keep their last weight in the denominator. They are biased at any finite
size and consistent. All three are one form: the mean of an offset, and a weighted mean of some
amounts x at every step (`Weighted`); WIS is the case of episodes folded into one step.

An episode that was cut off counts up to the cut.

Each estimator is one file with an `ENTRY`; ``ESTIMATORS.add(name, entry)`` enters one from
elsewhere.
"""

from __future__ import annotations

from jumar.core.registry import Registry
from jumar.evidence.offpolicy.estimators import (
    doubly,
    step_by_step,
    weighted_doubly,
    weighted_episodes,
    weighted_steps,
    whole_episodes,
)
from jumar.evidence.offpolicy.estimators.common import Estimator, Weighted, returns, surprise
from jumar.evidence.offpolicy.estimators.doubly import doubly_robust
from jumar.evidence.offpolicy.estimators.step_by_step import floored_pdis, pdis
from jumar.evidence.offpolicy.estimators.weighted_doubly import weighted_doubly_robust
from jumar.evidence.offpolicy.estimators.weighted_episodes import wis
from jumar.evidence.offpolicy.estimators.weighted_steps import cwpdis
from jumar.evidence.offpolicy.estimators.whole_episodes import floored_importance, importance

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "Weighted",
    "cwpdis",
    "doubly_robust",
    "floored_importance",
    "floored_pdis",
    "importance",
    "pdis",
    "returns",
    "surprise",
    "weighted_doubly_robust",
    "wis",
]

# the order is that of the random streams, so append only
_HOUSE = (whole_episodes, step_by_step, weighted_episodes, weighted_steps, doubly, weighted_doubly)
ESTIMATORS: Registry[Estimator] = Registry(
    "estimator", {module.ENTRY.name: module.ENTRY for module in _HOUSE}
)
