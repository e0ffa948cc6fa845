"""Constrained policy iteration on a finite-history MDP.

Admitted are all policies whose row at every h lies in a fixed convex set C(h) that contains the
behavior's row. Starting from the behavior, each round evaluates the policy exactly (a linear
solve), takes for every h the row of C(h) with the largest π·q, and replaces the rows that get
strictly better; so values never fall and no policy is met twice.

What is guaranteed. With v the value of the returned policy and r = max_h (best admitted π·q(h) -
v(h)), the best admitted value is at most v + r/(1-γ) everywhere (r is the residual of a
γ-contraction whose fixed point is that best value). `gap` is r/(1-γ) plus what the linear solve
left over; it is at most `tolerance`/(1-γ) times the scale of the values, or `NotConverged` is
raised.

The sets are given as a `Rule`, which compiled code knows, or as any function
`project(q, behavior, visits) -> rows`. An *approximate* projection need not find the best row. Then
r is measured to the best row of all, admitted or not, so that `gap` is still a true bound; however
large it is, the solution is returned.

Why two loops. `iterate_policy` below is the general policy iteration; the optimum of a known
model (`truth.optimality`) runs it too. `solve.iteration` is the same in compiled code, for rules on
small models: the paper's grid solves some hundred thousand of them, and numpy calls alone would
take many times as long. The two share the rules, tolerances, and rows; a test compares them. The
adversary of `evidence.robust` answers with whole laws rather than rows and stops by what it has
proved so far; it has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import NotConverged, ParameterError
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Trace
from jumar.solve.linear import solve_discounted
from jumar.solve.rules import MAX_ITERATIONS, STRICTLY, TIE, TOLERANCE, Rule

Project = Callable[[Floats, Floats, Floats], Floats]

COMPILED = 128  # history states up to which planning the elimination pays


@dataclass(frozen=True)
class Iterated:
    """Where policy iteration ended."""

    policy: Floats  # (N, A)
    values: Floats  # (N,)
    q: Floats  # (N, A)
    trace: Trace


@dataclass(frozen=True)
class Solution(Iterated):
    """The policy found, its exact value in the model, and the behavior's."""

    behavior_values: Floats  # (H,)


def solve(
    mdp: HistoryMdp,
    behavior: Floats,
    admitted: Rule | Project,
    *,
    unseen: float | None = None,
    approximate: bool = False,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> Solution:
    """The best admitted policy of the model, starting from the behavior's rows (H, A).

    Parameters
    ----------
    admitted
        A rule, or a function that finds the best admitted rows.
    unseen
        Q of a pair that was never tried, 0 unless given; a rule brings its own.
    approximate
        The function need not find the best rows; the gap says what that may have cost.
    tolerance
        What a residual may be in the end, relative to the scale of the values.
    max_iterations
        Rounds at the most.
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
    worth = unseen or 0.0
    project = _projection(admitted) if isinstance(admitted, Rule) else admitted
    found = iterate_policy(
        first,
        lambda policy: policy_value(mdp, policy, worth),
        lambda v: action_values(mdp, v, worth),
        lambda q: project(q, start, mdp.visits),
        discount=mdp.discount,
        approximate=approximate,
        max_iterations=max_iterations,
    )
    if not approximate:
        _check(found.trace, tolerance * float(np.abs(found.q).max()) / (1 - mdp.discount))
    behavior_values = policy_value(mdp, start, worth)
    return Solution(found.policy, found.values, found.q, found.trace, behavior_values)


def iterate_policy(
    policy: Floats,
    value_of: Callable[[Floats], Floats],
    look_ahead: Callable[[Floats], Floats],
    best_rows: Callable[[Floats], Floats],
    *,
    discount: float,
    approximate: bool = False,
    strictly: float = STRICTLY,
    max_iterations: int = MAX_ITERATIONS,
) -> Iterated:
    """Evaluate a policy (N, A) and replace its rows by better ones, until none is.

    Parameters
    ----------
    value_of
        The values (N,) of a policy.
    look_ahead
        The values (N, A) of all actions, when what follows has these values.
    best_rows
        The admitted rows (N, A) that are best when actions have these values.
    approximate
        `best_rows` may return rows that are not the best; worse ones are not taken.
    strictly
        How much more a row must be worth to replace another, relative to the scale of the values.
    """
    policy = np.array(policy)
    v = value_of(policy)
    gap, iteration = np.inf, 0
    for iteration in range(1, max_iterations + 1):
        q = look_ahead(v)
        best = best_rows(q)
        scale = float(np.abs(q).max())
        now, then = (policy * q).sum(1), (best * q).sum(1)
        leftover = float(np.abs(now - v).max())
        above = float(((q.max(1) if approximate else then) - v).max())
        gap = (max(0.0, above) + TIE * scale + leftover) / (1 - discount)
        if not approximate and (then < now - 1e-9 * scale).any():
            raise ParameterError(
                "project: returned a row that is worse than the one it replaces. The admitted set "
                "must contain the behavior's row, and the best row of the set must be returned. "
                "Declare the algorithm approximate if it cannot be."
            )
        better = then > now + strictly * scale  # a tie is no reason to leave the behavior
        if not better.any() or (approximate and iteration == max_iterations):
            return Iterated(policy, v, q, Trace(iteration, gap))
        policy[better] = best[better]
        v = value_of(policy)
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
    model = iteration.model_of(mdp)
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
    trace = Trace(rounds, gap)
    _check(trace, tolerance * scale / (1 - γ))
    return Solution(policy, v, q, trace, behavior_values)


def _check(trace: Trace, asked: float) -> None:
    if not trace.gap <= asked:
        raise NotConverged(
            f"Policy iteration: gap {trace.gap:.3g} after {trace.iterations} rounds; "
            f"asked for {asked:.3g}."
        )


def unseen_value(rule: Rule, mdp: HistoryMdp) -> float:
    """What a rule assumes that an untried pair is worth."""
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
