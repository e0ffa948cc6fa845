"""The bound from above: values at some beliefs, and what they say about all others.

The value Q_a(b) of action a and the best policy after it is convex in b. Bounds of it are known at
the corners, which are the beliefs that are sure of a state, and at points b_i. With
q₀(b) = Σ b(s) Q_a(s),

    Q_a(b) ≤ q₀(b) - max_i c_i (q₀(b_i) - Q_a(b_i)),
    c_i = min over s with b_i(s) > 0 of b(s) / b_i(s):

b holds c_i times b_i, and the rest of it is shared out to the corners (the sawtooth of Hauskrecht
2000). But the rest, b - c_i b_i, is a belief like any other and may hold a share of another point.
So up to MOST_POINTS are taken out one after the other, each time the one that says most. V(b) is at
most the largest of these over a. That says more than points of V would: each action may take other
points.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints
from jumar.lab.truth.chain import entries_of
from jumar.lab.truth.hsvi.tables import MOST_POINTS, Points, Room

MORE_WORTH = 0.05  # of what was found so far: less is not looked for


@compiled
def highest_of(q: Floats) -> int:
    """argmax: numpy's takes ten times as long to compile."""
    best = 0
    for a in range(1, len(q)):
        if q[a] > q[best]:
            best = a
    return best


@compiled
def most_dropped(
    points: Points, a: int, dense: Floats, total: float, least: float, enough: float, skip: int
) -> tuple[float, int]:
    """max_i c_i (q₀(b_i) - Q_a(b_i)) and its point, -1 if it is not above `least`. The search ends
    when it is `enough`. Point `skip` is left out, if there is such a point."""
    most, point = least, -1
    drop = points.drop[a]
    for i in range(points.size[0] - 1, -1, -1):  # the latest ones say most
        # c is at most the mass of b, as points have mass 1
        if drop[i] * total <= most or i == skip:
            continue
        c, lowest = np.inf, most / drop[i]
        for k in range(points.begin[i], points.begin[i + 1]):
            c = min(c, dense[points.state[k]] * points.inverse[k])
            if c <= lowest:
                break
        if c > lowest:
            most, point = c * drop[i], i
            if most >= enough:
                break
    return most, point


@compiled
def dropped(
    points: Points, a: int, state: Ints, dense: Floats, n: int, enough: float, skip: int
) -> tuple[float, int]:
    """How far below the corners' mean the bound of action a is, and the first point behind it.

    What is left of b without c_i b_i is a belief like any other: points say more about it than the
    corners do."""
    total = 0.0
    for i in range(n):
        total += dense[state[i]]
    most, first = most_dropped(points, a, dense, total * (1.0 + 1e-9), 0.0, enough, skip)
    if first < 0 or most >= enough:
        return most, first
    rest, point, fall = points.rest, first, most
    for i in range(n):
        rest[state[i]] = dense[state[i]]
    for _ in range(MOST_POINTS - 1):
        c = fall / points.drop[a, point]
        for k in range(points.begin[point], points.begin[point + 1]):
            s = points.state[k]
            rest[s] = max(0.0, rest[s] - c * points.mass[k])
        total = 0.0
        for i in range(n):
            total += rest[state[i]]
        fall, point = most_dropped(
            points, a, rest, total * (1.0 + 1e-9), MORE_WORTH * most, enough - most, skip
        )
        if point < 0:
            break
        most += fall
        if most >= enough:
            break
    for i in range(n):
        rest[state[i]] = 0.0
    return most, first


@compiled
def above(points: Points, limit: Floats, state: Ints, dense: Floats, n: int, skip: int) -> float:
    """The bound for the belief with n states, `dense` by state.

    `limit` holds what is known of each action from elsewhere.
    """
    A = len(limit)
    highest, last, last_limit = -np.inf, -1, np.inf
    for _ in range(A):
        a = A  # the most promising first: most others are then below what it is worth
        for b in range(A):
            left = limit[b] < last_limit or (limit[b] == last_limit and b > last)
            if left and (a == A or limit[b] > limit[a]):
                a = b
        if limit[a] <= highest:
            break
        last, last_limit = a, limit[a]
        q = 0.0
        for i in range(n):
            q += dense[state[i]] * points.corner[a, state[i]]
        # below the highest, it does not matter how far
        most, _ = dropped(points, a, state, dense, n, q - highest, skip)
        highest = max(highest, min(q - most, limit[a]))
    return highest


@compiled
def limits(points: Points, q: Floats, state: Ints, dense: Floats, n: int) -> int:
    """(A,) the bound for every action; returns the point behind the largest, or -1."""
    best, point = 0, -1
    for a in range(len(q)):
        q0 = 0.0
        for i in range(n):
            q0 += dense[state[i]] * points.corner[a, state[i]]
        most, i = dropped(points, a, state, dense, n, np.inf, points.size[0])
        q[a] = q0 - most
        if a == 0 or q[a] > q[best]:
            best, point = a, i
    return point


@compiled
def add_point(points: Points, state: Ints, mass: Floats, n: int) -> int:
    """A new point, about which nothing is known yet."""
    i, k = points.size[0], points.size[1]
    for e in range(n):  # the most probable first: these rule out most beliefs
        at = k + e
        while at > k and points.mass[at - 1] < mass[e]:
            points.state[at], points.mass[at] = points.state[at - 1], points.mass[at - 1]
            at -= 1
        points.state[at], points.mass[at] = state[e], mass[e]
    for e in range(k, k + n):
        points.inverse[e] = 1.0 / points.mass[e]
    points.begin[i + 1] = k + n
    points.size[0] += 1
    points.size[1] += n
    for a in range(len(points.value)):
        points.value[a, i] = np.inf
    return int(i)


@compiled
def lower_point(points: Points, i: int, a: int, q: float) -> None:
    """A bound of action a at a point."""
    q0 = 0.0
    for k in range(points.begin[i], points.begin[i + 1]):
        q0 += points.mass[k] * points.corner[a, points.state[k]]
    points.value[a, i] = min(points.value[a, i], q)
    points.drop[a, i] = max(0.0, q0 - points.value[a, i])


def lower_corners(points: Points, q: Floats) -> None:
    """(A, S) bounds that were found elsewhere."""
    np.minimum(points.corner, q, out=points.corner)
    refresh(points)


@compiled
def refresh(points: Points) -> None:
    """Corners have fallen."""
    for i in range(points.size[0]):
        for a in range(len(points.corner)):
            lower_point(points, i, a, points.value[a, i])


@compiled
def telling(points: Points, room: Room) -> Bools:
    """(N,) does the point say more about itself than all others do, and does it matter? Those that
    do not are left out one by one."""
    A = len(points.corner)
    worth = 0.5 * room.worth[0]
    keep = np.ones(points.size[0], np.bool_)
    for p in range(points.size[0]):
        first, n = points.begin[p], points.begin[p + 1] - points.begin[p]
        state = points.state[first : first + n]
        for i in range(n):
            room.dense[state[i]] = points.mass[first + i]
        for a in range(A):
            room.limit[a] = 0.0
            for i in range(n):
                room.limit[a] += points.mass[first + i] * points.corner[a, state[i]]
        v = above(points, room.limit, state, room.dense, n, p)
        for i in range(n):
            room.dense[state[i]] = 0.0
        known = -np.inf
        for a in range(A):
            known = max(known, points.value[a, p])
        if v <= known + worth:
            keep[p] = False
            for a in range(A):
                points.drop[a, p] = 0.0
    return keep


def prune_points(points: Points, room: Room) -> None:
    kept = np.flatnonzero(telling(points, room))
    N = len(kept)
    _, entries = entries_of(points.begin, kept)
    points.begin[1 : N + 1] = np.cumsum(np.diff(points.begin)[kept])
    for part in (points.state, points.mass, points.inverse):
        part[: len(entries)] = part[entries]
    points.value[:, :N], points.drop[:, :N] = points.value[:, kept], points.drop[:, kept]
    points.size[:] = N, len(entries)
