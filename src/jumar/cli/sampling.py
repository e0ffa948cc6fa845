"""`jumar samples`: how many episodes until a gain is likely to be certified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import inputs, options
from jumar.cli.app import app, say, working
from jumar.cli.log_options import reads_a_log
from jumar.cli.panels import Command
from jumar.core.plain import plain

if TYPE_CHECKING:
    from jumar.evidence.plausible import Evidenced
    from jumar.gate import Selection
    from jumar.gate.samples import SizePlan

POWERS = (0.5, 0.8, 0.95)


@app.command(cls=Command)
@reads_a_log()
def samples(
    log: Path,
    discount: float,
    reading: dict[str, Any],
    policy: list[str] | None = None,
    exploration: float | None = None,
    gain: Annotated[
        list[float] | None,
        typer.Option(
            help="A gain per episode to certify; may be repeated (default: as estimated)."
        ),
    ] = None,
    power: Annotated[
        list[float] | None,
        typer.Option(help="The chance to certify it; may be repeated (default: 0.5, 0.8, 0.95)."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Accepted chance to deploy something worse.")] = 0.05,
    window: int | None = None,
    with_actions: bool = False,
    rewards: str | None = None,
    ending_rewards: str | None = None,
    horizon: int | None = None,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Plan how many episodes it takes until a gain is likely to be certified.

    Exits with 1 if the log failed a check.
    """
    from jumar.gate.samples import SizePlan, check_asked, plan
    from jumar.pipeline import select

    powers = power or POWERS
    check_asked(gain or (), powers)
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
            seed=seed,
        )
    planned = plan(found, gain or (), powers)
    if doubt := inputs.doubt(episodes, behavior, discount, seed):
        data = {**_data(found, SizePlan((), None, doubt.said)), "certified": False}
        say(as_json, data, doubt.said)
        raise typer.Exit(1)
    say(as_json, _data(found, planned), *_view(found, planned))


def _data(found: Selection, planned: SizePlan) -> dict[str, Any]:
    return {
        "episodes": found.episodes,
        "certified": found.chosen is not None,
        "gain": planned.gain.to_dict() if planned.gain else None,
        "plan": plain(planned.needs),
        "not_planned_because": planned.why or None,
    }


def _view(found: Selection, planned: SizePlan) -> list[Any]:
    from rich.text import Text

    from jumar.core.text import counted
    from jumar.evidence.validity import EACH_LOOK
    from jumar.show.terminal import facts, plain_table

    state = "a change passes the test" if found.chosen else "nothing passes the test yet"
    if found.too_short:
        state = "a change passes the test, but only up to where recordings stop"
    lines = [("log", f"{counted(found.episodes, 'episode')}; {state}")]
    gain = planned.gain
    if gain is not None and not gain.hidden:
        lines.append(("gain", f"{_worded(gain)}, estimated on held-out episodes"))
    if not planned.needs:
        return [facts(lines), Text(planned.why)]
    heads = ["gain to certify", "chance", "episodes in all", "more than now"]
    rows = []
    for need in planned.needs:
        total, more = "cannot be told", ""
        if need.episodes is not None:
            total, more = f"{need.episodes:,}", f"{max(0, need.episodes - found.episodes):,}"
        rows.append([f"{need.gain:.4g}", f"{100 * need.power:g} %", total, more])
    caution = gain.caution if gain is not None else ""
    note = "Estimates from this log: a plan, not a promise. It may be wrong by a factor of 3."
    return [
        facts(lines),
        plain_table(heads, rows, right=heads),
        Text(f"{caution} {note} {EACH_LOOK}".strip()),
    ]


def _worded(gain: Evidenced) -> str:
    """A gain that may be seen, with its interval."""
    from jumar.core.text import rounded

    value, low, high = (rounded(x, gain.error) for x in (gain.value, *(gain.interval or ())))
    return f"{value} per episode (90 % interval {low} to {high})"
