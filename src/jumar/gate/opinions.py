"""What a model of other episodes expects of a candidate, and what to make of two estimates.

Scores (`scoring`) are right on average and, for bold candidates, so noisy that they
say little about which of two is better. A model of episodes that the candidate was *not* fitted on
is hardly noisy and knows nothing of the luck that made the candidate; but its memory may not
suffice, and then it is wrong however many episodes there are. So both are asked. They are weighed
by their errors: that of the mean score is known; that of the model is taken for a part of what it
expects, or for what it lies off the scores beyond their noise, whichever is more.

This serves to order candidates, before a test or after it. No test depends on it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from jumar.core.arrays import Floats
from jumar.gate.bench import Bench, Fitted, Numbered
from jumar.gate.candidates import MOST_VALUES
from jumar.gate.dealing import DealtPart
from jumar.gate.scored import Scores
from jumar.gate.trials import Opinion
from jumar.memory.refinement import refines
from jumar.tally.history import HistoryMdp

SURPRISE = 2.0  # standard errors that a model may lie off the scores by chance
LEANING = 20.0  # visits that the value of a coarser memory counts as much as
TRUSTED = 0.05  # part of what a model expects that it is taken to be wrong by, at least


class Models:
    """Models of a part of the log, one for every memory, that are asked about candidates."""

    def __init__(self, bench: Bench, part: DealtPart) -> None:
        self.models = [_Model(*pair) for pair in bench.models(part)]
        self.steps = bench.limits.steps
        self.sizes = [bench.size(m.numbered) * m.numbered.behavior.shape[1] for m in self.models]
        memories = [m.numbered.memory for m in self.models]
        self.longer = [
            [j for j in range(i, len(memories)) if refines(memories[j], memories[i])]
            for i in range(len(memories))
        ]
        self.behavior_rows = bench.behavior_rows
        self.base = [self._worth(self.behavior_rows, i) for i in range(len(self.models))]
        self.alone: dict[int, float] = {}  # the same by that memory alone, where that is asked

    def gain(self, candidate: Fitted) -> float:
        """What a candidate is expected to gain."""
        i = self._number(candidate)
        return self._worth(candidate.rows, i) - self.base[i]

    def gain_alone(self, candidate: Fitted) -> float:
        """The same, by the model alone that remembers what the candidate does."""
        i = self._number(candidate)
        return self._worth_alone(candidate.rows, i) - self._base_alone(i)

    def _number(self, candidate: Fitted) -> int:
        memories = [model.numbered.memory for model in self.models]
        return memories.index(candidate.setting.memory)

    def _base_alone(self, i: int) -> float:
        if i not in self.alone:
            self.alone[i] = self._worth_alone(self.behavior_rows, i)
        return self.alone[i]

    def _worth_alone(self, table: Floats, i: int) -> float:
        """What the rows of a table over the i-th memory are worth to that memory."""
        model = self.models[i]
        if self._by_step(i):
            return model.worth_by_step(table, self.steps or 0)
        return model.worth(table, model.values(table))

    def _by_step(self, i: int) -> bool:
        return self.steps is not None and self.steps * self.sizes[i] <= MOST_VALUES

    def _worth(self, table: Floats, i: int) -> float:
        """What the rows of a table over the i-th memory are worth: to that memory, then, where
        episodes show it, to the ones that remember more."""
        first, last = self.models[i], self.models[-1]
        if self._by_step(i):
            return self._worth_alone(table, i)
        q = first.values(table)
        longer = [self.models[j] for j in self.longer[i]]
        for coarser, model in itertools.pairwise(longer):
            q = model.values_from(table, q[coarser.numbered.of])
        return last.worth(table, q)


class _Model:
    def __init__(self, mdp: HistoryMdp, numbered: Numbered) -> None:
        from jumar.solve.iteration import model_of

        self.mdp, self.numbered = mdp, numbered
        self.raw = model_of(mdp)
        shape = numbered.behavior.shape
        self.q, self.v = np.zeros(shape), np.zeros(shape[0])  # where the next valuation begins

    def values(self, table: Floats) -> Floats:
        """(K, A) what actions are worth, by this memory alone."""
        from jumar.solve.sweeps import value_by_sweeps

        rows = np.ascontiguousarray(table[self.numbered.first])
        value_by_sweeps(self.raw, rows, self.mdp.discount, self.q, self.v)
        return self.q

    def values_from(self, table: Floats, prior: Floats) -> Floats:
        """(K, A) the same, leaning on the (H, A) values that a coarser memory gives."""
        from jumar.solve.sweeps import values_leaning

        first = self.numbered.first
        rows, prior = np.ascontiguousarray(table[first]), np.ascontiguousarray(prior[first])
        values_leaning(self.raw, rows, self.mdp.discount, prior, LEANING, self.q, self.v)
        return self.q

    def worth(self, table: Floats, q: Floats) -> float:
        """What rows are worth from the start on, given what actions are."""
        return float(self.mdp.start @ (table[self.numbered.first] * q).sum(1))

    def worth_by_step(self, table: Floats, steps: int) -> float:
        """What rows are worth where recordings stop after so many steps."""
        from jumar.solve.sweeps import values_by_step

        rows = np.ascontiguousarray(table[self.numbered.first])
        q = values_by_step(self.raw, rows, self.mdp.discount, steps)[0]
        return float(self.mdp.start @ (rows * q).sum(1))


def blend(
    scores: Scores, expected: float, *, trusted: float = TRUSTED, surprise: float = SURPRISE
) -> Opinion:
    """What scores and a model's expectation say together.

    >>> from jumar.gate.scored import Scores
    >>> block = np.zeros(16, np.int64)
    >>> noisy = Scores(np.array([-30.0, 32.0] * 8), block)
    >>> close = Scores(np.array([0.9, 1.1] * 8), block)
    >>> round(blend(noisy, 2.0).gain, 2), round(blend(close, 2.0).gain, 2)
    (2.0, 1.0)
    """
    if scores.units < 2:
        return Opinion(-math.inf, 0.0)
    mean = scores.mean
    noise = scores.variance / scores.units
    doubt, apart = trusted * expected, expected - mean
    wrong = max(doubt * doubt, apart * apart - surprise**2 * noise)
    if not noise + wrong > 0:
        return Opinion(mean, 0.0)
    gain = (wrong * mean + noise * expected) / (wrong + noise)
    error = math.sqrt(wrong * noise / (wrong + noise))
    if math.isfinite(gain) and math.isfinite(error):
        return Opinion(gain, error)
    return Opinion(expected, abs(doubt))  # scores beyond all numbers tell nothing
