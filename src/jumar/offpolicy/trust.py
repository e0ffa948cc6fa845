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

Coverage was measured by `benchmarks/interval_coverage.py`, on nine processes (heavy weights over 10
and 40 steps, behaviors that are 90 to 98 % sure, rare payoffs, lognormal rewards, two easy ones),
20 to 2,000 episodes, 200 logs each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.arrays import Floats


@dataclass(frozen=True)
class Trust:
    """Numbers of well-behaved episodes that would say as much; the smallest one counts."""

    carried: float
    present: float
    balanced: float
    missing: float = 0.0  # part of the weight that the log does not contain

    @property
    def size(self) -> float:
        """The trusted size."""
        return min(self.carried, self.present, self.balanced)

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


# Below each trusted size, the share in % of logs whose 95 % interval covered the truth: the least
# and the greatest of PDIS, WIS and CWPDIS, pooled over the logs of that size and all processes.
MEASURED = {
    "t": ((3, 0, 0), (10, 0, 0), (30, 0, 0)),
    "bca": ((3, 0, 0), (10, 0, 0), (30, 0, 0)),
    "bootstrap-t": ((3, 0, 0), (10, 0, 0), (30, 0, 0)),
}
FEW = 10  # below this size, do not trust; above, up to the last of MEASURED, take care


def grade(found: Trust, episodes: int, interval: str) -> list[str]:
    """The warning that an asymptotic interval deserves at its trusted size, if any."""
    measured = [shares for size, *shares in MEASURED[interval] if found.size < size]
    if not measured:
        return []
    low, high = measured[0]
    begins = "Do not trust this interval" if found.size < FEW else "Treat this interval with care"
    says = f"the {episodes:,} episodes say" if episodes != 1 else "the only episode says"
    share = f"{low}" if low == high else f"{low} to {high}"
    return [
        f"{begins}: {says} as much as {found.size:.2g} ordinary ones, because {found.reason}. At "
        f"such sizes 95 % intervals of this kind were measured to cover the truth in {share} % of "
        "logs."
    ]
