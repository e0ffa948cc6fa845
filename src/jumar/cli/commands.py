"""Models whose truth is known: list, train, simulate, evaluate, optimum, plan."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from jumar.cli.app import (
    Json,
    ModelName,
    Seed,
    app,
    build_model,
    progress_bar,
    say,
    working,
)
from jumar.cli.panels import worded
from jumar.core.plain import finite, picked
from jumar.core.text import counted

WHY = {
    "gap": "The bracket is as narrow as asked for.",
    "rounding": "The bracket is as narrow as numbers of 16 digits allow.",
    "time": "The time is up. More --seconds make the bracket narrower.",
    "interrupted": "Stopped by Ctrl-C. The bracket is right, and more time makes it narrower.",
}


@app.command()
def models(as_json: Json = False) -> None:
    """List the models whose truth is known."""
    from jumar.lab.truth.models import MODELS
    from jumar.show.terminal import plain_table

    rows, data = [], []
    for name, entry in MODELS.items():
        pomdp = entry.build()
        sizes = [len(pomdp.states), len(pomdp.actions), len(pomdp.observations)]
        best = "" if entry.optimum is None else f"{entry.optimum:.6g}"
        extra = f" (options: {', '.join(entry.options)})" if entry.options else ""
        rows.append([name, entry.summary + extra, " × ".join(map(str, sizes)), best])
        told = picked(pomdp, "states actions observations discount max_steps")
        data.append({"name": name, **picked(entry, "summary source optimum options"), **told})
    heads = ["model", "what it is", "states × actions × observations", "best value"]
    say(as_json, {"models": data}, plain_table(heads, rows, right=["best value"]))


@app.command()
@worded
def train(
    model: ModelName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Policy file to write (.json).")],
    window: int = 2,
    with_actions: bool = False,
    seed: Seed = 1,
    episodes: Annotated[int | None, typer.Option(help="Training episodes.")] = None,
    softmax: Annotated[
        float | None,
        typer.Option(help="Inverse temperature of the final policy; larger is greedier."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy by Q-learning, as in the paper."""
    from dataclasses import asdict

    from jumar import evaluate
    from jumar import models as library
    from jumar.lab.truth.training import train_behavior
    from jumar.memory import window as make_window

    pomdp = build_model(model)
    asked = {"episodes": episodes, "softmax": softmax}
    setting = asdict(library.training(model, pomdp))
    setting |= {name: value for name, value in asked.items() if value is not None}
    memory = make_window(window, actions=with_actions)
    with working("Training", as_json):
        controller = train_behavior(pomdp, memory, seed=seed, **setting)
        # with discount 1 and no end there is a value up to the limit only
        endless = pomdp.discount == 1 and not pomdp.episodic
        value = evaluate(pomdp, controller, pomdp.max_steps if endless else None).value
    controller.save(output)
    data = {"model": model, "memory": str(memory), "seed": seed, "value": value}
    say(as_json, {**data, "file": str(output)}, f"{output}: {memory}, exact value {value:.6g}")


@app.command()
def simulate(
    model: ModelName,
    policy: Annotated[Path, typer.Option(help="Policy file (.json or .toml).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Log to write (.parquet, .csv, minari:NAME).")
    ],
    episodes: Annotated[int, typer.Option(help="Episodes to simulate.")] = 1000,
    seed: Seed = 1,
    max_steps: Annotated[
        int | None,
        typer.Option(help="Cut an episode off after so many steps (default: the model's limit)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a model and write the log."""
    from jumar import load_controller
    from jumar import simulate as run
    from jumar.cli.showing import write_log

    pomdp = build_model(model)
    controller = load_controller(policy)
    with working("Simulating", as_json):
        log = run(pomdp, controller, episodes=episodes, seed=seed, max_steps=max_steps)
        write_log(log, output, discount=pomdp.discount, controller=controller)
    data = {
        "model": model,
        "episodes": len(log),
        "steps": log.n_steps,
        "mean_return": float(log.returns(pomdp.discount).mean()),
        "cut_off": int((~log.terminated).sum()),
        "seed": seed,
        "file": str(output),
    }
    cut = f" ({data['cut_off']:,} cut off)" if data["cut_off"] else ""
    size = f"{counted(len(log), 'episode')}{cut}, {counted(log.n_steps, 'step')}"
    say(as_json, data, f"{output}: {size}, mean return {data['mean_return']:.6g}")


@app.command()
def evaluate(
    model: ModelName,
    policy: Annotated[list[Path], typer.Option(help="Policy file; give several to compare.")],
    horizon: Annotated[
        int | None, typer.Option(help="Value over so many steps instead of for ever.")
    ] = None,
    simulate: Annotated[
        int, typer.Option(metavar="EPISODES", help="Also estimate by simulation, as a cross-check.")
    ] = 0,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Compute what policies are worth exactly, on a known model."""
    from jumar import evaluate as run
    from jumar import load_controller
    from jumar import models as library
    from jumar.lab import simulated_value
    from jumar.show.terminal import plain_table

    pomdp = build_model(model)
    optimum = None if horizon is not None else library.optimum(model)  # it is that for ever
    rows, data = [], []
    for path in policy:
        controller = load_controller(path)
        exact = run(pomdp, controller, horizon)
        item: dict[str, Any] = {"file": str(path), "value": exact.value, "horizon": horizon}
        item["mean_length"] = finite(exact.length)
        length = "never ends" if math.isinf(exact.length) else f"{exact.length:.6g}"
        cells = [str(path), f"{exact.value:.10g}", length]
        if simulate:
            with working("Simulating", as_json):
                estimate = simulated_value(
                    pomdp, controller, episodes=simulate, seed=seed, max_steps=horizon
                )
            item["simulated"] = picked(estimate, "mean standard_error") | {"episodes": simulate}
            cells.append(f"{estimate.mean:.6g} ± {estimate.standard_error:.2g}")
        rows.append(cells)
        data.append(item)
    value = "value" if horizon is None else f"value over {horizon} steps"
    heads = ["policy", value, "mean length", *(["simulated"] if simulate else [])]
    note = [] if optimum is None else [f"The best possible value is {optimum:.10g}."]
    table = plain_table(heads, rows, right=heads[1:])
    found: dict[str, Any] = {"model": model, "optimum": optimum, "controllers": data}
    if pomdp.factors is not None and pomdp.factors.cost:
        found["cost"] = True
        note.append("The file has costs: a value is the cost with a minus.")
    say(as_json, found, table, *note)


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
            "--output", "-o", help="Policy file to write (.json): it earns the lower bound."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bracket the value of the best policy of all, within a given time.

    Both bounds are proved, whenever the search ends: when the bracket is narrow enough, when the
    time is up, or with Ctrl-C.
    """
    from jumar.lab.truth.optimality import Optimum
    from jumar.lab.truth.optimality import optimum as run

    pomdp = build_model(model)
    with working("Starting", as_json) as update:

        def tell(so_far: Optimum) -> None:
            lower, upper = outward(so_far.lower, so_far.upper, 6)
            doing = "searching" if so_far.backups else "preparing"
            update(
                f"{model}: {lower} to {upper} (gap {so_far.gap:.2g}), {doing}, "
                f"{so_far.seconds:.0f} of {seconds:g} s"
            )

        found = run(pomdp, seconds=seconds, gap=gap, progress=tell)
    data = {"model": model, "discount": pomdp.discount}
    data |= picked(found, "lower upper gap seconds backups stopped")
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
        lines.append(f"{output}: a policy with {nodes} that earns {lower} or more.")
    say(as_json, data, *lines)


def outward(lower: float, upper: float, digits: int = 10) -> tuple[str, str]:
    """Both as text, rounded away from each other: what is printed is a bracket too.

    >>> outward(5.02125191999, 5.02125192001, digits=7)
    ('5.021251', '5.021252')
    """
    down, up = (Context(prec=digits, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
    return f"{down.plus(Decimal(lower)):g}", f"{up.plus(Decimal(upper)):g}"


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
    from jumar import models as library
    from jumar.lab.truth.planning import Pouct
    from jumar.lab.truth.planning import plan as run

    pomdp, best = build_model(model), library.optimum(model)
    settings = Pouct(simulations=simulations, exploration=exploration, particles=particles)
    with progress_bar("Episodes", episodes, as_json) as tell:
        found = run(pomdp, settings, episodes=episodes, seed=seed, progress=tell)
    data = {"model": model, "simulations": simulations, "episodes": episodes, "seed": seed}
    data |= picked(found, "mean standard_error mean_length") | {"optimum": best}
    known = "" if best is None else f"; the best policy of all is worth {best:.6g}"
    say(
        as_json,
        data,
        f"PO-UCT earns {found.mean:.4g} ± {found.standard_error:.2g} "
        f"({episodes:,} episodes of {found.mean_length:.3g} decisions){known}.",
    )
