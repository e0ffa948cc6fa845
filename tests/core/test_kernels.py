"""Every compiled kernel against its slow, obvious twin in plain Python."""

from __future__ import annotations

import inspect
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core import kernels

# ---- the twins ----------------------------------------------------------------------------------


def obvious_window_nodes(symbol, start, base, sizes, first):
    """Keep the last digits in a list, newest first, and read each word off it."""
    nodes = np.zeros((len(symbol), len(sizes)), np.int64)
    words = zip(first, sizes, strict=True)
    held = [int(word) // int(base) ** j % int(base) for word, size in words for j in range(size)]
    for begin, end in itertools.pairwise(start):
        digits = held if begin == 0 else [0] * int(sum(sizes))
        for t in range(begin, end):
            at = 0
            for w, size in enumerate(sizes):
                nodes[t, w] = sum(d * int(base) ** j for j, d in enumerate(digits[at : at + size]))
                at += size
            digits = [int(symbol[t]), *digits[:-1]] if digits else digits
    return nodes


def obvious_table_nodes(z, a, start, table, initial, first):
    nodes = [first]
    for t in range(1, len(z)):
        nodes.append(initial if t in start else table[nodes[-1]][z[t - 1]][a[t - 1]])
    return np.array(nodes)


def obvious_running_products(factor, start):
    pieces = [np.cumprod(factor[i:j]) for i, j in itertools.pairwise(start)]
    return np.concatenate(pieces)


def obvious_resample_mean(values, times, rng):
    means, errors = [], []
    for _ in range(times):
        draw = values[[int(rng.random() * len(values)) for _ in values]]
        means.append(draw.mean())
        errors.append(draw.std(ddof=1) / math.sqrt(len(values)))
    return np.array(means), np.array(errors)


def obvious_together(weight, x, start, cluster, first):
    """Write every episode out to the length of the longest of its cluster, and add up."""
    total, amount = np.zeros(first[-1]), np.zeros(first[-1])
    for (i, j), k in zip(itertools.pairwise(start), cluster, strict=True):
        T = first[k + 1] - first[k]
        w = np.append(weight[i:j], np.full(T - (j - i), weight[j - 1]))
        total[first[k] : first[k + 1]] += w
        amount[first[k] : first[k + 1]] += w * np.append(x[i:j], np.zeros(T - (j - i)))
    return total, amount


def obvious_resample_weighted(weight, x, start, offset, size, discount, times, rng):
    E = len(offset)
    draws = [[int(rng.random() * E) for _ in range(E)] for _ in range(times)]
    drawn = np.column_stack([np.bincount(draw, minlength=E) for draw in draws])
    turn, last = np.concatenate([np.arange(n) for n in np.diff(start)]), weight[start[1:] - 1]
    return obvious_weighted_of_draws(
        weight, x, turn, start, last, np.diff(start), offset, size, discount, drawn
    )


def obvious_weighted_of_draws(weight, x, turn, start, last, length, offset, size, discount, drawn):
    """Write every episode out to full length and average; for the error, move the share of one
    episode a little and see where the value goes."""
    E, T = len(offset), max(length)
    w, worth = np.zeros((E, T)), np.zeros((E, T))
    for e, (i, j) in enumerate(itertools.pairwise(start)):
        w[e, length[e] :] = last[e]
        w[e, turn[i:j]], worth[e, turn[i:j]] = weight[i:j], x[i:j]

    def value(share):
        value = share @ offset / (share @ size)
        for t in range(T):
            there = share @ w[:, t]
            value += discount**t * (share @ (w[:, t] * worth[:, t]) / there if there > 0 else 0.0)
        return value

    values, errors = [], []
    for share in drawn.T.astype(float):
        values.append(value(share))
        h, unit = 1e-6, np.eye(E)
        pulls = [E * (value(share + h * u) - value(share - h * u)) / (2 * h) for u in unit]
        errors.append(math.sqrt(share @ np.square(pulls) / (E - 1) / E))
    return np.array(values), np.array(errors)


def obvious_first_visit_returns(pair, reward, start, ended, told, discount, middle, half, size):
    """Sum what is known of every first visit's future, step by step, and use numpy's moments."""
    returns, offs = [[] for _ in range(size)], [[] for _ in range(size)]
    for e, (first, last) in enumerate(itertools.pairwise(start)):
        stop = last if told[e] else last - 1
        for t in range(first, last):
            if pair[t] in pair[first:t]:
                continue
            known = sum(discount ** (i - t) * reward[i] for i in range(t, stop))
            left = 0.0 if ended[e] else discount ** (stop - t)
            returns[pair[t]].append(known + left * middle)
            offs[pair[t]].append(left * half)
    x = [np.array(r) for r in returns]
    w = [np.array(o) for o in offs]
    some = [p for p in range(size) if len(x[p])]
    return (
        np.array([len(r) for r in x], float),
        np.array([r.mean() if len(r) else 0.0 for r in x]),
        np.array([((r - r.mean()) ** 2).sum() if len(r) else 0.0 for r in x]),
        np.array([o.mean() if len(o) else 0.0 for o in w]),
        np.array([(o**2).sum() for o in w]),
        min(float((x[p] - w[p]).min()) for p in some),
        max(float((x[p] + w[p]).max()) for p in some),
    )


def obvious_episode_weights(at, action, start, episodes, rows, taken, discount):
    found = []
    for e in episodes:
        steps = range(start[e], start[e + 1])
        w = np.cumprod([rows[at[t], action[t]] / taken[t] for t in steps])
        shares = (1 - discount) * discount ** np.arange(len(w))
        found.append((shares * w).sum() + discount ** len(w) * w[-1])
    return np.array(found)


TWINS = {
    name.removeprefix("obvious_"): twin
    for name, twin in list(globals().items())
    if name.startswith("obvious_")
}
KERNELS = {name: f for name, f in vars(kernels).items() if hasattr(f, "py_func")}


def test_every_kernel_has_a_twin():
    assert set(TWINS) == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_twin_and_kernel_take_the_same_arguments(name):
    kernel = inspect.signature(KERNELS[name].py_func).parameters
    assert list(inspect.signature(TWINS[name]).parameters) == list(kernel)


# ---- nodes --------------------------------------------------------------------------------------


@st.composite
def starts(draw, n: int) -> np.ndarray:
    cuts = draw(st.sets(st.integers(1, n - 1))) if n > 1 else set()
    return np.array(sorted({0, n} | cuts))


@given(st.data())
def test_first_visit_returns(data):
    n, size = data.draw(st.integers(1, 12)), 3
    start = data.draw(starts(n))
    episodes = len(start) - 1
    pair = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)))
    reward = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n))) / 4
    flags = st.lists(st.booleans(), min_size=episodes, max_size=episodes)
    ended = np.array(data.draw(flags))
    told = ended | np.array(data.draw(flags))
    arguments = pair, reward, start, ended, told, data.draw(st.sampled_from([0.0, 0.5, 0.95]))
    range_and_size = 0.75, 3.5, size
    found = kernels.first_visit_returns(*arguments, *range_and_size)
    expected = obvious_first_visit_returns(*arguments, *range_and_size)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)


@given(st.integers(0, 10_000), st.data(), st.sampled_from([0.0, 0.9, 1.0]))
def test_episode_weights(seed, data, discount):
    n, H, A = data.draw(st.integers(1, 12)), 3, 2
    start = data.draw(starts(n))
    rng = np.random.default_rng(seed)
    at, action = rng.integers(H, size=n), rng.integers(A, size=n)
    episodes = rng.permutation(len(start) - 1)
    arguments = at, action, start, episodes, rng.random((H, A)), rng.random(n) + 0.1, discount
    np.testing.assert_allclose(
        kernels.episode_weights(*arguments), obvious_episode_weights(*arguments)
    )


@given(st.data())
def test_window_nodes(data):
    base = data.draw(st.integers(2, 9))
    symbol = np.array(data.draw(st.lists(st.integers(1, base - 1), min_size=1, max_size=30)))
    sizes = np.array(data.draw(st.lists(st.integers(1, 19), max_size=3)), np.int64)
    start = data.draw(starts(len(symbol)))
    digit = st.lists(st.integers(0, base - 1), min_size=1, max_size=2)
    first = np.array([data.draw(digit)[0] for _ in sizes], np.int64)
    found = kernels.window_nodes(symbol, start, base, sizes, first)
    assert np.array_equal(found, obvious_window_nodes(symbol, start, base, sizes, first))
    for t in range(1, start[1]):  # cut anywhere in the first episode, it goes on as before
        rest = np.concatenate([[0], start[1:] - t])
        goes_on = kernels.window_nodes(symbol[t:], rest, base, sizes, found[t])
        assert np.array_equal(goes_on, found[t:])


@given(st.data())
def test_table_nodes(data):
    M, O, A = (data.draw(st.integers(1, 3)) for _ in range(3))
    moves = data.draw(st.lists(st.integers(0, M - 1), min_size=M * O * A, max_size=M * O * A))
    table = np.reshape(moves, (M, O, A))
    step = st.tuples(st.integers(0, O - 1), st.integers(0, A - 1))
    z, a = np.array(data.draw(st.lists(step, min_size=1, max_size=20)), np.int64).T.copy()
    start, first = data.draw(starts(len(z))), data.draw(st.integers(0, M - 1))
    here = data.draw(st.integers(0, M - 1))
    found = kernels.table_nodes(z, a, start, table, first, here)
    assert np.array_equal(found, obvious_table_nodes(z, a, set(start.tolist()), table, first, here))
    for t in range(1, start[1]):  # cut anywhere in the first episode, it goes on as before
        rest = np.concatenate([[0], start[1:] - t])
        goes_on = kernels.table_nodes(z[t:], a[t:], rest, table, first, found[t])
        assert np.array_equal(goes_on, found[t:])


def same_generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(seed), np.random.default_rng(seed)


# ---- weights and their bootstrap ----------------------------------------------------------------


@given(st.data())
def test_running_products(data):
    factor = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 2.0, 3.0]), min_size=1)))
    start = data.draw(starts(len(factor)))
    found = kernels.running_products(factor, start)
    assert found.tolist() == obvious_running_products(factor, start).tolist()


@pytest.mark.parametrize("values", [[1.0, 2.0, 5.0, -3.0], [0.1] * 4 + [1e6], [7.25, 7.25]])
def test_resample_mean(values):
    compiled, plain = same_generators(1)
    found = kernels.resample_mean(np.array(values), 50, compiled)
    expected = obvious_resample_mean(np.array(values), 50, plain)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert compiled.random() == plain.random()


@pytest.mark.parametrize("seed", range(3))
def test_together(seed):
    setup = np.random.default_rng(400 + seed)
    length, cluster = setup.integers(1, 5, 9), np.array([0, 2, 1, 0, 2, 2, 3, 0, 1])
    start = np.append(0, np.cumsum(length))
    longest = [length[cluster == k].max() for k in range(4)]
    arguments = (
        *setup.normal(size=(2, start[-1])),
        start,
        cluster,
        np.append(0, np.cumsum(longest)),
    )
    for one, other in zip(kernels.together(*arguments), obvious_together(*arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_resample_weighted(seed):
    setup = np.random.default_rng(300 + seed)
    start = np.append(0, np.cumsum(setup.integers(1, 5, 8)))
    n = start[-1]
    weight, x, offset = setup.choice([0.0, 0.5, 2.0], n), setup.normal(size=n), setup.normal(size=8)
    weight[start[:-1]] = 1.0
    if seed == 0:  # from the second step on nobody has any weight
        weight = np.where(np.isin(np.arange(n), start), 1.0, 0.0)
    compiled, plain = same_generators(seed)
    size = np.ones(8) if seed == 1 else setup.integers(1, 5, 8).astype(float)
    arguments = weight, x, start, offset, size, 0.9, 20
    found = kernels.resample_weighted(*arguments, compiled)
    expected = obvious_resample_weighted(*arguments, plain)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-8)
    assert compiled.random() == plain.random()
