"""How large a log is as far as its *interval* is concerned: the size that warnings go by.

Student's t and the bootstrap are right when a mean is nearly normal. Three things spoil that, and
each has a number of episodes that it leaves, all of which the log itself tells:

    weights      (Σw)² / Σw²                        few episodes carry the estimate
    missing      n² / (Σw² + (n - Σw)²)             weights have mean 1; what is missing is counted
                                                    as one episode that the log does not contain
    skewness     n / skew²                          a few values carry the spread

The last one is the rule of Cochran (1977): intervals need n to be some 25 times the square of the
skewness. The *trusted size* is the smallest of the three.
"""

from __future__ import annotations

import numpy as np

from jumar.arrays import Floats


def trusted_size(weight: Floats, pulls: Floats) -> float:
    """The smallest of the three sizes.

    `weight` (E,) are those of whole episodes, `pulls` (E,) what each episode adds to the estimate.

    >>> trusted_size(np.ones(100), np.tile([0.0, 1.0], 50))
    100.0
    >>> round(trusted_size(np.full(100, 0.5), np.tile([0.0, 1.0], 50)), 1)  # half is missing
    4.0
    """
    return min(present_size(weight), balanced_size(pulls))


def present_size(weight: Floats) -> float:
    """The effective size, where weight that is missing is one more episode."""
    n, largest = len(weight), float(weight.max())
    if largest == 0:
        return 0.0
    unit = weight / largest  # squares of large weights would overflow
    total, squares = float(unit.sum()), float((unit**2).sum())
    missing = max(0.0, n / largest - total)
    return min(total**2 / squares, (total + missing) ** 2 / (squares + missing**2))


def balanced_size(pulls: Floats) -> float:
    """n / skew², no more than n."""
    off = pulls - pulls.mean()
    largest = float(np.abs(off).max())
    if largest == 0:
        return float(len(pulls))
    unit = off / largest
    second, third = float((unit**2).mean()), float((unit**3).mean())
    return len(pulls) / max(1.0, third**2 / second**3)
