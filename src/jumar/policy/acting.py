"""A controller that acts, one step at a time: an observation in, an action out.

It does the same as the program that `jumar.show.program` writes, with the same methods: `reset`,
`act`, `probabilities`, `tell`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError
from jumar.core.names import position_of
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, printable

if TYPE_CHECKING:
    from jumar.policy.controller import Controller


class Agent(Shown):
    """A running controller: it acts and remembers; see `Controller.start`."""

    def __init__(self, controller: Controller, seed: Seed = 1, most_likely: bool = False) -> None:
        self.controller = controller
        self._dice = generator(seed, "acting")
        self._most_likely = most_likely
        self.reset()

    @property
    def summary(self) -> str:
        return f"{printable(self.controller.name)!r} at node {self.node!r}"

    @property
    def node(self) -> Any:
        """What it remembers now, in names."""
        return self.controller.name_node(self._node[0])

    def reset(self) -> None:
        """Forget everything: a new episode begins. The random numbers continue."""
        self._node = self.controller.memory.initial()[None, :]

    def probabilities(self, observation: str) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        row = self._row(self._number("observation", observation))
        return dict(zip(self.controller.actions, row.tolist(), strict=True))

    def act(self, observation: str) -> str:
        """Choose an action on seeing this, and remember both."""
        z = self._number("observation", observation)
        row = self._row(z)
        a = int(row.argmax() if self._most_likely else self._dice.choice(len(row), p=row))
        self._remember(z, a)
        return self.controller.actions[a]

    def tell(self, observation: str, action: str) -> None:
        """Remember that this was seen and that somebody else did that."""
        z = self._number("observation", observation)
        self._remember(z, self._number("action", action))

    def _number(self, kind: str, name: str) -> int:
        names = {"observation": self.controller.observations, "action": self.controller.actions}
        return position_of(kind, name, names[kind], ParameterError)

    def _row(self, z: int) -> Floats:
        state = np.append(self._node, [[z]], axis=1)
        row: Floats = self.controller.rows_at(state)[0]
        return row

    def _remember(self, z: int, a: int) -> None:
        self._node = self.controller.memory.step(self._node, np.array([z]), np.array([a]))
