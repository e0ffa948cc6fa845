"""What people see of a check in a terminal: questions, findings, and the tables of a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from jumar.core.text import counted, shown
from jumar.show.terminal.look import STATES, facts, notices_view, plain_table

if TYPE_CHECKING:
    from jumar.evidence.checking import Check
    from jumar.evidence.checking.base import Finding


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
