"""Commands of the main job: look around, train, simulate, improve, evaluate."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from jumar.cli.app import (
    Json,
    ModelName,
    Seed,
    app,
    build_model,
    say,
    working,
)
from jumar.cli.panels import worded
from jumar.core.plain import finite


@app.command()
def models(as_json: Json = False) -> None:
    """List the models with known truth."""
    from jumar.lab.truth.models import MODELS
    from jumar.show.terminal import plain_table

    rows, data = [], []
    for name, entry in MODELS.items():
        pomdp = entry.build()
        sizes = [len(pomdp.states), len(pomdp.actions), len(pomdp.observations)]
        best = "" if entry.optimum is None else f"{entry.optimum:.6g}"
        extra = f" (options: {', '.join(entry.options)})" if entry.options else ""
        rows.append([name, entry.summary + extra, " × ".join(map(str, sizes)), best])
        data.append(
            {
                "name": name,
                "summary": entry.summary,
                "source": entry.source,
                "states": list(pomdp.states),
                "actions": list(pomdp.actions),
                "observations": list(pomdp.observations),
                "discount": pomdp.discount,
                "max_steps": pomdp.max_steps,
                "optimum": entry.optimum,
                "options": list(entry.options),
            }
        )
    heads = ["model", "what it is", "states × actions × observations", "best value"]
    say(as_json, {"models": data}, plain_table(heads, rows, right=["best value"]))


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
@worded
def train(
    model: ModelName,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Controller file to write (.json).")
    ],
    window: int = 2,
    with_actions: bool = False,
    seed: Seed = 1,
    episodes: Annotated[int | None, typer.Option(help="Training episodes.")] = None,
    softmax: Annotated[
        float | None,
        typer.Option(help="Inverse temperature of the final controller; larger is greedier."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a behavior by Q-learning, as in the paper."""
    from dataclasses import asdict, replace

    from jumar import evaluate
    from jumar import models as library
    from jumar.lab.truth.training import train_behavior
    from jumar.memory import window as make_window

    pomdp = build_model(model)
    setting = library.training(model, pomdp)
    if episodes is not None:
        setting = replace(setting, episodes=episodes)
    if softmax is not None:
        setting = replace(setting, softmax=softmax)
    memory = make_window(window, actions=with_actions)
    with working("Training", as_json):
        controller = train_behavior(pomdp, memory, seed=seed, **asdict(setting))
        # with discount 1 and no end there is a value up to the limit only
        endless = pomdp.discount == 1 and not pomdp.episodic
        value = evaluate(pomdp, controller, pomdp.max_steps if endless else None).value
    controller.save(output)
    data = {
        "model": model,
        "memory": str(memory),
        "seed": seed,
        "value": value,
        "file": str(output),
    }
    say(as_json, data, f"{output}: {memory}, exact value {value:.6g}")


@app.command()
def simulate(
    model: ModelName,
    policy: Annotated[Path, typer.Option(help="Controller file (.json or .toml).")],
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
    """Run a controller on a model and write the log."""
    from jumar import load_controller
    from jumar import simulate as run
    from jumar.cli.converting import write_log
    from jumar.core.text import counted

    pomdp = build_model(model)
    controller = load_controller(policy)
    with working("Simulating", as_json):
        log = run(pomdp, controller, episodes=episodes, seed=seed, max_steps=max_steps)
        write_log(log, output, discount=pomdp.discount, controller=controller)
    mean = float(log.returns(pomdp.discount).mean())
    cut_off = int((~log.terminated).sum())
    data = {
        "model": model,
        "episodes": len(log),
        "steps": log.n_steps,
        "mean_return": mean,
        "cut_off": cut_off,
        "seed": seed,
        "file": str(output),
    }
    cut = f" ({cut_off:,} cut off)" if cut_off else ""
    size = f"{counted(len(log), 'episode')}{cut}, {counted(log.n_steps, 'step')}"
    text = f"{size}, mean return {mean:.6g}"
    say(as_json, data, f"{output}: {text}")


@app.command()
def evaluate(
    model: ModelName,
    policy: Annotated[list[Path], typer.Option(help="Controller file; give several to compare.")],
    horizon: Annotated[
        int | None,
        typer.Option(help="Value over so many steps instead of for ever."),
    ] = None,
    simulate: Annotated[
        int, typer.Option(metavar="EPISODES", help="Also estimate by simulation, as a cross-check.")
    ] = 0,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Compute the exact value of controllers on a known model."""
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
        item: dict[str, Any] = {
            "file": str(path),
            "value": exact.value,
            "horizon": horizon,
            "mean_length": finite(exact.length),
        }
        length = "never ends" if math.isinf(exact.length) else f"{exact.length:.6g}"
        cells = [str(path), f"{exact.value:.10g}", length]
        if simulate:
            with working("Simulating", as_json):
                estimate = simulated_value(
                    pomdp,
                    controller,
                    episodes=simulate,
                    seed=seed,
                    max_steps=horizon,
                )
            item["simulated"] = {
                "mean": estimate.mean,
                "standard_error": finite(estimate.standard_error),
                "episodes": simulate,
            }
            cells.append(f"{estimate.mean:.6g} ± {estimate.standard_error:.2g}")
        rows.append(cells)
        data.append(item)
    value = "value" if horizon is None else f"value over {horizon} steps"
    heads = ["controller", value, "mean length", *(["simulated"] if simulate else [])]
    note = [] if optimum is None else [f"The best possible value is {optimum:.10g}."]
    table = plain_table(heads, rows, right=heads[1:])
    found: dict[str, Any] = {"model": model, "optimum": optimum, "controllers": data}
    if pomdp.factors is not None and pomdp.factors.cost:
        found["cost"] = True
        note.append("The file has costs: a value is the cost with a minus.")
    say(as_json, found, table, *note)
