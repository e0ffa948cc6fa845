"""What a command works on: a log, and the behavior that made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import options

if TYPE_CHECKING:
    from jumar.controller import Controller
    from jumar.episodes import Episodes
    from jumar.memory import Memory

ESTIMATE = "estimate"

Log = Annotated[
    Path,
    typer.Argument(
        metavar="LOG", help="The log (.csv, .tsv, .parquet, .arrow, .ndjson; see docs/logs.md)."
    ),
]
Policy = Annotated[
    str,
    typer.Option(
        metavar="FILE|estimate",
        help="The controller that produced it (.toml or .json), or 'estimate' it from the log.",
    ),
]

Discount = Annotated[float, typer.Option(help="Weight of the next step against this one.")]
Rewards = Annotated[
    str | None, typer.Option(metavar="LO:HI", help="What a step can pay at least and at most.")
]
EndingRewards = Annotated[
    str | None,
    typer.Option(metavar="LO:HI", help="The same for the step that ends an episode."),
]

GateName = Annotated[
    str,
    typer.Option(
        metavar="proved|asymptotic",
        help="The test on held-out episodes: proved for any number of them, or one that decides "
        "earlier and is right as they grow.",
    ),
]


def read(
    log: Path, policy: str, reading: dict[str, Any], window: int | None, with_actions: bool
) -> tuple[Episodes, Controller]:
    """The log, and its behavior: from a file, or estimated with the given window."""
    from jumar import load_controller, read_logs
    from jumar.estimation import CURRENT, estimate_behavior

    if policy == ESTIMATE:
        memory = options.memory(window, with_actions) or CURRENT
        episodes = read_logs(log, **reading)
        return episodes, estimate_behavior(episodes, memory)
    behavior = load_controller(policy)
    names = behavior.observations, behavior.actions
    return read_logs(log, observations=names[0], actions=names[1], **reading), behavior


def memory_for(
    policy: str, window: int | None, with_actions: bool, *, by_itself: bool
) -> Memory | None:
    """What the new controller may remember. Where it is chosen from the data and the behavior is
    estimated, --window is what the *behavior* remembers, and more is tried."""
    wanted = options.memory(window, with_actions)
    return None if by_itself and policy == ESTIMATE else wanted
