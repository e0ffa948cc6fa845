"""Where to cut a column of readings into ranges: at numbers a person would choose.

Cuts are made where the actions change, for there the old policy looked, and then within these
ranges where it matters for what follows: a better threshold cannot be found where no range has it.

Candidates are round numbers (1, 2 or 5 times a power of ten apart) in the middle 99 %
of the values. If what was done differs on the two sides of a candidate, more than chance explains,
the cut that separates the actions best comes first: a rule such as "replace above 7" leaves exactly
this trace. Otherwise the cuts are those nearest to the terciles.

A split's gain is the log-likelihood ratio of the actions,

    G = 2 Σ_side Σ_a n(side, a) ln( n(side, a) n / (n(side) n(a)) ),

compared with the (1 - α) quantile of χ² with A - 1 degrees of freedom, α = .001 over the number of
candidates (Bonferroni). The same ratio says which columns what was done depends on (`dependence`).
For what follows a row, taken as ranks, it is that of normal distributions, n ln(SS / SS_split).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from jumar.core.arrays import Floats, Ints

FEW = 6  # so many values need no ranges
MOST_EDGES = 3
MOST_RANGES = 6  # after finer cuts
MOST_COMBINED = 4  # where several columns are seen
ROWS_IN_RANGE = 100  # at least, in a finer one
CANDIDATES = 40
LEVEL = 0.001
LEAST_SHARE = 0.01  # of the rows, in a range
NAMES = {2: ("low", "high"), 3: ("low", "mid", "high"), 4: ("low", "mid", "high", "very high")}


def needs_ranges(distinct: int, rows: int, combined: bool = False) -> bool:
    """Does a column of numbers have too many values to be names? Combined with other columns they
    multiply, so more than a few are too many.

    >>> needs_ranges(5, 1000), needs_ranges(400, 1000), needs_ranges(11, 9000)
    (False, True, False)
    >>> needs_ranges(11, 9000, combined=True)
    True
    """
    return distinct > FEW and (combined or distinct > min(20, rows**0.5 / 2))


def cut(
    values: Floats,
    action: Ints | None = None,
    follows: Floats | None = None,
    most: int = MOST_RANGES,
) -> tuple[float, ...]:
    """Where to cut readings, as rising edges; a range begins at its edge. `follows` is (N,) what
    came after each row, as ranks.

    >>> rng = np.random.default_rng(1)
    >>> speed = rng.gamma(4, 1, 5000)
    >>> cut(speed, (speed >= 6.5).astype(np.int64))
    (6.5,)
    >>> cut(speed)
    (3.0, 5.0)
    """
    known = ~np.isnan(values)
    values = values[known]
    if len(values) == 0:
        return ()
    grid = round_numbers(values)
    if len(grid) == 0:
        return ()
    edges = () if action is None else _by_action(values, action[known], grid)
    if follows is not None:
        edges = _finer(values, follows[known], grid, edges, most)
    if edges:
        return edges
    least = LEAST_SHARE * len(values)
    thirds = {_roundest(values, grid, share) for share in (1 / 3, 2 / 3)}
    return tuple(sorted(edge for edge in thirds if _least(values, edge) >= least))


def _roundest(values: Floats, grid: Floats, share: float) -> float:
    """The roundest number near a quantile, or the nearest there is."""
    low, middle, high = np.quantile(values, (share - 0.07, share, share + 0.07))
    near = grid[(grid >= low) & (grid <= high)]
    if len(near) == 0:
        return float(grid[np.abs(grid - middle).argmin()])
    return float(min(near, key=lambda number: (_digits(number), abs(number - middle))))


def _digits(number: float) -> int:
    """How much a person must remember."""
    text = f"{abs(number):g}".replace(".", "").strip("0")
    return 2 * len(text) - text.endswith("5")  # 7.5 is rounder than 7.4


def round_numbers(values: Floats) -> Floats:
    """Round numbers within the middle 99 % of the values, at most about `CANDIDATES`.

    >>> round_numbers(np.arange(0.0, 101)).tolist()[:4]
    [5.0, 10.0, 15.0, 20.0]
    """
    low, high = np.quantile(values, (0.005, 0.995))
    if not high > low:
        low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros(0)
    rough = (high - low) / CANDIDATES
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    digits = max(0, -math.floor(math.log10(step)) + 1)
    return np.array([round(k * step, digits) for k in range(first, last + 1)])


def _least(values: Floats, edge: float) -> int:
    """How many values lie on the side with fewer."""
    below = int((values < edge).sum())
    return min(below, len(values) - below)


def _by_action(values: Floats, action: Ints, grid: Floats) -> tuple[float, ...]:
    """Cut where the actions change, the clearest change first."""
    from scipy.stats import chi2

    used = np.unique(action, return_inverse=True)[1]
    A = int(used.max()) + 1
    if A < 2:
        return ()

    def gains(candidates: Iterable[float], low: float, high: float) -> dict[float, float]:
        """What cuts of one range tell about the actions, where neither side has too few values."""
        inside = (values >= low) & (values < high)
        here, done = values[inside], used[inside]
        return {
            float(edge): _gain((here >= edge).astype(np.int64), done)
            for edge in candidates
            if low < edge < high and _least(here, edge) >= LEAST_SHARE * len(values)
        }

    needed = float(chi2.isf(LEVEL / max(1, len(grid)), A - 1))
    step = float(grid[1] - grid[0]) if len(grid) > 1 else 1.0
    edges: list[float] = []
    while len(edges) < MOST_EDGES:
        best, gained, around = None, needed, (-math.inf, math.inf)
        for low, high in pairwise([-math.inf, *sorted(edges), math.inf]):
            for edge, gain in gains(grid, low, high).items():
                if gain > gained:
                    best, gained, around = edge, gain, (low, high)
        if best is None:
            break
        needed = max(needed, 0.05 * gained)  # what is left beside a clear cut is its blurred edge
        # the round number near it that separates the actions best; of equals, the roundest
        near = gains([float(f"{best + step * k / 20:.4g}") for k in range(-20, 21)], *around)
        near = near or {best: gained}
        good = [number for number, gain in near.items() if gain >= 0.97 * max(near.values())]
        edges.append(min(good, key=lambda number: (_digits(number), abs(number - best))))
    return tuple(sorted(edges))


def _finer(
    values: Floats, follows: Floats, grid: Floats, edges: tuple[float, ...], most: int
) -> tuple[float, ...]:
    """More cuts, where the two sides differ most in what follows."""
    from scipy.stats import chi2

    found = list(edges)
    needed = float(chi2.isf(LEVEL / max(1, len(grid)), 1))
    while len(found) + 1 < most:
        gains: dict[float, float] = {}
        for low, high in pairwise([-math.inf, *sorted(found), math.inf]):
            inside = (values >= low) & (values < high)
            here, after = values[inside], follows[inside]
            for edge in grid[(grid > low) & (grid < high)]:
                if _least(here, edge) >= ROWS_IN_RANGE:
                    gains[float(edge)] = spread_gain((here >= edge).astype(np.int64), after)
        good = [edge for edge, gain in gains.items() if gain >= 0.9 * max(gains.values()) > 0]
        if not good or max(gains.values()) <= needed:
            break
        found.append(min(good, key=lambda number: (_digits(number), -gains[number])))
    return tuple(sorted(found))


def named(edges: tuple[float, ...]) -> tuple[str | float, ...]:
    """Edges with a name for every range, as `read_logs` takes them.

    >>> named((2.0, 5.0))
    ('low', 2, 'mid', 5, 'high')
    >>> named((1, 2, 3.5, 5))
    ('below 1', 1, '1 to 2', 2, '2 to 3.5', 3.5, '3.5 to 5', 5, 'from 5')
    """
    k = len(edges) + 1
    text = [f"{edge:.12g}" for edge in edges]
    inner = [f"{low} to {high}" for low, high in pairwise(text)]
    names = NAMES.get(k) or (f"below {text[0]}", *inner, f"from {text[-1]}")
    made: list[str | float] = [names[0]]
    for edge, name in zip(edges, names[1:], strict=True):
        made += [int(edge) if edge == int(edge) else edge, name]
    return tuple(made)


def dependence(known: Ints, code: Ints, action: Ints) -> float:
    """How much more than chance a column tells about the action, beside what is known."""
    from scipy.stats import chi2

    A, K = int(action.max()) + 1, int(code.max()) + 1
    fine, cell = np.unique(known * K + code, return_inverse=True)
    coarse = np.unique(fine // K, return_inverse=True)[1][cell]
    shown = action >= 0
    gain = _gain(cell[shown], action[shown], coarse[shown])
    freedom = (len(fine) - len(np.unique(coarse))) * (A - 1)
    return float(gain - chi2.isf(LEVEL, max(1, freedom)))


def outcome_dependence(known: Ints, code: Ints, follows: Floats) -> float:
    """How much more than chance a column tells about what follows, beside what is known."""
    from scipy.stats import chi2

    fine, cell = np.unique(known * (int(code.max()) + 1) + code, return_inverse=True)
    coarse = np.unique(known, return_inverse=True)[1]
    freedom = len(fine) - (int(coarse.max()) + 1)
    if freedom < 1 or len(fine) * ROWS_IN_RANGE > len(follows):
        return 0.0
    return float(spread_gain(cell, follows, coarse) - chi2.isf(LEVEL, freedom))


def spread_gain(cell: Ints, follows: Floats, coarse: Ints | int = 0) -> float:
    """n ln(SS / SS_split): what means of their own for finer cells explain of what follows."""
    rest = _squares(cell, follows)
    whole = _squares(coarse + 0 * cell, follows)
    return len(cell) * math.log(whole / rest) if rest > 0 else 0.0


def _squares(cell: Ints, follows: Floats) -> float:
    size = np.maximum(np.bincount(cell), 1)
    mean = np.bincount(cell, follows) / size
    return float(((follows - mean[cell]) ** 2).sum())


def _gain(cell: Ints, action: Ints, coarse: Ints | int = 0) -> float:
    """The log-likelihood ratio G of the actions, by cell against coarser cells."""
    return 2 * (_log_likelihood(cell, action) - _log_likelihood(coarse + 0 * cell, action))


def _log_likelihood(cell: Ints, action: Ints) -> float:
    if len(cell) == 0:
        return 0.0
    shape = int(cell.max()) + 1, int(action.max()) + 1
    counts = np.bincount(cell * shape[1] + action, minlength=shape[0] * shape[1]).reshape(shape)
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return float((counts[counts > 0] * np.log(share[counts > 0])).sum())
