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

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints
from jumar.truth.hsvi.plans import add_plan, below
from jumar.truth.hsvi.points import above, add_point, limits, lower_point, refresh
from jumar.truth.hsvi.tables import (
    AGAIN_LEFT,
    BACKUPS,
    CARE,
    CHANGES,
    CURSOR,
    DEEPEST,
    LEVEL,
    NARROWED,
    PHASE,
    SPAN,
    TRIAL,
    WORK,
    WORTH,
    Late,
    Model,
    Plans,
    Points,
    Room,
    Roots,
)

NO_ROOM, SPENT, NARROW = 1, 2, 3  # why `search` came back
DOWN, BACK, AGAIN = 0, 1, 2  # what a trial is doing
DOUBT = 0.9  # a trial goes on where more is in doubt than this share of what is at its root
REPEATED = 3  # stored beliefs that are backed up again, for each that a trial met
SAME = 1e-9  # beliefs that differ by less are one


@compiled
def follow(
    model: Model, late: Late, points: Points, room: Room,
    state: Ints, mass: Floats, n: int, a: int,
) -> None:  # fmt: skip
    """What follows action a in a belief, by observation; and the bounds of one told late."""
    A, S = model.reward.shape
    room.late[:] = 0.0
    for i in range(n):
        for j in range(model.first[a * S + state[i]], model.first[a * S + state[i] + 1]):
            z = model.seen[j]
            for b in range(A):
                room.late[z, b] += mass[i] * late.twice[j, b]
            room.counts[WORK] += model.pointer[j + 1] - model.pointer[j] + A
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
    model: Model, late: Late, points: Points, room: Room,
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
                room.counts[WORK] += points.size[0]
            else:
                room.high[z] = room.late[z].max()
            q += room.high[z]
    q *= model.discount
    for i in range(n):
        q += mass[i] * model.reward[a, state[i]]
    room.q[a] = min(room.q[a], q)
    room.known[a] = True


@compiled
def below_after(plans: Plans, room: Room, z: int) -> tuple[float, int]:
    room.counts[WORK] += plans.size[0] * room.size[z] // 4
    return below(plans, room.score, room.state[z], room.mass[z], room.size[z])


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
    room.known[:] = False
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
def deeper(model: Model, late: Late, plans: Plans, points: Points, room: Room, ε: float) -> bool:
    """One step down, or False where it is not worth it."""
    t, γ = room.at[LEVEL], model.discount
    if t + 1 >= len(room.stack_size) or γ**t < 1e-100:
        return False
    n, state, mass = room.stack_size[t], room.stack_state[t], room.stack_mass[t]
    allowed = ε / γ**t
    low, point = bounds_at(plans, points, room, state, mass, n)
    if room.q.max() - low <= allowed:
        return False
    if distance(points, point, room, state, mass, n) <= SAME:
        for i in range(n):  # at any belief a backup is right; here it makes no second point
            state[i] = points.state[points.begin[point] + i]
            mass[i] = points.mass[points.begin[point] + i]
    negligible = room.aims[CARE] * allowed / room.aims[SPAN] / model.observations
    a = int(room.q.argmax())
    while True:  # until the action that looks best is the one whose consequences are at hand
        forget(room)
        look_ahead(model, late, points, room, state, mass, n, a, negligible)
        best = int(room.q.argmax())
        if best == a:
            break
        a = best
    widest, seen = 0.0, -1
    for z in range(model.observations):
        if room.total[z] > 0.0:
            excess = room.high[z] - room.total[z] * allowed / γ
            excess -= below_after(plans, room, z)[0]
            if excess > widest:
                widest, seen = excess, z
    if seen >= 0:
        # what is hardly possible is left out: points with few states say more about others
        few = min(0.5, room.aims[CARE] * allowed / γ / room.aims[SPAN]) / room.size[seen]
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
        room.at[LEVEL] = t + 1
        room.counts[DEEPEST] = max(room.counts[DEEPEST], t + 1)
    forget(room)
    return seen >= 0


@compiled
def back_up(
    model: Model, late: Late, plans: Plans, points: Points, room: Room, ε: float, stored: int
) -> None:
    """Both bounds at the belief of this level; `stored` is its point, -1 if that is not known."""
    t, γ, worth = room.at[LEVEL], model.discount, room.aims[WORTH]
    n, state, mass = room.stack_size[t], room.stack_state[t], room.stack_mass[t]
    low, point = bounds_at(plans, points, room, state, mass, n)
    high = room.q.max()
    if stored >= 0:
        point = stored
    lower, action = low + worth, -1
    negligible = room.aims[CARE] * ε / γ**t / room.aims[SPAN] / model.observations
    a = int(room.q.argmax())
    while not room.known[a]:  # others are not better, however much they are worth
        look_ahead(model, late, points, room, state, mass, n, a, negligible)
        if room.q[a] > low:
            q = 0.0
            for z in range(model.observations):
                room.then[z] = plans.usual[a, z]
                if room.size[z]:
                    v, room.then[z] = below_after(plans, room, z)
                    q += γ * v
            for i in range(n):
                q += mass[i] * model.reward[a, state[i]]
            if q > lower:
                lower, action = q, a
                room.best_then[:] = room.then
        forget(room)
        a = int(room.q.argmax())
    room.counts[BACKUPS] += 1
    if action >= 0:
        add_plan(model, plans, action, room.best_then)
        room.counts[WORK] += len(model.probability)
        room.counts[CHANGES] += 1
    room.q[:] += model.slack
    upper = room.q.max()
    if n == 1:
        if upper < high:
            for b in range(len(room.q)):
                points.corner[b, state[0]] = min(points.corner[b, state[0]], room.q[b] / mass[0])
            refresh(points)
            room.counts[WORK] += points.size[1]
            room.counts[CHANGES] += 1
    elif upper < high - worth:
        room.counts[CHANGES] += 1
        if distance(points, point, room, state, mass, n) == 0.0:
            lower_point(points, point, room.q)
        else:
            add_point(points, state, mass, n, room.q)


@compiled
def next_again(points: Points, room: Room) -> int:
    """Put the next point or corner, in turn, where `back_up` looks; returns the point or -1."""
    i, N = room.at[CURSOR], points.size[0]
    if i >= N + points.corner.shape[1]:
        i = 0
    room.at[CURSOR] = i + 1
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


@compiled
def begin(model: Model, plans: Plans, points: Points, room: Room, roots: Roots) -> None:
    """The bracket, and a new trial from the root that keeps it widest."""
    lower, upper, widest, first = 0.0, 0.0, -1.0, 0
    for r in range(len(roots.seen)):
        i, j = roots.begin[r], roots.begin[r + 1]
        low, _ = bounds_at(plans, points, room, roots.state[i:j], roots.mass[i:j], j - i)
        high = room.q.max()
        lower += low
        upper += high
        if high - low > widest:
            widest, first = high - low, r
    room.bracket[0] = max(room.bracket[0], lower - model.slack)
    room.bracket[1] = min(room.bracket[1], upper + model.slack)
    i, n = roots.begin[first], roots.begin[first + 1] - roots.begin[first]
    total = 0.0
    for e in range(n):
        total += roots.mass[i + e]
    for e in range(n):
        room.stack_state[0, e] = roots.state[i + e]
        room.stack_mass[0, e] = roots.mass[i + e] / total
    room.stack_size[0] = n
    gap = room.bracket[1] - room.bracket[0]
    if room.counts[CHANGES] == 0:  # by the last trial: look more closely
        room.aims[CARE] /= 2
    least, most = np.inf, -np.inf
    for s in range(points.corner.shape[1]):
        v = points.corner[:, s].max()
        least, most = min(least, v), max(most, v)
    room.aims[NARROWED] = widest / total
    room.aims[WORTH] = max(0.1 * room.aims[CARE] * (1.0 - model.discount) * gap, model.slack)
    room.aims[SPAN] = most - least + gap
    room.counts[CHANGES] = 0
    room.at[LEVEL], room.at[PHASE] = 0, DOWN
    room.at[TRIAL] += 1


@compiled
def search(
    model: Model, late: Late, plans: Plans, points: Points, room: Room, roots: Roots,
    tolerance: float, gap: float, until: int,
) -> int:  # fmt: skip
    """Trials, until the bracket is narrow, more room is needed, or so much work is done in all.

    Goes on where it stopped, so that it does not matter how often it stops.
    """
    S = model.reward.shape[1]
    while True:
        if plans.size[0] + 1 >= len(plans.number) or plans.size[1] + 1 >= len(plans.action):
            return NO_ROOM
        if points.size[0] + 1 >= len(points.mask) or points.size[1] + S >= len(points.state):
            return NO_ROOM
        if room.counts[WORK] > until:
            return SPENT
        ε = DOUBT * room.aims[NARROWED]
        if room.at[LEVEL] < 0:
            begin(model, plans, points, room, roots)
            lower, upper = room.bracket[0], room.bracket[1]
            if upper - lower <= max(tolerance, gap * max(abs(lower), abs(upper))):
                room.at[LEVEL] = -1
                return NARROW
        elif room.at[PHASE] == DOWN:
            if not deeper(model, late, plans, points, room, ε):
                room.at[PHASE] = BACK
                room.at[AGAIN_LEFT] = REPEATED * (room.at[LEVEL] + 1)
        elif room.at[PHASE] == AGAIN and room.at[AGAIN_LEFT] == 0:
            room.at[LEVEL] = -1
        else:
            stored = -1
            if room.at[PHASE] == AGAIN:
                stored = next_again(points, room)
            back_up(model, late, plans, points, room, ε, stored)
            if room.at[PHASE] == AGAIN:
                room.at[AGAIN_LEFT] -= 1
            elif room.at[LEVEL] > 0:
                room.at[LEVEL] -= 1
            else:
                room.at[PHASE] = AGAIN
