"""The compiled walk over the steps of a log that makes another log which could have been.

A log over a memory is a walk on a graph. Its points are the histories x and one root, from which
every episode sets out and to which it comes back; its edges are the logged steps, each from the
history it was made in to the one that followed. The obvious twin, which lists every such walk,
lives in the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Ints


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
