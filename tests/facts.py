"""What a message must tell, whatever its sentence: a place, a value, a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_QUOTED = re.compile(r"(?<!\w)'[^']+'|(?<!\w)\"[^\"]+\"")
_LIST = re.compile(r"one of ([\w-]+(?:, [\w-]+)+)")
_NUMBER = re.compile(
    r"(?<![\w.'-])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w'])|\b(?:nan|inf|True|False|None)\b"
)
_OPTION = re.compile(r"--[\w-]+|\b\w+=\S+|\[\[\w+\]\]")


def says(said: object, *facts: object) -> None:
    """Every fact stands in the text, as whole words; upper and lower case are one."""
    text = " ".join(str(said).split())
    missing = [fact for fact in facts if not _stands_in(str(fact), text)]
    assert not missing, f"{text!r} does not say {missing}"


def tells(said: object, example: str) -> None:
    """The text has the facts of an example; its sentences may be others."""
    says(said, *facts_of(example))


@contextmanager
def refuses(error: type[BaseException], *facts: object) -> Iterator[pytest.ExceptionInfo]:
    """The block raises this error, and its message has these facts."""
    with pytest.raises(error) as raised:
        yield raised
    says(raised.value, *facts)


def facts_of(example: str) -> list[str]:
    """The place a message begins with, and every quoted name, list of names, number and option in
    it. Without any of these, what it says first is the fact.

    >>> facts_of("log.csv, row 3: action 'kep' is not one of keep, repair. Did you mean 'keep'?")
    ['log.csv, row 3', "'kep'", "'keep'", 'keep, repair']
    >>> facts_of("log.csv: the log is empty. Add rows.")
    ['log.csv', 'the log is empty']
    """
    place, colon, rest = example.partition(": ")
    place, rest = (place, rest) if colon else ("", example)
    found, left = [], rest
    for pattern in (_QUOTED, _OPTION, _LIST, _NUMBER):
        found += [piece.rstrip(".,;?)") for piece in pattern.findall(left)]
        left = pattern.sub(" ", left)
    return [fact for fact in (place, *(found or [rest.partition(". ")[0]])) if fact]


def _stands_in(fact: str, text: str) -> bool:
    """1 does not stand in 10, in 0.1 or in 1.5."""
    before = r"(?<![\w.])" if fact[:1].isalnum() else ""
    after = r"(?!\w|\.\d)" if fact[-1:].isalnum() else ""
    return re.search(before + re.escape(fact) + after, text, re.IGNORECASE) is not None
