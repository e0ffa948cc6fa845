"""Compiled loops on raw arrays: no objects, no checks, no imports from the package.

Whoever calls a kernel has validated what it hands over. Every kernel has a slow, obvious twin in
tests/test_kernels.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first use and keep the result on disk; to the type checker, still a function."""
    jitted: Function = njit(cache=True)(function)
    return jitted


@compiled
def window_nodes(symbol: Ints, start: Ints, base: int, sizes: Ints) -> Ints:
    """(N, W) node words at every step; word w holds sizes[w] digits, newest digits first."""
    W = len(sizes)
    nodes = np.zeros((len(symbol), W), np.int64)
    top = np.empty(W, np.int64)
    for w in range(W):
        top[w] = base ** (sizes[w] - 1)
    for e in range(len(start) - 1):
        for t in range(start[e] + 1, start[e + 1]):
            newest = symbol[t - 1]
            for w in range(W):
                word = nodes[t - 1, w]
                nodes[t, w] = word % top[w] * base + newest
                newest = word // top[w]
    return nodes


@compiled
def table_nodes(z: Ints, a: Ints, start: Ints, table: Ints, first: int) -> Ints:
    """(N,) node at every step of a hand-written memory."""
    nodes = np.empty(len(z), np.int64)
    for e in range(len(start) - 1):
        node = first
        for t in range(start[e], start[e + 1]):
            nodes[t] = node
            node = table[node, z[t], a[t]]
    return nodes


@compiled
def solve_dominant(matrix: Floats, right: Floats) -> Floats:
    """Gaussian elimination in place, without pivoting: for diagonally dominant matrices."""
    n = len(right)
    for i in range(n):
        for j in range(i + 1, n):
            factor = matrix[j, i]
            if factor != 0.0:
                factor /= matrix[i, i]
                for k in range(i + 1, n):
                    matrix[j, k] -= factor * matrix[i, k]
                right[j] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    return right


@compiled
def bootstrapped_rows(q: Floats, behavior: Floats, visits: Floats, n_wedge: float) -> Floats:
    """Π_b: unknown actions keep the behavior's mass, the best known one gets all the rest."""
    rows = behavior.copy()
    H, A = q.shape
    for h in range(H):
        best, mass = -1, 0.0
        for a in range(A):
            if visits[h, a] > n_wedge:
                mass += behavior[h, a]
                rows[h, a] = 0.0
                if best < 0 or q[h, a] > q[h, best]:
                    best = a
        if best >= 0:
            rows[h, best] = mass
    return rows


@compiled
def bounded_rows(q: Floats, behavior: Floats, visits: Floats, n_wedge: float) -> Floats:
    """Π_≤b: unknown actions keep at most the behavior's mass. Those better than the best known
    action keep it all; that action gets everything else."""
    rows = behavior.copy()
    H, A = q.shape
    for h in range(H):
        best = -1
        for a in range(A):
            if visits[h, a] > n_wedge and (best < 0 or q[h, a] > q[h, best]):
                best = a
        if best < 0:
            continue
        mass = 0.0
        for a in range(A):
            if visits[h, a] > n_wedge or q[h, a] <= q[h, best]:
                mass += behavior[h, a]
                rows[h, a] = 0.0
        rows[h, best] = mass
    return rows


@compiled
def greedy_rows(q: Floats, behavior: Floats, allowed: Floats) -> Floats:
    """All mass on the best allowed action (allowed > 0); the behavior's row where none is."""
    rows = behavior.copy()
    H, A = q.shape
    for h in range(H):
        best = -1
        for a in range(A):
            if allowed[h, a] > 0 and (best < 0 or q[h, a] > q[h, best]):
                best = a
        if best >= 0:
            rows[h] = 0.0
            rows[h, best] = 1.0
    return rows
