"""A log seen through two controllers, and what each estimator makes of it.

Differences are taken within the episode, so that what both controllers share cancels: IS and PDIS
minus the return, WIS and CWPDIS minus the mean return, and DR minus the DR of the *behavior* with
its own Q̂ and V̂. The last is unbiased like the return (with ratios of 1 nothing but V̂ = π_b·Q̂ is
used), and steadier: it is free of the luck of the behavior's dice, as the DR of the target is,
while the return is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from jumar.arrays import Floats
from jumar.consistency import check_nodes
from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.errors import LogError, ParameterError, printable
from jumar.offpolicy import estimators, weights
from jumar.offpolicy.crossfit import fit, joint_memory
from jumar.offpolicy.estimators import Weighted
from jumar.offpolicy.ranges import Steps, never_zero, steps_of

# name -> what it is; the order is that of the random streams, so append only
ESTIMATORS: Mapping[str, str] = MappingProxyType(
    {
        "is": "importance sampling of whole episodes",
        "pdis": "importance sampling step by step",
        "wis": "weighted importance sampling of whole episodes",
        "cwpdis": "weighted importance sampling step by step",
        "dr": "doubly robust",
        "wdr": "weighted doubly robust",
    }
)
WEIGHTED = ("wis", "cwpdis", "wdr")
RANGED = ("is", "pdis")  # values whose range is known before the log is
PREFIXES = ("pdis", "dr")  # also learn from the beginning of an episode that the target leaves


@dataclass(frozen=True, eq=False)
class Sample:
    """A log seen through two controllers; what several estimators share is computed once."""

    log: Episodes
    target: Controller
    behavior: Controller
    discount: float
    folds: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        γ = self.discount
        if not isinstance(γ, int | float | np.number) or not 0 <= γ <= 1:
            raise ParameterError(f"discount: {γ!r} must lie in [0, 1].")
        check_nodes(self.aligned, self.behavior)
        if not np.isfinite(self.weight).all():
            raise LogError(
                "The weights of some episodes are too large to compute with. Did "
                f"{printable(self.behavior.name)} produce this log?"
            )
        weights.check_covered(self.log, self.target, self.behavior, self.ratio)
        if not self.ratio[self.log.start[:-1]].any():
            raise self._unlike("", "This log cannot tell what it is worth.")

    def serves(self, estimator: str) -> bool:
        """Does the log weigh anything for this estimator?

        The weighted ones divide by the weight of every step, those of episodes that are over
        included; without a whole episode there is none at the last.
        """
        return estimator in PREFIXES or bool(self.weight.any())

    def check_serves(self, estimator: str) -> None:
        """A LogError where only the beginnings of episodes have weight and that is not enough."""
        if not self.serves(estimator):
            raise self._unlike(
                " from beginning to end",
                f"{estimator} needs at least one; {' and '.join(PREFIXES)} also learn from "
                "beginnings.",
            )

    def _unlike(self, how_far: str, remedy: str) -> LogError:
        E, name = len(self.log), printable(self.target.name)
        none = "The only episode is not one" if E == 1 else f"None of the {E:,} episodes is one"
        it = "in it" if E == 1 else "in each"
        return LogError(
            f"{none} that {name} could have made{how_far}: {it}, something was done that it never "
            f"does. {remedy}"
        )

    @cached_property
    def streams(self) -> list[np.random.Generator]:
        """One for dealing folds, and one for every estimator: alone or together, each draws the
        same numbers."""
        return self.rng.spawn(1 + len(ESTIMATORS))

    @cached_property
    def aligned(self) -> Episodes:
        """The log, its names numbered as the behavior numbers them."""
        return self.log.align(self.behavior.observations, self.behavior.actions)

    @cached_property
    def ratio(self) -> Floats:
        """(N,)"""
        return weights.ratios(self.log, self.target, self.behavior)

    @cached_property
    def weight(self) -> Floats:
        """(E,)"""
        return weights.final(self.ratio, self.log.start)

    @cached_property
    def returns(self) -> Floats:
        """(E,)"""
        return estimators.returns(self.log.reward, self.log.start, self.discount)

    @cached_property
    def values(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Q̂ of the logged actions and V̂, cross-fitted, of the target and of the behavior."""
        memory = joint_memory(self.target, self.behavior)
        models = fit(
            self.aligned, memory, discount=self.discount, rng=self.streams[0], folds=self.folds
        )
        return models.values(self.target), models.values(self.behavior)

    @cached_property
    def behavior_dr(self) -> Floats:
        """(E,) the doubly robust value of the behavior itself."""
        ones, log = np.ones(self.log.n_steps), self.log
        q, v = self.values[1]
        return estimators.doubly_robust(ones, log.reward, q, v, log.start, self.discount)

    @cached_property
    def steps(self) -> Steps:
        return steps_of(self.target, self.behavior)

    @cached_property
    def covered(self) -> bool:
        """Is it certain that the behavior may do whatever the target may, wherever it comes to?"""
        new, old = self.target, self.behavior
        alike = (new.observations, new.actions) == (old.observations, old.actions)
        known = set(new.actions) <= set(old.actions)
        return (known and never_zero(old)) or (alike and self.steps.covered)

    def contributions(self, estimator: str, difference: bool) -> Floats | Weighted:
        """One value per episode, or the weighted mean."""
        log = self.log
        data = self.ratio, log.reward, log.start, self.discount
        less = np.zeros(len(log))
        if difference:
            less = self.behavior_dr if estimator in ("dr", "wdr") else self.returns
        if estimator == "is":
            return estimators.importance(*data) - less
        if estimator == "pdis":
            return estimators.pdis(*data) - less
        if estimator in ("wis", "cwpdis"):
            found = (estimators.wis if estimator == "wis" else estimators.cwpdis)(*data)
        else:
            (q, v), _ = self.values
            with_values = self.ratio, log.reward, q, v, log.start, self.discount
            if estimator == "dr":
                return estimators.doubly_robust(*with_values) - less
            found = estimators.weighted_doubly_robust(*with_values)
        return Weighted(found.weight, found.x, found.start, found.offset - less, found.discount)
