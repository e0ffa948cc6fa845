"""The bound from above: values at some beliefs, and what they say about all others.

The value Q_a(b) of action a and the best policy after it is convex in b. It is known at the corners, the
beliefs that are sure of a state, and at points b_i, and every bound is kept for each action. With
q₀(b) = Σ b(s) Q_a(s),

    Q_a(b) ≤ q₀(b) - max_i c_i (q₀(b_i) - Q_a(b_i)),    c_i = min over s with b_i(s) > 0 of b(s) / b_i(s):

b holds c_i times b_i, and the rest of it is shared out to the corners (the sawtooth of Hauskrecht 2000).
V(b) is at most the largest of these over a. That says more than points of V would: each action may
take another point.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints
from jumar.truth.hsvi.tables import Points, Room

ALL = -1


@compiled
def bits(state: Ints, n: int) -> int:
    found = 0
    for i in range(n):
        found |= 1 << (state[i] & 63)
    return found


@compiled
def most_dropped(
    points: Points, a: int, dense: Floats, outside: int, total: float, enough: float, skip: int
) -> tuple[float, int]:
    """max_i c_i (q₀(b_i) - Q_a(b_i)) and its point, -1 if there is none. The search ends when it is
    `enough`, and `skip` is left out."""
    most, point = 0.0, -1
    drop = points.drop[a]
    for i in range(points.size[0]):
        # c is at most the mass of b, as points have mass 1; and 0 where b lacks a state of b_i
        if drop[i] * total <= most or points.mask[i] & outside or i == skip:
            continue
        c, least = np.inf, most / drop[i]
        first = points.begin[i]
        for k in range(first, points.begin[i + 1]):
            c = min(c, dense[points.state[k]] / points.mass[k])
            if c <= least:
                if k > first:  # what rules the point out now will do so again: look there first
                    points.state[k], points.state[first] = points.state[first], points.state[k]
                    points.mass[k], points.mass[first] = points.mass[first], points.mass[k]
                break
        if c > least:
            most, point = c * drop[i], i
            if most >= enough:
                break
    return most, point


@compiled
def above(
    points: Points, limit: Floats, state: Ints, dense: Floats, n: int, skip: int
) -> tuple[float, int]:
    """The bound for the belief with n states, `dense` by state, and the point behind it or -1.

    `limit` holds what is known of each action from elsewhere.
    """
    A = len(limit)
    total = 0.0
    for i in range(n):
        total += dense[state[i]]
    total *= 1.0 + 1e-9
    outside = ~bits(state, n)
    highest, point = -np.inf, -1
    last, last_limit = -1, np.inf
    for _ in range(A):
        a = -1  # the most promising first: most others are then below what it is worth
        for b in range(A):
            left = limit[b] < last_limit or (limit[b] == last_limit and b > last)
            if left and (a < 0 or limit[b] > limit[a]):
                a = b
        if limit[a] <= highest:
            break
        last, last_limit = a, limit[a]
        q = 0.0
        for i in range(n):
            q += dense[state[i]] * points.corner[a, state[i]]
        # below the highest, it does not matter how far
        most, i = most_dropped(points, a, dense, outside, total, q - highest, skip)
        if q - most < limit[a]:
            if q - most > highest:
                highest, point = q - most, i
        elif limit[a] > highest:
            highest, point = limit[a], -1
    return highest, point


@compiled
def add_point(points: Points, state: Ints, mass: Floats, n: int, q: Floats) -> None:
    """A new point, with a bound for every action."""
    i, k = points.size[0], points.size[1]
    for e in range(n):
        points.state[k + e], points.mass[k + e] = state[e], mass[e]
    points.begin[i + 1] = k + n
    points.mask[i] = bits(state, n)
    points.size[0] += 1
    points.size[1] += n
    points.value[:, i] = np.inf
    lower_point(points, i, q)


@compiled
def lower_point(points: Points, i: int, q: Floats) -> None:
    for a in range(len(q)):
        q0 = 0.0
        for k in range(points.begin[i], points.begin[i + 1]):
            q0 += points.mass[k] * points.corner[a, points.state[k]]
        points.value[a, i] = min(points.value[a, i], q[a])
        points.drop[a, i] = max(0.0, q0 - points.value[a, i])


@compiled
def refresh(points: Points) -> None:
    """Corners have fallen."""
    for i in range(points.size[0]):
        lower_point(points, i, points.value[:, i].copy())


@compiled
def telling(points: Points, room: Room) -> Bools:
    """(N,) does the point say more about itself than all others do? Those that do not are left
    out one by one."""
    A = len(points.corner)
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
        v, _ = above(points, room.limit, state.copy(), room.dense, n, p)
        for i in range(n):
            room.dense[state[i]] = 0.0
        if v <= points.value[:, p].max():
            keep[p] = False
            points.drop[:, p] = 0.0
    return keep


def prune_points(points: Points, room: Room) -> None:
    kept = np.flatnonzero(telling(points, room))
    N = len(kept)
    sizes = np.diff(points.begin)[kept]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    entries = np.repeat(points.begin[kept] - begin[:-1], sizes) + np.arange(begin[-1])
    points.state[: len(entries)] = points.state[entries]
    points.mass[: len(entries)] = points.mass[entries]
    for array in (points.value, points.drop, points.mask):
        array[..., :N] = array[..., kept]
    points.begin[: N + 1] = begin
    points.size[:] = N, len(entries)
