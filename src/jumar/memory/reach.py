"""Where a controller can come to: the nodes that its own actions lead to, whatever it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Ints, RowIndex, closure, number_rows
from jumar.memory import ENUMERABLE, history_states

if TYPE_CHECKING:
    from jumar.policy.controller import Controller


def reachable(controller: Controller, most: int = ENUMERABLE, met: Ints | None = None) -> Ints:
    """(M, W) the nodes a controller can come to, whatever it sees; TooLarge beyond `most`.

    With `met`, only these ⟨n, z⟩ and their nodes count.

    >>> from jumar.policy.controller import Controller
    >>> from jumar.memory import NamedNodes
    >>> two = NamedNodes(("a", "b"), [[[0, 1]], [[1, 1]]])  # only the second action leaves a
    >>> reachable(Controller.constant(("z",), ("stay", "go"), [1, 0], two)).tolist()
    [[0]]
    """
    memory, O = controller.memory, len(controller.observations)
    known = None if met is None else RowIndex(number_rows(met)[0])
    places = None if met is None else RowIndex(number_rows(met[:, :-1])[0])

    def successors(nodes: Ints) -> Ints:
        states = history_states(nodes, O)
        if known is not None:
            states = states[known.find(states) >= 0]
        s, a = np.nonzero(controller.rows_at(states) > 0)
        moved = memory.step(states[s, :-1], states[s, -1], a)
        return moved if places is None else moved[places.find(moved) >= 0]

    return closure(memory.initial()[None, :], successors, most, f"Nodes of a {memory}")
