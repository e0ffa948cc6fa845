"""Patterns for names: "*" fits all, "high+*" every name of two parts whose first part is high.

An observation of several columns is written with a plus between them. In a pattern, ``*`` may stand
for one or more of them; it fits the names with as many parts that agree in all others. A name that
is listed as it stands, stars included, is that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumar.core.documents import lookup, show
from jumar.core.errors import ControllerError
from jumar.core.names import JOINT, WILDCARD
from jumar.core.text import listing


def fitting(kind: str, pattern: Any, numbers: Mapping[str, int], place: str) -> Sequence[int]:
    """The numbers of the names that a pattern fits, at least one.

    >>> names = {"high+dry": 0, "high+wet": 1, "low+dry": 2, "low": 3}
    >>> [list(fitting("observation", p, names, "r")) for p in ("*", "high+*", "*+dry", "low")]
    [[0, 1, 2, 3], [0, 1], [0, 2], [3]]
    """
    if isinstance(pattern, str) and pattern not in numbers:
        if pattern == WILDCARD:
            return range(len(numbers))
        parts = pattern.split(JOINT)
        if len(parts) > 1 and WILDCARD in parts:
            found = [number for name, number in numbers.items() if _fits(parts, name)]
            if not found:
                raise ControllerError(
                    f"{place}: {kind} pattern {show(pattern)} fits none of {listing(numbers)}. "
                    f"A {WILDCARD!r} stands for one part of a name with {len(parts)} parts."
                )
            return found
    return (lookup(kind, pattern, numbers, place, ControllerError),)


def _fits(parts: Sequence[str], name: str) -> bool:
    if name.count(JOINT) != len(parts) - 1:
        return False
    found = name.split(JOINT)
    return all(part in (WILDCARD, own) for part, own in zip(parts, found, strict=True))
