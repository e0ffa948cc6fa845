"""How large a log is as far as an asymptotic *interval* is concerned: what warnings go by.

Student's t and the bootstrap are right when a mean is nearly normal. Three things spoil that, and
the log itself tells how many episodes each of them leaves, of n with weights w:

    carried      (Σw)² / Σw²                    a few episodes carry the estimate
    present      n² / (Σw² + (n - Σw)²)         weights have mean 1; what is missing of it counts
                                                as one episode that the log does not contain
    balanced     n / skew²                      a few values carry the spread

The last is the rule of Cochran (*Sampling Techniques*, 1977), by which a normal interval needs n
to be some 25 times the square of the skewness. The *trusted size* is the smallest of the three.

What no log tells is a loss or a gain that it does not contain: then all three are large and every
asymptotic interval is wrong. Only declared rewards and a proved interval help against that.

Coverage was measured by `benchmarks/interval_coverage.py` on eight hard processes (heavy weights
over 10 and 40 steps, behaviors that are 90 to 98 % sure, rare payoffs, lognormal and gamma
rewards), 20 to 2,000 episodes. Sizes are computed from the log, so a log that happens to miss what
is heavy looks better than it is. The first threshold, 30, was tried on four processes that it was
not chosen on, and let one interval in 50 miss without a warning; so it was raised to 100, which
leaves one in 240 there. An easy process passes it with some 120 episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats


@dataclass(frozen=True)
class Trust:
    """Numbers of well-behaved episodes that would say as much; the smallest one counts."""

    carried: float
    present: float
    balanced: float
    missing: float = 0.0  # part of the weight that the log does not contain

    @property
    def effective(self) -> float:
        """What the weights alone leave: the effective size."""
        return min(self.carried, self.present)

    @property
    def size(self) -> float:
        """The trusted size."""
        return min(self.effective, self.balanced)

    @property
    def reason(self) -> str:
        """Why the trusted size is not larger."""
        if self.size == self.balanced:
            return "a few large values carry most of the spread"
        if self.size == self.carried:
            return "a few episodes carry most of the weight"
        return f"{self.missing:.0%} of the weight is missing from the log"


def trust(weight: Floats, values: Floats) -> Trust:
    """How far a mean of `values` (E,), of episodes with these weights (E,), is from normal.

    >>> trust(np.ones(100), np.tile([0.0, 1.0], 50)).size
    100.0
    >>> half = trust(np.full(100, 0.5), np.tile([0.0, 1.0], 50))
    >>> round(half.size, 1), half.reason
    (4.0, '50% of the weight is missing from the log')
    """
    n, largest = len(weight), float(weight.max())
    if largest == 0:
        return Trust(0.0, 0.0, _balanced(values), 1.0)
    unit = weight / largest  # squares of large weights would overflow
    total, squares = float(unit.sum()), float((unit**2).sum())
    carried = total**2 / squares
    if largest < n * NONE:  # all is missing, but for what no digit shows
        return Trust(carried, 1.0, _balanced(values), 1.0)
    missing = max(0.0, n / largest - total)
    present = (total + missing) ** 2 / (squares + missing**2) if missing > 0 else carried
    return Trust(carried, present, _balanced(values), missing * largest / n)


def _balanced(values: Floats) -> float:
    """n / skew², no more than n."""
    off = values - values.mean()
    largest = float(np.abs(off).max())
    if largest == 0 or (values == values[0]).all():
        return float(len(values))
    unit = off / largest
    second, third = float((unit**2).mean()), float((unit**3).mean())
    return len(values) / max(1.0, third**2 / second**3)


NONE = 1e-100  # a weight whose square is still a number
NEARLY_ALL = 0.9  # share of the episodes from which on a trusted size is that of the log itself
FEW = 10  # below this size, do not trust; above, up to the last size measured, take care


def grade(found: Trust, n: int, unit: str, coverage: Sequence[tuple[int, int, int]]) -> list[str]:
    """The warning that an asymptotic interval deserves at its trusted size, if any; `coverage` is
    what was measured of it (`intervals.Method.measured`)."""
    measured = [shares for size, *shares in coverage if found.size < size]
    if not measured:
        return []
    usual, least = measured[0]
    begins = "Do not trust this interval" if found.size < FEW else "Treat this interval with care"
    if found.size > NEARLY_ALL * n:  # nothing is wrong with them but their number
        why = f"there are only {n:,} {unit}s" if n != 1 else f"there is only one {unit}"
    else:
        says = f"the {n:,} {unit}s say" if n != 1 else f"the only {unit} says"
        why = f"{says} as much as {found.size:.2g} ordinary ones, because {found.reason}"
    return [
        f"{begins}: {why}. At such sizes 95 % intervals of this kind were measured to cover the "
        f"truth in {usual} % of logs, and in {least} % in the worst case tried."
    ]
