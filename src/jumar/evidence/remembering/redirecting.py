"""Redirecting: moves lead where the evidence says.

A new node goes where the one goes that it was split from, and a move that is rarely made may then
go to the wrong place. So every move is tried with every node as its end, and keeps the best: the
one with which the log has the largest evidence (`laws`). What a trial costs follows the steps that
it changes: from where the move is made to where both automata are in the same node again.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints
from jumar.evidence.remembering.laws import PRIOR, Told

SWEEPS = 5
MOST_MOVES = 400  # that are tried, the most frequent ones
LEAST_GAIN = 1e-6  # in log evidence; less is rounding


def redirected(told: Told, moves: Ints) -> Ints:
    """(K, S) the moves with better ends, and without nodes that are not visited any more."""
    from jumar.evidence.remembering.kernels import sweep

    moves = moves.copy()
    end = np.repeat(told.start[1:], np.diff(told.start))
    for _ in range(SWEEPS):
        nodes, used = told.nodes(moves), told.used(moves).reshape(-1)
        order = np.argsort(-used, kind="stable")[:MOST_MOVES]
        order = order[used[order] > 0]
        counts = told.counts(nodes, len(moves))
        log = (told.symbol, told.cell, end, told.pair, told.outcomes)
        if not sweep(moves, nodes, counts, order, *log, PRIOR, LEAST_GAIN):
            break
    return visited(told, moves)


def visited(told: Told, moves: Ints) -> Ints:
    """Without the nodes that the log never comes to. A move that the log never makes goes where
    that (z, a) goes most often, or back to the first node."""
    K, S = moves.shape
    used = told.used(moves)
    ends = np.zeros((S, K))
    np.add.at(ends, (np.broadcast_to(np.arange(S), (K, S)), moves), used)
    moves = np.where(used > 0, moves, ends.argmax(1))
    kept = np.zeros(K, np.bool_)
    kept[0] = True
    kept[moves[used > 0]] = True
    number = np.cumsum(kept) - 1
    found: Ints = number[moves[kept]]
    return found
