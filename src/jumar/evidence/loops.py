"""The compiled loops of the order test and of learned memories. Obvious twins live in the tests.

They are apart from what calls them, as compiling takes numba, which nobody loads before it is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints

# ---- another log that could have been -----------------------------------------------------------


@compiled
def reorder(pointer: Ints, head: Ints, step: Ints, root: int, rng: Any) -> tuple[Ints, Ints]:
    """All edges once more, each from where the one before ended, every such order equally likely.

    Edges of point v stand in pointer[v] to pointer[v+1]; step is -1 for those that are no step of
    the log. Gives the steps in their new order, and where each episode starts.

    The last exits of the points in a closed walk form a tree to the root, and given the tree all
    other exits may come in any order (the BEST theorem). The tree is drawn by loop-erased random
    walks (Wilson's algorithm), the other exits are shuffled.
    """
    V, M = len(pointer) - 1, len(head)
    last = np.full(V, -1, np.int64)
    settled = np.zeros(V, np.bool_)
    settled[root] = True
    for v in range(V):
        u = v
        while not settled[u]:
            last[u] = pointer[u] + int(rng.random() * (pointer[u + 1] - pointer[u]))
            u = head[last[u]]
        u = v
        while not settled[u]:
            settled[u] = True
            u = head[last[u]]
    exits = np.arange(M)
    for v in range(V):
        top = pointer[v + 1]
        if v != root:
            top -= 1
            exits[last[v]], exits[top] = exits[top], exits[last[v]]
        for i in range(top - 1, pointer[v], -1):
            j = pointer[v] + int(rng.random() * (i + 1 - pointer[v]))
            exits[i], exits[j] = exits[j], exits[i]
    steps = np.empty(M, np.int64)
    start = np.empty(pointer[root + 1] - pointer[root] + 1, np.int64)
    taken = pointer[:-1].copy()
    at, n, e = root, 0, 0
    for _ in range(M):
        if at == root:
            start[e] = n
            e += 1
        edge = exits[taken[at]]
        taken[at] += 1
        if step[edge] >= 0:
            steps[n] = step[edge]
            n += 1
        at = head[edge]
    start[e] = n
    return steps[:n].copy(), start


# ---- the evidence for an automaton --------------------------------------------------------------


@compiled
def best_merge(
    moves: Ints,  # (K, S)
    counts: Floats,  # (K, U)
    pair: Ints,  # (U,)
    outcomes: Ints,  # (P,)
    prior: float,
) -> tuple[float, Ints]:
    """The pair of nodes whose merger gains most evidence, and (K,) for every node the least one
    that it is then merged with."""
    K, U = counts.shape
    P = len(outcomes)
    own = np.zeros(K)
    for n in range(K):
        own[n] = log_evidence(counts[n], pair, outcomes, np.zeros(P), prior)
    best, chosen = -np.inf, np.arange(K)
    group, total, steps = np.empty(K, np.int64), np.empty(U), np.zeros(P)
    for m in range(K):
        for n in range(m + 1, K):
            close(moves, m, n, group)
            gain = 0.0
            for g in range(K):
                if group[g] != g:
                    continue
                members = 0
                total[:] = 0.0
                for i in range(g, K):
                    if group[i] == g:
                        members += 1
                        total += counts[i]
                        gain -= own[i]
                if members == 1:
                    gain += own[g]
                else:
                    gain += log_evidence(total, pair, outcomes, steps, prior)
            if gain > best:
                best = gain
                chosen = group.copy()
    return best, chosen


@compiled
def close(moves: Ints, m: int, n: int, group: Ints) -> None:
    """Into `group`: for every node the least one that it is merged with, if m and n are."""
    K, S = moves.shape
    for i in range(K):
        group[i] = i
    group[n] = m
    again = True
    while again:
        again = False
        for i in range(K):
            g = group[i]
            if g == i:
                continue
            for s in range(S):
                x, y = group[moves[i, s]], group[moves[g, s]]
                if x != y:
                    low, high = min(x, y), max(x, y)
                    for j in range(K):
                        if group[j] == high:
                            group[j] = low
                    again = True


@compiled
def log_evidence(counts: Floats, pair: Ints, outcomes: Ints, steps: Floats, prior: float) -> float:
    """log p of the counts of one node. (`steps` is room to write to.)"""
    steps[:] = 0.0
    found = 0.0
    for u in range(len(counts)):
        if counts[u] > 0:
            steps[pair[u]] += counts[u]
            found += math.lgamma(prior + counts[u]) - math.lgamma(prior)
    for p in range(len(outcomes)):
        if steps[p] > 0:
            found += math.lgamma(prior * outcomes[p]) - math.lgamma(prior * outcomes[p] + steps[p])
    return found


@compiled
def sweep(
    moves: Ints,  # (K, S), written to
    nodes: Ints,  # (N,) at every step, written to
    counts: Floats,  # (K, U), written to
    order: Ints,  # (M,) moves m·S + s
    symbol: Ints,  # (N,)
    cell: Ints,  # (N,)
    end: Ints,  # (N,) where the episode of each step ends
    pair: Ints,  # (U,)
    outcomes: Ints,  # (P,)
    prior: float,
    least: float,
) -> bool:
    """Give every move its best end, one after the other. Was any of them changed?"""
    K, S = moves.shape
    steps, touched = np.zeros(len(outcomes)), np.zeros(K, np.bool_)
    own = np.zeros(K)
    for n in range(K):
        own[n] = log_evidence(counts[n], pair, outcomes, steps, prior)
    changed = False
    for move in order:
        m, s = move // S, move % S
        made = np.flatnonzero((nodes == m) & (symbol == s))
        old, best, gained = moves[m, s], moves[m, s], least
        for k in range(K):
            if k == old:
                continue
            moves[m, s] = k
            touched[:] = False
            walk(moves, made, nodes, counts, touched, symbol, cell, end, 1.0, False)
            gain = 0.0
            for n in range(K):
                if touched[n]:
                    gain += log_evidence(counts[n], pair, outcomes, steps, prior) - own[n]
            walk(moves, made, nodes, counts, touched, symbol, cell, end, -1.0, False)
            if gain > gained:
                best, gained = k, gain
        moves[m, s] = best
        if best != old:
            changed = True
            touched[:] = False
            walk(moves, made, nodes, counts, touched, symbol, cell, end, 1.0, True)
            for n in range(K):
                if touched[n]:
                    own[n] = log_evidence(counts[n], pair, outcomes, steps, prior)
    return changed


@compiled
def walk(
    moves: Ints,  # (K, S) with one move changed
    made: Ints,  # the steps that make it
    nodes: Ints,  # (N,) with the move as it was
    counts: Floats,  # (K, U), written to
    touched: Bools,  # (K,), written to: whose counts change
    symbol: Ints,
    cell: Ints,
    end: Ints,
    times: float,  # 1: count what changes; -1: take it back
    keep: bool,  # renew the nodes of the steps, too
) -> None:
    """Count the log as it is with the changed move."""
    again = 0  # the step at which both are in the same node again
    for first in made:
        if first < again:
            continue
        i, node = first + 1, moves[nodes[first], symbol[first]]
        while i < end[first] and node != nodes[i]:
            if cell[i] >= 0:
                counts[nodes[i], cell[i]] -= times
                counts[node, cell[i]] += times
                touched[nodes[i]] = True
                touched[node] = True
            if keep:
                nodes[i] = node
            node = moves[node, symbol[i]]
            i += 1
        again = i
