"""What a command works on: a log, and the policy that made it, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.errors import ParameterError
from jumar.core.text import printable

if TYPE_CHECKING:
    from jumar.evidence.practice import BehaviorLike, Behaviors, Written
    from jumar.log.episodes import Episodes
    from jumar.policy.controller import Controller


def is_estimate(policies: Sequence[str] | None) -> bool:
    """Is the behavior to be estimated from the log?"""
    from jumar.evidence.practice import ESTIMATE

    return list(policies or ()) == [ESTIMATE]


def named(text: str) -> tuple[str | None, str]:
    """NAME and FILE of NAME=FILE; a file whose own name has a '=' comes first."""
    name, equals, path = text.partition("=")
    named = equals and name and path and not Path(text).is_file()
    return (name, path) if named else (None, text)


def load(policies: Sequence[str] | None, exploration: float | None = None) -> list[Written]:
    """The controllers of FILE or NAME=FILE, each; `exploration` in place of what the files say."""
    from jumar import load_controller
    from jumar.evidence.practice import ESTIMATE, Written

    found: list[Written] = []
    for text in policies or ():
        name, path = named(text)
        if path == ESTIMATE:
            raise ParameterError(
                f"--policy {printable(text)}: estimate stands alone. Leave out the other policies; "
                "where a column 'behavior' names several, each is estimated."
            )
        if name is not None and name in [written.name for written in found]:
            raise ParameterError(f"--policy: {printable(name)} is given twice. Give it once.")
        found.append(Written(name, path, load_controller(path, exploration=exploration)))
    return found


def named_like(controller: Controller | None) -> dict[str, Any]:
    """The names of observations and actions, as arguments of `read_logs`."""
    if controller is None:
        return {}
    return {"observations": controller.observations, "actions": controller.actions}


def matched(episodes: Episodes, written: Sequence[Written]) -> Behaviors:
    """Which controller is which behavior of the log. The only one is itself; none is None, if the
    log has propensities."""
    from jumar.evidence.practice import by_name

    if not written:
        if episodes.propensity is None:
            raise ParameterError(
                "--policy: give the policy that made the log, or name a column that says "
                "how likely each action was: --columns propensity=NAME."
            )
        return None
    if len(written) == 1 and written[0].name is None:
        return written[0].controller
    return by_name(written, episodes, "--policy", "--policy NAME=FILE")


def read(
    log: Path,
    policies: Sequence[str] | None,
    reading: dict[str, Any],
    reader: Callable[..., Episodes] | None = None,
    like: Controller | None = None,
    exploration: float | None = None,
) -> tuple[Episodes, BehaviorLike]:
    """The log, and who made it: from files, "estimate", or None where the log has propensities.
    Names are those of the first controller that made it, else of the controller `like`."""
    from jumar import read_logs
    from jumar.evidence.practice import ESTIMATE

    reader = reader or read_logs
    if exploration is not None and not 0 <= exploration < 1:
        raise ParameterError(
            f"--exploration {exploration:g}: expected a number from 0 up to, but not including, 1; "
            "0.05 for 5 % of the time."
        )
    if is_estimate(policies):
        if exploration is not None:
            raise ParameterError(
                f"--exploration {exploration:g}: only for a policy in a file; --policy estimate "
                "takes what the log shows. Leave it out, or give the file: --policy rule.toml."
            )
        return reader(log, **named_like(like), **reading), ESTIMATE
    written = load(policies, exploration)
    episodes = reader(log, **named_like(written[0].controller if written else like), **reading)
    return episodes, matched(episodes, written)


def is_several(log: Path) -> bool:
    """Is a log read as a folder, a pattern or an address?"""
    from jumar.log.addresses import as_typed
    from jumar.log.files import is_several

    text = as_typed(log)
    return "://" in text or is_several(text)


def files(policies: Sequence[str] | None) -> dict[str, str | Path]:
    """The policy files that were read, for the record of a run."""
    if is_estimate(policies):
        return {}
    paths = [named(text)[1] for text in policies or ()]
    if len(paths) == 1:
        return {"policy": paths[0]}
    return {f"policy {i}": path for i, path in enumerate(paths, 1)}
