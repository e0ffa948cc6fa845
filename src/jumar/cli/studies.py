"""Commands that run whole studies: paper, study, plan."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli.app import Json, ModelName, Seed, app, progress_bar, say
from jumar.core.errors import ParameterError, not_one_of
from jumar.core.text import printable
from jumar.io.plain import finite

if TYPE_CHECKING:
    from jumar.study.spec import StudySpec
    from jumar.study.store import Store

Folder = Annotated[Path, typer.Option("--output", "-o", help="Folder for results and figures.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="BEHAVIOR", help="Only this behavior, e.g. tiger:1; may be repeated."),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="How many to work at once (default: all cores)."),
]
Summary = Annotated[
    bool, typer.Option("--summary", help="Run nothing; print tables of what is in the folder.")
]
GUARANTEES = "guarantees"
PLANNER_EPISODES = 1000
PLANNER_SIMULATIONS = 1000


@app.command()
def paper(
    output: Folder = Path("paper"),
    seeds: Annotated[int, typer.Option(help="Data sets of each size.")] = 500,
    only: Only = None,
    jobs: Jobs = None,
    cheese_step_reward: Annotated[
        float, typer.Option(help="What a step in CheeseMaze pays; 0 gives the published curves.")
    ] = -0.01,
    unseen: Annotated[
        str,
        typer.Option(
            metavar="zero|exclude|both",
            help="Basic RL on what was never tried: worth 0 (as published), never chosen, or both.",
        ),
    ] = "both",
    planner: Annotated[
        int, typer.Option(metavar="EPISODES", help="PO-UCT episodes per model; 0 leaves it out.")
    ] = PLANNER_EPISODES,
    summary: Summary = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: every table and figure, in one run that can be interrupted."""
    from jumar.study.spec import load_study

    spec = replace(load_study("paper"), datasets=seeds)
    if unseen not in ("zero", "exclude", "both"):
        raise ParameterError(
            "--unseen: " + not_one_of("choice", unseen, ("zero", "exclude", "both"))
        )
    if unseen != "both":
        kept = tuple(s for s in spec.settings if s.get("unseen") in (None, unseen))
        spec = replace(spec, settings=kept)
    if cheese_step_reward != -0.01:
        model = f"cheese_maze:step_reward={cheese_step_reward!r}"
        behaviors = (
            replace(b, model=model) if b.model == "cheese_maze" else b for b in spec.behaviors
        )
        spec = replace(spec, behaviors=tuple(behaviors))
    _study(spec.only(tuple(only or ())), output, jobs, planner, summary, as_json)


@app.command()
def study(
    source: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A TOML file, or a shipped name: paper, safety, safety-seeds, guarantees.",
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
    jobs: Jobs = None,
    planner: Annotated[
        int, typer.Option(metavar="EPISODES", help="PO-UCT episodes per model; 0 leaves it out.")
    ] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="guarantees: also the sizes that take hours.")
    ] = False,
    summary: Summary = False,
    as_json: Json = False,
) -> None:
    """Run any grid of models, behaviors, sizes, memories and algorithms.

    The study called guarantees asks whether promises are kept: how often every gate, interval,
    certificate and check is wrong, on processes built to make them fail. With it, --only takes
    the name of a process.
    """
    if source == GUARANTEES:
        if planner:
            raise ParameterError("--planner: the study of guarantees has no planner. Leave it out.")
        _guarantees(output, datasets, sizes, only, seed, jobs, full, summary, as_json)
        return
    from jumar.study.spec import load_study

    if full:
        raise ParameterError(f"--full: only the study {GUARANTEES} knows it. Leave it out.")
    spec = load_study(source)
    if seed is not None:
        spec = replace(spec, seed=seed)
    if datasets is not None:
        spec = replace(spec, datasets=datasets)
    if sizes is not None:
        spec = replace(spec, sizes=_sizes(sizes))
    _study(spec.only(tuple(only or ())), output, jobs, planner, summary, as_json)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ParameterError(
            f"--sizes {printable(text)!r}: give whole numbers with commas between, such as "
            "100,1000."
        ) from None


@app.command()
def plan(
    model: ModelName,
    simulations: Annotated[int, typer.Option(help="Simulations before every decision.")] = 1000,
    episodes: Annotated[int, typer.Option(help="Episodes to play.")] = 1000,
    exploration: Annotated[
        float | None,
        typer.Option(help="UCB constant (default: √2 times the range of values)."),
    ] = None,
    particles: Annotated[int, typer.Option(help="States that hold the belief.")] = 10_000,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Play a model with an online planner (PO-UCT) that knows it."""
    from jumar import models
    from jumar.truth.planning import Pouct
    from jumar.truth.planning import plan as run

    pomdp, optimum = models.build(model), models.optimum(model)
    settings = Pouct(simulations=simulations, exploration=exploration, particles=particles)
    with progress_bar("Episodes", episodes, as_json) as tell:
        found = run(pomdp, settings, episodes=episodes, seed=seed, progress=tell)
    data = {
        "model": model,
        "simulations": simulations,
        "episodes": episodes,
        "seed": seed,
        "mean": found.mean,
        "standard_error": finite(found.standard_error),
        "mean_length": found.mean_length,
        "optimum": optimum,
    }
    best = "" if optimum is None else f"; the best policy of all is worth {optimum:.6g}"
    say(
        as_json,
        data,
        f"PO-UCT earns {found.mean:.4g} ± {found.standard_error:.2g} "
        f"({episodes:,} episodes of {found.mean_length:.3g} decisions){best}.",
    )


def _guarantees(
    folder: Path,
    datasets: int | None,
    sizes: str | None,
    only: list[str] | None,
    seed: int | None,
    jobs: int | None,
    full: bool,
    summary: bool,
    as_json: bool,
) -> None:
    from jumar.study.guarantees.page_tables import tables
    from jumar.study.guarantees.report import write_report
    from jumar.study.guarantees.running import GuaranteesSpec, run_guarantees
    from jumar.study.guarantees.summary import findings
    from jumar.study.store import Store

    asked: dict[str, Any] = {"full": full}
    asked |= {"datasets": datasets} if datasets is not None else {}
    asked |= {"seed": seed} if seed is not None else {}
    asked |= {"sizes": _sizes(sizes)} if sizes is not None else {}
    asked |= {"processes": tuple(dict.fromkeys(only))} if only else {}
    spec = GuaranteesSpec(**asked)
    store = Store(folder)
    if not summary:
        try:
            with store.alone(), progress_bar("Logs", 0, as_json) as tell:
                run_guarantees(spec, folder, jobs=jobs, progress=tell)
                write_report(store)
        except KeyboardInterrupt:
            raise _stopped(folder) from None
    found = findings(store)
    files = [] if summary else [f"Wrote {folder / 'guarantees.md'}, .json and .svg."]
    views = [table.view for table in tables(found) if table.name != "processes"]
    say(as_json, found.to_dict(), *views, *files)


def _stopped(folder: Path) -> typer.Exit:
    print(
        f"\nStopped. What is finished is kept in {folder}; run the same command again to go on "
        "from there.",
        file=sys.stderr,
    )
    return typer.Exit(1)


def _study(
    spec: StudySpec, folder: Path, jobs: int | None, planner: int, summary: bool, as_json: bool
) -> None:
    from jumar.study.store import Store

    if planner != 0 and planner < 2:
        raise ParameterError(f"--planner {planner}: give at least 2 episodes, or 0 for none.")
    store = Store(folder)
    if not summary:
        try:
            with store.alone():
                _run(spec, store, jobs, planner, as_json)
        except KeyboardInterrupt:
            raise _stopped(folder) from None
    from jumar.study.paper_tables import summary_data, summary_view

    files = [] if summary else [f"Wrote {folder / 'index.html'} and the figures next to it."]
    say(as_json, summary_data(store), *summary_view(store), *files)


def _run(spec: StudySpec, store: Store, jobs: int | None, planner: int, as_json: bool) -> None:
    import os

    from jumar.study.planner import run_planner
    from jumar.study.report import write_report
    from jumar.study.runner import run_study

    with progress_bar("Policies", spec.n_policies, as_json) as tell:
        run_study(spec, store.folder, jobs=jobs or os.cpu_count() or 1, progress=tell)
    if planner:
        with progress_bar("PO-UCT episodes", 0, as_json) as tell:
            run_planner(
                spec, store, episodes=planner, simulations=PLANNER_SIMULATIONS, progress=tell
            )
    with progress_bar("Figures", len(spec.figures_to_draw()), as_json) as tell:
        write_report(store, spec, progress=tell)
