"""A controller that acts in an environment: what the environment shows in, what it takes out.

The rows and moves that a controller turns out to need are looked up once and kept, so that a step
costs a few dictionary look-ups instead of a few calls of numpy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, printable
from jumar.lab.envs.naming import NamedSpaces, named_spaces
from jumar.policy.controller import Controller

MOST_KEPT = 500_000  # rows and moves; a long window may visit ever new nodes
DRAWS = 1024  # random numbers that are drawn at a time
Node = bytes  # the words of a memory node


class Tabulated:
    """A controller as functions whose answers are kept. A node is the bytes of its words."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.first: Node = np.ascontiguousarray(controller.memory.initial(), np.int64).tobytes()
        self.row = lru_cache(MOST_KEPT)(self._row)
        self.next = lru_cache(MOST_KEPT)(self._next)

    def _row(self, node: Node, z: int) -> list[float]:
        """Cumulative probabilities of the actions; those after the last possible one are left
        out, so that what rounding leaves over goes to that."""
        row = self.probabilities(node, z)
        cumulative = np.cumsum(row[: int(np.flatnonzero(row > 0)[-1]) + 1])
        cumulative[-1] = np.inf
        kept: list[float] = cumulative.tolist()
        return kept

    def probabilities(self, node: Node, z: int) -> Floats:
        """(A,) of the actions."""
        row: Floats = self._controller.rows_at(np.append(_words(node), z)[None, :])[0]
        return row

    def choose(self, node: Node, z: int, u: float) -> int:
        """The action that a number from [0, 1) draws."""
        return bisect_right(self.row(node, z), u)

    def _next(self, node: Node, z: int, a: int) -> Node:
        """The node after z was seen and a was done."""
        moved = self._controller.memory.step(_words(node)[None, :], np.array([z]), np.array([a]))
        return np.ascontiguousarray(moved[0], np.int64).tobytes()


def _words(node: Node) -> Ints:
    return np.frombuffer(node, np.int64)


class Player(Shown):
    """A controller that acts in an environment.

    Parameters
    ----------
    env
        An environment of Gymnasium.
    controller
        A controller with its names (`names`).
    seed
        What actions are drawn with: a whole number or a generator.
    most_likely
        Draw nothing; take the likeliest action, of equal ones the first.
    **named
        As for `names`: `bins`, `observations`, `actions`.

    Examples
    --------
    >>> import gymnasium as gym
    >>> env = gym.make("jumar/Tiger-v0")
    >>> from jumar.lab.envs import names
    >>> listen = Controller.constant(*names(env), [0, 0, 1])
    >>> player = Player(env, listen)
    >>> observation, info = env.reset(seed=1)
    >>> player.reset()
    >>> player.act(observation)
    2
    """

    def __init__(
        self,
        env: Any,
        controller: Controller,
        *,
        seed: Seed = 1,
        most_likely: bool = False,
        **named: Any,
    ) -> None:
        self.controller = controller
        self.spaces = named_spaces(env, **named)
        self.table = Tabulated(controller)
        self._known, self.values = _fitted(self.spaces, controller)
        space = self.spaces.observation
        one = space.columns[0].values if space.space["type"] == "Discrete" else None
        self._at_once = dict(zip(one, self._known, strict=True)) if one else {}  # whole numbers
        self._dice = _rolls(generator(seed, "acting"))
        self._most_likely = most_likely
        self.reset()

    @property
    def summary(self) -> str:
        return f"{printable(self.controller.name)!r} in {self.spaces.source}"

    def reset(self) -> None:
        """Forget everything: a new episode begins. The random numbers continue."""
        self._node = self.table.first

    def act(self, observation: Any) -> Any:
        """Choose an action on seeing this, and remember both."""
        return self.values[self.choose(observation)[1]]

    def choose(self, observation: Any) -> tuple[int, int]:
        """The same in numbers of the controller: what is seen, and the action."""
        z = self.seen(observation)
        if self._most_likely:
            a = int(self.table.probabilities(self._node, z).argmax())  # of equal ones the first
        else:
            a = self.table.choose(self._node, z, next(self._dice))
        self._node = self.table.next(self._node, z, a)
        return z, a

    def seen(self, observation: Any) -> int:
        """The controller's number of what the environment shows."""
        if self._at_once:
            z = self._at_once.get(int(observation), -1)
            if z >= 0:
                return z
        code = self.spaces.observation.number(observation)
        if code < 0:
            raise LogError(
                f"{self.spaces.source}: {printable(repr(observation))[:80]} was seen, which is "
                "outside the space or no number. Correct the environment, or cut it into bins."
            )
        if self._known[code] >= 0:
            return self._known[code]
        name = self.spaces.observations[code]
        fact = not_one_of("observation", name, self.controller.observations)
        raise LogError(f"{self.spaces.source}: {fact} Add it to those of the controller.")


def _rolls(rng: np.random.Generator) -> Iterator[float]:
    """Random numbers from [0, 1), drawn many at a time."""
    while True:
        yield from reversed(rng.random(DRAWS).tolist())


def _fitted(spaces: NamedSpaces, controller: Controller) -> tuple[list[int], list[Any]]:
    """The controller's number of every number of the observation space, -1 where it knows none;
    and what the environment takes for each of its actions."""
    number = {name: z for z, name in enumerate(controller.observations)}
    known = [number.get(name, -1) for name in spaces.observations]
    value = dict(zip(spaces.actions, spaces.values, strict=True))
    unknown = [name for name in controller.actions if name not in value]
    for kind, strangers, theirs in (
        ("observation", controller.observations if max(known) < 0 else (), spaces.observations),
        ("action", unknown, spaces.actions),
    ):
        if strangers:
            raise ParameterError(
                f"{spaces.source}: {not_one_of(kind, strangers[0], theirs)} These are the {kind}s "
                f"of the environment; to give them the names of the controller, say {kind}s=[...], "
                "in the order of the space."
            )
    return known, [value[name] for name in controller.actions]
