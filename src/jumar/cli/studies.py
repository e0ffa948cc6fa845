"""Commands that run whole studies: paper and study."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli.app import Json, app, progress_bar, say
from jumar.cli.log_options import has_workers
from jumar.core.errors import ParameterError
from jumar.core.text import printable

if TYPE_CHECKING:
    from jumar.lab.study.spec import StudySpec

Folder = Annotated[Path, typer.Option("--output", "-o", help="Folder for results and figures.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only this policy, e.g. tiger:1; may be repeated."),
]
Summary = Annotated[
    bool, typer.Option("--summary", help="Run nothing; print tables of what is in the folder.")
]
Planner = Annotated[
    int, typer.Option(metavar="EPISODES", help="PO-UCT episodes per model; 0 leaves it out.")
]
GUARANTEES = "guarantees"
PLANNER_EPISODES = 1000
PLANNER_SIMULATIONS = 1000


@app.command()
@has_workers
def paper(
    output: Folder = Path("paper"),
    seeds: Annotated[int, typer.Option(help="Data sets of each size.")] = 500,
    only: Only = None,
    *,
    workers: dict[str, Any],
    cheese_step_reward: Annotated[
        float, typer.Option(help="What a step in CheeseMaze pays; 0 gives the published curves.")
    ] = -0.01,
    planner: Planner = PLANNER_EPISODES,
    summary: Summary = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: every table and figure, in one run that can be interrupted."""
    from jumar.lab.study.spec import load_study

    spec = replace(load_study("paper"), datasets=seeds)
    if cheese_step_reward != -0.01:
        model = f"cheese_maze:step_reward={cheese_step_reward!r}"
        behaviors = (
            replace(b, model=model) if b.model == "cheese_maze" else b for b in spec.behaviors
        )
        spec = replace(spec, behaviors=tuple(behaviors))
    _study(spec.only(tuple(only or ())), output, workers, planner, summary, as_json)


@app.command()
@has_workers
def study(
    source: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A TOML file, or a shipped name: paper, family, safety, safety-seeds, mdps, "
            "guarantees.",
        ),
    ],
    output: Folder,
    datasets: Annotated[
        int | None,
        typer.Option(help="Data sets of each size, instead of what the file says."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Episodes in the logs, instead of what the file says."
        ),
    ] = None,
    only: Only = None,
    seed: Annotated[
        int | None, typer.Option(help="Same seed, same result; instead of what the file says.")
    ] = None,
    *,
    workers: dict[str, Any],
    planner: Planner = 0,
    summary: Summary = False,
    as_json: Json = False,
) -> None:
    """Run any grid of models, policies, sizes, memories and algorithms.

    The study called guarantees asks whether promises are kept: how often every test, interval,
    certificate and check is wrong, on processes built to make them fail. With it, --only takes
    the name of a process.
    """
    asked: dict[str, Any] = {"seed": seed, "datasets": datasets, "sizes": _sizes(sizes)}
    asked = {name: value for name, value in asked.items() if value is not None}
    if source == GUARANTEES:
        if planner:
            raise ParameterError("--planner: the study of guarantees has no planner. Leave it out.")
        asked |= {"processes": tuple(dict.fromkeys(only))} if only else {}
        _guarantees(output, workers, summary, as_json, **asked)
        return
    from jumar.lab.study.spec import load_study

    spec = replace(load_study(source), **asked)
    _study(spec.only(tuple(only or ())), output, workers, planner, summary, as_json)


def _sizes(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ParameterError(
            f"--sizes {printable(text)!r}: give whole numbers with commas between, such as "
            "100,1000."
        ) from None


def _guarantees(
    folder: Path, workers: dict[str, Any], summary: bool, as_json: bool, **asked: Any
) -> None:
    from jumar.lab.study.guarantees.measuring import GuaranteesSpec, run_guarantees
    from jumar.lab.study.guarantees.report import findings, tables, write_report
    from jumar.lab.study.store import Store

    spec, store = GuaranteesSpec(**asked), Store(folder)
    if not summary:
        with _resumable(folder), store.alone(), progress_bar("Logs", 0, as_json) as tell:
            run_guarantees(spec, folder, **workers, progress=tell)
            write_report(store)
    found = findings(store)
    files = [] if summary else [f"Wrote {folder / 'guarantees.md'} and guarantees.csv."]
    say(as_json, found.to_dict(), *(table.view for table in tables(found)), *files)


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Ctrl-C ends the command; whoever pressed it is told how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"\nStopped. What is finished is kept in {folder}; run the same command again to "
            "continue.",
            file=sys.stderr,
        )
        raise typer.Exit(1) from None


def _study(
    spec: StudySpec,
    folder: Path,
    workers: dict[str, Any],
    planner: int,
    summary: bool,
    as_json: bool,
) -> None:
    from jumar.lab.study.page import summary_data, summary_view, write_report
    from jumar.lab.study.runner import run_planner, run_study
    from jumar.lab.study.store import Store

    if planner != 0 and planner < 2:
        raise ParameterError(f"--planner {planner}: give at least 2 episodes, or 0 for none.")
    store, files = Store(folder), []
    if not summary:
        with _resumable(folder), store.alone():
            with progress_bar("Data sets", 0, as_json) as tell:
                run_study(spec, folder, **workers, progress=tell)
            if planner:
                sizes = {"episodes": planner, "simulations": PLANNER_SIMULATIONS}
                with progress_bar("PO-UCT episodes", 0, as_json) as tell:
                    run_planner(spec, store, **sizes, progress=tell)
            with progress_bar("Figures", len(spec.figures_to_draw()), as_json) as tell:
                write_report(store, spec, progress=tell)
        files = [f"Wrote {folder / 'index.html'} and the figures next to it."]
    say(as_json, summary_data(store), *summary_view(store), *files)
