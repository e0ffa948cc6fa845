"""A controller that acts in an environment: what the environment shows in, what it takes out.

The rows and moves that a controller turns out to need are looked up once and kept, so that a step
costs a few dictionary look-ups instead of a few calls of numpy.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.randomness import Seed, generator
from jumar.core.text import Shown, printable
from jumar.lab.envs.naming import NamedSpaces, named_spaces
from jumar.policy.controller import Controller

MOST_KEPT = 500_000  # rows and moves; a long window may visit ever new nodes
DRAWS = 1024  # random numbers that are drawn at a time
Node = bytes  # the words of a memory node


class Tabulated:
    """A controller as tables that grow where they are needed. A node is the bytes of its words."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.first: Node = np.ascontiguousarray(controller.memory.initial(), np.int64).tobytes()
        self._rows: dict[tuple[Node, int], list[float]] = {}
        self._moves: dict[tuple[Node, int, int], Node] = {}

    def row(self, node: Node, z: int) -> list[float]:
        """Cumulative probabilities of the actions; those after the last possible one are left
        out, so that what rounding leaves over goes to that."""
        found = self._rows.get((node, z))
        if found is None:
            if len(self._rows) >= MOST_KEPT:
                self._rows.clear()
            state = np.append(np.frombuffer(node, np.int64), z)[None, :]
            row = self._controller.rows_at(state)[0]
            cumulative = np.cumsum(row[: int(np.flatnonzero(row > 0)[-1]) + 1])
            cumulative[-1] = np.inf
            found = self._rows[node, z] = cumulative.tolist()
        return found

    def choose(self, node: Node, z: int, u: float) -> int:
        """The action that a number from [0, 1) draws."""
        return bisect_right(self.row(node, z), u)

    def next(self, node: Node, z: int, a: int) -> Node:
        """The node after z was seen and a was done."""
        key = node, z, a
        found = self._moves.get(key)
        if found is None:
            if len(self._moves) >= MOST_KEPT:
                self._moves.clear()
            words = np.frombuffer(node, np.int64)[None, :]
            moved = self._controller.memory.step(words, np.array([z]), np.array([a]))
            found = self._moves[key] = np.ascontiguousarray(moved[0], np.int64).tobytes()
        return found


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
        self._known, self.values = fitted(self.spaces, controller)
        self._at_once = self._plain_numbers()
        self.dice = Dice(generator(seed, "acting"))
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
        z = self.seen(observation)
        if self._most_likely:
            state = np.append(np.frombuffer(self._node, np.int64), z)[None, :]
            a = int(self.controller.rows_at(state)[0].argmax())  # of equal ones the first
        else:
            a = self.table.choose(self._node, z, self.dice.roll())
        self._node = self.table.next(self._node, z, a)
        return self.values[a]

    def _plain_numbers(self) -> dict[int, int]:
        """The controller's number of every value, where a value is one whole number."""
        space = self.spaces.observation
        values = space.columns[0].values
        if space.space["type"] != "Discrete" or values is None:
            return {}
        return {value: z for value, z in zip(values, self._known, strict=True) if z >= 0}

    def seen(self, observation: Any) -> int:
        """The controller's number of what the environment shows."""
        if self._at_once:
            z = self._at_once.get(int(observation))
            if z is not None:
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


class Dice:
    """Random numbers from [0, 1), drawn many at a time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: list[float] = []

    def roll(self) -> float:
        if not self._left:
            self._left = self._rng.random(DRAWS).tolist()
        return self._left.pop()


def fitted(spaces: NamedSpaces, controller: Controller) -> tuple[list[int], list[Any]]:
    """The controller's number of every number of the observation space, -1 where it knows none;
    and what the environment takes for each of its actions."""
    number = {name: z for z, name in enumerate(controller.observations)}
    known = [number.get(name, -1) for name in spaces.observations]
    value = dict(zip(spaces.actions, spaces.values, strict=True))
    unknown = {
        "observation": set(controller.observations) if max(known) < 0 else set(),
        "action": set(controller.actions) - set(value),
    }
    for kind, strangers in unknown.items():
        if strangers:
            ours, theirs = getattr(controller, f"{kind}s"), getattr(spaces, f"{kind}s")
            fact = not_one_of(kind, next(name for name in ours if name in strangers), theirs)
            raise ParameterError(
                f"{spaces.source}: {fact} These are the {kind}s of the environment; to give them "
                f"the names of the controller, say {kind}s=[...], in the order of the space."
            )
    return known, [value[name] for name in controller.actions]
