"""The look that all tables of a terminal share.

Names come from files, so they are never handed to rich as markup, and what could disturb a terminal
is spelled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jumar.core.arrays import Ints
from jumar.core.text import plural, shown, visible
from jumar.policy.controller import Controller
from jumar.policy.words import history_state_heads, history_state_words
from jumar.show.remedies import command_of

if TYPE_CHECKING:
    from jumar.evidence.noticing import Notice

LONGEST = 5000  # letters of a command
STATES = {"passed": "green", "look": "yellow", "failed": "red"}


def as_text(view: RenderableType, width: int = 100) -> str:
    """A view as plain text, for `print`."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(view, markup=False, highlight=False)
    file: Any = console.file
    lines: str = file.getvalue()
    return "\n".join(line.rstrip() for line in lines.splitlines())


def plain_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
) -> RenderableType:
    """Rows of text under headers; the columns called in `right` hold numbers. Whatever a log put
    into them, a terminal is not disturbed."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        number = header in right
        justify: Any = "right" if number else "left"
        table.add_column(_harmless(header), justify=justify, no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*map(_harmless, row))
    parts: list[RenderableType] = [Padding(table, (0, 0, 0, 1))]
    return Group(Text(title, style="bold"), *parts) if title else parts[0]


def facts(pairs: Iterable[tuple[str, str | Text]]) -> RenderableType:
    """Labels and what belongs to them."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in pairs:
        grid.add_row(_harmless(label), text if isinstance(text, Text) else _harmless(text))
    return Padding(grid, (0, 0, 0, 2))


def _harmless(text: str) -> Text:
    return Text(visible(text))


def beside_states(
    controller: Controller, states: Ints, columns: Sequence[str], cells: Iterable[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of history states in words, with columns beside them."""
    rows = [[*history_state_words(controller, s), *c] for s, c in zip(states, cells, strict=True)]
    return [*history_state_heads(controller.memory), *columns], rows


def rest(more: int, noun: str) -> list[RenderableType]:
    """A line about what is not shown, if there is any."""
    text = f"  ... and {more:,} more {plural(noun, more)}"
    return [Text(text, style="dim")] if more > 0 else []


def notices_view(notices: Sequence[Notice], typed: Sequence[str]) -> list[RenderableType]:
    """What was noticed, each with its remedy, and the command on a line of its own."""
    parts: list[RenderableType] = []
    for notice in notices:
        parts.append(Text.assemble(("Notice: ", "bold yellow"), (notice.fact, "yellow")))
        parts.append(Text(notice.remedy))
        if command := command_of(notice, typed, notices):
            parts.append(Text(f"  {shown(command, LONGEST)}", no_wrap=True))  # to be pasted
        parts.append(Text())
    return parts


def assumed(found: Any) -> list[tuple[str, str | Text]]:
    """How far something is proved, and what it assumes."""
    validity = f"{found.validity}. {found.validity.meaning}"
    return [("validity", validity), *listed("assumes", [f"- {text}" for text in found.assumptions])]


def listed(label: str, texts: Iterable[str]) -> list[tuple[str, str | Text]]:
    """Texts under one label."""
    return [(label if i == 0 else "", text) for i, text in enumerate(texts)]
