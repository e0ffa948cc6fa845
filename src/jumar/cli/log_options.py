"""How a log is to be read, on the command line: the options and the texts behind them.

A command asks for them all with one parameter:

    @app.command()
    @reads_a_log()
    def check(log: Path, reading: dict[str, Any]) -> None:
        episodes = read_logs(log, **reading)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Annotated, Any, TypeVar, cast

import typer

from jumar.core.errors import ParameterError
from jumar.core.text import printable

Command = TypeVar("Command", bound=Callable[..., Any])

# of every command that reads a log: kind, default, and what --help says
_OPTIONS: dict[str, tuple[Any, Any, Any]] = {
    "columns": (
        list[str] | None,
        None,
        typer.Option(
            metavar="PART=NAME,...",
            help="Other column names: episode=bus_id,reward=gain; observation=vibration+noise "
            "combines two; cluster=machine says which episodes belong together.",
        ),
    ),
    "ends": (
        str | None,
        None,
        typer.Option(
            metavar="terminated|cut",
            help="What an episode's end means in a log without a 'terminated' column.",
        ),
    ),
    "cost": (bool, False, typer.Option("--cost", help="The reward column holds costs.")),
    "bins": (
        list[str] | None,
        None,
        typer.Option(
            metavar="COLUMN=NAME:EDGE:NAME...",
            help="Cut numbers into named ranges: vibration=low:2:mid:5:high; may be repeated.",
        ),
    ),
    "gap": (
        str | None,
        None,
        typer.Option(
            metavar="LENGTH",
            help="A longer pause starts a new episode: 90d, 12h, 30m, 45s, or a number of steps.",
        ),
    ),
    "missing": (
        str,
        "error",
        typer.Option(
            metavar="error|symbol|drop",
            help="A missing value: an error, the observation 'missing', or leave out the episode.",
        ),
    ),
    "repeated": (
        str,
        "error",
        typer.Option(
            metavar="error|drop", help="A row that is there twice: an error, or leave out the copy."
        ),
    ),
    "prices": (
        list[str] | None,
        None,
        typer.Option(
            metavar="WHAT=NUMBER,...",
            help="Rewards of a log that has none: action:repair=-10,observation:broken=-5,"
            "column:miles=-0.02.",
        ),
    ),
}


def reading(**given: Any) -> dict[str, Any]:
    """The options as keyword arguments of `read_logs`.

    >>> asked = reading(columns=["episode=bus"], bins=["miles=new:5e3:old"], gap="90d")
    >>> asked["columns"], asked["bins"], asked["gap"]
    ({'episode': 'bus'}, {'miles': ('new', 5000.0, 'old')}, '90d')
    """
    asked = {name: default for name, (_, default, _) in _OPTIONS.items()} | given
    for name, read in (("columns", _columns), ("bins", _bins), ("prices", _prices)):
        asked[name] = read(asked[name] or ())
    return asked


def _columns(texts: Sequence[str]) -> dict[str, str]:
    items = [(text, item.partition("=")) for text in texts for item in text.split(",")]
    found = _pairs("--columns", items, "PART=NAME", "episode=bus_id")
    return {part: name for _, part, name in found}


def _bins(texts: Sequence[str]) -> dict[str, tuple[str | float, ...]]:
    mapping: dict[str, tuple[str | float, ...]] = {}
    form, example = "COLUMN=NAME:EDGE:NAME", "vibration=low:2:mid:5:high"
    items = [(text, text.partition("=")) for text in texts]
    for place, column, spec in _pairs("--bins", items, form, example):
        ranges = spec.split(":")
        if len(ranges) < 3 or len(ranges) % 2 == 0:
            raise ParameterError(f"{place}: expected {form}, such as {example}.")
        mapping[column] = tuple(
            _number(each, place, example) if i % 2 else each for i, each in enumerate(ranges)
        )
    return mapping


def _prices(texts: Sequence[str]) -> dict[str, float]:
    example = "action:repair=-10"
    items = [(text, item.rpartition("=")) for text in texts for item in text.split(",")]
    found = _pairs("--prices", items, "WHAT=NUMBER", example)
    return {what: _number(amount, place, example) for place, what, amount in found}


def _pairs(
    option: str, items: Sequence[tuple[str, tuple[str, str, str]]], form: str, example: str
) -> Iterator[tuple[str, str, str]]:
    """Place, name and value of every NAME=VALUE, given as (text, (name, "=", value))."""
    names = set()
    for text, (name, _, value) in items:
        place = f"{option} {printable(text)}"
        if not name or not value:
            raise ParameterError(f"{place}: expected {form}, such as {example}.")
        if name in names:
            raise ParameterError(f"{place}: {printable(name)} is given twice. Give it once.")
        names.add(name)
        yield place, name, value


def _number(text: str, place: str, example: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(
            f"{place}: {printable(text)!r} is not a number. Write it like {example}."
        ) from error


def reads_a_log(**defaults: Any) -> Callable[[Command], Command]:
    """Gives a command every option of reading a log in place of its parameter `reading`, which
    then holds them as keyword arguments of `read_logs`. `defaults` differ from the usual ones."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [p for name, p in signature.parameters.items() if name != "reading"]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in own] + [
            inspect.Parameter(
                name, keyword, default=defaults.get(name, usual), annotation=Annotated[kind, option]
            )
            for name, (kind, usual, option) in _OPTIONS.items()
        ]

        @wraps(command)
        def run(**given: Any) -> Any:
            asked = {name: given.pop(name) for name in _OPTIONS}
            return command(**given, reading=reading(**asked))

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return cast(Command, run)

    return decorate
