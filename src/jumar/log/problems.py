"""All problems of a log at once: they are collected stage by stage and raised together.

A stage looks at everything it can before the log is refused, so that a person corrects a file once
and not once per mistake. A remedy that was given already is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from jumar.core.errors import LogError
from jumar.core.text import counted

MOST = 20  # problems that are told


@dataclass
class Problems:
    """What was found so far."""

    # the place and the fact, and what to do about it
    told: list[tuple[str, str]] = field(default_factory=list)
    untold: int = 0  # those beyond the most

    def add(self, fact: str, remedy: str = "") -> None:
        """One more."""
        if len(self.told) < MOST:
            self.told.append((fact, remedy))
        else:
            self.untold += 1

    def each(self, places: Sequence[Any] | Any, problem: Callable[[Any], tuple[str, str]]) -> None:
        """One at each of these places; only those that are told are put into words."""
        room = MOST - len(self.told)
        for place in islice(iter(places), room):
            self.add(*problem(place))
        self.untold += max(0, len(places) - room)

    def check(self) -> None:
        """Refuse the log if there are any."""
        if not self.told:
            return
        lines: list[str] = []
        remedies: set[str] = set()
        for fact, remedy in self.told:
            lines.append(fact if remedy in remedies else f"{fact} {remedy}".strip())
            remedies.add(remedy)
        if self.untold:
            lines.append(f"... and {counted(self.untold, 'more problem')}.")
        raise LogError("\n".join(lines), tuple(" ".join(each).strip() for each in self.told))
