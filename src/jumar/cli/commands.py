"""Commands of the main job: look around, train, simulate, improve, evaluate, show."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from jumar.cli import options
from jumar.cli.app import WINDOW, Json, ModelName, Seed, WithActions, app, finite, say, working

if TYPE_CHECKING:
    from jumar.logs import Ends
    from jumar.pipeline import Result


@app.command()
def models(as_json: Json = False) -> None:
    """List the models with known truth."""
    from jumar.models import MODELS
    from jumar.tables import plain_table

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
    from jumar.tables import plain_table

    rows, data = [], []
    for name, entry in ALGORITHMS.items():
        defaults = {p: parameter.default for p, parameter in entry.parameters.items()}
        rows.append([name, entry.summary, ", ".join(f"{p}={d}" for p, d in defaults.items())])
        data.append({"name": name, "summary": entry.summary, "parameters": defaults})
    heads = ["algorithm", "what it does", "parameters"]
    say(as_json, {"algorithms": data}, plain_table(heads, rows))


@app.command()
def train(
    model: ModelName,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Controller file to write (.json).")
    ],
    window: Annotated[int, typer.Option(help=WINDOW)] = 2,
    with_actions: WithActions = False,
    seed: Seed = 1,
    episodes: Annotated[int | None, typer.Option(help="Training episodes.")] = None,
    softmax: Annotated[
        float | None,
        typer.Option(help="Inverse temperature of the final policy; larger is greedier."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a behavior policy by Q-learning, as in the paper."""
    from dataclasses import replace

    from jumar import evaluate
    from jumar import models as library
    from jumar.memory import window as make_window
    from jumar.training import train_behavior

    pomdp = library.build(model)
    setting = library.training(model, pomdp)
    if episodes is not None:
        setting = replace(setting, episodes=episodes)
    if softmax is not None:
        setting = replace(setting, softmax=softmax)
    memory = make_window(window, actions=with_actions)
    with working("Training", as_json):
        controller = train_behavior(pomdp, memory, setting, seed)
        value = evaluate(pomdp, controller).value
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
        Path, typer.Option("--output", "-o", help="Log to write (.parquet or .csv).")
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
    from jumar import load_controller, stream, write_logs
    from jumar import models as library
    from jumar import simulate as run

    pomdp, controller = library.build(model), load_controller(policy)
    with working("Simulating", as_json):
        log = run(
            pomdp, controller, episodes=episodes, rng=stream(seed, "data"), max_steps=max_steps
        )
        write_logs(log, output)
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
    text = f"{len(log):,} episodes{cut}, {log.n_steps:,} steps, mean return {mean:.6g}"
    say(as_json, data, f"{output}: {text}")


@app.command()
def improve(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log (.csv or .parquet).")],
    policy: Annotated[Path, typer.Option(help="The controller that produced it (.toml or .json).")],
    discount: Annotated[float, typer.Option(help="Weight of the next step against this one.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for improved.json and certificate.json."),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="See `jumar algorithms`.")] = "spibb",
    n_wedge: Annotated[
        int | None,
        typer.Option(help="N∧: trust only what was seen more often than this."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the algorithm."),
    ] = None,
    window: Annotated[int | None, typer.Option(help=WINDOW)] = None,
    with_actions: WithActions = False,
    delta: Annotated[
        float, typer.Option(help="Accepted chance that the certificate is wrong.")
    ] = 0.05,
    rewards: Annotated[
        str | None,
        typer.Option(metavar="LO:HI", help="What a step can pay at least and at most."),
    ] = None,
    ending_rewards: Annotated[
        str | None,
        typer.Option(metavar="LO:HI", help="The same for the step that ends an episode."),
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option(
            metavar="terminated|cut",
            help="What an episode's end means in a log without a 'terminated' column.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="PART=NAME,...", help="Other column names: episode=bus_id,reward=gain"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Improve the controller that produced a log."""
    from jumar import improve as run
    from jumar import load_controller, read_logs

    parameters = options.parameters(algorithm, n_wedge, parameter or [])
    reward_range = options.reward_range(rewards, ending_rewards)
    behavior = load_controller(policy)
    with working("Improving", as_json):
        episodes = read_logs(
            log,
            observations=behavior.observations,
            actions=behavior.actions,
            columns=options.columns(columns),
            ends=cast("Ends | None", ends),
        )
        result = run(
            episodes,
            behavior,
            discount=discount,
            memory=options.memory(window, with_actions),
            algorithm=algorithm,
            delta=delta,
            rewards=reward_range,
            **parameters,
        )
    files = _write_result(result, output) if output else []
    from jumar.tables import result_view

    data = {**result.to_dict(), "files": [str(f) for f in files]}
    say(as_json, data, result_view(result), *(f"Wrote {f}" for f in files))


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
    from jumar import load_controller, simulated_value, stream
    from jumar import models as library
    from jumar.tables import plain_table

    pomdp = library.build(model)
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
                    rng=stream(seed, "evaluation"),
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
    note = [] if optimum is None else [f"The best policy of all is worth {optimum:.10g}."]
    table = plain_table(heads, rows, right=heads[1:])
    say(as_json, {"model": model, "optimum": optimum, "controllers": data}, table, *note)


@app.command()
def show(
    policy: Annotated[Path, typer.Argument(metavar="CONTROLLER", help="Controller file.")],
    rows: Annotated[int, typer.Option(min=1, help="Rules to print at most.")] = 40,
    as_json: Json = False,
) -> None:
    """Print a controller as a table."""
    from jumar import load_controller
    from jumar.controller_files import controller_to_document
    from jumar.tables import controller_view

    controller = load_controller(policy)
    say(as_json, controller_to_document(controller), controller_view(controller, rows))


def _write_result(result: Result, folder: Path) -> list[Path]:
    from jumar.files import make_folder, replacing

    make_folder(folder)
    controller, certificate = folder / "improved.json", folder / "certificate.json"
    document = {"format": "jumar-certificate/1", **result.to_dict()}
    with replacing(certificate) as temporary:  # takes its place only once the controller is there
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
        result.controller.save(controller)
    return [controller, certificate]
