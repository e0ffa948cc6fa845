"""What a log says, in a terminal: the answers of a check, and a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from jumar.core.text import counted, number, shown
from jumar.show.terminal.look import STATES, assumed, facts, notices_view, plain_table

if TYPE_CHECKING:
    from jumar.evidence.checking import Check
    from jumar.evidence.checking.base import Finding
    from jumar.evidence.forecasting import Forecast


def check_parts(found: Check, typed: Sequence[str] = ()) -> list[RenderableType]:
    """All answers for a terminal, part by part, the verdict first. `typed` is the command, from
    which those that remedy what was noticed are made."""
    tests = f"each at level {found.level:g}: a sound log fails a given test that often by chance"
    parts: list[RenderableType] = [
        Text("Check", style="bold"),
        facts(
            [
                ("verdict", _verdict(found.verdict)),
                ("log", f"{counted(found.episodes, 'episode')}, {counted(found.steps, 'step')}"),
                ("policy", shown(found.behavior, 200)),
                ("tests", tests),
            ]
        ),
    ]
    if found.notices:
        parts += [Text(), *notices_view(found.notices, typed)[:-1]]
    for question, section in found.answers:
        parts += [Text(), Text(question, style="bold")]
        parts += [facts([("", _verdict(section.verdict))])]
        parts += [
            plain_table(table.heads, table.rows, title=table.title, right=table.right)
            for table in section.tables
        ]
    return parts


def _verdict(verdict: Finding) -> Text:
    return Text.assemble((verdict.status, f"bold {STATES[verdict.status]}"), "  ", verdict.sentence)


def forecast_view(found: Forecast) -> list[RenderableType]:
    """A forecast: both policies and their difference, as far as they may be shown."""
    named = [("your policy", found.behavior), ("the new one brings more", found.difference)]
    heads = ["", "forecast", f"{100 * (1 - found.delta):.6g}% interval"]
    rows = [
        [name, number(item.shown), " to ".join(map(number, item.interval))]
        for name, item in named
        if item is not None and item.shown is not None and item.interval is not None
    ]
    lines: list[tuple[str, str | Text]] = [
        ("log", f"{counted(found.episodes, 'episode')}, {number(found.average)} each on average"),
        *(("warning", Text(text, style="yellow")) for text in found.warnings),
        ("verdict", found.verdict),
        *assumed(found),
    ]
    title = f"Return per episode, forecast for {found.following}"
    table = [plain_table(heads, rows, title=title, right=["forecast"])] if rows else []
    return [*table, facts(lines)]
