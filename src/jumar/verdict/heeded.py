"""What kept signals counted where a change was made: for whose sake is it there?

Where signals are to be kept, candidates are also made for a *mixed reward*: the objective, and
every kept signal with a weight (`gate.objectives`). Such a candidate may do what brings
nothing on the objective. Action values are linear in the reward, so those of the mixed reward
split exactly,

    Q(h, a) = Q_objective(h, a) + Σ_s w_s Q_s(h, a),

and tell for each change whether the objective alone would have asked for it, and if not, which
signal counted most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Floats, Frozen
from jumar.gate.objectives import spread_of
from jumar.solve.solver import tried_values
from jumar.verdict.result import Result


@dataclass(frozen=True, eq=False)
class Heeded(Frozen):
    """S kept signals that counted when a controller was made. Of each, more is better."""

    objective: str
    signals: tuple[str, ...]
    weight: Floats  # (S,) of a unit of the signal, beside one of the objective
    q: Floats  # (S, H, A) the behavior's action values in the model of the log

    def sake(self, h: int, moved: Floats, alone: float) -> str | None:
        """The signal for whose sake mass moves at h, where that brings `alone` on the objective;
        None where the signals do not outweigh what is lost there. (A,) `moved` sums to 0."""
        counted = self.weight * (self.q[:, h] @ moved)
        if alone > 0 or alone + counted.sum() <= 0:
            return None
        return self.signals[int(np.argmax(counted))]


def heeded(result: Result) -> Heeded | None:
    """The signals that counted, with the weights they had; None where the controller was made for
    the objective alone."""
    test, improvement = result.selection, result.improvement
    if test is None or test.chosen is None or not test.chosen.setting.heeds:
        return None
    mdp, old = improvement.mdp, improvement.behavior_policy
    replay, γ = result.replays.over(mdp.memory), mdp.discount
    unit = spread_of(result.log, γ)
    weights, values = [], []
    for kept in test.kept:
        seen = result.log.with_reward(kept.signal)
        apart = spread_of(seen, γ)
        weights.append(test.chosen.setting.heeds * unit / apart if apart > 0 else 0.0)
        paid = replace(replay, log=seen).counts.mle(γ)
        values.append(tried_values(paid, old, γ * (1 - result.stopping)))
    return Heeded(
        test.objective,
        tuple(kept.signal for kept in test.kept),
        np.array(weights),
        np.array(values),
    )
