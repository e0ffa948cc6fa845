"""Compiled loops on raw arrays: no objects, no checks, nothing from the package but how
they are compiled.

The caller of a kernel has validated the arguments. Every kernel has a slow, obvious twin in
tests/core/test_kernels.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumar.core.jit import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@compiled
def window_nodes(symbol: Ints, start: Ints, base: int, sizes: Ints, first: Ints) -> Ints:
    """(N, W) node words at every step; word w holds sizes[w] digits, newest digits first. The first
    episode goes on from node `first`."""
    W = len(sizes)
    nodes = np.zeros((len(symbol), W), np.int64)
    top = np.empty(W, np.int64)
    for w in range(W):
        top[w] = base ** (sizes[w] - 1)
    if len(symbol):
        nodes[0] = first
    for e in range(len(start) - 1):
        for t in range(start[e] + 1, start[e + 1]):
            newest = symbol[t - 1]
            for w in range(W):
                word = nodes[t - 1, w]
                nodes[t, w] = word % top[w] * base + newest
                newest = word // top[w]
    return nodes


@compiled
def table_nodes(z: Ints, a: Ints, start: Ints, table: Ints, initial: int, first: int) -> Ints:
    """(N,) node at every step of a hand-written memory. The first episode goes on from node
    `first`."""
    nodes = np.empty(len(z), np.int64)
    for e in range(len(start) - 1):
        node = first if e == 0 else initial
        for t in range(start[e], start[e + 1]):
            nodes[t] = node
            node = table[node, z[t], a[t]]
    return nodes


@compiled
def running_products(factor: Floats, start: Ints) -> Floats:
    """(N,) the product of the factors so far, anew in every episode."""
    products = np.empty(len(factor), np.float64)
    for e in range(len(start) - 1):
        product = 1.0
        for t in range(start[e], start[e + 1]):
            product *= factor[t]
            products[t] = product
    return products


@compiled
def resample_mean(values: Floats, times: int, rng: Any) -> tuple[Floats, Floats]:
    """(times,) the mean and the standard error of draws with replacement."""
    n = len(values)
    means, errors = np.empty(times), np.empty(times)
    centre = values.mean()  # squares of what is left do not cancel
    for b in range(times):
        total, squares = 0.0, 0.0
        for _ in range(n):
            x = values[int(rng.random() * n)] - centre
            total += x
            squares += x * x
        mean = total / n
        means[b] = centre + mean
        left = squares - n * mean * mean
        if left <= 1e-12 * squares:  # all values alike: what is left is rounding
            left = 0.0
        errors[b] = np.sqrt(left / (n - 1) / n)
    return means, errors


@compiled
def resample_weighted(
    weight: Floats,  # (N,)
    x: Floats,  # (N,)
    start: Ints,  # (E+1,)
    offset: Floats,  # (E,)
    size: Floats,  # (E,)
    discount: float,
    times: int,
    rng: Any,
) -> tuple[Floats, Floats]:
    """(times,) Σ offset / Σ size + Σ_t γ^t Σ w x / Σ w over draws of whole episodes, and its
    standard error by the delta method; an episode that is over keeps its last weight."""
    E = len(offset)
    # steps without weight say nothing: what is left of a long log may fit into a cache
    kept = np.flatnonzero(weight)
    began = np.searchsorted(kept, start)
    episode = np.searchsorted(start, kept, side="right") - 1
    turn = kept - start[episode]
    weights, amounts, last = weight[kept], x[kept], weight[start[1:] - 1]
    length = start[1:] - start[:-1]
    values, errors = np.empty(times), np.empty(times)
    counts = np.empty(E, np.int16)  # nothing is drawn 32,768 times where once is usual
    for first in range(0, times, AT_ONCE):
        n = min(AT_ONCE, times - first)
        drawn = np.empty((E, n), np.int16)
        for b in range(n):
            counts[:] = 0  # small enough for a cache, as all of `drawn` is not
            for _ in range(E):
                counts[int(rng.random() * E)] += 1
            drawn[:, b] = counts
        found = weighted_of_draws(
            weights, amounts, turn, began, last, length, offset, size, discount, drawn
        )
        values[first : first + n], errors[first : first + n] = found
    return values, errors


AT_ONCE = 16  # draws that go through the log together: what is read once serves them all


@compiled
def weighted_of_draws(
    weight: Floats,  # (N,) of the steps that have any
    x: Floats,  # (N,)
    turn: Ints,  # (N,) the number of each step within its episode
    start: Ints,  # (E+1,) where those of each episode begin
    last: Floats,  # (E,) the last weight of each episode
    length: Ints,  # (E,)
    offset: Floats,
    size: Floats,
    discount: float,
    drawn: Any,  # (E, B) int16, how often each draw has each episode
) -> tuple[Floats, Floats]:
    """(B,) values and errors of some draws."""
    E, B = drawn.shape
    T = length.max()
    total, there, over = np.zeros((T, B)), np.zeros((T, B)), np.zeros((T + 1, B))
    base, number = np.zeros(B), np.zeros(B)
    for e in range(E):
        for b in range(B):
            base[b] += drawn[e, b] * offset[e]
            number[b] += drawn[e, b] * size[e]
        for i in range(start[e], start[e + 1]):
            t, w, worth = turn[i], weight[i], weight[i] * x[i]
            for b in range(B):
                total[t, b] += drawn[e, b] * worth
                there[t, b] += drawn[e, b] * w
        if last[e] != 0.0:
            for b in range(B):
                over[length[e], b] += drawn[e, b] * last[e]
    base /= number
    value, kept, power = base.copy(), np.zeros(B), 1.0
    mean, scale, later = np.zeros((T, B)), np.zeros((T, B)), np.zeros((T + 1, B))
    for t in range(T):
        kept += over[t]
        for b in range(B):
            mass = there[t, b] + kept[b]
            mean[t, b] = total[t, b] / mass if mass > 0.0 else 0.0
            scale[t, b] = power * E / mass if mass > 0.0 else 0.0
        value += power * mean[t]
        power *= discount
    for t in range(T - 1, -1, -1):
        later[t] = later[t + 1] + scale[t] * mean[t]
    squares, pull = np.zeros(B), np.empty(B)
    for e in range(E):
        for b in range(B):
            pull[b] = (offset[e] - base[b] * size[e]) * (E / number[b])
        if last[e] != 0.0:
            for b in range(B):
                pull[b] -= last[e] * later[length[e], b]
        for i in range(start[e], start[e + 1]):
            t, w, amount = turn[i], weight[i], x[i]
            for b in range(B):
                pull[b] += scale[t, b] * w * (amount - mean[t, b])
        for b in range(B):
            squares[b] += drawn[e, b] * pull[b] * pull[b]
    return value, np.sqrt(squares / (E - 1) / E)


@compiled
def together(
    weight: Floats,  # (N,)
    x: Floats,  # (N,)
    start: Ints,  # (E+1,)
    cluster: Ints,  # (E,)
    first: Ints,  # (K+1,) where the steps of each cluster go: as many as its longest episode has
) -> tuple[Floats, Floats]:
    """Σ w and Σ w x of the episodes of a cluster, step by step; an episode that is over keeps its
    last weight."""
    total, amount = np.zeros(first[-1]), np.zeros(first[-1])
    for e in range(len(start) - 1):
        k = cluster[e]
        at = first[k]
        for i in range(start[e], start[e + 1]):
            total[at] += weight[i]
            amount[at] += weight[i] * x[i]
            at += 1
        for j in range(at, first[k + 1]):
            total[j] += weight[start[e + 1] - 1]
    return total, amount


@compiled
def first_visit_returns(
    pair: Ints,
    reward: Floats,
    start: Ints,
    ended: Bools,
    told: Bools,
    discount: float,
    middle: float,
    half: float,
    size: int,
) -> tuple[Floats, Floats, Floats, Floats, Floats, float, float]:
    """Per pair, over the episodes that visit it: how many, mean and sum of squared deviations of
    the return from the first visit on, mean and sum of squares of how far it may be off; and the
    least and the greatest return that is possible.

    What follows a cut lies within `half` of `middle`. Where it is not told what followed the last
    step, that step is not known either.
    """
    count, mean, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    off, off_squares = np.zeros(size), np.zeros(size)
    seen = np.full(size, -1, np.int64)
    longest = 0
    for e in range(len(start) - 1):
        longest = max(longest, start[e + 1] - start[e])
    known, open_part = np.empty(longest), np.empty(longest)
    least, most = np.inf, -np.inf
    for e in range(len(start) - 1):
        first, last = start[e], start[e + 1] - 1
        paid, left = 0.0, 0.0 if ended[e] else 1.0
        for t in range(last, first - 1, -1):
            if t < last or told[e]:
                paid, left = reward[t] + discount * paid, discount * left
            known[t - first], open_part[t - first] = paid, left
        for t in range(first, last + 1):
            p = pair[t]
            if seen[p] == e:
                continue
            seen[p] = e
            x, w = known[t - first] + open_part[t - first] * middle, open_part[t - first] * half
            least, most = min(least, x - w), max(most, x + w)
            count[p] += 1.0
            away = x - mean[p]
            mean[p] += away / count[p]
            squares[p] += away * (x - mean[p])
            off[p] += (w - off[p]) / count[p]
            off_squares[p] += w * w
    return count, mean, squares, off, off_squares, least, most


@compiled
def episode_weights(
    at: Ints,
    action: Ints,
    start: Ints,
    episodes: Ints,
    rows: Floats,
    taken: Floats,
    discount: float,
) -> Floats:
    """(n,) the weights of some episodes, averaged over their steps as a discounted return is:
    (1-γ) Σ_t γ^t w_t + γ^T w_{T-1}, with w_t the product of rows(h, a) / taken up to step t."""
    weights = np.empty(len(episodes))
    for i in range(len(episodes)):
        e = episodes[i]
        w, power, total = 1.0, 1.0, 0.0
        for t in range(start[e], start[e + 1]):
            w *= rows[at[t], action[t]] / taken[t]
            total += (1.0 - discount) * power * w
            power *= discount
        weights[i] = total + power * w
    return weights
