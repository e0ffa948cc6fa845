"""A forecast as a table of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from jumar.core.text import counted, number
from jumar.show.terminal.look import facts, plain_table

if TYPE_CHECKING:
    from jumar.evidence.forecasting import Forecast


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
        ("validity", f"{found.validity}. {found.validity.meaning}"),
    ]
    labels = ["assumes"] + [""] * len(found.assumptions)
    lines += list(zip(labels, (f"- {text}" for text in found.assumptions), strict=False))
    title = f"Return per episode, forecast for {found.following}"
    table = [plain_table(heads, rows, title=title, right=["forecast"])] if rows else []
    return [*table, facts(lines)]
