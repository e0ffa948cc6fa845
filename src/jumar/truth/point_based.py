"""Bounds on the value of the best policy, compiled: what `optimality` searches with.

Beliefs are sparse and need not sum to one: the best value is V(b) = max over policies of Σ b(s) v(s),
so V(c b) = c V(b), and what follows action a and observation z is b M_az, with the probability of
z as its mass. No division is needed.

From below: V(b) ≥ max_j Σ b(s) α_j(s), where α_j is the value of a plan: an action, and the plan to
go on with after each observation. The first plans do one thing for ever. A *backup* at b makes
a plan that is best there, given what is known of the plans so far.

From above: V is convex. With U(s) the value known for a state that is seen, v₀(b) = Σ b(s) U(s), and
points (b_i, v_i) known to satisfy V(b_i) ≤ v_i,

    V(b) ≤ v₀(b) - max_i c_i (v₀(b_i) - v_i),    c_i = min over s with b_i(s) > 0 of b(s) / b_i(s)

(the sawtooth of Hauskrecht 2000), and V(b) ≤ max_a Σ b(s) Q_a(s) with the Q of `optimality`. A backup
at b, max_a r(b, a) + γ Σ_z of the bound at b M_az, gives a new point.

A *trial* (HSVI: Smith and Simmons 2004, 2005) starts from what is believed at first, does what looks best
from above and follows the observation that leaves most in doubt, until what is left matters less than
what the trial is after. On the way back it backs up both bounds.

Rounding. Each backup moves its bound outwards by `slack`, which is more than all its sums can be
wrong. So what is stored is a bound by induction, not up to something.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints

DEEPEST = 0
FULL, SPENT, FINISHED = 1, 2, 3  # why `search` came back
SAME = 1.0 - 1e-9  # a belief that is so much of another one is the other one


class Model(NamedTuple):
    """S states, A actions, O observations, K outcomes that go on."""

    pointer: Ints  # (A*S + 1,) where the outcomes of a and s begin
    probability: Floats  # (K,)
    next_state: Ints  # (K,)
    next_observation: Ints  # (K,)
    reward: Floats  # (A, S)
    informed: Floats  # (A, S) Q: the best value if states are seen one step late
    observations: int
    discount: float
    slack: float  # what rounding can do to one backup


class Plans(NamedTuple):
    """Room for N plans that are compared, and for M that are remembered."""

    size: Ints  # (2,) how many are compared, remembered
    value: Floats  # (S, N) α, one column each
    plan: Ints  # (N,) which plan it is
    action: Ints  # (M,)
    then: Ints  # (M, O) the plan to go on with
    usual: Ints  # (A, O) column to go on with after observations that b rules out
    usual_worth: Floats  # (A, O)
    weight: Floats  # (A, O, S) total probability to see z in s' after a, to judge that


class Points(NamedTuple):
    """Room for N points with P entries in all."""

    size: Ints  # (2,) points, entries
    corner: Floats  # (S,) U
    begin: Ints  # (N + 1,) where the entries of a point begin
    state: Ints  # (P,)
    mass: Floats  # (P,)
    value: Floats  # (N,) v_i
    drop: Floats  # (N,) v₀(b_i) - v_i
    mask: Ints  # (N,) bit s mod 64 for every s with b_i(s) > 0


class Room(NamedTuple):
    """Where a trial stands, and scratch space. D levels."""

    at: Ints  # (3,) level, 1 on the way back, trials begun
    stack_state: Ints  # (D, S)
    stack_mass: Floats  # (D, S)
    stack_size: Ints  # (D,)
    mass: Floats  # (O, S) what follows an action
    state: Ints  # (O, S)
    size: Ints  # (O,)
    score: Floats  # (N,) of every plan
    chosen: Ints  # (O,)
    best: Ints  # (O,)
    counts: Ints  # (3,) backups, work, largest depth


@compiled
def bits(state: Ints, n: int) -> int:
    found = 0
    for i in range(n):
        found |= 1 << (state[i] & 63)
    return found


@compiled
def follow(model: Model, room: Room, state: Ints, mass: Floats, n: int, a: int) -> int:
    """What follows action a in a belief: `room.mass` by observation. Returns what it took."""
    S = model.reward.shape[1]
    work = 0
    room.size[:] = 0
    for i in range(n):
        s = state[i]
        for k in range(model.pointer[a * S + s], model.pointer[a * S + s + 1]):
            z, t = model.next_observation[k], model.next_state[k]
            p = mass[i] * model.probability[k]
            if p > 0.0:
                if room.mass[z, t] == 0.0:
                    room.state[z, room.size[z]] = t
                    room.size[z] += 1
                room.mass[z, t] += p
        work += model.pointer[a * S + s + 1] - model.pointer[a * S + s]
    return work


@compiled
def clear(room: Room) -> None:
    for z in range(len(room.size)):
        for i in range(room.size[z]):
            room.mass[z, room.state[z, i]] = 0.0
        room.size[z] = 0


@compiled
def below(plans: Plans, room: Room, state: Ints, mass: Floats, n: int) -> tuple[float, int]:
    """The best plan for a belief, whose entries stand at mass[i]."""
    N = plans.size[0]
    score = room.score
    score[:N] = 0.0
    for i in range(n):
        p, row = mass[i], plans.value[state[i]]
        for j in range(N):
            score[j] += p * row[j]
    best = 0
    for j in range(1, N):
        if score[j] > score[best]:
            best = j
    return score[best], best


@compiled
def below_spread(plans: Plans, room: Room, z: int) -> tuple[float, int]:
    """The best plan for what follows observation z."""
    N = plans.size[0]
    score = room.score
    score[:N] = 0.0
    for i in range(room.size[z]):
        s = room.state[z, i]
        p, row = room.mass[z, s], plans.value[s]
        for j in range(N):
            score[j] += p * row[j]
    best = 0
    for j in range(1, N):
        if score[j] > score[best]:
            best = j
    return score[best], best


@compiled
def informed_value(model: Model, state: Ints, dense: Floats, n: int) -> float:
    """max_a Σ b(s) Q_a(s); `dense` by state."""
    best = -np.inf
    for a in range(model.reward.shape[0]):
        q = 0.0
        for i in range(n):
            q += dense[state[i]] * model.informed[a, state[i]]
        best = max(best, q)
    return best


@compiled
def above(
    model: Model, points: Points, state: Ints, dense: Floats, n: int, skip: int
) -> tuple[float, int, float]:
    """The bound from above for a belief (`dense` by state), the point behind it, and its c."""
    v, total = 0.0, 0.0
    for i in range(n):
        v += dense[state[i]] * points.corner[state[i]]
        total += dense[state[i]]
    outside = ~bits(state, n)
    most, point, share = 0.0, -1, 0.0
    for i in range(points.size[0]):
        drop = points.drop[i]
        if drop * total * 1.000001 <= most or points.mask[i] & outside or i == skip:
            continue
        c, least = np.inf, most / drop
        for k in range(points.begin[i], points.begin[i + 1]):
            c = min(c, dense[points.state[k]] / points.mass[k])
            if c <= least:
                break
        if c > least:
            most, point, share = c * drop, i, c
    v -= most
    q = informed_value(model, state, dense, n)
    if q < v:
        return q, -1, 0.0
    return v, point, share


@compiled
def add_plan(model: Model, plans: Plans, a: int, then: Ints) -> None:
    """A new plan: do a, go on with the plans in columns `then`."""
    S, O = model.reward.shape[1], model.observations
    j, m = plans.size[0], plans.size[1]
    plans.action[m] = a
    for z in range(O):
        plans.then[m, z] = plans.plan[then[z]]
    for s in range(S):
        v = 0.0
        for k in range(model.pointer[a * S + s], model.pointer[a * S + s + 1]):
            v += model.probability[k] * plans.value[
                model.next_state[k], then[model.next_observation[k]]
            ]
        plans.value[s, j] = model.reward[a, s] + model.discount * v - model.slack
    plans.plan[j] = m
    plans.size[0] += 1
    plans.size[1] += 1
    judge(plans, j)


@compiled
def judge(plans: Plans, j: int) -> None:
    """Is this plan one to go on with where nothing is known?"""
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
def add_point(points: Points, state: Ints, mass: Floats, n: int, v: float) -> None:
    i, k = points.size[0], points.size[1]
    v0 = 0.0
    for e in range(n):
        points.state[k + e], points.mass[k + e] = state[e], mass[e]
        v0 += mass[e] * points.corner[state[e]]
    if v0 <= v:
        return
    points.begin[i + 1] = k + n
    points.value[i], points.drop[i] = v, v0 - v
    points.mask[i] = bits(state, n)
    points.size[0] += 1
    points.size[1] += n


@compiled
def refresh(points: Points) -> None:
    """A corner has fallen: v₀ is another."""
    for i in range(points.size[0]):
        v0 = 0.0
        for k in range(points.begin[i], points.begin[i + 1]):
            v0 += points.mass[k] * points.corner[points.state[k]]
        points.drop[i] = max(0.0, v0 - points.value[i])


@compiled
def down(
    model: Model, plans: Plans, points: Points, room: Room, ε: float, dense: Floats
) -> bool:
    """One step deeper, or False where it is not worth it."""
    t = room.at[0]
    if t + 1 >= len(room.stack_size):
        return False
    γ, n = model.discount, room.stack_size[t]
    state, mass = room.stack_state[t], room.stack_mass[t]
    allowed = ε / γ**t
    for i in range(n):
        dense[state[i]] = mass[i]
    v, point, share = above(model, points, state, dense, n, -1)
    low, _ = below(plans, room, state, mass, n)
    for i in range(n):
        dense[state[i]] = 0.0
    if v - low <= allowed:
        return False
    if point >= 0 and share >= SAME and points.begin[point + 1] - points.begin[point] == n:
        for i in range(n):  # the same belief, as far as anybody can tell
            k = points.begin[point] + i
            state[i], mass[i] = points.state[k], points.mass[k]
    highest, action = -np.inf, -1
    for a in range(model.reward.shape[0]):
        q, limit = 0.0, 0.0
        for i in range(n):
            q += mass[i] * model.reward[a, state[i]]
            limit += mass[i] * model.informed[a, state[i]]
        if limit <= max(low, highest):
            continue
        room.counts[1] += follow(model, room, state, mass, n, a)
        for z in range(model.observations):
            if room.size[z]:
                u, _, _ = above(model, points, room.state[z], room.mass[z], room.size[z], -1)
                q += γ * u
                room.counts[1] += points.size[0]
        clear(room)
        if q > highest:
            highest, action = q, a
    if action < 0:
        return False
    room.counts[1] += follow(model, room, state, mass, n, action)
    widest, seen = 0.0, -1
    for z in range(model.observations):
        if room.size[z]:
            u, _, _ = above(model, points, room.state[z], room.mass[z], room.size[z], -1)
            l, _ = below_spread(plans, room, z)
            total = 0.0
            for i in range(room.size[z]):
                total += room.mass[z, room.state[z, i]]
            excess = u - l - total * allowed / γ
            if excess > widest:
                widest, seen = excess, z
            room.counts[1] += plans.size[0] * room.size[z] // 4
    if seen >= 0:
        total = 0.0
        n = room.size[seen]
        for i in range(n):
            total += room.mass[seen, room.state[seen, i]]
        for i in range(n):
            s = room.state[seen, i]
            room.stack_state[t + 1, i] = s
            room.stack_mass[t + 1, i] = room.mass[seen, s] / total
        room.stack_size[t + 1] = n
        room.at[0] = t + 1
        room.counts[2] = max(room.counts[2], t + 1)
    clear(room)
    return seen >= 0


@compiled
def back_up(
    model: Model, plans: Plans, points: Points, room: Room, dense: Floats, worth: float
) -> None:
    """Both bounds at the belief of this level."""
    t, γ = room.at[0], model.discount
    n, state, mass = room.stack_size[t], room.stack_state[t], room.stack_mass[t]
    low, _ = below(plans, room, state, mass, n)
    upper, lower, action = low, -np.inf, -1
    for a in range(model.reward.shape[0]):
        paid, limit = 0.0, 0.0
        for i in range(n):
            paid += mass[i] * model.reward[a, state[i]]
            limit += mass[i] * model.informed[a, state[i]]
        if limit <= low:
            continue
        room.counts[1] += follow(model, room, state, mass, n, a)
        q = paid
        for z in range(model.observations):
            if room.size[z]:
                u, _, _ = above(model, points, room.state[z], room.mass[z], room.size[z], -1)
                q += γ * u
                room.counts[1] += points.size[0]
        upper = max(upper, q)
        if q > low:
            q = paid
            for z in range(model.observations):
                room.chosen[z] = plans.usual[a, z]
                if room.size[z]:
                    v, j = below_spread(plans, room, z)
                    room.chosen[z] = j
                    q += γ * v
                    room.counts[1] += plans.size[0] * room.size[z] // 4
            if q > lower:
                lower, action = q, a
                room.best[:] = room.chosen
        clear(room)
    room.counts[0] += 1
    if action >= 0 and lower > low + worth:
        add_plan(model, plans, action, room.best)
        room.counts[1] += len(model.probability)
    upper += model.slack
    if n == 1:
        s, v = state[0], upper / mass[0]
        if v < points.corner[s]:
            points.corner[s] = v
            refresh(points)
            room.counts[1] += points.size[1]
        return
    for i in range(n):
        dense[state[i]] = mass[i]
    now, point, share = above(model, points, state, dense, n, -1)
    for i in range(n):
        dense[state[i]] = 0.0
    if upper >= now - worth:
        return
    if point >= 0 and share == 1.0 and points.begin[point + 1] - points.begin[point] == n:
        points.drop[point] += points.value[point] - upper
        points.value[point] = upper
    else:
        add_point(points, state, mass, n, upper)


@compiled
def search(
    model: Model,
    plans: Plans,
    points: Points,
    room: Room,
    roots: tuple[Ints, Ints, Floats],
    κ: float,
    narrow: Floats,
    work: int,
    bracket: Floats,
) -> int:
    """Trials, until the bracket is as narrow as asked for, there is no room, or enough was done.

    narrow: width at which to stop, absolute and relative.
    """
    begin, root_state, root_mass = roots
    R, S = len(begin) - 1, model.reward.shape[1]
    dense = np.zeros(S)
    room.counts[1] = 0
    while True:
        crowded = plans.size[0] + 1 >= plans.value.shape[1] or plans.size[1] + 1 >= len(plans.action)
        if crowded or points.size[0] + 1 >= len(points.value):
            return FULL
        if points.size[1] + S >= len(points.state):
            return FULL
        if room.counts[1] > work:
            return SPENT
        t = room.at[0]
        if t < 0:  # a new trial
            lower, upper, widest, first = 0.0, 0.0, -1.0, 0
            for r in range(R):
                state, mass = root_state[begin[r] : begin[r + 1]], root_mass[begin[r] : begin[r + 1]]
                l, _ = below(plans, room, state, mass, len(state))
                for i in range(len(state)):
                    dense[state[i]] = mass[i]
                u, _, _ = above(model, points, state, dense, len(state), -1)
                for i in range(len(state)):
                    dense[state[i]] = 0.0
                lower += l
                upper += u
                if u - l > widest:
                    widest, first = u - l, r
            bracket[0], bracket[1] = max(lower, bracket[0]), min(upper, bracket[1])
            gap = bracket[1] - bracket[0]
            scale = max(abs(bracket[0]), abs(bracket[1]))
            if gap <= max(narrow[0], narrow[1] * scale):
                return FINISHED
            n, total = begin[first + 1] - begin[first], 0.0
            for i in range(n):
                total += root_mass[begin[first] + i]
            for i in range(n):
                room.stack_state[0, i] = root_state[begin[first] + i]
                room.stack_mass[0, i] = root_mass[begin[first] + i] / total
            room.stack_size[0] = n
            room.at[0], room.at[1] = 0, 0
            room.at[2] += 1
            bracket[2] = widest / total  # what the trial has to narrow
            bracket[3] = max(1e-5 * (1.0 - model.discount) * gap, model.slack)
            continue
        if room.at[1] == 0:
            if not down(model, plans, points, room, κ * bracket[2], dense):
                room.at[1] = 1
            continue
        back_up(model, plans, points, room, dense, bracket[3])
        room.at[0] = t - 1


@compiled
def keep_best(plans: Plans, points: Points, room: Room, roots: tuple[Ints, Ints, Floats]) -> Bools:
    """(N,) is the plan best at some point, corner or root?"""
    begin, root_state, root_mass = roots
    keep = np.zeros(plans.size[0], np.bool_)
    for r in range(len(begin) - 1):
        state, mass = root_state[begin[r] : begin[r + 1]], root_mass[begin[r] : begin[r + 1]]
        keep[below(plans, room, state, mass, len(state))[1]] = True
    for i in range(points.size[0]):
        state = points.state[points.begin[i] : points.begin[i + 1]]
        mass = points.mass[points.begin[i] : points.begin[i + 1]]
        keep[below(plans, room, state, mass, len(state))[1]] = True
    one, whole = np.zeros(1, np.int64), np.ones(1)
    for s in range(len(points.corner)):
        one[0] = s
        keep[below(plans, room, one, whole, 1)[1]] = True
    return keep


@compiled
def keep_needed(model: Model, points: Points, dense: Floats) -> Bools:
    """(N,) does the point say more than the others do? Points that do not are dropped one by one."""
    N = points.size[0]
    keep = np.ones(N, np.bool_)
    for i in range(N):
        first, last = points.begin[i], points.begin[i + 1]
        state = points.state[first:last]
        for k in range(first, last):
            dense[points.state[k]] = points.mass[k]
        v, _, _ = above(model, points, state, dense, last - first, i)
        for k in range(first, last):
            dense[points.state[k]] = 0.0
        if v <= points.value[i]:
            keep[i] = False
            points.drop[i] = 0.0
    return keep
