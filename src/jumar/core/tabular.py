"""What people look at, before anybody decides how it looks: facts with labels, and tables of text.

Whoever found something says it in these; a terminal or a page renders them without knowing what
was found. All text is safe to show: names from files went through `jumar.core.text.shown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """Labels and what belongs to them."""

    lines: Iterable[tuple[str, str]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))


@dataclass(frozen=True)
class TextTable:
    """Rows of text under heads."""

    heads: Sequence[str]
    rows: Iterable[Sequence[str]]
    title: str | None = None
    right: Sequence[str] = ()  # the heads of the columns that hold numbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", tuple(self.heads))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))
        object.__setattr__(self, "right", tuple(self.right))


Detail = Facts | TextTable
