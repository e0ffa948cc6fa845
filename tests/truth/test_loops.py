"""Simulation and training, compiled, against slow, obvious twins: the same draws give the same
numbers, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar import models
from jumar.lab.truth import loops
from jumar.lab.truth.chain import unroll
from jumar.lab.truth.simulation import controller_tables, model_tables
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from strategies import random_controller, random_pomdp


def obvious_draw(cumulative, low, high, u):
    within = cumulative[low:high]
    above = [i for i, c in enumerate(within) if u < c]
    if above:
        return low + above[0]
    previous = [None, *within[:-1]]  # the first one always counts
    adds = [i for i, (c, p) in enumerate(zip(within, previous, strict=True)) if c != p]
    return low + adds[-1]


def obvious_draw_from(cumulative, low, high, rng):
    if high == low + 1:
        return low
    return obvious_draw(cumulative, low, high, rng.random())


def obvious_simulate_episodes(
    episodes, max_steps, rng, start_cdf, start_hidden, start_seen, pointer, outcome_cdf,
    next_hidden, next_seen, outcome_reward, row_cdf, node_after, state_of, first_node,
):  # fmt: skip
    A = node_after.shape[1]
    steps, start, final, terminated = [], [0], [], []
    for _ in range(episodes):
        first = obvious_draw_from(start_cdf, 0, len(start_cdf), rng)
        s, z, node = start_hidden[first], start_seen[first], first_node
        for _ in range(max_steps):
            x = state_of[node, z]
            a = obvious_draw_from(row_cdf, x * A, x * A + A, rng) - x * A
            pair = s * A + a
            k = obvious_draw_from(outcome_cdf, pointer[pair], pointer[pair + 1], rng)
            steps.append((z, a, outcome_reward[k]))
            s, z, node = next_hidden[k], next_seen[k], node_after[x, a]
            if s == -1:
                break
        start.append(len(steps))
        terminated.append(s == -1)
        final.append(-1 if s == -1 else z)
    z, a, r = zip(*steps, strict=True)
    return z, a, r, start, final, terminated


def obvious_q_learning(
    episodes, max_steps, rng, start_cdf, start_hidden, start_seen, pointer, outcome_cdf,
    next_hidden, next_seen, outcome_reward, node_after, first_node, discount, learning_rate,
    exploration, decay,
):  # fmt: skip
    M, O, A = node_after.shape
    q = {(n, z): [0.0] * A for n in range(M) for z in range(O)}
    for e in range(episodes):
        α = learning_rate * math.exp(-decay * e)
        ε = exploration * math.exp(-decay * e)
        first = obvious_draw_from(start_cdf, 0, len(start_cdf), rng)
        s, z, n = start_hidden[first], start_seen[first], first_node
        for _ in range(max_steps):
            explore = rng.random() < ε
            a = int(rng.random() * A) if explore else q[n, z].index(max(q[n, z]))
            pair = s * A + a
            k = obvious_draw_from(outcome_cdf, pointer[pair], pointer[pair + 1], rng)
            s, n2, z2 = next_hidden[k], node_after[n, z, a], next_seen[k]
            target = outcome_reward[k]
            if s != -1:
                target = target + discount * max(q[n2, z2])
            q[n, z][a] += α * (target - q[n, z][a])
            if s == -1:
                break
            n, z = n2, z2
    return np.array([[q[n, z] for z in range(O)] for n in range(M)])


@given(st.data())
def test_draw(data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(any))
    # a sum short of 1 stands for rounding; u beyond it must fall on the last that adds something
    cumulative = np.cumsum(np.array(weights) / sum(weights)) * data.draw(
        st.sampled_from([1.0, 1 - 2**-53, 0.9])
    )
    padding = data.draw(st.integers(0, 3))
    cumulative = np.concatenate([np.full(padding, 9.0), cumulative, np.full(2, 9.0)])
    low, high = padding, padding + len(weights)
    u = data.draw(
        st.one_of(
            st.floats(0, 1, exclude_max=True),
            st.sampled_from([0.0, 1 - 2**-53, *cumulative[low:high].tolist()]).filter(
                lambda x: x < 1
            ),
        )
    )
    i = loops.draw(cumulative, low, high, u)
    assert i == obvious_draw(cumulative, low, high, u)
    assert weights[i - low] > 0  # what has no probability is never drawn


def same_generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(seed), np.random.default_rng(seed)


@pytest.mark.parametrize("memory", [window(1), window(3), window(2, actions=True)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_simulate_episodes(seed, memory):
    setup = np.random.default_rng(100 + seed)
    pomdp = random_pomdp(setup, 4, 3, 3, 0.9)
    controller = random_controller(setup, pomdp, memory)
    tables = *model_tables(pomdp), *controller_tables(unroll(pomdp, controller), controller)
    compiled, plain = same_generators(seed)
    found = loops.simulate_episodes(60, 9, compiled, *tables)
    expected = obvious_simulate_episodes(60, 9, plain, *tables)
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == list(other)
    assert compiled.random() == plain.random()  # not one draw more or less
    assert found[5].any()
    assert not found[5].all()  # some ended, some were cut off


def test_simulate_episodes_that_outgrow_their_first_buffer():
    """Room for 16 steps an episode and 64 more; these have 300 each."""
    maze = models.cheese_maze()
    west = Controller.constant(maze.observations, maze.actions, [0, 0, 0, 1])
    tables = *model_tables(maze), *controller_tables(unroll(maze, west), west)
    compiled, plain = same_generators(1)
    found = loops.simulate_episodes(5, 300, compiled, *tables)
    expected = obvious_simulate_episodes(5, 300, plain, *tables)
    assert len(found[0]) == 1500
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == list(other)


TOGGLE = NamedNodes(("even", "odd"), np.array([[[1, 1, 1]] * 3, [[0, 0, 0]] * 3]))


@pytest.mark.parametrize("memory", [window(1), window(2), TOGGLE], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_q_learning(seed, memory):
    pomdp = random_pomdp(np.random.default_rng(200 + seed), 4, 3, 3, 0.9)
    memory = memory.on(3, 3)
    nodes = memory.enumerate()
    M = len(nodes)
    numbers = {tuple(node): i for i, node in enumerate(nodes.tolist())}
    after = np.empty((M, 3, 3), np.int64)
    for n, z, a in np.ndindex(M, 3, 3):
        moved = memory.step(nodes[n : n + 1], np.array([z]), np.array([a]))[0]
        after[n, z, a] = numbers[tuple(moved.tolist())]
    first = numbers[tuple(memory.initial().tolist())]
    rest = *model_tables(pomdp), after, first, 0.9, 0.7, 0.5, 0.01
    compiled, plain = same_generators(seed)
    found = loops.q_learning(80, 12, compiled, *rest)
    expected = obvious_q_learning(80, 12, plain, *rest)
    assert np.array_equal(found, expected)
    assert compiled.random() == plain.random()
    assert (found != 0).any()
