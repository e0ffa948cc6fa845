"""Where two controllers differ.

Two controllers are compared over a memory that knows what both know (`refinement.join`), so that
each history state ⟨n, z⟩ has one old row and one new row. Only the history states that one of the
two can come to are compared: those reached from the start by actions of positive probability,
whatever is seen on the way. If there is no difference there, then no process, and no log of any
length, can tell the two apart. A memory that is too large to list is not walked. Then the
exceptions of both are compared, and then the controllers they fall back on, over their own,
coarser memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Frozen, Ints, freeze, number_rows
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.names import other_names
from jumar.core.text import listing, printable
from jumar.memory import Memory, history_states
from jumar.memory.reach import reachable
from jumar.memory.refinement import join
from jumar.policy.chances import SUM_TOLERANCE
from jumar.policy.controller import Controller

MOST_STATES = 1_000_000  # looked at one by one: some seconds, some hundred megabytes


@dataclass(frozen=True, eq=False)
class Difference(Frozen):
    """What changes from a controller to another, both over one memory; K history states differ."""

    was: Controller
    now: Controller
    states: Ints  # (K, W+1) int64, the ⟨n, z⟩ with another row, sorted
    old: Floats  # (K, A) float64, ψ(· | n, z) of `was` there
    new: Floats  # (K, A) float64, ψ(· | n, z) of `now` there
    compared: int | None  # history states compared; None: too many, only the exceptions
    rest: Difference | None  # the difference of what they fall back on, if not in `states`

    @property
    def same(self) -> bool:
        """Do the two behave the same everywhere?"""
        return len(self.states) == 0 and self.rest is None

    @property
    def memory(self) -> Memory:
        """The memory over which the two are compared."""
        return self.now.memory


def difference(was: Controller, now: Controller) -> Difference:
    """Compare two controllers with the same observations and actions.

    >>> was = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0])
    >>> now = was.except_at(np.array([[1]]), np.array([[0.0, 1.0]]))
    >>> found = difference(was, now)
    >>> found.states.tolist(), found.old.tolist(), found.new.tolist(), found.compared
    ([[1]], [[1.0, 0.0]], [[0.0, 1.0]], 2)
    >>> difference(now, now).same
    True
    """
    old, new = on_one_memory(was, now)
    if new.memory.count_nodes() * len(now.observations) <= MOST_STATES:
        nodes, _ = number_rows(np.concatenate([reachable(c, MOST_STATES) for c in (old, new)]))
        states = history_states(nodes, len(now.observations))
        return _compare(old, new, states, len(states), None)
    (old_states, old_base), (new_states, new_base) = written_out(old), written_out(new)
    states, _ = number_rows(np.concatenate([old_states, new_states]))
    bases = [
        # one row for all: a controller without memory
        base
        if isinstance(base, Controller)
        else Controller.constant(c.observations, c.actions, base, name=c.name)
        for c, base in ((old, old_base), (new, new_base))
    ]
    if bases[0] is was and bases[1] is now:
        raise TooLarge(
            f"{printable(was.name)} remembers a {was.memory} and {printable(now.name)} a "
            f"{now.memory}: together too many history states to compare, and neither "
            "memory knows what the other does. Compare two controllers where one memory refines "
            "the other."
        )
    below = None if bases[0].same_as(bases[1]) else difference(*bases)
    return _compare(old, new, states, None, None if below is None or below.same else below)


def on_one_memory(was: Controller, now: Controller) -> tuple[Controller, Controller]:
    """Both over a memory that knows what either knows: the second one's own, if that does.

    >>> from jumar.memory import window
    >>> short = Controller.uniform(("good", "worn"), ("keep", "repair"))
    >>> [str(c.memory) for c in on_one_memory(short, short.lift(window(3)))]
    ['window of 3', 'window of 3']
    """
    for kind in other_names(was, now):
        mine, other = getattr(was, kind), getattr(now, kind)
        order = ", in another order" if set(mine) == set(other) else ""
        raise ControllerError(
            f"{printable(was.name)} and {printable(now.name)} cannot be compared: the {kind} of "
            f"the first are {listing(mine)}; of the second, {listing(other)}{order}. Give both the "
            "same names in the same order."
        )
    memory = join(was.memory, now.memory)
    return was.lift(memory), now.lift(memory)


def settled(old: Floats, new: Floats) -> tuple[Floats, Bools]:
    """The old rows, without what is only rounding, and which of them differ from the new ones."""
    old = np.where(np.abs(old - new) <= SUM_TOLERANCE, new, old)
    differs: Bools = (old != new).any(1)
    return old, differs


def _compare(
    was: Controller, now: Controller, states: Ints, compared: int | None, rest: Difference | None
) -> Difference:
    new = now.rows_at(states)
    old, differs = settled(was.rows_at(states), new)
    rows = freeze(old[differs], np.float64), freeze(new[differs], np.float64)
    return Difference(was, now, freeze(states[differs], np.int64), *rows, compared, rest)


def written_out(controller: Controller) -> tuple[Ints, Controller | Floats]:
    """(K, W+1) the ⟨n, z⟩ with a row in a layer over its own memory, and what is below these."""
    own = [*takewhile(lambda layer: layer.memory == controller.memory, controller.layers)]
    return number_rows(np.concatenate([layer.states for layer in own]))[0], own[-1].otherwise


# ---- for machines -------------------------------------------------------------------------------


def difference_data(found: Difference) -> dict[str, Any]:
    """A difference in names, for JSON.

    >>> was = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0])
    >>> now = was.except_at(np.array([[1]]), np.array([[0.0, 1.0]]))
    >>> difference_data(difference(was, now))["differences"]
    [{'node': [], 'observation': 'worn', 'was': {'keep': 1.0}, 'is': {'repair': 1.0}}]
    """
    names = found.now.observations, found.now.actions
    return {
        "memory": found.memory.to_document(*names),
        "same": found.same,
        "history_states": found.compared,
        "differences": [
            {
                "node": found.memory.read_node(state[:-1], *names),
                "observation": names[0][state[-1]],
                "was": _choice(names[1], old),
                "is": _choice(names[1], new),
            }
            for state, old, new in zip(
                found.states.tolist(), found.old.tolist(), found.new.tolist(), strict=True
            )
        ],
        "everywhere_else": None if found.rest is None else difference_data(found.rest),
    }


def _choice(actions: tuple[str, ...], row: list[float]) -> dict[str, float]:
    return {action: p for action, p in zip(actions, row, strict=True) if p > 0}
