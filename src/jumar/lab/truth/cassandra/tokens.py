"""The words of a `.POMDP` file. Line and column of a word are worked out only when asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from math import isfinite

from jumar.core.arrays import Floats
from jumar.core.text import printable

FORMAT_WORDS = """
discount values states actions observations T O R uniform identity reward cost start include
exclude reset
"""
RESERVED = frozenset(FORMAT_WORDS.split())
_COMMENT = re.compile("#[^\n]*")
# A minus belongs to a name that has begun, and is a sign before a number, also with space between.
# pomdp-solve refuses ".5" and a leading underscore; files in the wild have both.
_TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_-]*"
    r"|(?:[+-]\s*)?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|\S"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_INTEGER = re.compile(r"[0-9]+")
MOST_DIGITS = 18  # of a whole number that counts or names something


class Mistake(Exception):
    """What is wrong in the file, and at which word. What takes long to put into words is given as
    a function: of very many mistakes only the first are told."""

    def __init__(self, token: int, said: str | Callable[[], str]) -> None:
        super().__init__(token)
        self.token, self._said = token, said

    @property
    def said(self) -> str:
        """The mistake in words."""
        return self._said if isinstance(self._said, str) else self._said()


class Tokens:
    """The words of a text, without comments; after the last one stand empty ones."""

    def __init__(self, text: str) -> None:
        # a comment reaches to the end of its line: without it all columns stay as they are
        self._text = _COMMENT.sub("", text)
        self.words = _TOKEN.findall(self._text)
        self.words.append("")

    def __len__(self) -> int:
        return len(self.words) - 1

    def place(self, token: int) -> str:
        """Line and column of a word; of the last line for what is missing at the end."""
        if token >= len(self):
            lines = self._text.rstrip("\n").count("\n") + 1
            return f"line {lines} (the end of the file)"
        at = self._offsets[token]
        line = bisect_right(self._lines, at)
        return f"line {line}, column {at - self._lines[line - 1] + 1}"

    def line(self, token: int) -> int:
        """The line of a word."""
        return int(self.place(token).split()[1].rstrip(","))

    @cached_property
    def _offsets(self) -> list[int]:
        return [match.start() for match in _TOKEN.finditer(self._text)]

    @cached_property
    def _lines(self) -> list[int]:
        """Where every line begins."""
        return [0, *(match.end() for match in re.finditer("\n", self._text))]

    def found(self, token: int) -> str:
        """A word as messages quote it."""
        word = self.words[token] if token < len(self.words) else ""
        return f"'{printable(word)}'" if word else "the end of the file"

    def numbers(self, token: int, count: int) -> list[float]:
        """`count` numbers from a word on, which end there; a Mistake if they are fewer or more."""
        words = self.words
        try:
            values = list(map(float, words[token : token + count]))
        except ValueError:  # a sign apart from its number, or no number
            values = []
        if len(values) < count or not all(map(isfinite, values)):
            values = []
            while len(values) < count and self.is_number(token + len(values)):
                values.append(self.number(token + len(values)))
        if len(values) < count:
            stop = token + len(values)
            raise Mistake(
                stop,
                f"{len(values)} of {count} numbers, then {self.found(stop)}. Expected "
                f"{count - len(values)} more.",
            )
        if self.is_number(token + count):
            more = token + count
            while self.is_number(more):
                more += 1
            raise Mistake(
                token + count, f"{more - token} numbers where {count} were expected: too many."
            )
        return values

    def is_number(self, token: int) -> bool:
        """Is this a number, with or without a sign?"""
        return (
            token < len(self)
            and self.words[token][-1] in "0123456789."
            and (not _NAME.fullmatch(self.words[token]) and self.words[token] != ".")
        )

    def is_integer(self, token: int) -> bool:
        """Is this a whole number without a sign?"""
        return token < len(self) and bool(_INTEGER.fullmatch(self.words[token]))

    def is_name(self, token: int) -> bool:
        """Is this a name that is no word of the format?"""
        return bool(_NAME.fullmatch(self.words[token])) and self.words[token] not in RESERVED

    def integer(self, token: int) -> int:
        """The whole number that stands there."""
        if len(self.words[token].lstrip("0")) > MOST_DIGITS:
            raise Mistake(token, f"{self.found(token)} is too large. Expected a smaller number.")
        return int(self.words[token])

    def number(self, token: int) -> float:
        """The number that stands there."""
        if not self.is_number(token):
            raise Mistake(token, f"found {self.found(token)}. Expected a number.")
        value = float("".join(self.words[token].split()))
        if not isfinite(value):
            raise Mistake(
                token, f"{self.found(token)} is too large. Expected a number below 1e308."
            )
        return value


def is_valid_name(name: str) -> bool:
    """May this stand as a name in a file that every program reads?

    >>> is_valid_name("open-left"), is_valid_name("below 5 %"), is_valid_name("T")
    (True, False, False)
    """
    return bool(re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name)) and name not in RESERVED


def all_probabilities(values: list[float] | Floats) -> bool:
    """Do all of them lie in [0, 1]?"""
    return min(values) >= 0 and max(values) <= 1
