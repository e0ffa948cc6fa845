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

The sets are given as `Admitted`, which compiled code knows, or as any function
`project(q, behavior, visits) -> rows` that finds the best row of every set.

Why two loops. `iterate_policy` below is the general policy iteration; the optimum of a known
model (`truth.optimality`) runs it too. `solve.iteration` is the same in compiled code, for what is
`Admitted` on small models: the paper's grid solves some hundred thousand of them, and numpy calls
alone would take many times as long. The two share tolerances and rows; a test compares them. The
adversary of `evidence.robust` answers with whole laws rather than rows and stops by what it has
proved so far; it has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, sum_by
from jumar.core.errors import NotConverged, ParameterError
from jumar.policy.controller import Controller
from jumar.solve.linear import solve_discounted
from jumar.solve.nouns import (
    MAX_ITERATIONS,
    STRICTLY,
    TIE,
    TOLERANCE,
    Admitted,
    Improvement,
    Trace,
)
from jumar.tally.history import HistoryMdp

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


def solve(mdp: HistoryMdp, behavior: Floats, admitted: Admitted | Project) -> Solution:
    """The best admitted policy of the model, starting from the behavior's rows (H, A)."""
    start, unseen = np.array(behavior, np.float64), unseen_value(admitted, mdp)
    if not isinstance(admitted, Admitted):
        first, project = start, admitted
    elif len(mdp) <= COMPILED:
        return _solve_compiled(mdp, start, admitted, unseen)
    else:
        first, project = _in_numpy(admitted, start, np.array(mdp.visits))
    found = iterate_policy(
        first,
        lambda policy: policy_value(mdp, policy, unseen),
        lambda v: action_values(mdp, v, unseen),
        lambda q: project(q, start, mdp.visits),
        discount=mdp.discount,
    )
    _check(found.trace, float(np.abs(found.q).max()), mdp.discount)
    behavior_values = policy_value(mdp, start, unseen)
    return Solution(found.policy, found.values, found.q, found.trace, behavior_values)


def iterate_policy(
    policy: Floats,
    value_of: Callable[[Floats], Floats],
    look_ahead: Callable[[Floats], Floats],
    best_rows: Callable[[Floats], Floats],
    *,
    discount: float,
    strictly: float = STRICTLY,
) -> Iterated:
    """Evaluate a policy (N, A) and replace its rows by better ones, until none is.

    `value_of` gives the values (N,) of a policy, `look_ahead` those (N, A) of all actions when what
    follows has these values, and `best_rows` the admitted rows (N, A) that are best when actions
    have these values. A row is replaced by one that is worth `strictly` more, relative to the scale
    of the values.
    """
    policy = np.array(policy)
    v = value_of(policy)
    gap, iteration = np.inf, 0
    for iteration in range(1, MAX_ITERATIONS + 1):
        q = look_ahead(v)
        best = best_rows(q)
        scale = float(np.abs(q).max())
        now, then = (policy * q).sum(1), (best * q).sum(1)
        leftover = float(np.abs(now - v).max())
        gap = (max(0.0, float((then - v).max())) + TIE * scale + leftover) / (1 - discount)
        if (then < now - 1e-9 * scale).any():
            raise ParameterError(
                "project: returned a row that is worse than the one it replaces. The admitted set "
                "must contain the behavior's row, and the best row of the set must be returned."
            )
        better = then > now + strictly * scale  # a tie is no reason to leave the behavior
        if not better.any():
            return Iterated(policy, v, q, Trace(iteration, gap))
        policy[better] = best[better]
        v = value_of(policy)
    raise NotConverged(
        f"Policy iteration: gap {gap:.3g}, still improving after {iteration} rounds."
    )


def _solve_compiled(
    mdp: HistoryMdp, behavior: Floats, admitted: Admitted, unseen: float
) -> Solution:
    from jumar.solve import elimination, iteration

    H, A = mdp.shape
    γ = mdp.discount
    model = iteration.model_of(mdp)
    plan = elimination.analyse(H, mdp.pair // A, mdp.successor)
    slots, v, q = np.empty(plan.n_slots), np.empty(H), np.empty((H, A))
    iteration.evaluate_policy(model, behavior, γ, unseen, plan, slots, v)
    behavior_values, policy = v.copy(), np.empty((H, A))
    what = admitted.kind, admitted.n_wedge, unseen
    rounds, gap, scale = iteration.iterate(
        model, behavior, γ, *what, plan, slots, policy, v, q, MAX_ITERATIONS
    )
    if rounds < 0:
        raise NotConverged(f"Policy iteration: still improving after {MAX_ITERATIONS} rounds.")
    trace = Trace(rounds, gap)
    _check(trace, scale, γ)
    return Solution(policy, v, q, trace, behavior_values)


def _check(trace: Trace, scale: float, discount: float) -> None:
    asked = TOLERANCE * scale / (1 - discount)
    if not trace.gap <= asked:
        raise NotConverged(
            f"Policy iteration: gap {trace.gap:.3g} after {trace.iterations} rounds; "
            f"asked for {asked:.3g}."
        )


def unseen_value(admitted: Admitted | Project, mdp: HistoryMdp) -> float:
    """What is assumed that an untried pair is worth."""
    from jumar.solve import iteration

    if not isinstance(admitted, Admitted):
        return 0.0
    if not np.isnan(admitted.unseen_value):
        return admitted.unseen_value
    return iteration.worst_value(mdp.reward, mdp.discount)


def _in_numpy(admitted: Admitted, behavior: Floats, visits: Floats) -> tuple[Floats, Project]:
    """An admitted policy to start from, and the best admitted rows, for `iterate_policy`."""
    from jumar.solve import iteration

    kind, n_wedge = admitted.kind, admitted.n_wedge
    first = np.empty_like(behavior)
    iteration.write_start(kind, behavior, visits, n_wedge, first)
    return first, lambda q, *_: iteration.best_rows(kind, q, behavior, visits, n_wedge)


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


def tried_values(mdp: HistoryMdp, policy: Floats, discount: float) -> Floats:
    """(H, A) what an action brings, with a policy (H, A) from there on, by what was tried alone;
    of an action that was never tried, what the policy brings there.

    A pair that was never tried is left out of the policy, whose other actions share its chance. A
    history state in which none of its actions was tried is worth what the others are on average,
    over their visits. So a shift of all rewards moves no difference of values by more than what
    episodes that are longer or shorter make of it.
    """
    tried = mdp.visits > 0
    row = policy * tried
    in_all = row.sum(1, keepdims=True)
    known = in_all[:, 0] > 0
    row /= np.where(in_all > 0, in_all, 1.0)
    source = mdp.pair // len(mdp.actions)
    weight = discount * mdp.probability * row.ravel()[mdp.pair]
    paid = solve_discounted(source, mdp.successor, weight, (row * mdp.reward).sum(1))
    # how much of every value hangs on history states of which nothing is known
    unknown = solve_discounted(source, mdp.successor, weight, np.where(known, 0.0, 1.0))
    met = mdp.visits.sum(1) * known
    mean = met @ paid / (met @ (1 - unknown)) if met.any() else 0.0
    v = paid + mean * unknown
    after = sum_by(mdp.pair, mdp.probability * v[mdp.successor], mdp.visits.size)
    return np.where(tried, mdp.reward + discount * after.reshape(mdp.shape), v[:, None])


# ---- from rows to the `Improvement` that an algorithm hands back ---------------------------------


def improve_by(
    admitted: Admitted | Project,
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    algorithm: str,
    parameters: Mapping[str, object],
) -> Improvement:
    """Solve over the admitted policies and return the solution as an improved controller."""
    solution = solve(mdp, mdp.policy_of(behavior), admitted)
    unseen, rows = unseen_value(admitted, mdp), solution.policy
    return improvement(
        mdp, behavior, rows, algorithm=algorithm, parameters=parameters, unseen=unseen,
        solution=solution,
    )  # fmt: skip


def improvement(
    mdp: HistoryMdp,
    behavior: Controller,
    policy: Floats,
    *,
    algorithm: str,
    parameters: Mapping[str, object],
    unseen: float = 0.0,
    solution: Solution | None = None,
) -> Improvement:
    """A policy (H, A) of the model, as an improved controller; its `solution` if that is known."""
    old = mdp.policy_of(behavior)
    if solution is None:
        v = policy_value(mdp, policy, unseen)
        q = action_values(mdp, v, unseen)
        leftover = float(np.abs((policy * q).sum(1) - v).max())
        trace = Trace(1, leftover / (1 - mdp.discount))
        solution = Solution(policy, v, q, trace, policy_value(mdp, old, unseen))
    lifted = behavior.lift(mdp.memory)
    return Improvement(
        algorithm=algorithm,
        parameters=parameters,
        behavior=behavior,
        controller=lifted.except_at(mdp.states, policy, f"{behavior.name}, improved"),
        mdp=mdp,
        policy=policy,
        behavior_policy=old,
        values=solution.values,
        behavior_values=solution.behavior_values,
        unseen_value=unseen,
        performance=float(mdp.start @ solution.values),
        behavior_performance=float(mdp.start @ solution.behavior_values),
        trace=solution.trace,
    )
