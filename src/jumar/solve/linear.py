"""Discounted linear systems v = r + γ P v with a sub-stochastic P, solved directly.

I - γP is a diagonally dominant M-matrix, so elimination without pivoting is stable. Small systems
are eliminated densely by a compiled kernel, large ones by a sparse LU factorisation. The transpose
serves the occupancy.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints

DENSE = 128  # unknowns up to which the dense kernel is the faster one


def solve_discounted(
    source: Ints, target: Ints, weight: Floats, right: Floats, *, transpose: bool = False
) -> Floats:
    """v with v[i] = right[i] + Σ weight[l]·v[target[l]] over all l with source[l] = i.

    `weight` already holds γ·p. Entries with a negative target (an ending) do not continue. With
    `transpose` the roles of source and target are exchanged.

    >>> solve_discounted(np.array([0]), np.array([0]), np.array([.5]), np.array([1.])).tolist()
    [2.0]
    """
    go = target >= 0
    source, target, weight = source[go], target[go], weight[go]
    if transpose:
        source, target = target, source
    n = len(right)
    if n <= DENSE:
        from jumar.core import kernels

        matrix = np.eye(n)
        np.subtract.at(matrix, (source, target), weight)
        return kernels.solve_dominant(matrix, right.astype(np.float64).copy())
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    P = csc_array((weight, (source, target)), shape=(n, n))
    solution: Floats = splu((eye_array(n, format="csc") - P).tocsc()).solve(right)
    return solution
