"""The command that hands over: a controller as a program, a model for a model checker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import log_options
from jumar.cli.app import app, build_model, say, tell
from jumar.cli.panels import worded
from jumar.core.errors import ParameterError

POMDP = ".pomdp"  # of any case

if TYPE_CHECKING:
    from jumar.core.reading import LogReading
    from jumar.policy.controller import Controller


@app.command()
@worded
def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CONTROLLER|MODEL",
            help="A controller file, the folder of a result, or a model.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="What is written follows from the ending. A controller as a program: .py .c .js "
            ".mjs .sql; as data: .json .table.json. A model: .drn .prism .POMDP.",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(help="With a model: the controller that runs it, for a Markov chain."),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest",
            help="With a controller: write one with the fewest memory nodes that does the same.",
        ),
    ] = False,
    undiscounted: Annotated[
        bool,
        typer.Option("--undiscounted", help="With a model: leave out the discount."),
    ] = False,
    columns: list[str] | None = None,
    bins: list[str] | None = None,
    missing: str = "error",
    as_json: bool = False,
) -> None:
    """Write a controller as a program in Python, C, JavaScript or SQL, or a model for Storm.

    A program takes raw readings, cut into ranges as the log of the result was. Where that is not
    known, --columns, --bins and --missing tell it.
    """
    from jumar.lab.truth.checkers import WRITERS

    models = (*WRITERS, POMDP)
    if output.suffix.lower() in models:
        if columns or bins or missing != "error" or smallest:
            raise ParameterError(
                f"{output}: a model is written, and --columns, --bins, --missing and --smallest "
                "are about a controller. Leave them out."
            )
        _model(what, output, policy, undiscounted)
        say(as_json, {"model": what, "file": str(output)}, f"Wrote {output}")
        return
    for option, given in (("--policy", policy is not None), ("--undiscounted", undiscounted)):
        if given:
            raise ParameterError(
                f"{option}: only a model takes it, and {output} is no file of a model. Use an "
                f"ending of these: {', '.join(models)}."
            )
    controller, reading = _controller(what)
    if columns or bins or missing != "error":
        reading = _told(columns, bins, missing)
    if smallest:
        controller = controller.minimized(any_action=True)  # programs can be told what was done
    from jumar.show.program import export_controller

    export_controller(controller, output, reading=reading)
    data = {"controller": what, "file": str(output), "readings": reading is not None}
    say(as_json, data, f"Wrote {output}")


def _model(model: str, output: Path, policy: Path | None, undiscounted: bool) -> None:
    from jumar import load_controller
    from jumar.lab import export_model, save_model

    pomdp = build_model(model)
    if output.suffix.lower() == POMDP:
        if policy is not None or undiscounted:
            raise ParameterError(
                f"{output}: a .POMDP file holds a model alone, with its discount. Leave --policy "
                "and --undiscounted out, or write a .drn file."
            )
        save_model(pomdp, output)
        return
    controller = None if policy is None else load_controller(policy)
    export_model(pomdp, output, controller, discounted=not undiscounted)


def _controller(what: str) -> tuple[Controller, LogReading | None]:
    """The controller, and how readings are read, if the folder of a result tells."""
    from jumar import load_controller
    from jumar.show.program.beside import reading_beside, table_beside

    path = Path(what)
    if path.is_dir():
        path = path / "improved.json"
    controller = load_controller(path)
    reading = reading_beside(path, controller)
    if reading is None and table_beside(path).is_file():
        tell(f"{table_beside(path)} is of another controller: its ranges are not used.")
    return controller, reading


def _told(columns: list[str] | None, bins: list[str] | None, missing: str) -> LogReading:
    from jumar.log.reading.options import reading_told

    asked: dict[str, Any] = log_options.as_reading(columns=columns, bins=bins, missing=missing)
    return reading_told(asked["columns"], asked["bins"], missing=missing)
