"""The command optimum: how much can be earned on a known model at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli.app import Json, ModelName, app, build_model, say
from jumar.core.plain import finite
from jumar.core.text import counted

if TYPE_CHECKING:
    from jumar.lab.truth.optimality import Optimum

DIGITS = 10
WHY = {
    "gap": "The bracket is as narrow as asked for.",
    "rounding": "The bracket is as narrow as numbers of 16 digits allow.",
    "time": "The time is up. More --seconds make the bracket narrower.",
    "interrupted": "Stopped by Ctrl-C. The bracket is right, and more time makes it narrower.",
}


@app.command()
def optimum(
    model: ModelName,
    seconds: Annotated[
        float,
        typer.Option(help="Time to search, by the clock; compiling, done once, comes on top."),
    ] = 60.0,
    gap: Annotated[
        float,
        typer.Option(help="Stop before that, once the bracket is so narrow relative to the value."),
    ] = 1e-9,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Controller file to write (.json): it earns the lower bound."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bracket the value of the best policy of all, within a given time.

    Both bounds are proved, whenever the search ends: when the bracket is narrow enough, when the
    time is up, or with Ctrl-C.
    """
    from jumar.lab.truth.optimality import optimum as run

    pomdp = build_model(model)
    with _bracket_line(model, seconds, as_json) as tell:
        found = run(pomdp, seconds=seconds, gap=gap, progress=tell)
    data: dict[str, Any] = {
        "model": model,
        "discount": pomdp.discount,
        "lower": found.lower,
        "upper": found.upper,
        "gap": finite(found.gap),
        "seconds": found.seconds,
        "backups": found.backups,
        "stopped": found.stopped,
    }
    lower, upper = outward(found.lower, found.upper)
    lines = [
        f"{model}: the best policy of all is worth {lower} to {upper} (gap {found.gap:.2g}).",
        f"{WHY[found.stopped]} {found.seconds:.3g} s, {counted(found.backups, 'backup')}.",
    ]
    if output is not None:
        controller = found.controller()
        controller.save(output)
        data["file"] = str(output)
        nodes = counted(controller.memory.count_nodes(), "node")
        lines.append(f"{output}: a controller with {nodes} that earns {lower} or more.")
    say(as_json, data, *lines)


def outward(lower: float, upper: float, digits: int = DIGITS) -> tuple[str, str]:
    """Both as text, rounded away from each other: what is printed is a bracket too.

    >>> outward(5.02125191999, 5.02125192001, digits=7)
    ('5.021251', '5.021252')
    """
    down, up = (Context(prec=digits, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
    return f"{down.plus(Decimal(lower)):g}", f"{up.plus(Decimal(upper)):g}"


@contextmanager
def _bracket_line(
    model: str, seconds: float, as_json: bool
) -> Iterator[Callable[[Optimum], None] | None]:
    """The bracket so far, on standard error, as it narrows; nothing where nobody looks."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("Starting") as status:

        def tell(so_far: Optimum) -> None:
            lower, upper = outward(so_far.lower, so_far.upper, 6)
            doing = "searching" if so_far.backups else "preparing"
            status.update(
                f"{escape(model)}: {lower} to {upper} (gap {so_far.gap:.2g}), {doing}, "
                f"{so_far.seconds:.0f} of {seconds:g} s"
            )

        yield tell
