"""How a log was read: which columns make an observation or an action, and what became of their
values. A program that acts on raw readings must do the same with them.

And where a step stands in a file, as one number that sorts as the steps do: a row is its number,
counted from 1; in nested JSON turn t of row r is r·2³² + t. A log in several files has the places
of one after the other: those of a file lie above a number that the last one of the file before it
has (`FileRows`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

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

    @property
    def ranges(self) -> tuple[Any, ...] | None:
        """Names and edges in turn: ("low", 2.0, "high"); None where the text is the name."""
        if self.bins is None:
            return None
        pairs = zip_longest(self.bins.names, self.bins.edges)
        return tuple(part for pair in pairs for part in pair if part is not None)


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

    @property
    def missing(self) -> str | None:
        """What a missing value is called, if that is a name."""
        return MISSING if self.names_missing else None


# ---- where a step stands ------------------------------------------------------------------------

_TURNS = 1 << 32


def turn_rows(row: Array, turn: Array) -> Array:
    """The places of turns.

    >>> row_words(int(turn_rows(np.array([17]), np.array([2]))[0]))
    'row 17, turn 2'
    """
    return np.asarray(row, np.int64) * _TURNS + turn


class FileRows(NamedTuple):
    """A file of several: the places of its rows lie above `before`."""

    before: int
    name: str


Files = Sequence[FileRows]  # in order; none where a log is one file


def row_number(place: int, files: Files = ()) -> str:
    """The number of a row, and of a turn in it.

    >>> row_number(5), row_number(5 * 2**32 + 1)
    ('5', '5 turn 1')
    """
    name, own = _in_file(int(place), files)
    row, turn = divmod(own, _TURNS)
    said = f"{row} turn {turn}" if row else str(turn)
    return f"{said} of {name}" if name else said


def row_words(place: int, files: Files = ()) -> str:
    """A place in a message.

    >>> row_words(341), row_words(341, [FileRows(0, "a.csv"), FileRows(340, "b.csv")])
    ('row 341', 'b.csv, row 1')
    """
    name, own = _in_file(int(place), files)
    words = "row " + row_number(own).replace(" turn", ", turn")
    return f"{name}, {words}" if name else words


def place_words(source: str, place: int, files: Files = ()) -> str:
    """A place in a message, with the file.

    >>> place_words("log.csv", 341), place_words("logs", 2, [FileRows(0, "logs/a.csv")])
    ('log.csv, row 341', 'logs/a.csv, row 2')
    """
    return row_words(place, files) if files else f"{source}, {row_words(place)}"


def file_of(place: int, files: Files) -> str:
    """The name of its file; nothing where a log is one file."""
    return _in_file(int(place), files)[0]


def _in_file(place: int, files: Files) -> tuple[str, int]:
    """The file of a place, and the place in it."""
    i = bisect_left([file.before for file in files], place) - 1
    return (files[i].name, place - files[i].before) if i >= 0 else ("", place)
