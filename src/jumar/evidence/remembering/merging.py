"""Merging: nodes after which the same follows become one.

Two nodes can be merged only with the nodes that they lead to by the same (z, a), and so on: else
the automaton would not know where to go. What that costs or gains is the log evidence of the
automaton (`laws`) with and without. The pair that gains most is merged first; when no pair gains
any more, it is done, unless there are still too many nodes: then the pair that costs least.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints
from jumar.evidence.remembering.laws import PRIOR, Told


def merged(told: Told, moves: Ints, most: int) -> Ints:
    """(K, S) the moves with fewer nodes; 0 stays the first."""
    from jumar.evidence.remembering.kernels import best_merge

    while len(moves) > 1:
        counts = told.counts(told.nodes(moves), len(moves))
        gain, group = best_merge(moves, counts, told.pair, told.outcomes, PRIOR)
        if gain <= 0 and len(moves) <= most:
            break
        moves = _joined(moves, group)
    return moves


def _joined(moves: Ints, group: Ints) -> Ints:
    """One node for each group, numbered by their first nodes."""
    first, number = np.unique(group, return_inverse=True)
    joined: Ints = number.reshape(-1)[moves[first]]
    return joined
