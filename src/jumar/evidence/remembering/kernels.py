"""The compiled loops over automata: which merger, and which end of a move, has the most evidence.

Obvious twins of both live in the tests.
"""

from __future__ import annotations

import math

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints


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
