"""Constrained policy iteration on a finite-history MDP.

Admitted are all policies whose row at every h lies in a fixed convex set C(h) that contains the
behavior's row. `project(q, behavior, visits)` returns for every h the row of C(h) with the largest
π·q. Starting from the behavior, each round evaluates the policy exactly (a linear solve) and
replaces the rows that get strictly better, so values never fall and no policy comes twice.

What is guaranteed. With v the value of the returned policy and r = max_h (best admitted π·q(h) -
v(h)), the best admitted value is at most v + r/(1-γ) everywhere (r is the residual of a
γ-contraction whose fixed point is that best value). `gap` is r/(1-γ) plus what the linear solve
left over; it is at most `tolerance`/(1-γ) times the scale of the values, or `NotConverged` is
raised.

A pair that was never tried has Q = `unseen_value` (0 unless an algorithm says otherwise).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumar.arrays import Floats
from jumar.errors import NotConverged
from jumar.history import HistoryMdp
from jumar.linear import solve_discounted

Project = Callable[[Floats, Floats, Floats], Floats]

TOLERANCE = 1e-11
MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class Trace:
    """How the solver went: `gap` bounds how far the value is from the best one admitted."""

    iterations: int
    gap: float


@dataclass(frozen=True)
class Solution:
    """The policy found, its exact value in the model, and the behavior's."""

    policy: Floats  # (H, A)
    values: Floats  # (H,)
    q: Floats  # (H, A)
    behavior_values: Floats  # (H,)
    trace: Trace


def solve(
    mdp: HistoryMdp,
    behavior: Floats,
    project: Project,
    *,
    unseen_value: float = 0.0,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Solution:
    """The best admitted policy of the model, starting from the behavior's rows (H, A)."""
    γ = mdp.discount
    policy = np.array(behavior)
    v = policy_value(mdp, policy, unseen_value)
    behavior_values = v
    gap = np.inf
    for iteration in range(1, max_iterations + 1):
        q = action_values(mdp, v, unseen_value)
        best = project(q, behavior, mdp.visits)
        scale = max(1.0, float(np.abs(q).max()))
        now, then = (policy * q).sum(1), (best * q).sum(1)
        leftover = float(np.abs(now - v).max())
        gap = (max(0.0, float((then - v).max())) + leftover) / (1 - γ)
        better = then > now + 1e-13 * scale  # a tie is no reason to leave the behavior
        if not better.any():
            if gap > tolerance * scale / (1 - γ):
                break
            return Solution(policy, v, q, behavior_values, Trace(iteration, gap))
        policy[better] = best[better]
        v = policy_value(mdp, policy, unseen_value)
    raise NotConverged(
        f"Policy iteration: gap {gap:.3g} after {iteration} rounds; "
        f"asked for {tolerance * scale / (1 - γ):.3g}."
    )


def policy_value(mdp: HistoryMdp, policy: Floats, unseen_value: float = 0.0) -> Floats:
    """(H,) the exact value of a policy in the model."""
    A = len(mdp.actions)
    r = np.where(mdp.visits > 0, mdp.reward, unseen_value)
    weight = mdp.discount * mdp.probability * policy.ravel()[mdp.pair]
    return solve_discounted(mdp.pair // A, mdp.successor, weight, (policy * r).sum(1))


def action_values(mdp: HistoryMdp, values: Floats, unseen_value: float = 0.0) -> Floats:
    """(H, A) reward now and the discounted value of what follows."""
    follows = np.zeros(mdp.visits.size)
    np.add.at(follows, mdp.pair, mdp.probability * values[mdp.successor])
    q = mdp.reward + mdp.discount * follows.reshape(mdp.shape)
    return np.where(mdp.visits > 0, q, unseen_value)
