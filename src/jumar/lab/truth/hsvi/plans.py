"""The bound from below: V(b) ≥ Σ b(s) α(s) for the value α of any plan.

A plan does an action and goes on, after each observation, with an earlier plan. The first plans
do one thing for ever. So every α is the value of a finite-state controller, less what rounding
could have added.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints
from jumar.lab.truth.hsvi.tables import WORTH, Dynamics, Plans, Points, Room, Roots


@compiled
def below(plans: Plans, score: Floats, state: Ints, dense: Floats, n: int) -> tuple[float, int]:
    """The bound for the belief with n states, `dense` by state; and the column of the best plan."""
    N = plans.size[0]
    for j in range(N):
        score[j] = 0.0
    for i in range(n):
        p, row = dense[state[i]], plans.value[state[i]]
        for j in range(N):
            score[j] += p * row[j]
    best = 0
    for j in range(1, N):
        if score[j] > score[best]:
            best = j
    return score[best], best


@compiled
def add_plan(model: Dynamics, plans: Plans, a: int, then: Ints) -> None:
    """Do a, then go on with the plans in these columns."""
    S = model.reward.shape[1]
    j, m = plans.size[0], plans.size[1]
    for s in range(S):
        v = 0.0
        for i in range(model.first[a * S + s], model.first[a * S + s + 1]):
            column = then[model.seen[i]]
            for k in range(model.pointer[i], model.pointer[i + 1]):
                v += model.probability[k] * plans.value[model.next_state[k], column]
        plans.value[s, j] = model.reward[a, s] + model.discount * v - model.slack
    plans.action[m] = a
    for z in range(model.observations):
        plans.then[m, z] = plans.number[then[z]]
    plans.number[j] = m
    plans.size[0] += 1
    plans.size[1] += 1
    consider(plans, j)


@compiled
def consider(plans: Plans, j: int) -> None:
    """Is this plan one to go on with after an observation that the belief rules out? Any is
    right; this is the one that is best where nothing is known but a and z."""
    A, O, S = plans.weight.shape
    for a in range(A):
        for z in range(O):
            worth = 0.0
            for s in range(S):
                worth += plans.weight[a, z, s] * plans.value[s, j]
            if worth > plans.usual_worth[a, z]:
                plans.usual_worth[a, z] = worth
                plans.usual[a, z] = j


@compiled
def matters(plans: Plans, points: Points, roots: Roots, room: Room) -> Bools:
    """(N,) is the plan best at a root, or better at a point or a corner than those kept so far?"""
    R, P, S = len(roots.seen), points.size[0], len(room.dense)
    keep = np.zeros(plans.size[0], np.bool_)
    state, mass = np.zeros(S, np.int64), np.zeros(S)
    for which in range(R + P + S):
        if which < R:
            first, n = roots.begin[which], roots.begin[which + 1] - roots.begin[which]
            for i in range(n):
                state[i], mass[i] = roots.state[first + i], roots.mass[first + i]
            worth = 0.0  # so that the bracket never gets wider
        elif which < R + P:
            first = points.begin[which - R]
            n = points.begin[which - R + 1] - first
            for i in range(n):
                state[i], mass[i] = points.state[first + i], points.mass[first + i]
            worth = 0.5 * room.aims[WORTH]
        else:
            n, state[0], mass[0] = 1, which - R - P, 1.0
        for i in range(n):
            room.dense[state[i]] = mass[i]
        most, best = below(plans, room.score, state, room.dense, n)
        for i in range(n):
            room.dense[state[i]] = 0.0
        for j in range(plans.size[0]):
            if keep[j] and room.score[j] >= most - worth:
                best = j
                break
        keep[best] = True
    return keep


def prune_plans(plans: Plans, points: Points, roots: Roots, room: Room) -> None:
    """Compare only plans that matter somewhere; remember those they go on with."""
    columns = np.flatnonzero(matters(plans, points, roots, room))
    N = len(columns)
    plans.value[:, :N] = plans.value[:, columns]
    plans.number[:N] = plans.number[columns]
    plans.size[0] = N
    plans.usual_worth[:] = -np.inf
    for j in range(N):
        consider(plans, j)
    needed = reachable(plans, plans.number[:N])
    kept = np.flatnonzero(needed)
    new_number = np.cumsum(needed) - 1
    plans.action[: len(kept)] = plans.action[kept]
    plans.then[: len(kept)] = new_number[plans.then[kept]]
    plans.number[:N] = new_number[plans.number[:N]]
    plans.size[1] = len(kept)


def reachable(plans: Plans, first: Ints) -> Bools:
    """(M,) may the plan be gone on with, starting from these?"""
    found = np.zeros(plans.size[1], np.bool_)
    fresh = np.unique(first)
    while len(fresh):
        found[fresh] = True
        after = np.unique(plans.then[fresh])
        fresh = after[~found[after]]
    return found
