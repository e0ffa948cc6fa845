"""`jumar samples`: how many episodes until a gain is likely to be certified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options
from jumar.cli.app import WINDOW, Json, Seed, WithActions, app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.io.plain import plain

if TYPE_CHECKING:
    from jumar.algorithms.auto import Selection
    from jumar.algorithms.auto.samples import Need

POWERS = (0.5, 0.8, 0.95)


@app.command(cls=Command)
@reads_a_log()
def samples(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    policy: inputs.Policy = None,
    exploration: inputs.Exploration = None,
    gain: Annotated[
        list[float] | None,
        typer.Option(
            help="A gain per episode to certify; may be repeated (default: the best seen)."
        ),
    ] = None,
    power: Annotated[
        list[float] | None,
        typer.Option(help="The chance to certify it; may be repeated (default: 0.5, 0.8, 0.95)."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Accepted chance to deploy something worse.")] = 0.05,
    window: Annotated[int | None, typer.Option(help=WINDOW)] = None,
    with_actions: WithActions = False,
    rewards: inputs.Rewards = None,
    ending_rewards: inputs.EndingRewards = None,
    horizon: inputs.Horizon = None,
    gate: inputs.GateName = "proved",
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Plan how many episodes it takes until a gain is likely to be certified."""
    from jumar.algorithms.auto.samples import check_asked, needs
    from jumar.pipeline import select

    check_asked(gain or None, tuple(power or POWERS))
    memory = options.memory(window, with_actions)
    with working("Reading", as_json):
        episodes, behavior = inputs.read(log, policy, reading, exploration=exploration)
    with working("Trying candidates", as_json):
        found = select(
            episodes,
            behavior,
            discount=discount,
            memory=memory,
            delta=delta,
            rewards=options.reward_range(rewards, ending_rewards),
            horizon=horizon,
            gate=gate,
            seed=seed,
        )
    plan = needs(found, gain or None, tuple(power or POWERS))
    say(as_json, _data(found, plan), *_view(found, plan))


def _data(found: Selection, plan: tuple[Need, ...]) -> dict[str, Any]:
    from jumar.algorithms.auto.samples import decided_first

    best = decided_first(found)
    return {
        "episodes": found.episodes,
        "candidate": str(best.setting) if best else None,
        "gain": best.gain if best else None,
        "standard_error": best.error if best else None,
        "certified": found.chosen is not None,
        "plan": plain(plan),
    }


def _view(found: Selection, plan: tuple[Need, ...]) -> list[Any]:
    from jumar.algorithms.auto.samples import decided_first
    from jumar.core.text import counted
    from jumar.evidence.assumptions import EACH_LOOK
    from jumar.show.terminal import facts, plain_table

    best = decided_first(found)
    if best is None:
        return ["The log shows no alternative that could be tested: nothing to plan for."]
    state = "certified already" if found.chosen else "not certified yet"
    lines = [
        ("log", counted(found.episodes, "episode")),
        ("candidate", str(best.setting)),
        ("gain", f"{best.gain:.4g} ± {best.error:.2g} per episode on held-out episodes; {state}"),
    ]
    heads = ["gain to certify", "chance", "episodes in the log", "more than now"]
    rows = []
    for need in plan:
        total, more = "cannot be planned", ""
        if need.episodes is not None:
            total, more = f"{need.episodes:,}", f"{max(0, need.episodes - found.episodes):,}"
        rows.append([f"{need.gain:.4g}", f"{100 * need.power:g} %", total, more])
    note = (
        "Estimates from this log: a plan, not a promise. A longer log also finds better "
        f"candidates. {EACH_LOOK}"
    )
    return [facts(lines), plain_table(heads, rows, right=heads), note]
