"""How a log is to be read, on the command line.

A command asks for them all with one parameter:

    @app.command()
    @reads_a_log()
    def check(log: Path, reading: dict[str, Any]) -> None:
        episodes = read_logs(log, **reading)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import typer

from jumar.cli import panels, settings
from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.options import of_reading, plain_options

Command = TypeVar("Command", bound=Callable[..., Any])


def as_reading(
    *,
    columns: Sequence[str] | None = None,
    ends: str | None = None,
    cost: bool | None = None,
    bins: Sequence[str] | None = None,
    gap: str | None = None,
    missing: str = "error",
    missing_reward: float | None = None,
    propensity_draws: int | None = None,
    repeated: str = "error",
    prices: Sequence[str] | None = None,
    each_file: bool = False,
    **file: str | None,
) -> dict[str, Any]:
    """The options as keyword arguments of `read_logs`.

    >>> asked = as_reading(columns=["episode=bus"], bins=["miles=new:5e3:old"], gap="90d")
    >>> asked["columns"], asked["bins"], asked["gap"]
    ({'episode': 'bus'}, {'miles': ('new', 5000.0, 'old')}, '90d')
    """
    return {
        "columns": _columns(columns or ()),
        "ends": ends,
        "cost": cost,
        "bins": _bins(bins or ()),
        "gap": gap,
        "missing": missing,
        "missing_reward": missing_reward,
        "propensity_draws": propensity_draws,
        "repeated": repeated,
        "prices": _prices(prices or ()),
        "each_file": each_file,
        **{name: file.get(name) for name in _FILE},
    }


def _columns(texts: Sequence[str]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for text in texts:
        for item in text.split(","):
            part, equals, name = item.partition("=")
            place = f"--columns {printable(text)}"
            if not equals or not part or not name:
                raise ParameterError(f"{place}: expected PART=NAME, such as episode=bus_id.")
            if part in mapping:
                raise ParameterError(f"{place}: {printable(part)} is given twice. Give it once.")
            mapping[part] = name
    return mapping


def _bins(texts: Sequence[str]) -> dict[str, tuple[str | float, ...]]:
    mapping: dict[str, tuple[str | float, ...]] = {}
    for text in texts:
        column, equals, spec = text.partition("=")
        place = f"--bins {printable(text)}"
        items = spec.split(":")
        if not equals or not column or len(items) < 3 or len(items) % 2 == 0:
            raise ParameterError(
                f"{place}: expected COLUMN=NAME:EDGE:NAME, such as vibration=low:2:mid:5:high."
            )
        if column in mapping:
            raise ParameterError(f"{place}: {printable(column)} is given twice. Give it once.")
        mapping[column] = tuple(
            _number(item, place, "vibration=low:2:mid:5:high") if i % 2 else item
            for i, item in enumerate(items)
        )
    return mapping


def _prices(texts: Sequence[str]) -> dict[str, float]:
    mapping: dict[str, float] = {}
    for text in texts:
        for item in text.split(","):
            name, equals, amount = item.rpartition("=")
            place = f"--prices {printable(text)}"
            if not equals or not name:
                raise ParameterError(f"{place}: expected WHAT=NUMBER, such as action:repair=-10.")
            if name in mapping:
                raise ParameterError(f"{place}: {printable(name)} is given twice. Give it once.")
            mapping[name] = _number(amount, place, "action:repair=-10")
    return mapping


def _number(text: str, place: str, example: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(
            f"{place}: {printable(text)!r} is not a number. Write it like {example}."
        ) from error


_FILE = ("file_format", "separator", "decimal", "dates", "encoding", "turns", "sheet")
# of the options in `options.of_reading`, those that are not None where nobody gives them
_USUAL = {"missing": "error", "repeated": "error", "each_file": False}
# what the decorator turns into the parameters `log` and `discount`, in front of all others ...
_FRONT: dict[str, Any] = {
    "log": settings.Log,
    "discount": None,
    "yearly_discount": None,
    "step_length": None,
}
# ... and what it uses up itself
_BEHIND: dict[str, Any] = {
    "project": settings.ProjectFile,
    "no_project": settings.NoProject,
    "help_all": panels.HelpAll,
}
_FLAGS = ("no_project", "help_all")
_MADE = ("reading", "used", "typed")  # made here, not asked for


def _options(**defaults: Any) -> dict[str, Any]:
    return {name: {**_USUAL, **defaults}.get(name) for name in of_reading()}


def log_options(command: Command) -> Command:
    """Gives a command the options of reading a log in place of its parameter `reading`."""
    return panels.in_place_of("reading", _options(), lambda asked: as_reading(**asked))(command)


def asks_for_options(command: Command) -> Command:
    """Gives a command the plain options of a job in place of its parameter `asked`: their values by
    name. Options that the command takes itself are its own."""
    return panels.in_place_of("asked", plain_options(), dict)(command)


def reads_a_log(
    *, needs_discount: bool = True, repeatable: bool = False, **defaults: Any
) -> Callable[[Command], Command]:
    """Gives a command the options of what it reads: its parameters `log`, `discount` and `reading`
    (keyword arguments of `read_logs`) are filled from the command line, else from the project file.
    If it has the parameters `step_length`, `used` or `typed`, it gets the length of a step, all
    options as data, or the command as it was typed. `defaults` differ from the usual ones. Standard
    input (-) and pipes are there as a file while the command runs."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        wanted = signature.parameters
        behind = {**_BEHIND, "again": settings.Again} if repeatable else _BEHIND
        own = [p for name, p in wanted.items() if name not in (*_FRONT, *_MADE)]
        options = _options(**defaults)

        @wraps(command)
        def run(context: typer.Context, **given: Any) -> Any:
            from jumar.log.formats import spooled

            given.pop("help_all")  # is done by then
            known = settings.find(
                given.pop("project"), given.pop("no_project"), given.pop("again", None)
            )
            given = settings.fill(given, known, context)
            reading = as_reading(**{name: given.pop(name) for name in options})
            given["reading"] = settings.completed(reading, known)
            if given.get("counts") is None:  # which stand for a log
                given["log"] = settings.log_of(given["log"])
                if given["discount"] is None and given["yearly_discount"] is None:
                    given["discount"] = settings.discount_told(given["log"])
            given["discount"] = settings.discount_of(given, needs_discount)
            given["used"] = settings.used(given)
            given["reading"] = settings.with_objective(
                given["reading"], reading["columns"], given, known, context
            )
            given["typed"] = settings.typed(context)
            with spooled(given["log"]) as given["log"]:
                return command(**{name: item for name, item in given.items() if name in wanted})

        context = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)
        asked = [
            inspect.Parameter(name, _KEYWORD, default=default, annotation=kind)
            for name, kind, default in (
                *((name, kind, None) for name, kind in _FRONT.items()),
                *((name, kind, False if name in _FLAGS else None) for name, kind in behind.items()),
                *((name, None, default) for name, default in options.items()),
            )
        ]
        return cast(Command, panels.with_parameters(run, signature, [context, *asked, *own]))

    return decorate


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
