"""What people see of a check in a terminal: questions, findings, and whatever a section tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from jumar.core.tabular import Detail, Facts
from jumar.core.text import counted, shown
from jumar.show.terminal import facts, plain_table

if TYPE_CHECKING:
    from jumar.evidence.checking import Check
    from jumar.evidence.checking.base import Finding

COLORS = {"passed": "green", "look": "yellow", "failed": "red"}


def check_view(found: Check) -> RenderableType:
    """All answers for a terminal, the verdict first."""
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
    for question, section in found.answers:
        parts += [Text(), Text(question, style="bold")]
        parts += [facts([("", _verdict(section.verdict))]), *map(_view, section.details())]
    return Group(*parts)


def _verdict(verdict: Finding) -> Text:
    return Text.assemble((verdict.status, f"bold {COLORS[verdict.status]}"), "  ", verdict.sentence)


def _view(detail: Detail) -> RenderableType:
    if isinstance(detail, Facts):
        return facts(detail.lines)
    return plain_table(detail.heads, detail.rows, title=detail.title, right=detail.right)
