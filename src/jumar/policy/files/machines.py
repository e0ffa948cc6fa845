"""Controllers as the machines of other tools, which number their nodes, observations and actions.

Tools differ in what a node may do (`paynt`, `policy_graphs`). Both need a list of all nodes that
can be reached, and what happens in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.resources import check_room
from jumar.memory import NamedNodes, history_states
from jumar.policy.controller import Controller

_CELL_BYTES = 40  # of one action at a node, with copies


class Named(Protocol):
    """Anything with names: a model, a log, another controller."""

    @property
    def observations(self) -> Sequence[str]: ...
    @property
    def actions(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class ListedNodes:
    """A controller with all its nodes, M of them; the first is where it starts."""

    rows: Floats  # (M, O, A)
    moves: Ints  # (M, O, A)

    @property
    def possible(self) -> Any:
        """(M, O, A) which actions may be taken."""
        return self.rows > 0


def listed(controller: Controller, format: str) -> ListedNodes:
    """All nodes of a controller; an error if they are too many for a file of that format."""
    O = len(controller.observations)
    try:
        nodes, moves, first = controller.memory.as_table()
    except TooLarge as error:
        raise ControllerError(
            f"{controller.name}: a {controller.memory} has too many nodes to list, as a {format} "
            "file must. Use a smaller memory, or save it as .json."
        ) from error
    order = np.argsort(np.arange(len(nodes)) != first, kind="stable")  # the first node first
    place = np.empty(len(nodes), np.int64)
    place[order] = np.arange(len(nodes))
    rows = controller.rows_at(history_states(nodes[order], O))
    return ListedNodes(rows.reshape(len(nodes), O, -1), place[moves[order]])


def check_machine(place: str, M: int, O: int, A: int) -> None:
    """Refuse a controller of (M, O, A) rows for which there is no room."""
    size = f"{M:,} nodes, {O:,} observations and {A:,} actions"
    check_room(f"{place}: {size}", M * O * A * _CELL_BYTES, "Use a smaller controller.")


def from_machine(
    names: Named, rows: Floats, update: Ints, start: int, nodes: Sequence[str], name: str
) -> Controller:
    """A controller of (M, O, A) rows whose node moves by what is seen alone, (M, O)."""
    A = len(names.actions)
    moves = np.repeat(update[:, :, None], A, 2)
    memory = NamedNodes(tuple(nodes), moves, start)
    states = history_states(np.arange(len(nodes))[:, None], len(names.observations))
    return Controller(
        tuple(names.observations),
        tuple(names.actions),
        memory,
        states,
        rows.reshape(-1, A),
        np.full(A, 1 / A),  # decides nothing
        name=name,
    )
