"""Where a step stands in a file: a row, or in nested JSON a turn of a row, as one number.

A row is its number, counted from 1. Turn t of row r is r·2³² + t, so that places sort as they stand
in the file.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Array

_TURNS = 1 << 32


def turn_rows(row: Array, turn: Array) -> Array:
    """The places of turns.

    >>> row_words(int(turn_rows(np.array([17]), np.array([2]))[0]))
    'row 17, turn 2'
    """
    return np.asarray(row, np.int64) * _TURNS + turn


def row_number(place: int) -> str:
    """The number of a row, and of a turn in it.

    >>> row_number(5), row_number(5 * 2**32 + 1)
    ('5', '5 turn 1')
    """
    row, turn = divmod(int(place), _TURNS)
    return f"{row} turn {turn}" if row else str(turn)


def row_words(place: int) -> str:
    """A place in a message.

    >>> row_words(341)
    'row 341'
    """
    return "row " + row_number(place).replace(" turn", ", turn")
