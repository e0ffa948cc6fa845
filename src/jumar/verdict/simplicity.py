"""How simple a result is: what was kept of its changes, and the fewest nodes that do the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumar.core.arrays import Frozen
from jumar.core.errors import TooLarge
from jumar.core.text import Shown, counted
from jumar.policy.controller import Controller
from jumar.verdict.result import Result

MOST_NODES = 20_000  # beyond which nobody waits for it


@dataclass(frozen=True, eq=False, repr=False)
class Smallest(Frozen, Shown):
    """A controller with fewer memory nodes that does exactly the same, whoever acts: a program that
    is made of it may be told what somebody else did."""

    controller: Controller
    before: int  # nodes of the memory of the controller that it was made of
    nodes: int  # that do the same

    @property
    def summary(self) -> str:
        if self.nodes == 1:
            return f"no memory is needed to do the same (its memory has {self.before:,} nodes)"
        return f"{counted(self.nodes, 'node')} do the same as the {self.before:,} of its memory"

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {"nodes": self.nodes, "nodes_before": self.before}


def smallest(result: Result) -> Smallest | None:
    """The controller of a result with the fewest nodes; None where these are no fewer, or where
    they are too many to list."""
    controller = result.controller
    if result.improvement.changed == 0:
        return None
    try:
        before = len(controller.memory.enumerate(MOST_NODES))
    except TooLarge:
        return None
    found = controller.minimized(any_action=True)
    nodes = found.memory.count_nodes()
    return Smallest(found, before, nodes) if nodes < before else None


def simplicity(result: Result) -> str:
    """What was kept of the changes, in a sentence; nothing where all were to be made."""
    told = result.simplified
    if told is None:
        return ""
    model = "the half of the log that it was learned from" if result.selection else "the log"
    if not told.gain > 0:
        return f"Not simplified: by the model of {model}, the changes gain nothing."
    if told.kept == told.changes:
        return f"Simplified: none of the {told.changes:,} changes can be spared."
    return f"Simplified: {told.summary}, by the model of {model}."
