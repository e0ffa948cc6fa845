"""The compiled loops of simulation and training: obvious twins live in the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints


@compiled
def draw(cumulative: Floats, low: int, high: int, u: float) -> int:
    """First position in [low, high) whose cumulative probability exceeds u; the last one that
    adds any probability if rounding leaves none."""
    for i in range(low, high):
        if u < cumulative[i]:
            return i
    last = high - 1
    while last > low and cumulative[last] == cumulative[last - 1]:
        last -= 1
    return last


@compiled
def draw_from(cumulative: Floats, low: int, high: int, rng: Any) -> int:
    """A position in [low, high) at random; what is certain costs no random number."""
    return low if high - low == 1 else draw(cumulative, low, high, rng.random())


@compiled
def simulate_episodes(
    episodes: int,
    max_steps: int,
    rng: Any,
    start_cdf: Floats,  # (T,) over first (s, z)
    start_hidden: Ints,  # (T,)
    start_seen: Ints,  # (T,)
    pointer: Ints,  # (S*A + 1,)
    outcome_cdf: Floats,  # (K,) cumulative within each (s, a)
    next_hidden: Ints,  # (K,) or -1
    next_seen: Ints,  # (K,)
    outcome_reward: Floats,  # (K,)
    row_cdf: Floats,  # (X*A,) cumulative within each history state
    node_after: Ints,  # (X, A) compact node
    state_of: Ints,  # (M, O) history state of node and observation
    first_node: int,
) -> tuple[Ints, Ints, Floats, Ints, Ints, Any]:
    """Observation, action, reward per step; start, final observation, terminated per episode."""
    A = node_after.shape[1]
    room = 16 * episodes + 64
    z_log, a_log = np.empty(room, np.int64), np.empty(room, np.int64)
    r_log = np.empty(room, np.float64)
    start = np.zeros(episodes + 1, np.int64)
    final = np.full(episodes, -1, np.int64)
    terminated = np.zeros(episodes, np.bool_)
    n = 0
    for e in range(episodes):
        first = draw_from(start_cdf, 0, len(start_cdf), rng)
        s, z, node = start_hidden[first], start_seen[first], first_node
        for _ in range(max_steps):
            if n == room:
                room *= 2
                z_log = np.append(z_log, np.empty(n, np.int64))
                a_log = np.append(a_log, np.empty(n, np.int64))
                r_log = np.append(r_log, np.empty(n, np.float64))
            x = state_of[node, z]
            a = draw_from(row_cdf, x * A, x * A + A, rng) - x * A
            pair = s * A + a
            k = draw_from(outcome_cdf, pointer[pair], pointer[pair + 1], rng)
            z_log[n], a_log[n], r_log[n] = z, a, outcome_reward[k]
            n += 1
            s = next_hidden[k]
            if s < 0:
                terminated[e] = True
                break
            z, node = next_seen[k], node_after[x, a]
        if not terminated[e]:
            final[e] = z
        start[e + 1] = n
    return z_log[:n].copy(), a_log[:n].copy(), r_log[:n].copy(), start, final, terminated


@compiled
def q_learning(
    episodes: int,
    max_steps: int,
    rng: Any,
    start_cdf: Floats,
    start_hidden: Ints,
    start_seen: Ints,
    pointer: Ints,
    outcome_cdf: Floats,
    next_hidden: Ints,
    next_seen: Ints,
    outcome_reward: Floats,
    node_after: Ints,  # (M, O, A) compact node
    first_node: int,
    discount: float,
    learning_rate: float,
    exploration: float,
    decay: float,
) -> Floats:
    """(M, O, A) action values; both rates fall as exp(-decay · episode)."""
    M, O, A = node_after.shape
    q = np.zeros((M, O, A))
    for e in range(episodes):
        fade = np.exp(-decay * e)
        α, ε = learning_rate * fade, exploration * fade
        first = draw_from(start_cdf, 0, len(start_cdf), rng)
        s, z, n = start_hidden[first], start_seen[first], first_node
        for _ in range(max_steps):
            explore = rng.random() < ε
            a = int(rng.random() * A) if explore else np.argmax(q[n, z])
            pair = s * A + a
            k = draw_from(outcome_cdf, pointer[pair], pointer[pair + 1], rng)
            target = outcome_reward[k]
            s = next_hidden[k]
            if s >= 0:
                target += discount * q[node_after[n, z, a], next_seen[k]].max()
            q[n, z, a] += α * (target - q[n, z, a])
            if s < 0:
                break
            n, z = node_after[n, z, a], next_seen[k]
    return q
