"""What all commands share: the app, common options, printing for people and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.core.text import visible

if TYPE_CHECKING:
    from jumar.lab.truth.pomdp import Pomdp

app = typer.Typer(
    help="From a log of decisions to a better policy, and a certificate that says how sure that "
    "is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model by name, e.g. tiger or cheese_maze:step_reward=0; or a model file "
        "(.json, .toml, .POMDP), with options after a colon: machine.POMDP:discount=0.95.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Seed = Annotated[int, typer.Option(help="Same seed, same result.")]


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Tell what is being done and how long it takes; -vv tells more. Stands before the "
            "command: jumar -v improve.",
        ),
    ] = 0,
) -> None:
    if verbose:
        context.call_on_close(_listen(verbose))
    if version:
        from jumar import __version__

        print(f"jumar {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Which command? See `jumar --help`.")


def _listen(verbose: int) -> Callable[[], None]:
    """Print what the library says it is doing, until what is returned is called."""
    import logging

    from jumar.core.resources import journal
    from jumar.core.text import shown

    class Line(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return shown(super().format(record), most=1000)  # names come from files of all kinds

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line("%(asctime)s %(message)s", "%H:%M:%S"))
    before = journal.level
    journal.addHandler(handler)
    journal.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)

    def stop() -> None:
        journal.removeHandler(handler)
        journal.setLevel(before)

    return stop


def say(as_json: bool, data: dict[str, Any], *renderables: Any) -> None:
    """Print for a machine or for a person."""
    if as_json:
        # ASCII, so that no terminal or pipe can spoil it; no Infinity, which is not JSON
        print(json.dumps(data, indent=2, allow_nan=False))
        return
    from rich.console import Console

    # names and paths are not markup; a line of text is left whole, so that it can be copied
    console = Console(highlight=False, markup=False, emoji=False)
    for renderable in renderables:
        if isinstance(renderable, str):  # a path, say, may have any letters
            console.print(visible(renderable), soft_wrap=True)
        else:
            console.print(renderable, soft_wrap=getattr(renderable, "no_wrap", False))


_waiting: list[str] | None = None  # what is told after the result


def tell(line: str) -> None:
    """Say something beside the result, on standard error."""
    if _waiting is not None:
        _waiting.append(line)
    else:
        print(visible(line), file=sys.stderr)


@contextmanager
def telling_last() -> Iterator[None]:
    """What is told beside the result waits for it, and is dropped where there is none: with --json
    an error stands alone on standard error."""
    global _waiting
    lines: list[str] = []
    _waiting = lines
    try:
        yield
    finally:
        _waiting = None
    for line in lines:
        tell(line)


def build_model(spec: str) -> Pomdp:
    """A model by name or file; what was put right while reading it is told beside the result."""
    import warnings

    from jumar.core.errors import ModelWarning
    from jumar.lab.truth import models

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        model = models.build(spec)
    for warning in caught:
        tell(f"Note: {warning.message}")
    return model


def _nobody_looks(as_json: bool) -> bool:
    return as_json or not sys.stderr.isatty()


@contextmanager
def working(what: str, as_json: bool) -> Iterator[Callable[[str], None]]:
    """A sign of life on standard error while something takes its time; yields a function of what is
    to be said instead."""
    if _nobody_looks(as_json):
        yield lambda text: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(what) as status:
        yield lambda text: status.update(escape(text))


@contextmanager
def progress_bar(what: str, total: int, as_json: bool) -> Iterator[Callable[..., None]]:
    """A bar with rate and time left on standard error; nothing where nobody looks.

    Yields a function of how much is done, and optionally of how much there is in all.
    """
    if _nobody_looks(as_json):
        yield lambda done, whole=0: None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total or None, rate="")

        def tell(done: int, whole: int = 0) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(task, completed=done, rate=rate, total=whole or total or None)

        yield tell
