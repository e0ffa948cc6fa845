"""All problems of a log at once: they are collected stage by stage and raised together.

A stage looks at everything it can before the log is refused, so that a person corrects a file once
and not once per mistake. A remedy that was given already is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from jumar.core.errors import LogError
from jumar.core.text import counted

MOST = 20  # problems that are told


@dataclass(frozen=True)
class Fault:
    """The place and the fact, and what to do about it."""

    fact: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.fact} {self.remedy}".strip()


@dataclass
class Problems:
    """What was found so far.

    >>> found = Problems()
    >>> found.add("log.csv, row 2: 'x' is not a number.", "Write digits.")
    >>> found.add("log.csv, row 5: 'y' is not a number.", "Write digits.")
    >>> found.check()
    Traceback (most recent call last):
    ...
    jumar.core.errors.LogError: log.csv, row 2: 'x' is not a number. Write digits.
    log.csv, row 5: 'y' is not a number.
    """

    told: list[Fault] = field(default_factory=list)
    untold: int = 0  # those beyond the most

    def add(self, fact: str, remedy: str = "") -> None:
        """One more."""
        if len(self.told) < MOST:
            self.told.append(Fault(fact, remedy))
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
        if self.told:
            raise refusal(self.told, self.untold)


def refusal(told: Iterable[Fault], untold: int = 0) -> LogError:
    """One error for several problems."""
    lines: list[str] = []
    remedies: set[str] = set()
    problems = tuple(told)
    for problem in problems:
        lines.append(problem.fact if problem.remedy in remedies else str(problem))
        remedies.add(problem.remedy)
    if untold:
        lines.append(f"... and {counted(untold, 'more problem')}.")
    return LogError("\n".join(lines), tuple(map(str, problems)))
