"""Bounds that need no search, and the bound from below.

**Simple**: doing one thing for ever, and always seeing the state. A function v with v ≤ T v for the
Bellman operator T of a policy is below its value, one with v ≥ T v for all actions is above the
best value. What a linear solve returns misses that by a residual δ; v ∓ δ / (1 - γ) does not. Row
sums ρ of the model may be off by rounding: then it is 1 - γρ.

**Late**, from above: for one who is told the state after one action (the fast informed bound of
Hauskrecht 2000),

    Q(s, a) = r(s, a) + γ Σ_z max_a' Σ_s' M_az(s, s') Q(s', a'),

and told after two, where j = (a, s, z) stands for "was in s, did a, saw z", weighted with P(z):

    Q(j, a') = Σ_s' M_az(s, s') r(s', a') + γ Σ_z' max_a'' Σ_s' M_az(s, s') Q((a', s', z'), a'').

Both operators are monotone. So every sweep that starts from a bound leaves a bound, also half a
sweep, and values only fall.

**Plans**, from below: V(b) ≥ Σ b(s) α(s) for the value α of any plan. A plan does an action and
goes on, after each observation, with an earlier plan. The first plans do one thing for ever. So
every α is the value of a finite-state controller, less what rounding could have added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.errors import ModelError, NotConverged
from jumar.core.jit import compiled
from jumar.lab.truth.hsvi.points import highest_of
from jumar.lab.truth.hsvi.tables import UNIT, Dynamics, Late, Plans, Points, Room, Roots
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.solve.linear import solve_discounted
from jumar.solve.solver import iterate_policy

STRICTLY = 1e-14  # of the scale of the values: what is left over is added to the bounds


@dataclass(frozen=True)
class SimpleBounds:
    below: Floats  # (A, S) at most the value of doing a for ever
    above: Floats  # (A, S) at least the value of a where the state is seen from then on
    scale: float  # no policy has a larger value in any state, with either sign


def simple_bounds(pomdp: Pomdp) -> SimpleBounds:
    """All of them, for a model with a discount below 1."""
    S, A = len(pomdp.states), len(pomdp.actions)
    steps, reward = going_on(pomdp), pomdp.expected_reward
    pair, target, weight = steps
    sums = np.bincount(pair, weight, S * A)
    most = int(np.diff(pomdp.pointer).max()) + 8  # operations in a sum, and some more
    rest = 1 - float(sums.max(initial=0.0)) * (1 + most * UNIT)
    if rest < 1e-12:
        raise ModelError(
            f"Model {pomdp.name!r}: discount {pomdp.discount!r} is so close to 1 that nothing can "
            "be proved with numbers of 16 digits. Use 0.999999 or less."
        )
    largest = float(np.abs(pomdp.reward[pomdp.probability > 0]).max(initial=0.0))
    crude = largest / rest  # no value is larger

    def rounding(v: Floats) -> float:
        return 2 * most * UNIT * (float(np.abs(v).max()) + largest)

    def at_least_the_best(reward: Floats) -> Floats:
        """(S,) at least the most that can be earned where the state is seen."""
        v = np.full(S, crude)
        try:
            found = _best(steps, reward, pomdp.discount)
        except (NotConverged, ZeroDivisionError):
            return v
        short = float((backup(steps, reward, found).max(1) - found).max()) + rounding(found)
        least: Floats = np.minimum(v, found + max(0.0, short) / rest)
        return least

    best, worst = at_least_the_best(reward), at_least_the_best(-reward)
    below = np.empty((A, S))
    for a in range(A):
        chosen = pair % A == a
        v = solve_discounted(pair[chosen] // A, target[chosen], weight[chosen], reward[:, a])
        over = float((v - backup(steps, reward, v)[:, a]).max()) + rounding(v)
        below[a] = np.maximum(v - max(0.0, over) / rest, -crude)
    above = backup(steps, reward, best).T + rounding(best)
    scale = max(float(best.max()), float(worst.max()), largest)
    return SimpleBounds(below, np.ascontiguousarray(above), scale)


Steps = tuple[Ints, Ints, Floats]  # s*A + a, next state, γ·p


def going_on(pomdp: Pomdp) -> Steps:
    """Every outcome that can happen and does not end the episode."""
    go = (pomdp.next_state != END) & (pomdp.probability > 0)
    weight = pomdp.discount * pomdp.probability[go]
    return pomdp.pair_of_outcome[go], pomdp.next_state[go], weight


def _best(steps: Steps, reward: Floats, γ: float) -> Floats:
    """(S,) the value of the best policy that sees the state, up to rounding."""
    pair, target, weight = steps
    S, A = reward.shape
    one_hot = np.eye(A)

    def value_of(policy: Floats) -> Floats:
        taken = policy.ravel()[pair] > 0
        right = (policy * reward).sum(1)
        return solve_discounted(pair[taken] // A, target[taken], weight[taken], right)

    return iterate_policy(
        one_hot[np.zeros(S, np.int64)],
        value_of,
        lambda v: backup(steps, reward, v),
        lambda q: one_hot[q.argmax(1)],
        discount=γ,
        strictly=STRICTLY,
    ).values


def backup(steps: Steps, reward: Floats, v: Floats) -> Floats:
    """(S, A) reward now and the discounted value of what follows."""
    pair, target, weight = steps
    follows = np.bincount(pair, weight * v[target], reward.size)
    q: Floats = reward + follows.reshape(reward.shape)
    return q


@compiled
def sweep_once(model: Dynamics, late: Late) -> float:
    """One sweep over Q(s, a), in place; returns the largest fall."""
    A, S = model.reward.shape
    follows, fall = np.zeros(A), 0.0
    for a in range(A):
        for s in range(S):
            q = 0.0
            for j in range(model.first[a * S + s], model.first[a * S + s + 1]):
                for b in range(A):
                    follows[b] = 0.0
                for k in range(model.pointer[j], model.pointer[j + 1]):
                    p, t = model.probability[k], model.next_state[k]
                    for b in range(A):
                        follows[b] += p * late.once[b, t]
                q += follows[highest_of(follows)]
            q = model.reward[a, s] + model.discount * q + model.slack
            fall = max(fall, late.once[a, s] - q)
            late.once[a, s] = min(late.once[a, s], q)
    return fall


@compiled
def begin_twice(model: Dynamics, late: Late) -> None:
    """Q(j, a') from Q(s, a): one told earlier knows more."""
    for j in range(len(model.seen)):
        for b in range(model.reward.shape[0]):
            q = 0.0
            for k in range(model.pointer[j], model.pointer[j + 1]):
                q += model.probability[k] * late.once[b, model.next_state[k]]
            late.twice[j, b] = min(late.twice[j, b], q + model.slack)


@compiled
def sweep_twice(model: Dynamics, late: Late) -> float:
    """One sweep over Q(j, a'), and over Q(s, a) with it; returns the largest fall."""
    A, S = model.reward.shape
    γ, fall = model.discount, 0.0
    follows = np.zeros((model.observations, A))
    for pair in range(A * S):
        after = 0.0
        for j in range(model.first[pair], model.first[pair + 1]):
            highest = -np.inf
            for b in range(A):
                paid = 0.0
                for k in range(model.pointer[j], model.pointer[j + 1]):
                    p, t = model.probability[k], model.next_state[k]
                    paid += p * model.reward[b, t]
                    for i in range(model.first[b * S + t], model.first[b * S + t + 1]):
                        z = model.seen[i]
                        for c in range(A):
                            follows[z, c] += p * late.twice[i, c]
                q = 0.0
                for z in range(model.observations):
                    q += follows[z, highest_of(follows[z])]
                    for c in range(A):
                        follows[z, c] = 0.0
                q = paid + γ * q + model.slack
                fall = max(fall, late.twice[j, b] - q)
                late.twice[j, b] = min(late.twice[j, b], q)
                highest = max(highest, late.twice[j, b])
            after += highest
        a, s = pair // S, pair % S
        q = model.reward[a, s] + γ * after + model.slack
        late.once[a, s] = min(late.once[a, s], q)
    return fall


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
        plans.then[z, m] = plans.number[then[z]]
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
            worth = 0.5 * room.worth[0]
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
    plans.then[:, : len(kept)] = new_number[plans.then[:, kept]]
    plans.number[:N] = new_number[plans.number[:N]]
    plans.size[1] = len(kept)


def reachable(plans: Plans, first: Ints) -> Bools:
    """(M,) may the plan be gone on with, starting from these?"""
    found = np.zeros(plans.size[1], np.bool_)
    fresh = np.unique(first)
    while len(fresh):
        found[fresh] = True
        after = np.unique(plans.then[:, fresh])
        fresh = after[~found[after]]
    return found
