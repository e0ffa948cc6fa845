"""Which rows an algorithm admits, in the form that compiled loops and plain ones share.

A pair is *known* iff it was tried more than N∧ times.

BOOTSTRAPPED  unknown actions keep the behavior's mass, the best known one gets the rest
BOUNDED       unknown actions better than the best known one keep the behavior's mass, the best
              known one gets the rest
GREEDY        the best known one gets everything
"""

from __future__ import annotations

from typing import NamedTuple

BOOTSTRAPPED, BOUNDED, GREEDY = 0, 1, 2
WORST = float("nan")  # as a value of what was never tried: the worst that the rewards allow

# relative to the scale of the values:
TIE = 1e-12  # rows closer than this are equally good, and the first action wins
STRICTLY = 1e-13  # a row is only replaced by one that is better by more
TOLERANCE = 1e-11  # what a residual may be in the end

MAX_ITERATIONS = 1000


class Admitted(NamedTuple):
    """The admitted rows: a kind, a threshold, and what an untried pair is worth."""

    kind: int
    n_wedge: float
    unseen_value: float = 0.0
