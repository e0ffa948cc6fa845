"""Two results side by side: compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jumar.cli.app import Json, app, say

Folder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder that `jumar improve -o` wrote.")
]


@app.command()
def compare(
    first: Folder,
    second: Folder,
    rows: Annotated[int, typer.Option(min=1, help="Decisions to print at most.")] = 40,
    as_json: Json = False,
) -> None:
    """Compare two results: options and decisions that differ, verdicts and numbers."""
    from jumar.show.comparing import compare, comparison_view, load_result

    found = compare(load_result(first), load_result(second))
    say(as_json, found.to_dict(), *comparison_view(found, rows))
