"""Compiled loops that number what comes up: history states, pairs and moves.

Numbers are found by open addressing: the hash of a key says at which slot to begin, and a slot
holds the number of a key, or -1. There are a power of two of them, some always empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumar.core.arrays import Ints
from jumar.core.jit import compiled, inlined

Codes = NDArray[np.int32]


@inlined
def _scrambled(x: Any) -> Any:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    u = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15)
    u = (u ^ (u >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    u = (u ^ (u >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return u ^ (u >> np.uint64(31))


@inlined
def _mixed_row(rows: Ints, t: int) -> Any:
    """64 bits that tell a row apart from others."""
    h = np.uint64(0)
    for w in range(rows.shape[1]):
        h = _scrambled(np.int64(h) ^ rows[t, w])
    return h


@compiled
def number_states(rows: Ints, known: Ints, slots: Codes, size: int) -> tuple[Ints, int]:
    """(n,) the number of every row among those known; new ones are entered. Returns how many are
    known then. There is room for all rows."""
    n, width = rows.shape
    mask = np.uint64(len(slots) - 1)
    found = np.empty(n, np.int64)
    for t in range(n):
        at = _mixed_row(rows, t) & mask
        while True:
            i = slots[at]
            if i < 0:
                slots[at] = size
                known[size] = rows[t]
                found[t] = size
                size += 1
                break
            same = True
            for w in range(width):
                if known[i, w] != rows[t, w]:
                    same = False
                    break
            if same:
                found[t] = i
                break
            at = (at + np.uint64(1)) & mask
    return found, size


@compiled
def place_states(known: Ints, size: int, slots: Codes) -> None:
    """Enter states (or keys, as rows of one word) that are known into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for i in range(size):
        at = _mixed_row(known, i) & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = i


@inlined
def number_of(key: int, keys: Ints, slots: Codes, sizes: Ints, which: int) -> Any:
    """The number of a key; a new one is entered."""
    mask = np.uint64(len(slots) - 1)
    at = _scrambled(key) & mask
    while slots[at] >= 0 and keys[slots[at]] != key:
        at = (at + np.uint64(1)) & mask
    if slots[at] < 0:
        slots[at] = sizes[which]
        keys[sizes[which]] = key
        sizes[which] += 1
    return np.int64(slots[at])
