"""What is tried on held-out episodes, and what came of it; the same for every gate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumar.algorithms import ALGORITHMS
from jumar.algorithms.auto.bets import Bet
from jumar.algorithms.auto.limits import Limits
from jumar.algorithms.auto.scored import Scored
from jumar.core.arrays import Frozen
from jumar.core.controller import Controller
from jumar.core.memory import Memory
from jumar.core.shown import Shown
from jumar.io.plain import finite, picked

PROVED, ASYMPTOTIC = "proved", "asymptotic"
GATES = (PROVED, ASYMPTOTIC)


@dataclass(frozen=True)
class Setting:
    """How a candidate was made."""

    memory: Memory
    algorithm: str
    parameters: tuple[tuple[str, object], ...] = ()  # of the algorithm, by name
    mixture: float = 1.0  # share of the new rows

    def __str__(self) -> str:
        share = "" if self.mixture == 1 else f", mixed {self.mixture:g} with the behavior"
        return f"{ALGORITHMS[self.algorithm].setting(dict(self.parameters))}, {self.memory}{share}"

    @property
    def record(self) -> dict[str, object]:
        """In plain types."""
        return {"base": self.algorithm, **dict(self.parameters), "mixture": self.mixture}


@dataclass(frozen=True)
class Opinion:
    """Of a gain."""

    gain: float
    error: float

    @property
    def merit(self) -> float:
        """Noise is no merit: of many candidates the luckiest looks best."""
        return self.gain - self.error / 2


class Again(Protocol):
    """A test that can be repeated with another δ (`other_deltas`)."""

    def passes(self, delta: float) -> bool:
        """Would it pass?"""

    def lower(self, delta: float) -> float:
        """The lower bound on the gain, where it passes."""


@dataclass(frozen=True, repr=False)
class Trial(Shown):
    """One candidate on the other half of the log."""

    setting: Setting
    half: int  # that it was fitted on
    promised: float  # gain expected by the half it was fitted on
    gain: float  # held-out estimate
    error: float  # its standard error
    effective: float  # how many of its own episodes the held-out ones are worth
    missing: float  # share of what it does that the held-out episodes show nothing of
    lower: float  # lower bound on the gain, at the level of the test
    passed: bool
    level: float  # the chance of error that its test was given
    units: int  # held out: episodes, or clusters
    refused: str = ""  # why it cannot pass, whatever its bound
    second: bool | None = None  # would it pass the other test? None: not asked
    deviation: float = math.inf  # of a score
    weight: float = 1.0  # mean of the held-out weights: 1, if the behavior is what made the log
    weight_error: float = math.inf  # its standard error
    scores: Scored | None = field(default=None, repr=False, compare=False)  # of its units
    bet: Bet | None = None  # that was laid on it
    opinion: Opinion | None = None  # of its gain, where more is known than scores
    reached: float | None = None  # the least δ with which its bet passes; above 1: with none
    again: Again | None = field(default=None, repr=False, compare=False)  # its test, to repeat

    def merit(self, most: float) -> float:
        """By which the best of those that passed is chosen: noise is no merit, nor is a gain
        beyond what returns allow."""
        if self.opinion is not None:
            return min(self.opinion.merit, most)
        return min(self.gain, most) - self.error / 2

    @property
    def weighed(self) -> Opinion:
        """Its gain by all that is known of held-out episodes."""
        return self.opinion or Opinion(self.gain, self.error)

    @property
    def summary(self) -> str:
        passed = "passed" if self.passed else "not passed"
        return f"{self.setting}, held-out gain {self.gain:.4g} ± {self.error:.2g}, {passed}"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "setting": str(self.setting),
            **picked(self, "half promised gain"),
            "standard_error": finite(self.error),
            "effective_episodes": self.effective,
            "missing": self.missing,
            "mean_weight": self.weight,
            "lower_bound": finite(self.lower),
            **picked(self, "level passed"),
            "passes_from_delta": None if (self.reached or 0.0) > 1 else self.reached,
            "refused": self.refused or None,
            "passes_the_other_test": self.second,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Frozen, Shown):
    """What was tried, and what was chosen."""

    gate: str  # "proved" or "asymptotic"
    delta: float
    episodes: int
    units: int  # independent ones: clusters, or the episodes themselves
    trials: tuple[Trial, ...]  # the shortlists, best lower bound first
    tried: int  # candidates fitted in all
    chosen: Trial | None  # None: the behavior stays
    controller: Controller
    limits: Limits  # of the returns
    most: float  # the best return that is possible, less the behavior's mean return
    beyond: float  # share of the discounted weight that lies beyond where recordings stopped
    memories: tuple[Memory, ...] = ()

    @property
    def summary(self) -> str:
        chosen = str(self.chosen.setting) if self.chosen else "the behavior stays"
        return f"{self.tried:,} candidates, {len(self.trials)} tested; {chosen}"

    @property
    def range(self) -> float:
        """R: how far two returns can lie apart."""
        return self.limits.range

    @property
    def too_short(self) -> bool:
        """Does the behavior stay only because too much lies beyond where recordings stop?"""
        return (
            self.chosen is None
            and self.beyond > MOST_BEYOND
            and any(trial.passed for trial in self.trials)
        )

    @property
    def best(self) -> Trial | None:
        """The chosen one, or the one that came closest."""
        return self.chosen or (self.trials[0] if self.trials else None)

    @property
    def only_approximate(self) -> bool:
        """Did nothing pass, though something would have passed the approximate test?"""
        return self.chosen is None and any(trial.second for trial in self.trials)

    def to_dict(self) -> dict[str, Any]:
        """What was tried and chosen, in plain JSON types."""
        return {
            "gate": self.gate,
            "candidates": self.tried,
            "tested": [trial.to_dict() for trial in self.trials],
            "chosen": self.chosen.to_dict() if self.chosen else None,
            "only_the_approximate_test_passes": self.only_approximate,
            "weight_beyond_the_cut": self.beyond,
            "kept_because_records_are_short": self.too_short,
        }


MOST_BEYOND = 0.25  # share of the weight beyond the cuts with which a change is still deployed
