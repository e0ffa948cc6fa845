"""A controller that acts, one step at a time: an observation in, an action out.

It does the same as the program that `jumar.show.program` writes, with the same methods: `reset`,
`act`, `probabilities`, `tell`. What is seen is the name of an observation, or a raw reading as the
log had it: a dict of columns and their values, or the value of the only column. It is called what
the log called it (`Controller.reading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.errors import ControllerError, not_one_of
from jumar.core.names import position_of
from jumar.core.randomness import Seed, generator
from jumar.core.reading import LogReading
from jumar.core.text import Shown, printable

if TYPE_CHECKING:
    from jumar.policy.controller import Controller


class Agent(Shown):
    """A running controller: it acts and remembers; see `Controller.start`.

    `node` is what it remembers now, in names. It can be kept elsewhere and put back.
    """

    def __init__(
        self, controller: Controller, seed: Seed | None = None, most_likely: bool = False
    ) -> None:
        self.controller = controller
        self._dice = np.random.default_rng() if seed is None else generator(seed, "acting")
        self._most_likely = most_likely
        self.reset()

    @property
    def summary(self) -> str:
        return f"{printable(self.controller.name)!r} at node {self.node!r}"

    def reset(self) -> None:
        """Forget everything: a new episode begins. The random numbers continue."""
        self.node: Any = self.controller.name_node(self.controller.memory.initial())

    def probabilities(self, seen: object) -> dict[str, float]:
        """How likely every action is on seeing this now. Nothing is drawn or remembered."""
        row = self.controller.row(self.node, self._observation(seen))
        return dict(zip(self.controller.actions, row.tolist(), strict=True))

    def act(self, seen: object) -> str:
        """Choose an action on seeing this, and remember both."""
        observation = self._observation(seen)
        row = self.controller.row(self.node, observation)
        a = int(row.argmax() if self._most_likely else self._dice.choice(len(row), p=row))
        action = self.controller.actions[a]
        self.tell(observation, action)
        return action

    def tell(self, seen: object, done: object) -> None:
        """Remember that this was seen and that somebody else did that."""
        controller, action = self.controller, done
        state = controller.state(self.node, self._observation(seen))[None, :]
        if isinstance(done, Mapping):
            from jumar.show.program.runtime import BadReading, did

            try:
                action = did(done, [(c.name, c.ranges) for c in self._reading.action])
            except BadReading as error:
                raise ControllerError(str(error)) from None
        a = position_of("action", str(action), controller.actions, ControllerError)
        moved = controller.memory.step(state[:, :-1], state[:, -1], np.array([a]))
        self.node = controller.name_node(moved[0])

    @property
    def _reading(self) -> LogReading:
        return self.controller.reading or LogReading()

    def _observation(self, seen: object) -> str:
        """What is seen, by name."""
        known = self.controller.observations
        if isinstance(seen, str) and seen in known:
            return seen
        from jumar.show.program.runtime import BadReading, saw

        read = self._reading
        columns = [(column.name, column.ranges) for column in read.observation]
        try:
            name = saw(seen, known, columns, read.missing, read.decimal)
        except BadReading as error:
            raise ControllerError(f"{error}{self._unread}") from None
        if not isinstance(seen, str) and name not in known:
            told = not_one_of("observation", name, known)
            raise ControllerError(f"{told}{self._unread}")
        return str(name)

    @property
    def _unread(self) -> str:
        """A remedy, where the policy does not say how a log was read."""
        if self.controller.reading is not None:
            return ""
        return (
            " This policy does not say how readings become observations. Give the name of one, or "
            "take the policy of a result: result.controller, or load_controller of its folder."
        )
