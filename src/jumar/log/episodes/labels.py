"""Names that a log gives to its steps or episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Array, Frozen, Ints, freeze
from jumar.core.errors import LogError
from jumar.core.text import Shown, printable

UNKNOWN = -1


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Frozen, Shown):
    """Names that a log gives to its steps or episodes: memory nodes, clusters, behaviors.

    >>> Labels(("calm", "alert"), [0, 1, -1]).code.tolist()
    [0, 1, -1]
    """

    names: tuple[str, ...]  # all different
    code: Array  # (N,) or (E,) int32, UNKNOWN where the log does not say

    @property
    def summary(self) -> str:
        return f"{len(self.names):,} names for {len(self.code):,} entries"

    def __post_init__(self) -> None:
        code = freeze(self.code, np.int32, "labels", LogError)
        self._put(names=tuple(self.names), code=code)
        if len(code) and (code.min() < UNKNOWN or code.max() >= len(self.names)):
            raise LogError(f"labels: a number is out of range; there are {len(self.names)} names.")
        if len(set(self.names)) < len(self.names):
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise LogError(f"labels: {printable(twice)!r} is there twice. Names must differ.")

    @classmethod
    def of(cls, names: Sequence[str]) -> Labels:
        """One name per entry, numbered in the order of the alphabet.

        >>> Labels.of(["plant b", "plant a", "plant b"]).code.tolist()
        [1, 0, 1]
        """
        found = sorted(set(names))
        number = {name: i for i, name in enumerate(found)}
        return cls(tuple(found), np.array([number[name] for name in names], np.int32))

    def __len__(self) -> int:
        return len(self.code)

    @property
    def present(self) -> tuple[tuple[str, ...], Ints]:
        """The names that occur, and the number of each entry among them. (A part of a log may have
        names that only occur elsewhere.)"""
        numbers, code = np.unique(self.code[self.code != UNKNOWN], return_inverse=True)
        among = np.full(len(self.code), UNKNOWN, np.int64)
        among[self.code != UNKNOWN] = code
        return tuple(self.names[i] for i in numbers.tolist()), among

    def __getitem__(self, index: Array) -> Labels:
        """The labels of some entries, or of all in another order."""
        return Labels(self.names, self.code[index])

    def __add__(self, other: Labels) -> Labels:
        """The labels of two logs one after the other; equal names are one."""
        names = tuple(dict.fromkeys((*self.names, *other.names)))
        number = {name: i for i, name in enumerate(names)}
        theirs = np.array([*(number[name] for name in other.names), UNKNOWN], np.int32)
        return Labels(names, np.concatenate([self.code, theirs[other.code]]))
