"""The search (HSVI: Smith and Simmons 2004, 2005).

A *trial* starts from what is believed at first, does what looks best from above and follows the
observation that leaves most in doubt, until what is left in doubt matters less than κ times the
bracket. On the way back both bounds are backed up at every belief it met:

    from below   a plan: the best action, given what the plans so far are worth after it
    from above   a point: Q_a(b) = r(b, a) + γ Σ_z V(b M_az) for each a, from the bounds of V

What one trial finds out concerns beliefs that other trials met: in a process that starts again, all
of them. So between two trials some stored beliefs are backed up again, in turn.

A backup is right at any belief. So it need not be done where exactly the trial is: states that are
hardly possible are left out, and a belief next to a stored one is replaced by it. What that gives
away is a share of what is in doubt (`CARE`); it is halved when a trial changes nothing.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import ROUNDING
from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints
from jumar.lab.truth.hsvi.bounds import add_plan, below
from jumar.lab.truth.hsvi.points import above, add_point, highest_of, limits, lower_point, refresh
from jumar.lab.truth.hsvi.tables import Dynamics, Late, Plans, Points, Room


@compiled
def follow(
    model: Dynamics, late: Late, points: Points, room: Room,
    state: Ints, mass: Floats, n: int, a: int,
) -> None:  # fmt: skip
    """What follows action a in a belief, by observation; and the bounds of one told late."""
    A, S = model.reward.shape
    for z in range(model.observations):
        for b in range(A):
            room.late[z, b] = 0.0
    for i in range(n):
        for j in range(model.first[a * S + state[i]], model.first[a * S + state[i] + 1]):
            z = model.seen[j]
            for b in range(A):
                room.late[z, b] += mass[i] * late.twice[j, b]
            room.work[0] += model.pointer[j + 1] - model.pointer[j] + A
            for k in range(model.pointer[j], model.pointer[j + 1]):
                p, t = mass[i] * model.probability[k], model.next_state[k]
                if p > 0.0:
                    if room.mass[z, t] == 0.0:
                        room.state[z, room.size[z]] = t
                        room.size[z] += 1
                    room.mass[z, t] += p
    for z in range(model.observations):
        for b in range(A):
            q = 0.0
            for i in range(room.size[z]):
                q += room.mass[z, room.state[z, i]] * points.corner[b, room.state[z, i]]
            room.late[z, b] = min(room.late[z, b], q)


@compiled
def forget(room: Room) -> None:
    for z in range(len(room.size)):
        for i in range(room.size[z]):
            room.mass[z, room.state[z, i]] = 0.0
        room.size[z] = 0


@compiled
def look_ahead(
    model: Dynamics, late: Late, points: Points, room: Room,
    state: Ints, mass: Floats, n: int, a: int, negligible: float,
) -> None:  # fmt: skip
    """Back up the bound of action a; what follows it stays in the room. Observations of less than
    `negligible` probability are not looked at closely."""
    follow(model, late, points, room, state, mass, n, a)
    q = 0.0
    for z in range(model.observations):
        room.total[z] = 0.0
        if room.size[z]:
            for i in range(room.size[z]):
                room.total[z] += room.mass[z, room.state[z, i]]
            if room.total[z] > negligible:
                room.high[z] = above(
                    points, room.late[z], room.state[z], room.mass[z], room.size[z], points.size[0]
                )
                room.work[0] += points.size[0]
            else:
                room.high[z] = room.late[z, highest_of(room.late[z])]
            q += room.high[z]
    q *= model.discount
    for i in range(n):
        q += mass[i] * model.reward[a, state[i]]
    room.q[a] = min(room.q[a], q)
    room.known[a] = True


@compiled
def bounds_at(
    plans: Plans, points: Points, room: Room, state: Ints, mass: Floats, n: int
) -> tuple[float, int]:
    """The lower bound; `room.q` holds the upper bounds of all actions. And the point behind the
    highest of these."""
    for i in range(n):
        room.dense[state[i]] = mass[i]
    low, _ = below(plans, room.score, state, room.dense, n)
    point = limits(points, room.q, state, room.dense, n)
    for a in range(len(room.known)):
        room.known[a] = False
    for i in range(n):
        room.dense[state[i]] = 0.0
    return low, point


@compiled
def distance(points: Points, i: int, room: Room, state: Ints, mass: Floats, n: int) -> float:
    """Σ |b(s) - b_i(s)| between this belief and point i; infinite where they have other states."""
    if i < 0 or points.begin[i + 1] - points.begin[i] != n:
        return np.inf
    for e in range(n):
        room.dense[state[e]] = mass[e]
    far = 0.0
    for k in range(points.begin[i], points.begin[i + 1]):
        far += abs(room.dense[points.state[k]] - points.mass[k])
    for e in range(n):
        room.dense[state[e]] = 0.0
    return far


@compiled
def look_below(model: Dynamics, plans: Plans, room: Room, a: int) -> float:
    """The best plan after each observation, for what is in the room; returns what they are worth
    before the action is paid for."""
    q = 0.0
    for z in range(model.observations):
        room.then[z] = plans.usual[a, z]
        if room.size[z]:
            room.low[z], room.then[z] = below(
                plans, room.score, room.state[z], room.mass[z], room.size[z]
            )
            room.work[0] += plans.size[0] * room.size[z] // 4
            q += room.low[z]
    return model.discount * q


@compiled
def go_down(model: Dynamics, room: Room, t: int, allowed: float) -> bool:
    """To the belief that leaves most in doubt, after the action whose consequences are at hand;
    false if none is left in doubt."""
    widest, seen = 0.0, -1
    for z in range(model.observations):
        if room.size[z]:
            excess = room.high[z] - room.low[z] - room.total[z] * allowed
            if excess > widest:
                widest, seen = excess, z
    if seen < 0:
        return False
    # what is hardly possible is left out: points with few states say more about others
    few = min(0.5, room.care[0] * allowed / room.span[0]) / room.size[seen]
    kept, weight = 0, 0.0
    for i in range(room.size[seen]):
        s = room.state[seen, i]
        if room.mass[seen, s] > few * room.total[seen]:
            room.stack_state[t + 1, kept] = s
            weight += room.mass[seen, s]
            kept += 1
    for i in range(kept):
        room.stack_mass[t + 1, i] = room.mass[seen, room.stack_state[t + 1, i]] / weight
    room.stack_size[t + 1] = kept
    return True


@compiled
def keep_point(
    model: Dynamics, points: Points, room: Room, t: int, high: float, point: int
) -> None:
    """The bounds of all actions, as they were backed up, at the belief of level t."""
    n, state, mass = room.stack_size[t], room.stack_state[t], room.stack_mass[t]
    upper = room.q[highest_of(room.q)] + model.slack
    if n == 1 and upper < high:
        for a in range(len(room.q)):
            q = (room.q[a] + model.slack) / mass[0]
            points.corner[a, state[0]] = min(points.corner[a, state[0]], q)
        refresh(points)
        room.work[0] += points.size[1]
        room.changes[0] += 1
    elif n > 1 and upper < high - room.worth[0]:
        room.changes[0] += 1
        if distance(points, point, room, state, mass, n) > 0.0:
            point = add_point(points, state, mass, n)
        for a in range(len(room.q)):
            lower_point(points, point, a, room.q[a] + model.slack)


@compiled
def visit(
    model: Dynamics, late: Late, plans: Plans, points: Points, room: Room,
    t: int, ε: float, stored: int, down: bool,
) -> bool:  # fmt: skip
    """The belief of level t: on the way down see where to go, and whether to; else change both
    bounds. `stored` is its point, -1 if that is not known."""
    γ = model.discount
    if down and (t + 1 >= len(room.stack_size) or γ**t < 1e-100):
        return False
    n, state, mass = room.stack_size[t], room.stack_state[t], room.stack_mass[t]
    allowed = ε / γ**t
    low, point = bounds_at(plans, points, room, state, mass, n)
    high = room.q[highest_of(room.q)]
    if down and high - low <= allowed:
        return False
    if stored >= 0:
        point = stored
    elif down and distance(points, point, room, state, mass, n) <= ROUNDING:
        for i in range(n):  # at any belief a backup is right; here it makes no second point
            state[i] = points.state[points.begin[point] + i]
            mass[i] = points.mass[points.begin[point] + i]
    negligible = room.care[0] * allowed / room.span[0] / model.observations
    lower, action, a = low + room.worth[0], -1, highest_of(room.q)
    while True:  # others are not better, however much they are worth
        look_ahead(model, late, points, room, state, mass, n, a, negligible)
        q = look_below(model, plans, room, a)
        for i in range(n):
            q += mass[i] * model.reward[a, state[i]]
        if q > lower:
            lower, action = q, a
            for z in range(model.observations):
                room.best_then[z] = room.then[z]
        best = highest_of(room.q)
        if best == a or (room.known[best] and not down):
            break
        a = best
        forget(room)
    goes_on = False
    if down:
        goes_on = go_down(model, room, t, allowed / γ)
    else:
        room.backups[0] += 1
        if action >= 0:
            add_plan(model, plans, action, room.best_then)
            room.work[0] += len(model.probability)
            room.changes[0] += 1
        keep_point(model, points, room, t, high, point)
    forget(room)
    return goes_on


@compiled
def take_up(points: Points, room: Room, i: int) -> int:
    """Put point i on level 0, or a corner after the last of them; returns the point or -1."""
    N = points.size[0]
    if i >= N:
        room.stack_state[0, 0], room.stack_mass[0, 0] = i - N, 1.0
        room.stack_size[0] = 1
        return -1
    n = points.begin[i + 1] - points.begin[i]
    for e in range(n):
        room.stack_state[0, e] = points.state[points.begin[i] + e]
        room.stack_mass[0, e] = points.mass[points.begin[i] + e]
    room.stack_size[0] = n
    return int(i)
