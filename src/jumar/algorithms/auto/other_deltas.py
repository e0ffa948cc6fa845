"""What a held-out test would have said with another δ.

The controllers are the same, and so are their scores; only the level moves. The promise of a test
holds for a δ that was fixed before anybody looked. So this shows how much the answer depends on δ;
it offers nothing to choose from.
"""

from __future__ import annotations

from dataclasses import dataclass

from jumar.algorithms.auto.asymptotic import Gate
from jumar.algorithms.auto.bets import Bet
from jumar.algorithms.auto.choosing import best_of
from jumar.algorithms.auto.proved import Shortlisted
from jumar.algorithms.auto.scored import Scored
from jumar.algorithms.auto.trials import MOST_BEYOND, Selection, Trial
from jumar.core.arrays import Floats

OTHER_DELTAS = (0.01, 0.05, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class BetAgain:
    """A bet of the proved gate."""

    bet: Bet
    scored: Scored
    found: Shortlisted  # what came of it
    delta: float  # ... with this δ
    most: float  # that can be gained

    def passes(self, delta: float) -> bool:
        """Exactly, given the shortlist: what it takes is known from how far the bet grew."""
        return self.most > 0 and self.found.reached <= delta

    def lower(self, delta: float) -> float:
        """By the same bet, at the part of δ that is for bounds."""
        level = self.found.bound_level * delta / self.delta
        return min(max(0.0, self.scored.lower(self.bet, level)), self.most)


@dataclass(frozen=True, eq=False)
class GateAgain:
    """A test of the asymptotic gate."""

    gate: Gate
    scores: Floats  # (n,)
    weights: Floats  # (n,)

    def passes(self, delta: float) -> bool:
        """With the draws of the first time."""
        refused = self.gate.at(delta).refusal(self.scores, self.weights)
        return self.lower(delta) > 0 and not refused

    def lower(self, delta: float) -> float:
        """With the draws of the first time."""
        return min(self.gate.at(delta).lower(self.scores, self.weights), self.gate.most)


@dataclass(frozen=True)
class Retested:
    """The same controllers with another δ."""

    delta: float
    passed: int  # of the controllers that were tested
    chosen: Trial | None  # that would be handed over; None: the behavior stays
    lower: float | None  # bound on its gain


def repeatable(selection: Selection) -> bool:
    """Is what its tests were made of still at hand?"""
    return all(trial.again is not None for trial in selection.trials)


def retested(selection: Selection, delta: float) -> Retested:
    """A finished test, repeated with another δ.

    >>> from jumar import Controller, models, simulate
    >>> from jumar.algorithms.auto import select
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> found = select(simulate(tiger, behavior, episodes=300, seed=1), behavior, discount=0.95)
    >>> [retested(found, δ).passed for δ in (1e-9, 0.05)]
    [0, 6]
    """
    same = delta == selection.delta

    def passes(trial: Trial) -> bool:
        return trial.passed if same or trial.again is None else trial.again.passes(delta)

    passed = [trial for trial in selection.trials if passes(trial)]
    deployed = [t for t in passed if max(selection.beyond, t.beyond) <= MOST_BEYOND]
    chosen = best_of(deployed, selection.most)
    lower = None if chosen is None else chosen.lower
    if chosen is not None and chosen.again is not None and not same:
        lower = chosen.again.lower(delta)
    return Retested(delta, len(passed), chosen, lower)
