"""A controller that acts, one step at a time: an observation in, an action out.

It does the same as the program that `jumar.show.program` writes, with the same methods: `reset`,
`act`, `probabilities`, `tell`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.errors import ControllerError
from jumar.core.names import position_of
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, printable

if TYPE_CHECKING:
    from jumar.policy.controller import Controller


class Agent(Shown):
    """A running controller: it acts and remembers; see `Controller.start`.

    `node` is what it remembers now, in names. It can be kept elsewhere and put back.
    """

    def __init__(self, controller: Controller, seed: Seed = 1, most_likely: bool = False) -> None:
        self.controller = controller
        self._dice = generator(seed, "acting")
        self._most_likely = most_likely
        self.reset()

    @property
    def summary(self) -> str:
        return f"{printable(self.controller.name)!r} at node {self.node!r}"

    def reset(self) -> None:
        """Forget everything: a new episode begins. The random numbers continue."""
        self.node: Any = self.controller.name_node(self.controller.memory.initial())

    def probabilities(self, observation: str) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        row = self.controller.row(self.node, observation)
        return dict(zip(self.controller.actions, row.tolist(), strict=True))

    def act(self, observation: str) -> str:
        """Choose an action on seeing this, and remember both."""
        row = self.controller.row(self.node, observation)
        a = int(row.argmax() if self._most_likely else self._dice.choice(len(row), p=row))
        action = self.controller.actions[a]
        self.tell(observation, action)
        return action

    def tell(self, observation: str, action: str) -> None:
        """Remember that this was seen and that somebody else did that."""
        controller = self.controller
        state = controller.state(self.node, observation)[None, :]
        a = position_of("action", action, controller.actions, ControllerError)
        moved = controller.memory.step(state[:, :-1], state[:, -1], np.array([a]))
        self.node = controller.name_node(moved[0])
