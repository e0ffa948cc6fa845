"""What shows and hands over: show, export, convert, algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options
from jumar.cli.app import Json, app, build_model, say, tell, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command, worded
from jumar.core.errors import ParameterError
from jumar.core.text import counted

if TYPE_CHECKING:
    from jumar.log.episodes import Episodes
    from jumar.policy.controller import Controller

PICTURES = (".svg", ".png", ".pdf", ".dot")
POMDP = ".pomdp"  # of any case


@app.command()
def algorithms(as_json: Json = False) -> None:
    """List the algorithms and their parameters."""
    from jumar.algorithms import ALGORITHMS
    from jumar.show.terminal import plain_table

    rows: list[list[str]] = []
    data: list[dict[str, Any]] = []
    for name, entry in ALGORITHMS.items():
        defaults = {p: parameter.default for p, parameter in entry.parameters.items()}
        rows.append([name, entry.summary, ", ".join(f"{p}={d}" for p, d in defaults.items())])
        data.append({"name": name, "summary": entry.summary, "parameters": defaults})
    heads = ["algorithm", "what it does", "parameters"]
    say(as_json, {"algorithms": data}, plain_table(heads, rows))


@app.command()
def show(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="Policy file.")],
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
    """Show a policy, or what changes from one to another, as a table or a picture."""
    from jumar import load_controller
    from jumar.policy.controller import Controller
    from jumar.policy.files import controller_to_document
    from jumar.show.differences import difference, difference_data
    from jumar.show.terminal import controller_view, difference_view

    if output is not None and output.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"{output}: a picture is written as SVG, PNG, PDF or DOT, but the name ends in none of "
            f"these. Use '{output.stem or 'picture'}.svg'."
        )
    first, view = load_controller(policy), None
    if other is None:
        below = first.otherwise  # an improved policy holds the one it improves on
        was, now = below if isinstance(below, Controller) else None, first
        data, view = controller_to_document(first), controller_view(first, rows)
    else:
        was, now = first, load_controller(other)
        found = difference(was, now)
        data = {"was": str(policy), "is": str(other), **difference_data(found)}
        view = difference_view(found, rows)
    if output is not None:
        _draw(was, now, output)
    say(as_json, data, view, *([] if output is None else [f"Wrote {output}"]))


def _draw(was: Controller | None, now: Controller, path: Path) -> None:
    from jumar.core.files import write_atomically
    from jumar.show.drawing import draw

    drawing, kind = draw(now, behavior=was), path.suffix.lower().removeprefix(".")
    texts = {"svg": drawing.svg, "dot": drawing.dot}
    write_atomically(path, texts[kind] if kind in texts else drawing.image(kind))


@app.command()
@worded
def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="POLICY|MODEL",
            help="A policy file, the folder of a result, or a model.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The ending says what is written. A policy as a program: .py .c .js .mjs .sql; as "
            "data: .json .table.json. A model: .drn .prism .POMDP.",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(help="With a model: the policy that runs it, for a Markov chain."),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest",
            help="With a policy: write one with the fewest memory nodes that does the same.",
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
    """Write a policy as a program (Python, C, JavaScript, SQL), or a model for Storm.

    A program takes raw readings, cut into ranges as the log of the result was. Where that is not
    known, --columns, --bins and --missing tell it.
    """
    from jumar.lab.truth.checkers import WRITERS
    from jumar.show.program import export_controller

    models, told = (*WRITERS, POMDP), bool(columns or bins or missing != "error")
    if output.suffix.lower() in models:
        if told or smallest:
            raise ParameterError(
                f"{output}: a model is written, and --columns, --bins, --missing and --smallest "
                "are about a policy. Leave them out."
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
    controller = _controller(what)
    reading = controller.reading
    if told:
        from jumar.log.reading.options import reading_told

        asked = options.as_reading(columns=columns, bins=bins)
        reading = reading_told(asked["columns"], asked["bins"], missing=missing)
    if smallest:
        controller = controller.minimized(any_action=True)  # programs can be told what was done
    export_controller(controller, output, reading=reading)
    data = {"controller": what, "file": str(output), "readings": reading is not None}
    say(as_json, data, f"Wrote {output}")


def _model(model: str, output: Path, policy: Path | None, undiscounted: bool) -> None:
    from jumar import load_controller
    from jumar.lab import export_model, save_model

    pomdp = build_model(model)
    if output.suffix.lower() != POMDP:
        controller = None if policy is None else load_controller(policy)
        export_model(pomdp, output, controller, discounted=not undiscounted)
    elif policy is not None or undiscounted:
        raise ParameterError(
            f"{output}: a .POMDP file holds a model alone, with its discount. Leave --policy "
            "and --undiscounted out, or write a .drn file."
        )
    else:
        save_model(pomdp, output)


def _controller(what: str) -> Controller:
    """The policy of a file, or of the folder of a result."""
    from jumar import load_controller
    from jumar.show.program.table import table_beside

    path = Path(what)
    controller = load_controller(path)
    beside = table_beside(path / "improved.json" if path.is_dir() else path)
    if controller.reading is None and beside.is_file():
        tell(f"{beside} is of another policy: its ranges are not used.")
    return controller


@app.command(cls=Command)
@reads_a_log(needs_discount=False)
def convert(
    log: Path,
    discount: float | None,
    reading: dict[str, Any],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Log to write (.parquet, .csv, .tsv, .arrow, .ndjson), or minari:NAME, which also "
            "keeps the discount and the policy.",
        ),
    ],
    policy: list[str] | None = None,
    exploration: float | None = None,
    as_json: bool = False,
) -> None:
    """Write a log in another format, read as the options say."""
    from jumar import read_logs

    written = inputs.load(policy, exploration)
    controller = written[0].controller if len(written) == 1 else None
    with working("Reading", as_json):
        found = read_logs(log, **inputs.named_like(controller), **reading)
    with working("Writing", as_json):
        file = write_log(found, output, discount=discount, controller=controller)
    data = {"episodes": len(found), "steps": found.n_steps, "file": file}
    size = f"{counted(len(found), 'episode')}, {counted(found.n_steps, 'step')}"
    say(as_json, data, f"{file}: {size}")


def write_log(
    log: Episodes, output: Path, *, discount: float | None, controller: Controller | None
) -> str:
    """Write a log into a file or a dataset, and say where it is."""
    from jumar import write_logs, write_minari
    from jumar.log.formats.minari import PREFIX

    if not str(output).startswith(PREFIX):
        write_logs(log, output)
        return str(output)
    return str(write_minari(log, str(output), discount=discount, controller=controller))
