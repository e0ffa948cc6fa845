"""What a caller may pass for a log and for who made it: values, tables, files, or "estimate"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jumar.core.errors import ParameterError
from jumar.core.text import printable
from jumar.evidence.estimation import estimate_behavior
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.policy.files import ControllerLike, controller_of
from jumar.tally.replay import LogLike, Replays, log_of

ESTIMATE = "estimate"

# who made a log, once files are read: one controller, several, or None where it has propensities
Behaviors = Controller | Sequence[Controller] | Mapping[str, Controller] | None
Known = Controller | dict[str, Controller] | None  # several are told apart by their names
# the same as a caller may pass it: files too, or "estimate"
BehaviorLike = ControllerLike | Sequence[ControllerLike] | Mapping[str, ControllerLike] | None


def is_estimate(behavior: object) -> bool:
    """Is the behavior to be estimated from the log?"""
    return isinstance(behavior, str) and behavior == ESTIMATE


def given(log: LogLike, behavior: BehaviorLike, memory: Memory) -> tuple[Replays, Known]:
    """The log, and who made it, both in memory. Where the behavior is to be estimated, it remembers
    `memory`. A log that is read numbers names as the first controller does."""
    if is_estimate(behavior):
        replays = Replays.of(log_of(log))
        return replays, estimated(replays.log, memory)
    if behavior is None:
        return Replays.of(log_of(log)), None
    if isinstance(behavior, str) or not isinstance(behavior, Sequence | Mapping):
        only = controller_of(behavior)
        return Replays.of(log_of(log, only)), only
    if isinstance(behavior, Mapping):
        found = {name: controller_of(one) for name, one in behavior.items()}
        return Replays.of(log_of(log, next(iter(found.values()), None))), found
    written = [Written(None, one, controller_of(one)) for one in behavior]
    replays = Replays.of(log_of(log, written[0].controller if written else None))
    if len(written) == 1 and isinstance(written[0].source, Controller):
        return replays, written[0].controller
    return replays, by_name(written, replays.log, "behavior", "{NAME: controller or file}")


def estimated(log: Episodes, memory: Memory) -> Known:
    """The behavior estimated from the log; where it names several, each from its own episodes."""
    if log.behavior is None or len(log.behavior.present[0]) == 1:
        return estimate_behavior(log, memory)
    names, of = log.behavior.present
    return {
        name: estimate_behavior(log.select(np.flatnonzero(of == k)), memory)
        for k, name in enumerate(names)
    }


@dataclass(frozen=True)
class Written:
    """A controller, and where it comes from."""

    name: str | None  # which behavior of the log it is, if that was said
    source: ControllerLike
    controller: Controller


def by_name(
    written: Sequence[Written], log: Episodes, option: str, remedy: str
) -> dict[str, Controller]:
    """Which controller is which behavior of the log: by the name that was given, its own, or that
    of its file."""
    known = log.behavior.names if log.behavior else ()
    found: dict[str, Controller] = {}
    for item in written:
        own = item.controller.name
        stem = "" if isinstance(item.source, Controller) else Path(item.source).stem
        name = item.name or next((name for name in (own, stem) if name in known), own)
        if name in found:
            raise ParameterError(
                f"{option}: two controllers are called {printable(name)!r}. Say which behavior "
                f"each one is: {remedy}."
            )
        found[name] = item.controller
    return found
