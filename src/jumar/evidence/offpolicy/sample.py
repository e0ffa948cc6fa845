"""A log seen through two controllers, and what each estimator makes of it.

Differences are taken within the episode, so that what both controllers share cancels: PDIS minus
the return, DR and WDR minus the DR of the *behavior* with
its own Q̂ and V̂. The last is unbiased like the return (with ratios of 1 nothing but V̂ = π_b·Q̂ is
used), and steadier: it is free of the luck of the behavior's dice, as the DR of the target is,
while the return is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.errors import LogError, ParameterError
from jumar.core.text import counted, printable
from jumar.evidence.offpolicy import estimators, weights
from jumar.evidence.offpolicy.crossfit import CrossFit, fit
from jumar.evidence.offpolicy.estimators import ESTIMATORS, Weighted, by_cluster, cluster_means
from jumar.evidence.offpolicy.ranges import KnownSteps, check_alike, never_zero, steps_of
from jumar.evidence.practice import Practice
from jumar.evidence.validity import AS_IF_RIGHT, ESTIMATED, NOT_CONFOUNDED, RIGHT
from jumar.log.episodes import Episodes
from jumar.memory.refinement import join
from jumar.policy.controller import Controller

LARGEST_TOTAL = 1e150  # whose square is still a number


@dataclass(frozen=True, eq=False)
class Sample:
    """A log seen through two controllers; what several estimators share is computed once."""

    practice: Practice  # who made the log; it holds the log
    target: Controller
    discount: float
    rng: np.random.Generator

    def __post_init__(self) -> None:
        discount = self.discount
        if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
            raise ParameterError(f"discount: {discount!r} must lie in [0, 1].")
        if not np.isfinite(self.weight).all():
            raise LogError(
                "The weights of some episodes are too large to compute with. Did "
                f"{self.practice.name} produce this log?"
            )
        weights.check_covered(self.target, self.practice, self.weights)
        if not self.ratio[self.log.start[:-1]].any():
            raise self._unlike("", "This log cannot tell what it is worth.")

    @property
    def log(self) -> Episodes:
        return self.practice.log

    def serves(self, estimator: str) -> bool:
        """Does the log weigh anything for this estimator?

        The weighted ones divide by the weight of every step, those of episodes that are over
        included; without a whole episode there is none at the last.
        """
        return not ESTIMATORS[estimator].weighted or bool(self.weight.any())

    def check_serves(self, estimator: str) -> None:
        """A LogError where only the beginnings of episodes have weight and that is not enough."""
        if not self.serves(estimator):
            able = [name for name, entry in ESTIMATORS.items() if not entry.weighted]
            raise self._unlike(
                " from beginning to end",
                f"{estimator} needs at least one; {' and '.join(able)} also learn from beginnings.",
            )

    def _unlike(self, how_far: str, remedy: str) -> LogError:
        return LogError(
            f"Of {counted(len(self.log), 'episode')}, none is one that "
            f"{printable(self.target.name)} could have made{how_far}: something was done that it "
            f"never does. {remedy}"
        )

    @cached_property
    def streams(self) -> list[np.random.Generator]:
        """One for dealing folds, and one for every estimator: alone or together, each draws the
        same numbers."""
        return self.rng.spawn(1 + len(ESTIMATORS))

    @cached_property
    def ratio(self) -> Floats:
        """(N,)"""
        ratio = weights.taken(self.practice.replays, self.target)
        ratio /= self.practice.taken
        return ratio

    @cached_property
    def cluster(self) -> Ints | None:
        """(E,) numbered from 0; None where episodes are independent."""
        return None if self.log.cluster is None else self.log.cluster.present[1]

    @property
    def n_clusters(self) -> int | None:
        return None if self.cluster is None else int(self.cluster.max()) + 1

    @cached_property
    def unit_weight(self) -> Floats:
        """(E,) the weight of every episode, or (K,) of every cluster, averaged over the steps as
        they count in a discounted return; 1 on average."""
        found = weights.averaged(self.weights, self.log.start, self.discount)
        if self.cluster is None:
            return found
        K = int(self.cluster.max()) + 1
        return sum_by(self.cluster, found, K) * (K / len(self.log))

    @cached_property
    def itself(self) -> bool:
        """Is the target who made the log? Then the log itself is the answer, without a model."""
        only = self.practice.only
        return only is not None and only == replace(
            self.target, name=only.name, exploration=only.exploration, estimated=only.estimated
        )

    @cached_property
    def weight(self) -> Floats:
        """(E,)"""
        return self.weights[self.log.start[1:] - 1]

    @cached_property
    def weights(self) -> Floats:
        """(N,) of every step with those before it in its episode."""
        return weights.cumulative(self.ratio, self.log.start)

    @cached_property
    def returns(self) -> Floats:
        """(E,)"""
        return self.log.returns(self.discount)

    @cached_property
    def models(self) -> CrossFit:
        """What the other folds say, over a memory that tells what every controller remembers."""
        practice = self.practice
        for behavior in practice.controllers:
            check_alike(self.target, behavior)
        memory = join(practice.memory, self.target.memory)
        return fit(practice.replays, memory, discount=self.discount, seed=self.streams[0])

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """Q̂ of the logged actions and V̂, cross-fitted, of the target."""
        if self.itself:
            return np.zeros(self.log.n_steps), np.zeros(self.log.n_steps)
        # weights that are 0 stay 0; V̂ of the first step without any is asked for, too
        live = np.add.reduceat(self.weights > 0, self.log.start[:-1], dtype=np.int64)
        return self.models.values(self.target, np.minimum(live + 1, self.log.lengths))

    @property
    def data(self) -> tuple[Floats, Floats, Ints, float]:
        """What estimators without values take: ratios, rewards, starts of episodes, discount."""
        return self.ratio, self.log.reward, self.log.start, self.discount

    @property
    def data_with_values(self) -> tuple[Floats, Floats, Floats, Floats, Ints, float]:
        """The same with Q̂ and V̂ of the target after the rewards."""
        return self.ratio, self.log.reward, *self.values, self.log.start, self.discount

    @cached_property
    def behavior_dr(self) -> Floats:
        """(E,) the doubly robust value of whoever made the log; the return where it is not known
        what else they might have done, as V̂ must be that of their own dice."""
        practice = self.practice
        if self.itself:
            return self.returns
        if practice.only is not None:
            q, v = self.models.values(practice.only)
        elif practice.rows is not None:
            q, v = self.models.logged_values(practice.rows)
        else:
            return self.returns
        ones, log = np.ones(self.log.n_steps), self.log
        return estimators.doubly_robust(ones, log.reward, q, v, log.start, self.discount)

    @cached_property
    def steps(self) -> tuple[KnownSteps, ...]:
        """What can be logged while the target follows, by behavior."""
        return tuple(steps_of(self.target, old) for old in self.practice.controllers)

    @cached_property
    def covered(self) -> bool:
        """Is it certain that the behavior may do whatever the target may, wherever it comes to?"""
        new, olds = self.target, self.practice.controllers
        if not olds:
            return False
        if all(set(new.actions) <= set(old.actions) and never_zero(old) for old in olds):
            return True
        alike = all((new.observations, new.actions) == (c.observations, c.actions) for c in olds)
        return alike and all(steps.covered for steps in self.steps)

    def units(self, estimator: str, difference: bool, *, alike: bool) -> Floats | Weighted:
        """One value per independent unit: the contributions of episodes or, where the log has
        clusters, of clusters (`clusters`); `alike` counts each cluster the same."""
        values = self.contributions(estimator, difference)
        if alike:
            return self.mean_of_units(values)
        return values if self.cluster is None else by_cluster(values, self.cluster)

    def mean_of_units(self, values: Floats | Weighted) -> Floats:
        """(E,) the values themselves, or (K,) their mean in every cluster."""
        assert not isinstance(values, Weighted), "a ratio has no value of its own per cluster"
        return values if self.cluster is None else cluster_means(values, self.cluster)

    @property
    def unequal(self) -> bool:
        """Do clusters differ in size?"""
        return self.cluster is not None and bool(np.ptp(np.bincount(self.cluster)))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is taken for granted of who acted, and of what is independent."""
        made = "The policy that is given made the log."
        if self.practice.estimated:
            made = ESTIMATED
        elif not self.practice.controllers:
            made = RIGHT if self.practice.draws is None else AS_IF_RIGHT
        elif self.practice.several:
            made = "Each episode was made by the policy that the log names for it."
        if self.n_clusters is None:
            return made, NOT_CONFOUNDED, "Episodes are independent of each other and of one kind."
        return (
            made,
            NOT_CONFOUNDED,
            f"The {self.n_clusters:,} clusters are independent of each other and of one kind.",
            "What is done in one episode changes neither the next ones of its cluster nor how many "
            "there are: weights reach back to the start of an episode only.",
        )

    def contributions(self, estimator: str, difference: bool) -> Floats | Weighted:
        """One value per episode, or the weighted mean."""
        entry = ESTIMATORS[estimator]
        less = entry.baseline(self) if difference else np.zeros(len(self.log))
        with np.errstate(over="ignore", invalid="ignore"):
            found = entry.values(self)
            worth = found.live[2] * found.live[3] if isinstance(found, Weighted) else found
            total = np.abs(worth).sum()
        if not total <= LARGEST_TOTAL:
            raise LogError(
                f"estimator {estimator!r}: weights are too large to compute with. The controller "
                "does what the behavior hardly ever did, so that this log says nothing about it. "
                "Estimate one that is closer to the behavior, or give rewards in a larger unit."
            )
        if not isinstance(found, Weighted):
            return found - less
        return replace(found, offset=found.offset - less)
