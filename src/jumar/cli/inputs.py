"""What a command works on: a log, and the behavior that made it, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jumar.cli import options
from jumar.core.errors import ParameterError
from jumar.core.text import printable

if TYPE_CHECKING:
    from jumar.core.controller import Controller
    from jumar.core.episodes import Episodes
    from jumar.core.memory import Memory
    from jumar.evidence.practice import Behaviors

ESTIMATE = "estimate"

Log = Annotated[
    Path,
    typer.Argument(
        metavar="LOG", help="The log (.csv, .tsv, .parquet, .arrow, .ndjson; see docs/logs.md)."
    ),
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE|estimate",
        help="The controller that produced it (.toml or .json), or 'estimate' it from the log. "
        "Once for each where a column 'behavior' names several; not at all where a column "
        "'propensity' says how likely each action was.",
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

Horizon = Annotated[
    int | None,
    typer.Option(help="The most steps of an episode (default: any number, or as the log shows)."),
]
GateName = Annotated[
    str,
    typer.Option(
        metavar="proved|asymptotic",
        help="The held-out test: proved for any number of episodes, or one that decides earlier "
        "and becomes right as episodes grow in number.",
    ),
]


@dataclass(frozen=True)
class Written:
    """A controller file that was named on the command line."""

    name: str | None  # which behavior of the log it is, if that was said
    path: str
    controller: Controller


def is_estimate(policies: Sequence[str] | None) -> bool:
    """Is the behavior to be estimated from the log?"""
    return list(policies or ()) == [ESTIMATE]


def _named(text: str) -> tuple[str | None, str]:
    """NAME and FILE of NAME=FILE; a file whose own name has a '=' comes first."""
    name, equals, path = text.partition("=")
    named = equals and name and path and not Path(text).is_file()
    return (name, path) if named else (None, text)


def load(policies: Sequence[str] | None, option: str = "--policy") -> list[Written]:
    """The controllers of FILE or NAME=FILE, each."""
    from jumar import load_controller

    found: list[Written] = []
    for text in policies or ():
        name, path = _named(text)
        if path == ESTIMATE and option == "--policy":
            raise ParameterError(
                f"{option} {printable(text)}: estimate stands alone. Leave out the other policies; "
                "where a column 'behavior' names several, each is estimated."
            )
        if name is not None and name in [written.name for written in found]:
            raise ParameterError(f"{option}: {printable(name)} is given twice. Give it once.")
        found.append(Written(name, path, load_controller(path)))
    return found


def named_like(written: Sequence[Written]) -> dict[str, Any]:
    """The names of observations and actions, as arguments of `read_logs`."""
    if not written:
        return {}
    first = written[0].controller
    return {"observations": first.observations, "actions": first.actions}


def matched(episodes: Episodes, written: Sequence[Written], option: str = "--policy") -> Behaviors:
    """Which controller is which behavior of the log: by the name that was given, its own, or that
    of its file. The only one is itself; none is None, if the log has propensities."""
    if not written:
        if episodes.propensity is None:
            raise ParameterError(
                f"{option}: give the controller that produced the log, or name a column that says "
                "how likely each action was: --columns propensity=NAME."
            )
        return None
    if len(written) == 1 and written[0].name is None:
        return written[0].controller
    known = episodes.behavior.names if episodes.behavior else ()
    found: dict[str, Controller] = {}
    for item in written:
        own = item.controller.name
        stem = Path(item.path).stem
        name = item.name or next((name for name in (own, stem) if name in known), own)
        if name in found:
            raise ParameterError(
                f"{option}: two controllers are called {printable(name)!r}. Say which behavior "
                f"each one is: {option} NAME=FILE."
            )
        found[name] = item.controller
    return found


def estimated(episodes: Episodes, memory: Memory | None) -> Behaviors:
    """The behavior estimated from the log; where it names several, each from its own episodes."""
    from jumar.evidence.estimation import CURRENT, estimate_behavior

    if episodes.behavior is None:
        return estimate_behavior(episodes, memory or CURRENT)
    names, of = episodes.behavior.present
    if len(names) == 1:
        return estimate_behavior(episodes, memory or CURRENT)
    return {
        name: estimate_behavior(episodes.select(of == k), memory or CURRENT)
        for k, name in enumerate(names)
    }


def read(
    log: Path,
    policies: Sequence[str] | None,
    reading: dict[str, Any],
    window: int | None,
    with_actions: bool,
    reader: Callable[..., Episodes] | None = None,
) -> tuple[Episodes, Behaviors]:
    """The log, and who made it: from files, estimated with the given window, or None where the log
    has propensities."""
    from jumar import read_logs

    reader = reader or read_logs
    if is_estimate(policies):
        memory = options.memory(window, with_actions)
        episodes = reader(log, **reading)
        return episodes, estimated(episodes, memory)
    written = load(policies)
    episodes = reader(log, **named_like(written), **reading)
    return episodes, matched(episodes, written)


def files(policies: Sequence[str] | None) -> dict[str, str | Path]:
    """The controller files that were read, for the record of a run."""
    if is_estimate(policies):
        return {}
    paths = [_named(text)[1] for text in policies or ()]
    if len(paths) == 1:
        return {"policy": paths[0]}
    return {f"policy {i}": path for i, path in enumerate(paths, 1)}


def memory_for(
    policies: Sequence[str] | None, window: int | None, with_actions: bool, *, by_itself: bool
) -> Memory | None:
    """What the new controller may remember. Where it is chosen from the data and the behavior is
    estimated, --window is what the *behavior* remembers, and more is tried."""
    wanted = options.memory(window, with_actions)
    return None if by_itself and is_estimate(policies) else wanted
