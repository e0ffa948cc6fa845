"""Who does the work, on the command line. A command asks for all of it with one parameter:

@app.command()
@has_workers
def study(source: str, *, workers: dict[str, Any]) -> None:
    run_study(spec, folder, **workers)      # engine, jobs, scheduler
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from jumar.cli import panels
from jumar.core.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., Any])

EngineName = Annotated[
    str | None,
    typer.Option(
        metavar="here|processes|dask",
        help="Where to work: threads, processes, or a Dask cluster (default: whatever suits).",
        autocompletion=panels.one_of(panels.VALUES["engine"]),
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The Dask scheduler to use, such as tcp://host:8786; without it, --engine dask starts "
        "its own workers here.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="How many to work at once (default: all cores)."),
]
_OPTIONS = {"engine": EngineName, "scheduler": Scheduler, "jobs": Jobs}


def has_workers(command: Command) -> Command:
    """Gives a command the options --engine, --scheduler and --jobs in place of its parameter
    `workers`: the keyword arguments of `jumar.engines.run`, checked. Engine and jobs are None where
    nobody asked for any."""
    none = dict.fromkeys(_OPTIONS)
    return panels.in_place_of("workers", none, lambda asked: asked_for(**asked), _OPTIONS)(command)


def asked_for(engine: str | None, scheduler: str | None, jobs: int | None) -> dict[str, Any]:
    """The keyword arguments, or what is wrong with them before anything is done."""
    from jumar.engines import check

    if scheduler is not None and engine is None:
        raise ParameterError("--scheduler: give --engine dask as well.")
    check(engine or "here", jobs=jobs, scheduler=scheduler)
    return {"engine": engine, "scheduler": scheduler, "jobs": jobs}
