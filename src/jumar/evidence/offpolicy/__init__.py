"""Off-policy evaluation: what a controller is worth, from a log that another one made.

    found = jm.offpolicy.estimate(log, new, old, discount=0.95, difference=True)
    print(found.verdict)

`estimate` does it all. Its parts work on raw arrays, for whoever asks the same log about many
controllers: `weights.taken`, `estimators.pdis`, `estimators.doubly_robust`, `crossfit.fit`,
`intervals.student` and the others. Nothing here knows a model, and nothing needs one: weights are
exact for any two finite-state controllers.
"""

from __future__ import annotations

from jumar.evidence.offpolicy import crossfit, estimators, intervals, ranges, weights
from jumar.evidence.offpolicy.estimators import ESTIMATORS
from jumar.evidence.offpolicy.intervals import INTERVALS
from jumar.evidence.offpolicy.procedure import estimate, estimate_all
from jumar.evidence.offpolicy.results import Estimate, best_of
from jumar.evidence.offpolicy.sample import Sample

__all__ = [
    "ESTIMATORS",
    "INTERVALS",
    "Estimate",
    "Sample",
    "best_of",
    "crossfit",
    "estimate",
    "estimate_all",
    "estimators",
    "intervals",
    "ranges",
    "weights",
]
