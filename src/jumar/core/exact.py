"""Sums of floating-point numbers that do not depend on the order.

Each sum is held exactly, as one long whole number in units of a small power of two. It is cut into
*limbs* of 32 bits, each in a 64-bit word, so that adding a number changes three words and carries
wait (Kulisch's accumulator, with late carries as in Neal 2015). Parts are added up exactly, and
rounding happens once, to the nearest double. So a sum is the same in any order, in any number of
parts, on any number of machines.

Sums that travel (`expansion`) are lists of doubles: the rounded sum, then the rounded rest, and so
on until nothing is left. Such a list says exactly what the sum is.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.jit import compiled, inlined

BITS = 32  # of a limb
MASK = (1 << BITS) - 1
FRACTION = (1 << 52) - 1
LOWEST = -1074  # the exponent of the last bit of the smallest double
MOST_WAITING = 1 << 29  # additions, after which carries must be passed on
HEADROOM = 3  # limbs above the largest number: the sum of 2^64 of them and a sign


class ExactSums:
    """So many sums. L limbs each, the first counting units of 2^low.

    >>> sums = ExactSums(2)
    >>> sums.add(np.array([0, 1, 0, 0]), np.array([1e16, 2.5, 1.0, -1e16]))
    >>> sums.rounded().tolist()
    [1.0, 2.5]
    """

    def __init__(self, size: int) -> None:
        self.low = 0  # a multiple of BITS
        self.limbs: Ints = np.zeros((size, 0), np.int64)
        self._waiting = 0

    def __len__(self) -> int:
        return len(self.limbs)

    def grow(self, size: int) -> None:
        """Make room for more sums; the new ones are 0."""
        self.limbs = np.pad(self.limbs, ((0, size - len(self)), (0, 0)))

    def prepare(self, values: Floats) -> None:
        """Make room for numbers of this size: after it they may be added to `limbs` in place."""
        least, most = extent(values.view(np.int64))
        if least <= most:
            self._reach(least, most)
        self.wait(len(values))

    def add(self, index: Ints, values: Floats) -> None:
        """Add each value to the sum it belongs to."""
        values = np.ascontiguousarray(values, np.float64)
        self.prepare(values)
        if self.limbs.shape[1]:
            add_each(self.limbs, self.low, index, values.view(np.int64))

    def merge(self, other: ExactSums, index: Ints) -> None:
        """Add other sums, each to the one at its index."""
        if other.limbs.shape[1] == 0:
            return
        pass_on(other.limbs)
        top = other.low + BITS * (other.limbs.shape[1] - HEADROOM)
        self._reach(other.low, top - 1)
        self.wait(len(index))
        first = (other.low - self.low) // BITS
        width = other.limbs.shape[1]
        short = first + width - self.limbs.shape[1]
        if short > 0:
            self._widen(0, short)
        np.add.at(self.limbs, (index[:, None], np.arange(first, first + width)), other.limbs)

    def rounded(self) -> Floats:
        """(n,) each sum as the nearest double."""
        return self.expansion(1)[:, 0]

    def expansion(self, most: int | None = None) -> Floats:
        """(n, k) doubles that add up to each sum exactly, the largest first; the first is the
        rounded sum. `most` of them at most."""
        rest, every = self.limbs.copy(), np.arange(len(self))
        parts: list[Floats] = []
        while rest.shape[1] and len(parts) != most:
            pass_on(rest)
            part = nearest(rest, self.low)
            if not part.any():
                break
            parts.append(part)
            add_each(rest, self.low, every, (-part).view(np.int64))
        return np.column_stack(parts or [np.zeros(len(self))])

    def _reach(self, least: int, most: int) -> None:
        """Let limbs hold bits 2^least to 2^most."""
        low = least // BITS * BITS
        if self.limbs.shape[1] == 0:
            self.low = low
        below = max(0, (self.low - low) // BITS)
        self.low -= below * BITS
        needed = (most - self.low) // BITS + 1 + HEADROOM
        self._widen(below, max(0, needed - self.limbs.shape[1] - below))

    def _widen(self, below: int, above: int) -> None:
        if below or above:
            self.limbs = np.pad(self.limbs, ((0, 0), (below, above)))

    def wait(self, additions: int) -> None:
        """So many additions to `limbs` follow: carries are passed on before they overflow."""
        if self._waiting + additions > MOST_WAITING:
            pass_on(self.limbs)
            self._waiting = 0
        self._waiting += additions


def exact_mean(values: Floats) -> float:
    """The mean, of the exact sum: the same in whatever order they come."""
    sums = ExactSums(1)
    sums.add(np.zeros(len(values), np.int64), values)
    return float(sums.rounded()[0] / len(values))


# ---- compiled -----------------------------------------------------------------------------------


@compiled
def extent(bits: Ints) -> tuple[int, int]:
    """The lowest and the highest bit of the numbers that are not 0; (1, 0) if all are."""
    least, most = 2048, -1
    for b in bits:
        e = (b >> 52) & 0x7FF
        if e == 0:
            if b & FRACTION == 0:
                continue
            e = 1
        least, most = min(least, e), max(most, e)
    if most < 0:
        return 1, 0
    return least - 1 + LOWEST, most - 1 + LOWEST + 52


@inlined
def add_one(limbs: Ints, i: int, low: int, bits: int) -> None:
    """Add a double, given by its bits, to sum i; there is room for it."""
    e = (bits >> 52) & 0x7FF
    m = bits & FRACTION
    if e == 0:
        e = 1
    else:
        m |= 1 << 52
    if m != 0:
        at = e - 1 + LOWEST - low
        j, shift = at >> 5, at & 31
        lower, upper = (m & MASK) << shift, (m >> BITS) << shift
        one, two, three = lower & MASK, (lower >> BITS) + (upper & MASK), upper >> BITS
        if bits < 0:
            one, two, three = -one, -two, -three
        limbs[i, j] += one
        limbs[i, j + 1] += two
        limbs[i, j + 2] += three


@compiled
def add_each(limbs: Ints, low: int, index: Ints, bits: Ints) -> None:
    for k in range(len(index)):
        add_one(limbs, index[k], low, bits[k])


@compiled
def pass_on(limbs: Ints) -> None:
    """Pass carries on: every limb but the last comes to lie in [0, 2^32)."""
    for i in range(limbs.shape[0]):
        for j in range(limbs.shape[1] - 1):
            carry = limbs[i, j] >> BITS
            limbs[i, j] -= carry << BITS
            limbs[i, j + 1] += carry


@compiled
def nearest(limbs: Ints, low: int) -> Floats:
    """(n,) each sum as the nearest double, ties to even; carries were passed on."""
    n, L = limbs.shape
    found = np.zeros(n)
    digit = np.empty(L, np.int64)
    for i in range(n):
        negative = limbs[i, L - 1] < 0
        carry = 0
        for j in range(L):
            x = (-limbs[i, j] if negative else limbs[i, j]) + carry
            carry = x >> BITS if j < L - 1 else 0
            digit[j] = x - (carry << BITS)
        top = L - 1
        while top >= 0 and digit[top] == 0:
            top -= 1
        if top < 0:
            continue
        length = 0
        while digit[top] >> length:
            length += 1
        # the 53 leading bits, the one after them, and whether anything follows
        wanted, kept = 54, np.int64(0)
        lead, j, sticky = length, top, False
        while wanted > 0 and j >= 0:
            take = min(wanted, lead)
            kept = (kept << take) | (digit[j] >> (lead - take))
            if lead > take and digit[j] & ((1 << (lead - take)) - 1):
                sticky = True
            wanted -= take
            lead = BITS
            j -= 1
        kept <<= wanted  # a short sum: zeros follow
        while j >= 0 and not sticky:
            sticky = digit[j] != 0
            j -= 1
        half = kept & 1
        mantissa = kept >> 1
        if half and (sticky or mantissa & 1):
            mantissa += 1
        exponent = low + top * BITS + length - 53
        value = np.ldexp(float(mantissa), exponent)
        found[i] = -value if negative else value
    return found
