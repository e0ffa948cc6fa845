"""What a model of other episodes expects of a candidate, and what to make of two estimates.

Scores (`jumar.selection.scoring`) are right on average and, for bold candidates, so noisy that they
say little about which of two is better. A model of episodes that the candidate was *not* fitted on
is hardly noisy and knows nothing of the luck that made the candidate; but its memory may not
suffice, and then it is wrong however many episodes there are. So both are asked. They are weighed
by their errors: that of the mean score is known; that of the model is taken for a part of what it
expects, or for what it lies off the scores beyond their noise, whichever is more.

This serves to order candidates, before a test or after it. No test depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.algorithms.tilt import value_by_sweeps
from jumar.arrays import Floats, Ints
from jumar.history import HistoryMdp
from jumar.selection.candidates import MOST_VALUES, Fitted, Workbench, values_by_step
from jumar.selection.fitting import Numbered

TRUSTED = 0.1  # part of what a model expects that it is taken to be wrong by, at least


class Models:
    """Models of some episodes, one for every memory, that are asked about candidates."""

    def __init__(self, bench: Workbench, episodes: Ints) -> None:
        self.steps = bench.limits.steps
        self.of = {
            numbered.memory: _Model(mdp, numbered, self.steps)
            for mdp, numbered in bench.models(episodes)
        }

    def gain(self, candidate: Fitted) -> float:
        """What the model of its memory expects it to gain."""
        model = self.of[candidate.setting.memory]
        return model.worth(candidate.rows[model.numbered.first]) - model.base


class _Model:
    def __init__(self, mdp: HistoryMdp, numbered: Numbered, steps: int | None) -> None:
        K, A = numbered.behavior.shape
        self.mdp, self.numbered = mdp, numbered
        self.steps = steps if steps is not None and steps * K * A <= MOST_VALUES else None
        self.q, self.v = np.zeros((K, A)), np.zeros(K)  # where the next valuation begins
        self.base = self.worth(numbered.behavior)

    def worth(self, rows: Floats) -> float:
        mdp, rows = self.mdp, np.ascontiguousarray(rows)
        model = (mdp.pointer, mdp.successor, mdp.probability, mdp.reward, mdp.visits)
        if self.steps is None:
            value_by_sweeps(*model, rows, mdp.discount, self.q, self.v)
            q = self.q
        else:
            q = values_by_step(*model, rows, mdp.discount, self.steps)[0]
        return float(mdp.start @ (rows * q).sum(1))


@dataclass(frozen=True)
class Estimate:
    """Of a gain."""

    gain: float
    error: float

    @property
    def merit(self) -> float:
        """Noise is no merit: of many candidates the luckiest looks best."""
        return self.gain - self.error / 2


def blend(scores: Floats, expected: float) -> Estimate:
    """What scores and a model's expectation say together.

    >>> noisy, close = np.array([-30.0, 32.0] * 8), np.array([0.9, 1.1] * 8)
    >>> round(blend(noisy, 2.0).gain, 2), round(blend(close, 2.0).gain, 2)
    (2.0, 1.0)
    """
    if len(scores) < 2:
        return Estimate(-math.inf, 0.0)
    mean = float(scores.mean())
    noise = float(scores.var(ddof=1)) / len(scores)
    wrong = max((TRUSTED * expected) ** 2, (expected - mean) ** 2 - noise)
    if not noise + wrong > 0:
        return Estimate(mean, 0.0)
    gain = (wrong * mean + noise * expected) / (wrong + noise)
    return Estimate(gain, math.sqrt(wrong * noise / (wrong + noise)))
