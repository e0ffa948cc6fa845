"""Constrained policy iteration on a finite-history MDP.

Admitted are all policies whose row at every h lies in a fixed convex set C(h) that contains the
behavior's row. Starting from the behavior, each round evaluates the policy exactly (a linear
solve), takes for every h the row of C(h) with the largest π·q, and replaces the rows that get
strictly better; so values never fall and no policy comes twice.

What is guaranteed. With v the value of the returned policy and r = max_h (best admitted π·q(h) -
v(h)), the best admitted value is at most v + r/(1-γ) everywhere (r is the residual of a
γ-contraction whose fixed point is that best value). `gap` is r/(1-γ) plus what the linear solve
left over; it is at most `tolerance`/(1-γ) times the scale of the values, or `NotConverged` is
raised.

The sets are given as a `Rule`, which compiled code knows, or as any function
`project(q, behavior, visits) -> rows`. Small models with a rule are solved by one compiled call,
the same that studies use; all others by the loop below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import NotConverged, ParameterError
from jumar.core.history import HistoryMdp
from jumar.solve.linear import solve_discounted
from jumar.solve.rules import MAX_ITERATIONS, STRICTLY, TIE, TOLERANCE, Rule

Project = Callable[[Floats, Floats, Floats], Floats]

COMPILED = 128  # history states up to which planning the elimination pays


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
    admitted: Rule | Project,
    *,
    unseen: float | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Solution:
    """The best admitted policy of the model, starting from the behavior's rows (H, A).

    `unseen` is Q of a pair that was never tried, 0 unless given; a rule brings its own.
    """
    start = np.array(behavior, np.float64)
    first = start
    if isinstance(admitted, Rule):
        if unseen is not None:
            raise ParameterError("unseen: a rule has its own; give only one of them.")
        unseen = unseen_value(admitted, mdp)
        if len(mdp) <= COMPILED:
            return _solve_compiled(mdp, start, admitted, unseen, tolerance, max_iterations)
        first = _admitted_start(admitted, start, mdp.visits)
        admitted = _projection(admitted)
    unseen = unseen or 0.0
    γ, policy = mdp.discount, first.copy()
    behavior_values = policy_value(mdp, start, unseen)
    v = policy_value(mdp, policy, unseen)
    gap, iteration = np.inf, 0
    for iteration in range(1, max_iterations + 1):
        q = action_values(mdp, v, unseen)
        best = admitted(q, start, mdp.visits)
        scale = float(np.abs(q).max())
        now, then = (policy * q).sum(1), (best * q).sum(1)
        leftover = float(np.abs(now - v).max())
        gap = (max(0.0, float((then - v).max())) + TIE * scale + leftover) / (1 - γ)
        if (then < now - 1e-9 * scale).any():
            raise ParameterError(
                "project: returned a row that is worse than the one it replaces. The admitted set "
                "must contain the behavior's row, and the best row of the set must be returned."
            )
        better = then > now + STRICTLY * scale  # a tie is no reason to leave the behavior
        if not better.any():
            trace = Trace(iteration, _checked(gap, iteration, tolerance * scale / (1 - γ)))
            return Solution(policy, v, q, behavior_values, trace)
        policy[better] = best[better]
        v = policy_value(mdp, policy, unseen)
    raise NotConverged(
        f"Policy iteration: gap {gap:.3g}, still improving after {iteration} rounds."
    )


def _solve_compiled(
    mdp: HistoryMdp,
    behavior: Floats,
    rule: Rule,
    unseen: float,
    tolerance: float,
    max_iterations: int,
) -> Solution:
    from jumar.solve import elimination, iteration

    H, A = mdp.shape
    γ = mdp.discount
    model = iteration.Model(mdp.pointer, mdp.successor, mdp.probability, mdp.reward, mdp.visits)
    plan = elimination.analyse(H, mdp.pair // A, mdp.successor)
    slots, v, q = np.empty(plan.n_slots), np.empty(H), np.empty((H, A))
    iteration.evaluate_policy(model, behavior, γ, unseen, plan, slots, v)
    behavior_values, policy = v.copy(), np.empty((H, A))
    rounds, gap, scale = iteration.iterate(
        model,
        behavior,
        γ,
        rule.kind,
        rule.n_wedge,
        unseen,
        plan,
        slots,
        policy,
        v,
        q,
        max_iterations,
    )
    if rounds < 0:
        raise NotConverged(f"Policy iteration: still improving after {max_iterations} rounds.")
    trace = Trace(rounds, _checked(gap, rounds, tolerance * scale / (1 - γ)))
    return Solution(policy, v, q, behavior_values, trace)


def _checked(gap: float, rounds: int, asked: float) -> float:
    if not gap <= asked:
        raise NotConverged(
            f"Policy iteration: gap {gap:.3g} after {rounds} rounds; asked for {asked:.3g}."
        )
    return gap


def unseen_value(rule: Rule, mdp: HistoryMdp) -> float:
    """What a rule takes a pair to be worth that was never tried."""
    from jumar.solve import iteration

    if not np.isnan(rule.unseen_value):
        return rule.unseen_value
    return iteration.worst_value(mdp.reward, mdp.discount)


def _admitted_start(rule: Rule, behavior: Floats, visits: Floats) -> Floats:
    from jumar.solve import iteration

    start = np.empty_like(behavior)
    iteration.write_start(rule.kind, behavior, np.array(visits), rule.n_wedge, start)
    return start


def _projection(rule: Rule) -> Project:
    def project(q: Floats, behavior: Floats, visits: Floats) -> Floats:
        from jumar.solve import iteration

        return iteration.best_rows(rule.kind, q, np.array(behavior), np.array(visits), rule.n_wedge)

    return project


def policy_value(mdp: HistoryMdp, policy: Floats, unseen: float = 0.0) -> Floats:
    """(H,) the exact value of a policy in the model."""
    A = len(mdp.actions)
    r = np.where(mdp.visits > 0, mdp.reward, unseen)
    weight = mdp.discount * mdp.probability * policy.ravel()[mdp.pair]
    return solve_discounted(mdp.pair // A, mdp.successor, weight, (policy * r).sum(1))


def action_values(mdp: HistoryMdp, values: Floats, unseen: float = 0.0) -> Floats:
    """(H, A) reward now and the discounted value of what follows."""
    follows = np.zeros(mdp.visits.size)
    np.add.at(follows, mdp.pair, mdp.probability * values[mdp.successor])
    q = mdp.reward + mdp.discount * follows.reshape(mdp.shape)
    return np.where(mdp.visits > 0, q, unseen)
