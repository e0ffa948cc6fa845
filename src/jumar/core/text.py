"""Numbers as people write them."""

from __future__ import annotations

import math


def number(x: float) -> str:
    """A number as people write it.

    >>> number(-6645.71), number(0.012346), number(1234567.0), number(0.0)
    ('-6,646', '0.01235', '1,234,567', '0')
    >>> number(999.96), number(1e30), number(float("-inf"))
    ('1,000', '1e+30', 'unbounded')
    """
    if x == 0 or not math.isfinite(x):
        return "0" if x == 0 else "unbounded"
    if 999.95 <= abs(x) < 1e15:  # from here on, four digits are no less than all before the point
        return f"{x:,.0f}"
    return f"{x:.4g}"


def rounded(x: float, error: float) -> str:
    """An estimate to the digits that its standard error leaves: two digits of the error.

    >>> rounded(5.0123, 1.03), rounded(-0.01, 1.03), rounded(12345.6, 230.0)
    ('5.0', '0.0', '12,350')
    >>> rounded(5.0123, 0.0)
    '5.012'
    """
    if not 1e-6 <= error < 1e12 or abs(x) >= 1e15:
        return number(x)
    places = 1 - math.floor(math.log10(error))
    return f"{round(x, places) + 0.0:,.{max(0, places)}f}"  # no minus zero
