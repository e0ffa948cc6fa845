"""What was noticed, in a terminal, with commands to paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from jumar.core.text import shown
from jumar.show.remedies import command_of

if TYPE_CHECKING:
    from jumar.evidence.noticing import Notice

LONGEST = 5000  # letters of a command


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
