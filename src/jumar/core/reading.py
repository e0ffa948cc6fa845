"""How a log was read: which columns make an observation or an action, and what became of their
values. A program that acts on raw readings must do the same with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jumar.core.arrays import Array

MISSING = "missing"  # the observation that stands for a missing one
# What people write where a number is missing, in lower case; in a column of words it is a word.
NO_NUMBER = ("n/a", "na", "n.a.", "#n/a", "null", "none", "missing", "-", "--", "?")


@dataclass(frozen=True)
class Bins:
    """Named ranges of numbers: names[i] from edges[i-1] on, up to but not including edges[i].

    >>> Bins(("low", "high"), (2.0,)).find([1.9, 2.0, float("nan")]).tolist()
    [0, 1, -1]
    """

    names: tuple[str, ...]  # (K+1,)
    edges: tuple[float, ...]  # (K,) rising

    def find(self, values: ArrayLike) -> Array:
        """(N,) int32, the number of the range of each value, or -1 where it is no number."""
        numbers = np.asarray(values, np.float64)
        code = np.searchsorted(np.array(self.edges), numbers, side="right").astype(np.int32)
        code[np.isnan(numbers)] = -1
        return code


@dataclass(frozen=True)
class ReadColumn:
    """A column that is an observation or action, or a part of one."""

    name: str
    bins: Bins | None = None  # its numbers are cut into these ranges; None: its text is the name


@dataclass(frozen=True)
class LogReading:
    """How the rows of a log become observations and actions. The default is a log with the usual
    names of columns.

    >>> level = ReadColumn("vibration", Bins(("low", "high"), (2.0,)))
    >>> LogReading(observation=(level, ReadColumn("noise")), episode="pump").observation[1].name
    'noise'
    """

    observation: tuple[ReadColumn, ...] = (ReadColumn("observation"),)
    action: tuple[ReadColumn, ...] = (ReadColumn("action"),)
    episode: str | None = "episode"  # the column; None: episodes were cut at pauses alone
    longest_pause: str | None = None  # a longer one starts a new episode: 90d, 12h, 3
    names_missing: bool = False  # a missing value is called "missing"; else it is an error
    separator: str = ","  # between the columns of a text file
    decimal: str = "."  # the mark in the numbers of a text file
