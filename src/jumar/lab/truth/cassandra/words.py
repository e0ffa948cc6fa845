"""The words of a `.POMDP` file, and where they stand."""

from __future__ import annotations

import re
from functools import cached_property
from math import isfinite

from jumar.core.text import printable

PREAMBLE = ("discount", "values", "states", "actions", "observations")
STATEMENTS = ("T", "O", "R")
OTHERS = ("uniform", "identity", "reward", "cost", "start", "include", "exclude", "reset")
RESERVED = frozenset((*PREAMBLE, *STATEMENTS, *OTHERS))
MOST_DIGITS = 18  # of a whole number that counts or names something
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


class Mistake(Exception):
    """What is wrong in the file, and at which word."""

    def __init__(self, token: int, said: str) -> None:
        super().__init__(token)
        self.token, self.said = token, said


class Tokens:
    """The words of a text, without comments; after the last one stands an empty one. Line and
    column of a word are worked out only when asked for."""

    def __init__(self, text: str) -> None:
        # a comment reaches to the end of its line: without it all columns stay as they are
        self._text = _COMMENT.sub("", text)
        self.words = [*_TOKEN.findall(self._text), ""]

    def __len__(self) -> int:
        return len(self.words) - 1

    @cached_property
    def _offsets(self) -> list[int]:
        return [match.start() for match in _TOKEN.finditer(self._text)]

    def _at(self, token: int) -> int:
        """Where a word begins; what is missing at the end stands on the last line."""
        return self._offsets[token] if token < len(self) else len(self._text.rstrip("\n"))

    def line(self, token: int) -> int:
        return self._text.count("\n", 0, self._at(token)) + 1

    def place(self, token: int) -> str:
        """Line and column of a word."""
        if token >= len(self):
            return f"line {self.line(token)} (the end of the file)"
        at = self._at(token)
        return f"line {self.line(token)}, column {at - self._text.rfind(chr(10), 0, at)}"

    def found(self, token: int) -> str:
        """A word as messages quote it."""
        word = self.words[token] if token < len(self.words) else ""
        return f"'{printable(word)}'" if word else "the end of the file"

    def is_number(self, token: int) -> bool:
        """Is this a number, with or without a sign?"""
        word = self.words[token] if token < len(self) else ""
        return word[-1:] in tuple("0123456789.") and not _NAME.fullmatch(word) and word != "."

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
            fact = f"{self.found(token)} is too large. Expected a number below 1e308."
            raise Mistake(token, fact)
        return value

    def numbers(self, token: int, count: int) -> list[float]:
        """`count` numbers from a word on, which end there; a Mistake if they are fewer or more."""
        try:
            values = list(map(float, self.words[token : token + count]))
        except ValueError:  # a sign apart from its number, or no number
            values = []
        if len(values) < count or not all(map(isfinite, values)):
            values = []
            while len(values) < count and self.is_number(token + len(values)):
                values.append(self.number(token + len(values)))
        stop = token + len(values)
        if len(values) < count:
            left = count - len(values)
            fact = (
                f"{len(values)} of {count} numbers, then {self.found(stop)}. Expected {left} more."
            )
            raise Mistake(stop, fact)
        more = stop
        while self.is_number(more):
            more += 1
        if more > stop:
            many = count + more - stop
            raise Mistake(stop, f"{many} numbers where {count} were expected: too many.")
        return values
