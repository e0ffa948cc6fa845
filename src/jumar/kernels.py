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
