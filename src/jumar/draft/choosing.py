"""Which columns an observation should be made of: those that what was done depends on.

Columns are taken one by one, always the one that tells most about the action beside those taken
already: the log-likelihood ratio G of the actions, split by the new column within every combination
of the old ones, less its degrees of freedom. It ends when nothing is gained, or when there would be
more combinations than the log can fill. A column that nothing was decided by can still matter for
what follows; which ones there are is said in the project file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jumar.core.arrays import Ints
from jumar.draft import ranges
from jumar.draft.looking import Column

MOST = 3  # columns
ROWS_EACH = 50  # rows for every combination of values
LEVEL = 0.001
LEAST_PART = 0.05  # of what the first told: readings that only go along with it tell a little


def choose(columns: Sequence[Column], action: Ints | None) -> list[tuple[Column, str]]:
    """The columns to observe, the most telling first, and why. Without a sign, the first column."""
    if action is None or not columns:
        return [(column, "") for column in columns[:1]]
    coded = {column.name: _coded(column, action, len(columns) > 1) for column in columns}
    chosen: list[tuple[Column, str]] = []
    first = 0.0  # what the first column told
    known = np.zeros(len(action), np.int64)
    left = list(columns)
    while left and len(chosen) < MOST:
        scored = [(told(known, coded[column.name], action), column) for column in left]
        best, column = max(scored, key=lambda item: item[0])
        joined = np.unique(known * (coded[column.name].max() + 1) + coded[column.name])
        if (
            best <= 0
            or best < LEAST_PART * first
            or (chosen and len(joined) * ROWS_EACH > len(action))
        ):
            break
        known = np.searchsorted(joined, known * (coded[column.name].max() + 1) + coded[column.name])
        first = max(first, best)
        chosen.append((column, "what was done depends on it"))
        left.remove(column)
    return chosen or [(columns[0], "what was done depends on none of them")]


def _coded(column: Column, action: Ints, combined: bool) -> Ints:
    """(N,) the value, or the range it falls into; 0 where there is none."""
    if column.is_number and ranges.needs_ranges(column.distinct, column.n, combined):
        edges = ranges.cut(column.numbers, action)
        code = np.searchsorted(np.array(edges), column.numbers, side="right") + 1
        return np.asarray(np.where(column.missing, 0, code))
    return column.code + 1


def told(known: Ints, code: Ints, action: Ints) -> float:
    """How much more than chance a column tells about the action, beside what is known."""
    from scipy.stats import chi2

    A, K = int(action.max()) + 1, int(code.max()) + 1
    fine, cell = np.unique(known * K + code, return_inverse=True)
    coarse = np.unique(fine // K, return_inverse=True)[1][cell]
    shown = action >= 0
    split, joint = (
        _likelihood(cell[shown], action[shown], A),
        _likelihood(coarse[shown], action[shown], A),
    )
    freedom = (len(fine) - len(np.unique(coarse))) * (A - 1)
    return float(2 * (split - joint) - chi2.isf(LEVEL, max(1, freedom)))


def _likelihood(cell: Ints, action: Ints, A: int) -> float:
    counts = np.zeros((int(cell.max()) + 1 if len(cell) else 1, A))
    np.add.at(counts, (cell, action), 1)
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return float((counts[counts > 0] * np.log(share[counts > 0])).sum())
