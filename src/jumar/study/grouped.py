"""Things that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their key; keys and items stay in their order.

    >>> grouped(["tiger", "maze", "toad"], lambda word: word[0])
    {'t': ['tiger', 'toad'], 'm': ['maze']}
    """
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
