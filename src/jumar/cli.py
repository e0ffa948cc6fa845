"""The command line: the only place that prints and exits.

Exit codes: 0 done, 1 failed (bad data, bad file), 2 wrong usage. With --json a command prints one
JSON object; errors go to standard error either way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from jumar.errors import JumarError, ParameterError

if TYPE_CHECKING:
    from jumar.certificate import RewardRange
    from jumar.memory import Memory
    from jumar.pipeline import Result

app = typer.Typer(
    help="Safe policy improvement under partial observability: from logs and the controller that "
    "made them to a better controller with an honest certificate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model by name, e.g. tiger or cheese_maze:step_reward=0."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Seed = Annotated[int, typer.Option(help="Same seed, same result.")]
Window = Annotated[
    Optional[int],  # noqa: UP045 - typer reads annotations at run time
    typer.Option(help="Observations remembered, the current one included (1 = none but it)."),
]
WithActions = Annotated[
    bool, typer.Option("--with-actions", help="The window also remembers the actions taken.")
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and exit."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(list(arguments))
    except JumarError as error:
        if "--json" in arguments:
            body = {"error": {"kind": type(error).__name__, "message": str(error)}}
            print(json.dumps(body), file=sys.stderr)
        else:
            print(f"jumar: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ParameterError) else 1)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from jumar import __version__

        print(f"jumar {__version__}")
        raise typer.Exit


def _say(as_json: bool, data: dict[str, Any], *renderables: Any) -> None:
    """Print for a machine or for a person."""
    if as_json:
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for renderable in renderables:
        console.print(renderable)


@contextmanager
def _working(what: str, as_json: bool) -> Iterator[None]:
    """A sign of life on standard error while something takes its time."""
    if as_json or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@app.command()
def models(as_json: Json = False) -> None:
    """List the models with known truth."""
    from jumar.models import MODELS
    from jumar.tables import plain_table

    table = plain_table(
        "model", "what it is", "states", "actions", "observations", "optimum", "options"
    )
    data = []
    for name, entry in MODELS.items():
        pomdp = entry.build()
        sizes = [len(pomdp.states), len(pomdp.actions), len(pomdp.observations)]
        optimum = "" if entry.optimum is None else f"{entry.optimum:.6g}"
        table.add_row(name, entry.summary, *map(str, sizes), optimum, ", ".join(entry.options))
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
    _say(as_json, {"models": data}, table)


@app.command()
def algorithms(as_json: Json = False) -> None:
    """List the algorithms and their parameters."""
    from jumar.algorithms import ALGORITHMS
    from jumar.tables import plain_table

    table = plain_table("algorithm", "what it does", "parameters")
    data = []
    for name, entry in ALGORITHMS.items():
        defaults = {p: parameter.default for p, parameter in entry.parameters.items()}
        table.add_row(name, entry.summary, ", ".join(f"{p}={d}" for p, d in defaults.items()))
        data.append({"name": name, "summary": entry.summary, "parameters": defaults})
    _say(as_json, {"algorithms": data}, table)


@app.command()
def train(
    model: ModelName,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Controller file to write (.json).")
    ],
    window: Window = 2,
    with_actions: WithActions = False,
    seed: Seed = 1,
    episodes: Annotated[Optional[int], typer.Option(help="Training episodes.")] = None,  # noqa: UP045
    softmax: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Inverse temperature of the final policy; larger is greedier."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a behavior policy by Q-learning, as in the paper."""
    from dataclasses import replace

    from jumar import evaluate, stream
    from jumar import models as library
    from jumar import train as learn
    from jumar.memory import window as make_window

    pomdp = library.build(model)
    setting = library.entry(model).training
    if episodes is not None:
        setting = replace(setting, episodes=episodes)
    if softmax is not None:
        setting = replace(setting, softmax=softmax)
    memory = make_window(window or 1, actions=with_actions)
    with _working("Training", as_json):
        controller = learn(
            pomdp,
            memory,
            rng=stream(seed, "train", pomdp.name, str(memory)),
            softmax=setting.softmax,
            episodes=setting.episodes,
            learning_rate=setting.learning_rate,
            exploration=setting.exploration,
            decay=setting.decay,
            name=f"{pomdp.name} behavior, {memory}, seed {seed}",
        )
        value = evaluate(pomdp, controller).value
    controller.save(output)
    data = {
        "model": model,
        "memory": str(memory),
        "seed": seed,
        "value": value,
        "file": str(output),
    }
    _say(as_json, data, f"{output}: {memory}, exact value {value:.6g}")


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
        Optional[int],  # noqa: UP045
        typer.Option(help="Cut an episode off after so many steps (default: the model's limit)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a controller on a model and write the log."""
    from jumar import load_controller, stream, write_logs
    from jumar import models as library
    from jumar import simulate as run

    pomdp, controller = library.build(model), load_controller(policy)
    with _working("Simulating", as_json):
        log = run(
            pomdp, controller, episodes=episodes, rng=stream(seed, "data"), max_steps=max_steps
        )
        write_logs(log, output)
    mean = float(log.returns(pomdp.discount).mean())
    data = {
        "model": model,
        "episodes": len(log),
        "steps": log.n_steps,
        "mean_return": mean,
        "cut_off": int((~log.terminated).sum()),
        "seed": seed,
        "file": str(output),
    }
    _say(
        as_json,
        data,
        f"{output}: {len(log):,} episodes, {log.n_steps:,} steps, mean return {mean:.6g}",
    )


@app.command()
def improve(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log (.csv or .parquet).")],
    policy: Annotated[Path, typer.Option(help="The controller that produced it (.toml or .json).")],
    discount: Annotated[float, typer.Option(help="Weight of the next step against this one.")],
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", "-o", help="Folder for improved.json and certificate.json."),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="See `jumar algorithms`.")] = "spibb",
    n_wedge: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="N∧: trust only what was seen more often than this."),
    ] = None,
    parameter: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the algorithm."),
    ] = None,
    window: Window = None,
    with_actions: WithActions = False,
    delta: Annotated[
        float, typer.Option(help="Accepted chance that the certificate is wrong.")
    ] = 0.05,
    rewards: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="LO:HI", help="What a step can pay at least and at most."),
    ] = None,
    ending_rewards: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="LO:HI", help="The same for the step that ends an episode."),
    ] = None,
    ends: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="terminated|cut",
            help="What an episode's end means in a log without a 'terminated' column.",
        ),
    ] = None,
    columns: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="PART=NAME,...", help="Other column names: episode=bus_id,reward=gain"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Improve the controller that produced a log."""
    from jumar import improve as run
    from jumar import load_controller, read_logs

    parameters = _parameters(algorithm, n_wedge, parameter or [])
    reward_range = _reward_range(rewards, ending_rewards)
    behavior = load_controller(policy)
    with _working("Improving", as_json):
        episodes = read_logs(
            log,
            observations=behavior.observations,
            actions=behavior.actions,
            columns=_columns(columns),
            ends=_ends(ends),
        )
        result = run(
            episodes,
            behavior,
            discount=discount,
            memory=_memory(window, with_actions),
            algorithm=algorithm,
            delta=delta,
            rewards=reward_range,
            **parameters,
        )
    files = _write_result(result, output) if output else []
    from jumar.tables import result_view

    data = {**_result_data(result), "files": [str(f) for f in files]}
    _say(as_json, data, result_view(result), *(f"Wrote {f}" for f in files))


@app.command()
def evaluate(
    model: ModelName,
    policy: Annotated[list[Path], typer.Option(help="Controller file; give several to compare.")],
    horizon: Annotated[
        Optional[int],  # noqa: UP045
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

    pomdp, optimum = library.build(model), library.optimum(model)
    table = plain_table("controller", "value", "mean length", *(["simulated"] if simulate else []))
    data = []
    for path in policy:
        controller = load_controller(path)
        exact = run(pomdp, controller, horizon)
        row = {
            "file": str(path),
            "value": exact.value,
            "horizon": horizon,
            "mean_length": exact.length if exact.length < float("inf") else None,
        }
        cells = [str(path), f"{exact.value:.10g}", f"{exact.length:.6g}"]
        if simulate:
            with _working("Simulating", as_json):
                estimate = simulated_value(
                    pomdp,
                    controller,
                    episodes=simulate,
                    rng=stream(seed, "evaluation"),
                    max_steps=horizon,
                )
            row["simulated"] = {
                "mean": estimate.mean,
                "standard_error": estimate.standard_error,
                "episodes": simulate,
            }
            cells.append(f"{estimate.mean:.6g} ± {estimate.standard_error:.2g}")
        table.add_row(*cells)
        data.append(row)
    note = [] if optimum is None else [f"The best policy of all is worth {optimum:.10g}."]
    _say(as_json, {"model": model, "optimum": optimum, "controllers": data}, table, *note)


@app.command()
def show(
    policy: Annotated[Path, typer.Argument(metavar="CONTROLLER", help="Controller file.")],
    rows: Annotated[int, typer.Option(help="Rules to print at most.")] = 40,
    as_json: Json = False,
) -> None:
    """Print a controller as a table."""
    from jumar import load_controller
    from jumar.controller_files import controller_to_document
    from jumar.tables import controller_view

    controller = load_controller(policy)
    _say(as_json, controller_to_document(controller), controller_view(controller, rows))


# ---- reading options ----------------------------------------------------------------------------


def _parameters(algorithm: str, n_wedge: int | None, settings: Sequence[str]) -> dict[str, object]:
    from jumar.algorithms import read_parameter

    texts = {} if n_wedge is None else {"n_wedge": str(n_wedge)}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set {setting}: expected NAME=VALUE, such as n_wedge=20.")
        texts[name] = value
    return {name: read_parameter(algorithm, name, text) for name, text in texts.items()}


def _memory(window: int | None, with_actions: bool) -> Memory | None:
    from jumar.memory import window as make_window

    if window is None:
        if with_actions:
            raise ParameterError("--with-actions: give --window as well.")
        return None
    return make_window(window, actions=with_actions)


def _reward_range(rewards: str | None, ending: str | None) -> RewardRange | None:
    from jumar.certificate import RewardRange

    if rewards is None:
        if ending is not None:
            raise ParameterError("--ending-rewards: give --rewards as well.")
        return None
    usual = _pair("--rewards", rewards)
    if ending is None:
        return RewardRange.constant(*usual)
    return RewardRange(usual, _pair("--ending-rewards", ending))


def _pair(option: str, text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError(text)
        return float(low), float(high)
    except ValueError as error:
        raise ParameterError(f"{option} {text}: expected LO:HI, such as -100:10.") from error


def _columns(text: str | None) -> dict[str, str]:
    from jumar.errors import not_one_of
    from jumar.logs import NEEDED, OPTIONAL

    mapping = {}
    for item in filter(None, (text or "").split(",")):
        part, equals, name = item.partition("=")
        if not equals:
            raise ParameterError(f"--columns {item}: expected PART=NAME, such as episode=bus_id.")
        if part not in (*NEEDED, *OPTIONAL):
            raise ParameterError("--columns: " + not_one_of("part", part, (*NEEDED, *OPTIONAL)))
        mapping[part] = name
    return mapping


def _ends(text: str | None) -> Any:
    if text not in (None, "terminated", "cut"):
        raise ParameterError(f"--ends {text}: expected 'terminated' or 'cut'.")
    return text


# ---- writing results ----------------------------------------------------------------------------


def _result_data(result: Result) -> dict[str, Any]:
    improvement, counts = result.improvement, result.counts
    return {
        "algorithm": improvement.algorithm,
        "parameters": dict(improvement.parameters),
        "memory": str(improvement.mdp.memory),
        "discount": improvement.mdp.discount,
        "episodes": int(counts.starts.sum()),
        "steps": int(counts.visits.sum()),
        "steps_left_out": counts.unfinished,
        "history_states": len(improvement.mdp),
        "changed": improvement.changed,
        "estimated": {
            "behavior": improvement.behavior_performance,
            "improved": improvement.performance,
            "gain": improvement.gain,
        },
        "solver": {"iterations": improvement.trace.iterations, "gap": improvement.trace.gap},
        "certificates": [c.to_dict() for c in result.certificates],
    }


def _write_result(result: Result, folder: Path) -> list[Path]:
    from jumar.files import make_folder, write_atomically

    make_folder(folder)
    controller, certificate = folder / "improved.json", folder / "certificate.json"
    result.controller.save(controller)
    document = {"format": "jumar-certificate/1", **_result_data(result)}
    write_atomically(certificate, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return [controller, certificate]
