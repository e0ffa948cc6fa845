"""`jumar estimate`: what a controller is worth, from a log that another one made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from jumar.cli import inputs, options
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.core.errors import ParameterError

if TYPE_CHECKING:
    from jumar.evidence.offpolicy import Estimate
    from jumar.evidence.offpolicy.intervals import Sides

ALL = "all"


@app.command(cls=Command)
@reads_a_log()
def estimate(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    controller: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The controller to judge (.toml or .json).")
    ] = None,
    policy: list[str] | None = None,
    exploration: float | None = None,
    difference: Annotated[
        bool, typer.Option("--difference", help="How much better than the behavior it is.")
    ] = False,
    estimator: Annotated[str, typer.Option(metavar="NAME", help="dr, pdis, wdr, or all.")] = ALL,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hoeffding, bernstein, truncated (proved); t, bootstrap-t (asymptotic). "
            "Default: t for dr, bootstrap-t for all others.",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Accepted chance that an interval misses.")] = 0.05,
    sides: Annotated[
        str | None, typer.Option(metavar="two|lower|upper", help="Which ends are claimed.")
    ] = None,
    rewards: str | None = None,
    ending_rewards: str | None = None,
    horizon: Annotated[int | None, typer.Option(help="The most steps an episode can have.")] = None,
    folds: Annotated[int, typer.Option(help="Parts of the log; dr judges each by the others.")] = 2,
    forecast: Annotated[
        bool,
        typer.Option(
            "--forecast",
            help="Where the process drifts: what the next episodes will bring, not what the log "
            "brought on average. Without --controller, of the behavior alone.",
        ),
    ] = False,
    ahead: Annotated[
        int | None,
        typer.Option(help="With --forecast: how many episodes; a twentieth of the log by default."),
    ] = None,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Estimate what a controller is worth from a log that another one made.

    Exits with 1 if none is shown: the log failed a check, or says too little of the controller.
    """
    from jumar import load_controller, offpolicy

    if forecast:
        averages = {
            "--estimator": estimator != ALL,
            "--interval": interval is not None,
            "--sides": sides is not None,
            "--difference": difference,
            "--rewards": rewards is not None,
            "--ending-rewards": ending_rewards is not None,
            "--horizon": horizon is not None,
            "--folds": folds != 2,
        }
        _check_not_asked(averages, "is for averages over the log; leave it out, or --forecast")
        asked = {"discount": discount, "ahead": ahead, "delta": delta, "seed": seed}
        _forecast(log, reading, controller, policy, exploration, asked, as_json)
        return
    _check_not_asked({"--ahead": ahead is not None}, "is for forecasts; add --forecast")
    if controller is None:
        raise ParameterError(
            "--controller: say which controller to judge. (--forecast alone forecasts the "
            "behavior.)"
        )
    settings: dict[str, Any] = {
        "discount": discount,
        "interval": interval,
        "delta": delta,
        "sides": cast("Sides | None", sides),
        "difference": difference,
        "rewards": options.reward_range(rewards, ending_rewards),
        "horizon": horizon,
        "folds": folds,
        "seed": seed,
    }
    new = load_controller(controller)
    with working("Estimating", as_json):
        episodes, behavior = inputs.read(log, policy, reading, like=new, exploration=exploration)
        if estimator == ALL:
            found = offpolicy.estimate_all(episodes, new, behavior, **settings)
        else:
            one = offpolicy.estimate(episodes, new, behavior, estimator=estimator, **settings)
            found = {estimator: one}
        if doubt := inputs.doubt(episodes, behavior, discount, seed):
            found = {name: replace(item, doubt=doubt.said) for name, item in found.items()}
    data = {
        "controller": str(controller),
        "policy": policy[0] if policy and len(policy) == 1 else policy or None,
        "seed": seed,
        "estimates": [item.to_dict() for item in found.values()],
    }
    remarks = episodes.origin.remarks if episodes.origin else None
    say(as_json, data, *_view(list(found.values()), bool(remarks and remarks.costs)))
    if offpolicy.best_of(found.values()).evidence.hidden:
        raise typer.Exit(1)


def _check_not_asked(options: dict[str, bool], why: str) -> None:
    asked = next((name for name, given in options.items() if given), None)
    if asked:
        raise ParameterError(f"{asked}: {why}.")


def _forecast(
    log: Path,
    reading: dict[str, Any],
    controller: Path | None,
    policy: list[str] | None,
    exploration: float | None,
    asked: dict[str, Any],
    as_json: bool,
) -> None:
    """What comes next, in place of an average."""
    from jumar import load_controller
    from jumar.evidence import forecast
    from jumar.show.terminal import forecast_view

    new = None if controller is None else load_controller(controller)
    with working("Forecasting", as_json):
        episodes, behavior = inputs.read(log, policy, reading, like=new, exploration=exploration)
        found = forecast(episodes, behavior, new, **asked)
        # only the difference rests on weights, and drift is what is forecast
        but, seed = ("drift",), asked["seed"]
        if (less := found.difference) is not None and (
            doubt := inputs.doubt(episodes, behavior, asked["discount"], seed, but)
        ):
            why = f"the log failed a check. {doubt.wrong} {doubt.remedy}".removesuffix(".")
            found = replace(found, difference=replace(less, doubt=why))
    data = {
        "controller": None if controller is None else str(controller),
        "policy": policy[0] if policy and len(policy) == 1 else policy or None,
        "seed": asked["seed"],
        "forecast": found.to_dict(),
    }
    say(as_json, data, *forecast_view(found))
    if (found.difference or found.behavior).hidden:
        raise typer.Exit(1)


def _view(found: list[Estimate], costs: bool) -> list[Any]:
    from rich.text import Text

    from jumar.core.text import counted
    from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS, best_of
    from jumar.show.terminal import facts, plain_table

    best = best_of(found)
    what = "difference" if best.difference else "value"
    heads = ["estimator", what, "error", f"{100 * (1 - best.delta):.6g}% interval", "by"]
    rows = [
        [
            item.estimator,
            "not shown" if item.evidence.shown is None else f"{item.evidence.shown:.6g}",
            "-" if item.error_shown is None else f"{item.error_shown:.3g}",
            item.range_text,
            f"{INTERVALS[item.interval].title}, {item.validity}",
        ]
        for item in found
    ]
    title = "Difference to the behavior" if best.difference else "Expected return"
    title += " (costs count as negative)" if costs else ""
    size, unit = best.units
    weight = f"{best.effective_size:,.1f} of {size:,} {unit}s"
    among = f" in {counted(size, unit)}" if unit != "episode" else ""
    lines: list[tuple[str, Any]] = [
        ("log", f"{counted(best.episodes, 'episode')}{among}, mean return {best.logged:.6g}"),
        ("effective size", f"{weight}; the heaviest has {best.largest_share:.1%} of all weight"),
        *(("warning", Text(text, style="yellow")) for text in best.warnings),
        (
            "verdict",
            Text(best.verdict, style="green" if best.plain else "yellow"),
        ),
        ("by", f"{best.estimator}, {ESTIMATORS[best.estimator].title}"),
        ("validity", f"{best.validity}. {best.validity.meaning}"),
        *(("note", text) for text in best.notes),
    ]
    labels = ["assumes"] + [""] * len(best.assumptions)
    lines += list(zip(labels, (f"- {text}" for text in best.assumptions), strict=False))
    return [plain_table(heads, rows, title=title, right=[what, "error"]), facts(lines)]
