"""Linear systems in compiled code: elimination, dense or with a plan, and BiCGSTAB.

(I - γP) x = b with a sub-stochastic P is diagonally dominant, so eliminating unknowns in any order
without pivoting is stable.

Why two. One small system is eliminated densely (`solve_dense`): a plan costs more than it saves.
Where thousands of policies share one small model, as in policy iteration and in the paper's grid,
`analyse` plans once: it chooses an order that creates little fill (least row times column entries
first, Markowitz), finds where fill will stand, and writes down every operation as index lists;
`solve` then runs through the lists. Large systems go to scipy (`solve.linear`).

Why BiCGSTAB (van der Vorst 1992) is here. Its sums are never in another order. Those of scipy are
BLAS's, which spreads vectors of more than 10,000 numbers over threads: beside other work they wait
for each other (40 times as long, measured), and the last digits depend on how many there are.

Raw arrays only; the plan is a named tuple so that compiled code can carry it around.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jumar.core.errors import TooLarge
from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints

MOST_UPDATES = 20_000_000  # 320 MB of them


class Plan(NamedTuple):
    """n unknowns; slots hold the matrix entries that are or become non-zero."""

    n_slots: int
    diagonal: Ints  # (n,) slot of each diagonal entry
    order: Ints  # (n,) unknowns in the order they are eliminated
    row_pointer: Ints  # (n+1,) per elimination: the rows it changes
    row: Ints  # unknown whose row is changed
    row_slot: Ints  # slot of that row's entry in the eliminated column
    update_pointer: Ints  # per changed row: its slot updates
    update_to: Ints
    update_from: Ints
    back_pointer: Ints  # (n+1,) per elimination: what back substitution still needs
    back_slot: Ints
    back_column: Ints
    entry_slot: Ints  # (L,) slot of each entry of the pattern that was analysed


@compiled
def _order(filled: Ints, most: int) -> tuple[Ints, int]:
    """Eliminate symbolically on a dense 0/1 pattern; marks fill and returns the order, and the
    number of updates that the plan will have. Gives up beyond `most` of them. Counts of entries are
    kept up to date, so the cost is n² and one per update."""
    n = len(filled)
    order = np.empty(n, np.int64)
    alive = np.ones(n, np.bool_)
    rows, columns = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        for j in range(n):
            if filled[i, j]:
                rows[j] += 1
                columns[i] += 1
    below, right = np.empty(n, np.int64), np.empty(n, np.int64)
    updates = 0
    for step in range(n):
        best, best_cost = -1, 0
        for i in range(n):
            if alive[i]:
                cost = (rows[i] - 1) * (columns[i] - 1)
                if best < 0 or cost < best_cost:
                    best, best_cost = i, cost
        p = best
        order[step] = p
        alive[p] = False
        n_below, n_right = 0, 0
        for i in range(n):
            if alive[i] and filled[i, p]:
                below[n_below] = i
                n_below += 1
                columns[i] -= 1
            if alive[i] and filled[p, i]:
                right[n_right] = i
                n_right += 1
                rows[i] -= 1
        updates += n_below * n_right
        if updates > most:
            break
        for j in below[:n_below]:
            for k in right[:n_right]:
                if not filled[j, k]:
                    filled[j, k] = 1
                    columns[j] += 1
                    rows[k] += 1
    return order, updates


def analyse(n: int, source: Ints, target: Ints) -> Plan:
    """A plan for matrices with a full diagonal and entries at (source, target). Too much fill is
    TooLarge."""
    filled: Any = np.zeros((n, n), np.int8)
    filled[source, target] = 1
    np.fill_diagonal(filled, 1)
    order, updates = _order(filled, MOST_UPDATES)
    if updates > MOST_UPDATES:
        raise TooLarge(
            f"A linear system of {n:,} unknowns takes more than {MOST_UPDATES:,} updates to "
            "eliminate. Use a shorter memory."
        )
    return _write_plan(filled, order, source, target)


@compiled
def _write_plan(filled: Ints, order: Ints, source: Ints, target: Ints) -> Plan:
    n = len(order)
    slot = np.full((n, n), -1, np.int32)
    n_slots = 0
    for i in range(n):
        for j in range(n):
            if filled[i, j]:
                slot[i, j] = n_slots
                n_slots += 1
    diagonal = np.empty(n, np.int64)
    for i in range(n):
        diagonal[i] = slot[i, i]
    place = np.empty(n, np.int64)
    for step in range(n):
        place[order[step]] = step
    rows, updates, backs = 0, 0, 0
    for step in range(n):
        p = order[step]
        below, right = 0, 0
        for k in range(n):
            below += place[k] > step and filled[k, p] == 1
            right += place[k] > step and filled[p, k] == 1
        backs += right
        rows += below
        updates += below * right
    row_pointer, back_pointer = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    row, row_slot = np.empty(rows, np.int64), np.empty(rows, np.int64)
    update_pointer = np.zeros(rows + 1, np.int64)
    update_to, update_from = np.empty(updates, np.int64), np.empty(updates, np.int64)
    back_slot, back_column = np.empty(backs, np.int64), np.empty(backs, np.int64)
    r, u, b = 0, 0, 0
    for step in range(n):
        p = order[step]
        first = b
        for k in range(n):
            if place[k] > step and filled[p, k]:
                back_slot[b], back_column[b] = slot[p, k], k
                b += 1
        back_pointer[step + 1] = b
        for j in range(n):
            if place[j] > step and filled[j, p]:
                row[r], row_slot[r] = j, slot[j, p]
                for i in range(first, b):
                    update_to[u], update_from[u] = slot[j, back_column[i]], back_slot[i]
                    u += 1
                r += 1
                update_pointer[r] = u
        row_pointer[step + 1] = r
    entry_slot = np.empty(len(source), np.int64)
    for e in range(len(source)):
        entry_slot[e] = slot[source[e], target[e]]
    return Plan(
        n_slots, diagonal, order, row_pointer, row, row_slot, update_pointer, update_to,
        update_from, back_pointer, back_slot, back_column, entry_slot,
    )  # fmt: skip


@compiled
def write_identity(plan: Plan, values: Floats) -> None:
    """The slots become those of the matrix I."""
    values[:] = 0.0
    for i in range(len(plan.diagonal)):
        values[plan.diagonal[i]] = 1.0


@compiled
def solve(plan: Plan, values: Floats, x: Floats) -> None:
    """Eliminate in place: `values` are the slots, `x` the right-hand side and then the solution."""
    n = len(plan.order)
    for step in range(n):
        p = plan.order[step]
        pivot = 1.0 / values[plan.diagonal[p]]
        for r in range(plan.row_pointer[step], plan.row_pointer[step + 1]):
            factor = values[plan.row_slot[r]] * pivot
            if factor != 0.0:
                for u in range(plan.update_pointer[r], plan.update_pointer[r + 1]):
                    values[plan.update_to[u]] -= factor * values[plan.update_from[u]]
                x[plan.row[r]] -= factor * x[p]
    for step in range(n - 1, -1, -1):
        p = plan.order[step]
        total = x[p]
        for b in range(plan.back_pointer[step], plan.back_pointer[step + 1]):
            total -= values[plan.back_slot[b]] * x[plan.back_column[b]]
        x[p] = total / values[plan.diagonal[p]]


@compiled
def solve_dense(matrix: Floats, right: Floats) -> Floats:
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


# ---- by iteration -------------------------------------------------------------------------------


@compiled
def residual(pointer: Ints, target: Ints, weight: Floats, right: Floats, v: Floats) -> Floats:
    """(n,) right - v + γPv, the rows of γP standing one after the other."""
    left = np.empty(len(v))
    for i in range(len(v)):
        follows = 0.0
        for l in range(pointer[i], pointer[i + 1]):
            follows += weight[l] * v[target[l]]
        left[i] = right[i] - (v[i] - follows)
    return left


@compiled
def _inner(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled
def bicgstab(
    pointer: Ints,  # (n+1,)
    target: Ints,  # (L,)
    weight: Floats,  # (L,)
    right: Floats,  # (n,)
    near: Floats,  # (n,) where to begin
    tolerance: float,  # of the residual against the right-hand side
    most: int,  # rounds
) -> tuple[Floats, bool]:
    """(n,) the solution, and whether the residual is small enough."""
    v, nothing = near.copy(), np.zeros(len(near))
    r = residual(pointer, target, weight, right, v)
    enough = tolerance * np.sqrt(_inner(right, right))
    if np.sqrt(_inner(r, r)) <= enough:
        return v, True
    shadow, p, step = r.copy(), r.copy(), np.zeros(len(v))
    rho, alpha, omega = _inner(shadow, r), 1.0, 1.0
    for _ in range(most):
        if rho == 0.0 or omega == 0.0:
            return v, False
        step = -residual(pointer, target, weight, nothing, p)
        along = _inner(shadow, step)
        if along == 0.0:
            return v, False
        alpha = rho / along
        s = r - alpha * step
        t = -residual(pointer, target, weight, nothing, s)
        size = _inner(t, t)
        omega = _inner(t, s) / size if size > 0.0 else 0.0
        v += alpha * p + omega * s
        r = s - omega * t
        if np.sqrt(_inner(r, r)) <= enough:
            return v, True
        before, rho = rho, _inner(shadow, r)
        if omega != 0.0:
            p = r + (rho / before) * (alpha / omega) * (p - omega * step)
    return v, False
