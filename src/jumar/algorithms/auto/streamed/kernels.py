"""Compiled loops over the episodes of a part of a log; each number depends on one episode alone.

Their slow, obvious twins are in tests/algorithms/test_streamed.py.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Bools, Floats, Ints

FINE = 7  # bits: a power of two is cut into 2^FINE ranges
MOST_BINS = 64 << FINE  # scores beyond 2^64 floors count as that
WITHIN = 1 << 20  # steps within a range that are told apart


@compiled
def episode_facts(
    reward: Floats,  # (N,)
    start: Ints,  # (E+1,)
    terminated: Bools,  # (E,)
    discount: float,
    returns: Floats,  # (E,) written: discounted returns
    beyond: Floats,  # (E,) written: γ^T where it was cut off, else 0
    ends: Floats,  # (4,) least and greatest reward of steps that go on, and of those that end
) -> None:
    """What each episode paid, and what lies beyond it."""
    least, most = ends[0], ends[1]
    for e in range(len(start) - 1):
        total, power = 0.0, 1.0
        last = start[e + 1] - 1
        for t in range(start[e], last):
            paid = reward[t]
            total += power * paid
            power *= discount
            least, most = min(least, paid), max(most, paid)
        paid = reward[last]
        total += power * paid
        power *= discount
        at = 2 if terminated[e] else 0
        ends[at] = min(ends[at], paid)
        ends[at + 1] = max(ends[at + 1], paid)
        returns[e], beyond[e] = total, 0.0 if terminated[e] else power
    ends[0], ends[1] = min(ends[0], least), max(ends[1], most)


@compiled
def bet_terms(scores: Floats, floor: float, shares: Floats, terms: Floats) -> None:
    """(K, U) log1p(λ·D/L) for every share λ, written into `terms`."""
    for k in range(len(shares)):
        for i in range(len(scores)):
            terms[k, i] = np.log1p(shares[k] * (scores[i] / floor))


@compiled
def bins_of(scores: Floats, floor: float, bins: Ints, within: Ints) -> None:
    """The range that each score lies in, and how far in it, rounded down. Ranges cut up 2 + D/L,
    which is 1 at the least, by the leading bits of the number."""
    above = 2.0 + scores / floor
    raw = above.view(np.int64)
    shift = 52 - FINE
    for i in range(len(scores)):
        if above[i] < 1.0:
            bins[i], within[i] = 0, 0
            continue
        bins[i] = (raw[i] >> shift) - (1023 << FINE)
        within[i] = (raw[i] & ((1 << shift) - 1)) >> (shift - 20)
        if bins[i] >= MOST_BINS:
            bins[i], within[i] = MOST_BINS - 1, 0


@compiled
def add_to_cells(block: Ints, bins: Ints, within: Ints, count: Ints, offset: Ints) -> None:
    """Count scores in their cells."""
    for i in range(len(block)):
        count[block[i], bins[i]] += 1
        offset[block[i], bins[i]] += within[i]
