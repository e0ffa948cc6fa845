"""Strict improvement: one step, and only where the data prove that it is one.

With lower <= Q_b <= upper for all pairs (`jumar.evidence.first_visits`), in each history state let

    a* = the action with the largest lower(h, a),

and move to a* the behavior's mass of every action with upper(h, a) < lower(h, a*). All others keep
theirs. When the bounds hold, no term of the performance difference

    ρ(new) - ρ(behavior) = Σ_h d(h) Σ_a (new - behavior)(a|h) Q_b(h, a)

is negative: each is Σ moved·(Q_b(h, a*) - Q_b(h, a)). So the new controller is not worse than the
behavior (ζ = 0), with the probability of the bounds, if ⟨n, z⟩ is sufficient.

It is one step of policy iteration and no more: the values are the behavior's. Data make it bolder;
without any it returns the behavior.
"""

from __future__ import annotations

import numpy as np

from jumar.algorithms.entry import Algorithm, Look, Looks, Words
from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError
from jumar.evidence.first_visits import ReturnBounds
from jumar.policy.controller import Controller
from jumar.solve.nouns import Improvement
from jumar.solve.solver import improvement
from jumar.tally.history import HistoryMdp


def improve(
    mdp: HistoryMdp, behavior: Controller, *, returns: ReturnBounds | None = None
) -> Improvement:
    """Move mass only from actions that are proved worse to the one that is proved better. `returns`
    are bounds on the behavior's action values, at the level one wants to be sure at.

    Examples
    --------
    >>> import jumar as jm
    >>> tiger = jm.models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = jm.simulate(tiger, behavior, episodes=2000, seed=1)
    >>> rewards = jm.RewardRange(continuing=(-1, -1), ending=(-100, 10))
    >>> visits = jm.evidence.first_returns(log, jm.window(1), discount=0.95, rewards=rewards)
    >>> mdp = jm.count(log, jm.window(1)).mle(0.95)
    >>> improve(mdp, behavior, returns=visits.bounds(delta=0.05)).policy.round(3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    if returns is None:
        raise ParameterError(
            "strict: needs to know what followed in the log. Pass returns=first_returns(log, "
            "mdp.memory, discount=..., rewards=...).bounds(delta)."
        )
    returns.check(mdp)
    new = strict_rows(mdp.policy_of(behavior), returns)
    return improvement(mdp, behavior, new, algorithm="strict", parameters={})


def strict_rows(behavior: Floats, returns: ReturnBounds) -> Floats:
    """(H, A) the behavior's rows with the mass of what is proved worse moved to the best.

    >>> bounds = ReturnBounds([[0]], [[3.0, 0.0, 1.0]], [[5.0, 2.0, 4.0]], 0.9, 0.05)
    >>> strict_rows(np.array([[0.25, 0.5, 0.25]]), bounds).tolist()
    [[0.75, 0.0, 0.25]]
    """
    at = np.arange(len(behavior))
    best = returns.lower.argmax(1)
    worse = returns.upper < returns.lower[at, best][:, None]
    rows = np.where(worse, 0.0, behavior)
    moved = np.where(worse, behavior, 0.0).sum(1)
    rows[at, best] += moved
    return rows


ENTRY = Algorithm(
    name="strict",
    summary="move only from what is proved worse to what is proved better",
    improve=improve,
    needs={"returns": lambda material: material.returns},
    loses_nowhere=True,
    words=Words(kept=lambda _: "no action is proved better here than what the old controller does"),
    looks=Looks(safety=lambda *_: Look("strict, k′ = k", "#2f9e73", "^", order=3)),
)
