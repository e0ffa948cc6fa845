"""A forecast as a table of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from jumar.core.text import counted
from jumar.show.terminal.look import facts, plain_table

if TYPE_CHECKING:
    from jumar.evidence.forecasting import Forecast


def forecast_view(found: Forecast) -> list[RenderableType]:
    """A forecast: both controllers and their difference, beside their averages over the log."""
    named = [
        ("the behavior", found.behavior),
        ("the new controller", found.controller),
        ("difference", found.difference),
    ]
    wide = f"{100 * (1 - 2 * found.delta):.6g}% interval" if found.delta < 0.5 else "interval"
    heads = ["", "forecast", "error", wide, "average over the log"]
    rows = [
        [
            name,
            f"{trend.value:.6g}",
            f"{trend.standard_error:.3g}",
            trend.range_text,
            f"{trend.average:.6g}",
        ]
        for name, trend in named
        if trend is not None
    ]
    lines: list[tuple[str, str | Text]] = [
        ("log", counted(found.episodes, "episode")),
        *(("warning", Text(text, style="yellow")) for text in found.warnings),
        ("verdict", Text(found.verdict, style="green" if found.not_worse else "yellow")),
        ("validity", f"{found.validity}. {found.validity.meaning}"),
    ]
    labels = ["assumes"] + [""] * len(found.assumptions)
    lines += list(zip(labels, (f"- {text}" for text in found.assumptions), strict=False))
    title = f"Return per episode, forecast for {found.following}"
    right = ["forecast", "error", "average over the log"]
    return [plain_table(heads, rows, title=title, right=right), facts(lines)]
