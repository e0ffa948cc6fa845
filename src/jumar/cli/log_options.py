"""How a log is to be read and who does the work, on the command line.

A command asks for them all with one parameter:

    @app.command()
    @reads_a_log()
    @has_workers
    def check(log: Path, reading: dict[str, Any], workers: dict[str, Any]) -> None:
        episodes = read_logs(log, **reading)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import typer

from jumar.cli import panels, settings
from jumar.cli.options import as_reading, usual_reading
from jumar.core.errors import ParameterError
from jumar.options import plain_options

Command = TypeVar("Command", bound=Callable[..., Any])

# what the decorator turns into the parameters `log` and `discount`, in front of all others ...
_FRONT = ("log", "discount", "yearly_discount", "step_length")
# ... what it uses up itself, and what it makes and nobody asks for
_BEHIND = {"project": None, "no_project": False, "help_all": False}
_MADE = ("reading", "used", "typed")


def log_options(command: Command) -> Command:
    """Gives a command the options of reading a log in place of its parameter `reading`."""
    return panels.in_place_of("reading", usual_reading(), lambda asked: as_reading(**asked))(
        command
    )


def asks_for_options(command: Command) -> Command:
    """Gives a command the plain options of a job in place of its parameter `asked`: their values by
    name. Options that the command takes itself are its own."""
    return panels.in_place_of("asked", plain_options(), dict)(command)


def has_workers(command: Command) -> Command:
    """Gives a command the options --engine, --scheduler and --jobs in place of its parameter
    `workers`: the keyword arguments of `jumar.engines.run`, checked before anything is done. Engine
    and jobs are None where nobody asked for any."""

    def checked(asked: dict[str, Any]) -> dict[str, Any]:
        from jumar.engines import check

        if asked["scheduler"] is not None and asked["engine"] is None:
            raise ParameterError("--scheduler: give --engine dask as well.")
        check(asked["engine"] or "here", jobs=asked["jobs"], scheduler=asked["scheduler"])
        return asked

    none = dict.fromkeys(("engine", "scheduler", "jobs"))
    return panels.in_place_of("workers", none, checked)(command)


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
        own = [p for name, p in wanted.items() if name not in (*_FRONT, *_MADE)]
        options = usual_reading(**defaults)
        behind = {**_BEHIND, "again": None} if repeatable else _BEHIND

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

        first = panels.asked_for("context", inspect.Parameter.empty, typer.Context)
        log = panels.asked_for("log", None, settings.Log)
        asked = {**dict.fromkeys(_FRONT[1:]), **behind, **options}
        more = [panels.asked_for(name, default) for name, default in asked.items()]
        return cast(Command, panels.with_parameters(run, signature, [first, log, *more, *own]))

    return decorate
