"""Discounted linear systems v = r + γ P v with a sub-stochastic P.

`solve_discounted` solves up to rounding. I - γP is a diagonally dominant M-matrix, so elimination
without pivoting is stable. Small systems are eliminated densely by a compiled kernel, larger ones
by a sparse LU factorisation. Where thousands of history states follow each other in any order,
elimination fills in almost everything and takes n³; so the largest are iterated until what is left
of the right-hand side is rounding (backward error of BACKWARD, that of elimination), and eliminated
only where that fails. The transpose serves the occupancy.

Which is which. What a factorisation takes is not known before most of the work is done, but a good
band is found in no time (reverse Cuthill-McKee), and the squares of its widths, summed, are the
operations of elimination within the band. Measured on one core: where anything follows anything,
LU takes 0.6 to 0.9 ns per such operation, 1.3 to 1.9 s for 2,000 unknowns and 4 to 6 s for 3,000
(BiCGSTAB: 2 to 31 ms, with γ = .95 and .999 alike); windows of 3 to 6 on CheeseMaze have at most
2.7e8 of them and take 34 ms at the most. So up to ELIMINATED unknowns a system is iterated only if
its band takes more than FILLED operations, about a second; beyond, iterating is always tried first.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints

DENSE = 128  # unknowns up to which the dense kernel is the faster one
ELIMINATED = 3000  # unknowns up to which even a full factorisation takes seconds
FILLED = 1e9  # operations within the band beyond which iterating is tried first
BACKWARD = 4 * np.finfo(np.float64).eps
REFINEMENTS, ROUNDS = 6, 200
RESIDUAL = 1e-8  # relative, of one correction


def solve_discounted(
    source: Ints, target: Ints, weight: Floats, right: Floats, *, transpose: bool = False
) -> Floats:
    """v with v[i] = right[i] + Σ weight[l]·v[target[l]] over all l with source[l] = i.

    `weight` already holds γ·p. Entries with a negative target (an ending) do not continue. With
    `transpose` the roles of source and target are exchanged. Where weights are those of a process
    that never ends, as far as rounding tells, there is no solution: ZeroDivisionError.

    >>> solve_discounted(np.array([0]), np.array([0]), np.array([.5]), np.array([1.])).tolist()
    [2.0]
    """
    go = target >= 0
    source, target, weight = source[go], target[go], weight[go]
    if transpose:
        source, target = target, source
    n = len(right)
    if n <= DENSE:
        from jumar.solve.elimination import solve_dense

        matrix = np.eye(n)
        np.subtract.at(matrix, (source, target), weight)
        return solve_dense(matrix, right.astype(np.float64).copy())
    if n > ELIMINATED or _fills(source, target, n):
        found = _refined(source, target, weight, right.astype(np.float64))
        if found is not None:
            return found
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    P = csc_array((weight, (source, target)), shape=(n, n))
    try:
        solution: Floats = splu((eye_array(n, format="csc") - P).tocsc()).solve(right)
    except RuntimeError as error:  # "Factor is exactly singular"
        raise ZeroDivisionError(f"linear system: {error}") from error
    return solution


def _fills(source: Ints, target: Ints, n: int) -> bool:
    """Whether eliminating takes more than FILLED operations, as far as a band tells."""
    if n**3 / 3 <= FILLED:  # not even a full matrix does
        return False
    if len(source) > n * n / 10:  # no order makes a narrow band of it
        return True
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ends = np.concatenate([source, target]), np.concatenate([target, source])
    links = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(n, n))
    links.sum_duplicates()
    place = np.empty(n, np.int64)
    place[reverse_cuthill_mckee(links, symmetric_mode=True)] = np.arange(n)
    width = np.zeros(n, np.int64)
    np.maximum.at(width, place[source], place[source] - place[target])
    np.maximum.at(width, place[target], place[target] - place[source])
    return float((width.astype(np.float64) ** 2).sum()) > FILLED


def _rows(source: Ints, target: Ints, weight: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """γP row by row: where each row begins, its columns and its entries."""
    if (source[1:] < source[:-1]).any():
        order = np.argsort(source, kind="stable")
        source, target, weight = source[order], target[order], weight[order]
    return np.searchsorted(source, np.arange(n + 1)), target, weight.astype(np.float64)


def _refined(source: Ints, target: Ints, weight: Floats, right: Floats) -> Floats | None:
    """v up to rounding, corrected by what is still missing until nothing is; None if that does not
    get there."""
    from jumar.solve.elimination import bicgstab, residual

    n = len(right)
    rows = _rows(source, target, weight, n)
    in_all = np.bincount(source, np.abs(weight), n)  # of a row, beside the 1 on the diagonal
    v: Floats = np.zeros(n)
    for _ in range(REFINEMENTS):
        left = residual(*rows, right, v)
        size = np.abs(v).max() * (1 + in_all.max()) + np.abs(right).max()
        if not np.isfinite(left).all():
            return None
        if np.abs(left).max() <= BACKWARD * size:
            return v
        correction, _ = bicgstab(*rows, left, np.zeros(n), RESIDUAL, ROUNDS)
        v = v + correction
    # a row of thousands of entries cannot be summed as well as that; nor can it be eliminated so
    longest = int(np.diff(rows[0]).max())
    left, size = residual(*rows, right, v), np.abs(v).max() * (1 + in_all.max())
    near = np.abs(left).max() <= longest * np.finfo(np.float64).eps * (size + np.abs(right).max())
    return v if near else None
