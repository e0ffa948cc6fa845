"""A notice: what a colleague looking over the shoulder would say, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Notice:
    """Something about a log or a result that its reader may have overlooked.

    >>> Notice("cost", "'cost' looks like a cost.", "Add --cost.", ("--cost",)).to_dict()["remedy"]
    'Add --cost.'
    """

    kind: str
    fact: str  # one or two sentences
    remedy: str  # one sentence
    options: tuple[str, ...] = ()  # to add to the command line, or to replace there
    loud: bool = False  # what is learned cannot be relied on until this is settled
    file: str = ""  # of the output folder, that holds the remedy

    def to_dict(self, command: str | None = None) -> dict[str, Any]:
        """In plain JSON types; `command` can be pasted."""
        return {
            "kind": self.kind,
            "fact": self.fact,
            "remedy": self.remedy,
            "command": command,
        }


# What is noticed about a log: a function of the `Subject` of a check, its sections by name, and a
# generator of its own.
Look = Callable[..., Iterator[Notice]]
