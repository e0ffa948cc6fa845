"""Where a step stands in a file: a row, or in nested JSON a turn of a row, as one number.

A row is its number, counted from 1. Turn t of row r is r·2³² + t, so that places sort as they stand
in the file.

A log in several files has the places of one after the other: those of a file lie above a number
that the last one of the file before it has (`FileRows`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Array

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
