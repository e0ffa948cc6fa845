"""What an algorithm asks for and what it hands back: rows that it admits, an improved controller.

A pair is *known* iff it was tried more than N∧ times.

BOOTSTRAPPED  unknown actions keep the behavior's mass, the best known one gets the rest
BOUNDED       unknown actions better than the best known one keep the behavior's mass, the best
              known one gets the rest
GREEDY        the best known one gets everything
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Floats, Frozen
from jumar.core.text import Shown
from jumar.policy.controller import Controller
from jumar.tally.history import HistoryMdp

BOOTSTRAPPED, BOUNDED, GREEDY = 0, 1, 2
WORST = float("nan")  # as a value of what was never tried: the worst that the rewards allow

# relative to the scale of the values:
TIE = 1e-12  # rows closer than this are equally good, and the first action wins
STRICTLY = 1e-13  # a row is only replaced by one that is better by more
TOLERANCE = 1e-11  # what a residual may be in the end

MAX_ITERATIONS = 1000


class Admitted(NamedTuple):
    """The admitted rows, in the form that compiled loops and plain ones share."""

    kind: int
    n_wedge: float
    unseen_value: float = 0.0


@dataclass(frozen=True)
class Trace:
    """How the solver went: `gap` bounds how far the value is from the best one admitted."""

    iterations: int
    gap: float


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Frozen, Shown):
    """An improved controller and the model's view of it.

    History states that were never logged keep the behavior's row. Values, performances and gain are
    those of the *estimated* model, in which pairs that were never tried pay `unseen_value` and
    recordings never stop. Algorithms compare policies by them; they are no estimate of the truth.
    """

    algorithm: str
    parameters: Mapping[str, object]
    behavior: Controller
    controller: Controller
    mdp: HistoryMdp
    policy: Floats  # (H, A) improved rows at the model's history states
    behavior_policy: Floats  # (H, A) behavior's rows there
    values: Floats  # (H,) of the improved policy, in the model
    behavior_values: Floats  # (H,) of the behavior, in the model
    unseen_value: float  # what the model says of a pair that was never tried
    performance: float  # of the improved policy, in the model
    behavior_performance: float  # of the behavior, in the model
    trace: Trace

    @property
    def summary(self) -> str:
        return f"{self.algorithm}: changes {self.changed:,} of {len(self.mdp):,} history states"

    def __post_init__(self) -> None:
        self._put(parameters=MappingProxyType(dict(self.parameters)))
        self._freeze(np.float64, "policy", "behavior_policy", "values", "behavior_values")

    @property
    def gain(self) -> float:
        """Estimated: what the model says is won."""
        return self.performance - self.behavior_performance

    @property
    def changed(self) -> int:
        """Number of history states with a new row."""
        return int((self.policy != self.behavior_policy).any(1).sum())
