"""What stands between the columns of a text file, seen from its first rows."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import islice
from typing import IO

from jumar.core.errors import ParameterError
from jumar.core.text import printable

MARKS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}
ROWS = 20  # looked at


def check_separator(text: str) -> str:
    """The mark, which may be called by its name; or an error that shows how to write it.

    >>> check_separator("tab"), check_separator(";")
    ('\\t', ';')
    """
    mark = WORDS.get(text.lower(), text)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0' or mark.isalnum():
        raise ParameterError(
            f"separator: {printable(text)!r} does not separate columns. Write one of , ; | or tab."
        )
    return mark


def called(mark: str) -> str:
    """A mark in a message.

    >>> called(";"), called("#")
    ('semicolons', "'#'")
    """
    return MARKS.get(mark, repr(mark))


def recognised(file: IO[str], usual: str) -> str:
    """The separator of a file: the usual one, unless the header and the rows say otherwise.

    Among the marks that stand in the header, the one that parts it and the next rows into the same
    number of cells, and into most, is the separator.

    >>> import io
    >>> recognised(io.StringIO("bus;cost, EUR;work\\n1;3,5;keep\\n"), ",")
    ';'
    >>> recognised(io.StringIO("bus,note;work\\n1,keep;\\n"), ",")
    ','
    """
    lines = islice(filter(str.strip, file), ROWS + 1)
    header = next(lines, "")
    present = [mark for mark in dict.fromkeys((usual, *MARKS)) if mark in header]
    if present in ([], [usual]):
        return usual
    text = [header, *lines]
    counts = {mark: _cells(text, mark) for mark in present}
    return max(present, key=lambda mark: counts[mark])  # the first of several with most


def _cells(lines: Sequence[str], mark: str) -> tuple[bool, int]:
    """Do all rows have as many cells as the header, and how many is that?"""
    try:
        rows = [len(cells) for cells in csv.reader(lines, delimiter=mark) if cells]
    except csv.Error:
        return False, 0
    if len(lines) > ROWS:
        rows = rows[:-1] or rows  # the last one may be cut off within quotes
    return rows[0] > 1 and len(set(rows)) == 1, rows[0]
