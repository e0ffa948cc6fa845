"""`jumar estimate`: what a controller is worth, from a log that another one made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options, panels
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command

if TYPE_CHECKING:
    from jumar.evidence.offpolicy import Estimate
    from jumar.log.episodes import Episodes

ALL = "all"
USUAL: dict[str, Any] = {
    "estimator": ALL,
    "interval": None,
    "sides": None,
    "difference": False,
    "rewards": None,
    "ending_rewards": None,
    "horizon": None,
}
KINDS: dict[str, Any] = {
    "estimator": Annotated[str, typer.Option(metavar="NAME", help="dr, pdis, wdr, or all.")],
    "interval": Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hoeffding, bernstein, truncated (proved); t, bootstrap-t (asymptotic). "
            "Default: t for dr, bootstrap-t for all others.",
        ),
    ],
    "sides": Annotated[
        str | None, typer.Option(metavar="two|lower|upper", help="Which ends are claimed.")
    ],
    "difference": Annotated[
        bool, typer.Option("--difference", help="How much better than the behavior it is.")
    ],
    "horizon": Annotated[int | None, typer.Option(help="The most steps an episode can have.")],
}


@app.command(cls=Command)
@reads_a_log()
@panels.in_place_of("averaged", USUAL, dict, KINDS)
def estimate(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    averaged: dict[str, Any],
    controller: Annotated[
        Path, typer.Option(metavar="FILE", help="The policy to judge (.toml or .json).")
    ],
    policy: list[str] | None = None,
    exploration: float | None = None,
    delta: Annotated[float, typer.Option(help="Accepted chance that an interval misses.")] = 0.05,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Estimate what a controller is worth from a log that another one made.

    Exits with 1 if none is shown: the log failed a check, or says too little of the controller.
    """
    from jumar import load_controller
    from jumar.evidence.offpolicy import best_of

    new = load_controller(controller)
    settings = {"discount": discount, "delta": delta, "seed": seed, **averaged}
    data: dict[str, Any] = {
        "controller": str(controller),
        "policy": policy[0] if policy and len(policy) == 1 else policy or None,
        "seed": seed,
    }
    with working("Estimating", as_json):
        made = inputs.read(log, policy, reading, like=new, exploration=exploration)
        found = _estimates(*made, new, settings)
    data["estimates"] = [item.to_dict() for item in found]
    remarks = made[0].origin.remarks if made[0].origin else None
    say(as_json, data, *_view(found, bool(remarks and remarks.costs)))
    if best_of(found).evidence.hidden:
        raise typer.Exit(1)


def _estimates(log: Episodes, behavior: Any, new: Any, settings: dict[str, Any]) -> list[Estimate]:
    from jumar import offpolicy

    paid = options.reward_range(settings.pop("rewards"), settings.pop("ending_rewards"))
    settings["rewards"] = paid
    if settings["estimator"] == ALL:
        del settings["estimator"]
        found = list(offpolicy.estimate_all(log, new, behavior, **settings).values())
    else:
        found = [offpolicy.estimate(log, new, behavior, **settings)]
    if doubt := inputs.doubt(log, behavior, settings["discount"], settings["seed"]):
        found = [replace(item, doubt=doubt.said) for item in found]
    return found


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
