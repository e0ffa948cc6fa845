"""The lines of R, looked up for the outcomes that can happen.

A line names some of action, state, next state and observation, and wildcards for the others. Of
all lines that fit an outcome the last one counts. Lines that name the same parts are found
together by one sorted search, so that n lines and K outcomes take about (n + K) log n steps for
each of the 16 ways to name parts, and the table of all combinations is never built.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints

ANY = -1  # a wildcard


class RewardLines:
    """What the lines of R say, in their order."""

    def __init__(self, sizes: tuple[int, int, int, int]) -> None:
        self._sizes = sizes  # A, S, S, O
        self._named: dict[tuple[bool, ...], list[tuple[int, int]]] = {}  # key, number of the line
        self._offset: list[int] = []  # (lines,) where the numbers of a line begin
        self._strides: list[tuple[int, int, int]] = []  # ... and how s, s', z lead to one of them
        self._numbers: list[float] = []

    def put(
        self,
        parts: tuple[int, int, int, int],
        numbers: list[float],
        strides: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """A line: its parts (action, state, next state, observation) or ANY, and its numbers. The
        number for (s, s', z) is the one at the sum of each times its stride."""
        key = 0
        for part, size in zip(parts, self._sizes, strict=True):
            key = key * size + part if part != ANY else key
        named = tuple(part != ANY for part in parts)
        self._named.setdefault(named, []).append((key, len(self._offset)))
        self._offset.append(len(self._numbers))
        self._strides.append(strides)
        self._numbers += numbers

    def of(self, action: Ints, state: Ints, to: Ints, seen: Ints) -> np.ndarray:
        """(K,) what every outcome pays; 0 where no line says anything."""
        outcome = (action, state, to, seen)
        last = np.full(len(action), -1, np.int64)
        for named, lines in self._named.items():
            keys, numbers = np.array(lines, np.int64).T
            order = np.lexsort((numbers, keys))
            keys, numbers = keys[order], numbers[order]
            final = np.append(keys[1:] != keys[:-1], True)  # the last line for each key
            keys, numbers = keys[final], numbers[final]
            asked = np.zeros(len(action), np.int64)
            for is_named, part, size in zip(named, outcome, self._sizes, strict=True):
                if is_named:
                    asked = asked * size + part
            at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            last = np.maximum(last, np.where(keys[at] == asked, numbers[at], -1))
        paid = np.zeros(len(action))
        fits = last >= 0
        if fits.any():
            line = last[fits]
            at = np.array(self._offset, np.int64)[line]
            strides = np.array(self._strides, np.int64)[line]
            for k, part in enumerate((state, to, seen)):
                at = at + strides[:, k] * part[fits]
            paid[fits] = np.array(self._numbers)[at]
        return paid
