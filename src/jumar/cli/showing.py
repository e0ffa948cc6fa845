"""The command that shows: a controller, the difference of two, either of them as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli.app import Json, app, say
from jumar.core.errors import ParameterError

if TYPE_CHECKING:
    from jumar.policy.controller import Controller

PICTURES = (".svg", ".png", ".pdf", ".dot")


@app.command()
def show(
    policy: Annotated[Path, typer.Argument(metavar="CONTROLLER", help="Controller file.")],
    other: Annotated[
        Path | None,
        typer.Argument(metavar="OTHER", help="Another one: what changes from the first to it."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Draw it: picture.svg, .png, .pdf or .dot."
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows to print at most.")] = 40,
    as_json: Json = False,
) -> None:
    """Show a controller, or what changes from one to another, as a table or a picture."""
    from jumar import load_controller
    from jumar.policy.controller import Controller

    if output is not None and output.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"{output}: a picture is written as SVG, PNG, PDF or DOT, but the name ends in none of "
            "these. "
            f"Use '{output.stem or 'picture'}.svg'."
        )
    first = load_controller(policy)
    if other is None:
        below = first.otherwise  # an improved controller holds the behavior it improves on
        was, now = below if isinstance(below, Controller) else None, first
        data, view = _one(first, rows)
    else:
        was, now = first, load_controller(other)
        data, view = _two(was, now, rows)
        data = {"was": str(policy), "is": str(other), **data}
    if output is not None:
        _draw(was, now, output)
    say(as_json, data, view, *([] if output is None else [f"Wrote {output}"]))


def _one(controller: Controller, rows: int) -> tuple[dict[str, Any], Any]:
    from jumar.policy.files import controller_to_document
    from jumar.show.terminal import controller_view

    return controller_to_document(controller), controller_view(controller, rows)


def _two(was: Controller, now: Controller, rows: int) -> tuple[dict[str, Any], Any]:
    from jumar.show.differences import difference, difference_data
    from jumar.show.terminal import difference_view

    found = difference(was, now)
    return difference_data(found), difference_view(found, rows)


def _draw(was: Controller | None, now: Controller, path: Path) -> None:
    from jumar.core.files import write_atomically
    from jumar.show.drawing import draw

    drawing, kind = draw(now, behavior=was), path.suffix.lower().removeprefix(".")
    texts = {"svg": drawing.svg, "dot": drawing.dot}
    write_atomically(path, texts[kind] if kind in texts else drawing.image(kind))
