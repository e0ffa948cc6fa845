"""An environment run by a controller, as a log.

What ends an episode and what cuts it off are told apart: `terminated` is an ending; `truncated`
(TimeLimit) and a limit given here are cuts, with the observation that would have been acted on
next. Steps in which a vector environment only resets itself are no steps of the log.

Of several copies that run at once, the first so many episodes *to begin* are logged, each to its
end. Those that are first to end would be the short ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Bools
from jumar.core.controller import Controller
from jumar.core.episodes import UNKNOWN, Episodes, Origin, Remarks
from jumar.core.errors import MissingExtra, ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.text import printable, whole_number
from jumar.envs.naming import Edges
from jumar.envs.playing import Player
from jumar.truth.pomdp import MOST_STEPS
from jumar.truth.simulation import FOREVER


def record(
    env: Any,
    controller: Controller,
    *,
    episodes: int,
    seed: Seed = 1,
    max_steps: int | None = None,
    bins: Edges | None = None,
    observations: Sequence[str] | None = None,
    actions: Sequence[str] | Mapping[str, Any] | None = None,
) -> Episodes:
    """Run a controller in an environment of Gymnasium for some episodes.

    Parameters
    ----------
    env
        An environment, or a vector environment, with spaces of whole numbers, or of real ones that
        are cut into bins. It is reset, and left open.
    controller
        A controller with the names of the environment (`jumar.envs.names`).
    episodes
        How many to run.
    seed
        A whole number or a generator, for the environment and for what the controller draws.
    max_steps
        An episode is cut off after so many steps, if the environment does not do so before. Without
        it, after 10,000.
    bins
        Cuts real numbers into ranges, as for `jumar.read_logs`: ``{"observation.2": ("left", 0,
        "right")}``. Real numbers without bins do not matter.
    observations
        Other names for the numbers of a discrete space, in their order.
    actions
        The same for actions; or what each action sends: ``{"brake": [-2.0], "go": [2.0]}``.

    Returns
    -------
    Episodes
        The log.

    Examples
    --------
    >>> import gymnasium as gym
    >>> import jumar.envs
    >>> env = gym.make("jumar/Tiger-v0")
    >>> fair = Controller.uniform(*jumar.envs.names(env))
    >>> log = record(env, fair, episodes=100)
    >>> len(log), log.actions, bool(log.terminated.all())
    (100, ('open-left', 'open-right', 'listen'), True)
    """
    if not isinstance(episodes, int | np.integer) or isinstance(episodes, bool) or episodes < 1:
        raise ParameterError(f"episodes: {episodes!r} is not a whole number from 1.")
    if max_steps is not None and not 1 <= max_steps <= MOST_STEPS:
        raise ParameterError(
            f"max_steps: {whole_number(max_steps)} is not a whole number from 1 to {MOST_STEPS:,}."
        )
    several = _is_vector(env)
    rng = generator(seed, "recording")
    first = int(rng.integers(2**31))
    named: dict[str, Any] = {"bins": bins, "observations": observations, "actions": actions}
    player = Player(env, controller, seed=rng, **named)
    limit = FOREVER if max_steps is None else int(max_steps)
    log = _Log(player)
    if several:
        _Copies(env, player, log, int(episodes), limit).run(first)
    else:
        _run_one(env, player, log, int(episodes), limit, first)
    return log.episodes()


def _is_vector(env: Any) -> bool:
    try:
        import gymnasium
    except ImportError as error:
        raise MissingExtra("Environments", "gymnasium", "gym") from error
    if isinstance(env, gymnasium.vector.VectorEnv):
        return True
    if not isinstance(env, gymnasium.Env):
        raise ParameterError(
            f"env: {printable(repr(env))[:60]} is no environment. Pass what gymnasium.make "
            "returns; an old one of gym is wrapped with shimmy."
        )
    return False


class _Log:
    """What was seen, done and paid, while it happens."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._episodes: dict[int, tuple[list[int], list[int], list[float], int, bool]] = {}

    def __len__(self) -> int:
        return len(self._episodes)

    def add(
        self, number: int, z: list[int], a: list[int], r: list[float], final: int, ended: bool
    ) -> None:
        """An episode that is complete; `number` says which it is in the order of beginning."""
        self._episodes[number] = z, a, r, UNKNOWN if ended else final, ended

    def episodes(self) -> Episodes:
        """All of it."""
        made = [self._episodes[number] for number in sorted(self._episodes)]
        z, a, r = (np.concatenate([each[i] for each in made]) for i in range(3))
        start = np.concatenate([[0], np.cumsum([len(each[0]) for each in made])])
        spaces, controller = self._player.spaces, self._player.controller
        rows = np.arange(1, len(z) + 1)
        labels, remarks = range(len(made)), Remarks(rows=len(z))
        return Episodes(
            controller.observations,
            controller.actions,
            z,
            a,
            r,
            start,
            np.array([each[3] for each in made]),
            np.array([each[4] for each in made]),
            Origin(spaces.source, rows, labels, remarks, reading=spaces.reading),
        )


def _run_one(
    env: Any, player: Player, log: _Log, episodes: int, limit: int, seed: int | None
) -> None:
    seen, values, table, dice = player.seen, player.values, player.table, player.dice
    for number in range(episodes):
        observation, _ = env.reset(seed=seed)
        seed = None  # the random numbers of the environment continue
        node, z = table.first, seen(observation)
        z_log: list[int] = []
        a_log: list[int] = []
        r_log: list[float] = []
        for _ in range(limit):
            a = table.choose(node, z, dice.roll())
            observation, reward, terminated, truncated, _ = env.step(values[a])
            z_log.append(z)
            a_log.append(a)
            r_log.append(float(reward))
            if terminated:
                break
            node, z = table.next(node, z, a), seen(observation)
            if truncated:
                break
        log.add(number, z_log, a_log, r_log, z, bool(terminated))


class _Copies:
    """Episodes in the copies of a vector environment."""

    def __init__(self, env: Any, player: Player, log: _Log, episodes: int, limit: int) -> None:
        from gymnasium.vector import AutoresetMode

        self._env, self._player, self._log = env, player, log
        self._episodes, self._limit = episodes, limit
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise ParameterError(
                f"{player.spaces.source}: does not say when it resets itself, so its steps cannot "
                "be told from resets. Set env.metadata['autoreset_mode'] to an AutoresetMode."
            )
        self._next_step = mode == AutoresetMode.NEXT_STEP
        self._same_step = mode == AutoresetMode.SAME_STEP
        copies = env.num_envs
        self._begun = 0  # episodes so far
        self._number = [0] * copies  # of the episode in each copy
        self._node = [player.table.first] * copies
        self._z = [0] * copies
        self._logs: list[tuple[list[int], list[int], list[float]]] = [([], [], [])] * copies

    def run(self, seed: int) -> None:
        env, player = self._env, self._player
        copies, table, roll = range(env.num_envs), player.table, player.dice.roll
        batch, _ = env.reset(seed=seed)
        for i, z in enumerate(self._seen(batch)):
            self._begin(i, z)
        resets = np.zeros(env.num_envs, np.bool_)  # where the next step is only a reset
        while len(self._log) < self._episodes:
            chosen = [table.choose(self._node[i], self._z[i], roll()) for i in copies]
            batch, reward, terminated, truncated, infos = env.step(self._sent(chosen))
            over = terminated | truncated
            shown = self._shown(batch, over, infos)
            for i, z in enumerate(self._seen(batch, ~over | resets)):
                if resets[i]:
                    self._begin(i, z)
                    continue
                z_log, a_log, r_log = self._logs[i]
                z_log.append(self._z[i])
                a_log.append(chosen[i])
                r_log.append(float(reward[i]))
                if over[i]:
                    final = UNKNOWN if terminated[i] else player.seen(shown[i])
                    self._end(i, final, bool(terminated[i]))
                else:
                    self._node[i] = table.next(self._node[i], self._z[i], chosen[i])
                    self._z[i] = z
            late = self._too_long(over, resets)
            resets = self._restart(batch, over & ~resets, late)

    def _begin(self, i: int, z: int) -> None:
        self._number[i], self._begun = self._begun, self._begun + 1
        self._node[i], self._z[i], self._logs[i] = self._player.table.first, z, ([], [], [])

    def _end(self, i: int, final: int, ended: bool) -> None:
        if self._number[i] < self._episodes:
            self._log.add(self._number[i], *self._logs[i], final, ended)
        self._logs[i] = [], [], []

    def _restart(self, batch: Any, over: Bools, late: Bools) -> Bools:
        """Begin new episodes, or say in which copies the next step will do so."""
        if self._next_step:
            return over
        which = over | late
        if self._same_step:
            for i in np.flatnonzero(over):
                self._begin(int(i), self._player.seen(_entry(batch, int(i))))
        elif which.any():
            batch, _ = self._env.reset(options={"reset_mask": which})
            for i in np.flatnonzero(which):
                self._begin(int(i), self._player.seen(_entry(batch, int(i))))
        return np.zeros(len(over), np.bool_)

    def _too_long(self, over: Bools, resets: Bools) -> Bools:
        """Cut off what goes on for too long, if the environment can begin anew in one copy."""
        late = np.array([len(log[0]) >= self._limit for log in self._logs]) & ~over & ~resets
        if late.any() and (self._next_step or self._same_step):
            raise ParameterError(
                f"{self._player.spaces.source}: an episode has {self._limit:,} steps, and copies "
                "that reset themselves cannot be cut off from here. Say so when they are made: "
                "gymnasium.make_vec(..., max_episode_steps=...)."
            )
        for i in np.flatnonzero(late):
            self._end(int(i), self._z[i], ended=False)
        return late

    def _seen(self, batch: Any, matters: Bools | None = None) -> list[int]:
        """The controller's number of what is seen in each copy."""
        player = self._player
        codes = player.spaces.observation.numbers(batch).tolist()
        return [
            player.number(code, _entry(batch, i)) if matters is None or matters[i] else UNKNOWN
            for i, code in enumerate(codes)
        ]

    def _shown(self, batch: Any, over: Bools, infos: Any) -> dict[int, Any]:
        """What was seen at last in the copies whose episode is over."""
        if self._same_step:
            return {int(i): infos["final_obs"][i] for i in np.flatnonzero(over)}
        return {int(i): _entry(batch, int(i)) for i in np.flatnonzero(over)}

    def _sent(self, chosen: list[int]) -> Any:
        """The actions of all copies, as the environment takes them."""
        from gymnasium.vector.utils import concatenate, create_empty_array

        values = [self._player.values[a] for a in chosen]
        space = self._env.single_action_space
        if type(space).__name__ == "Discrete":
            return np.array(values, space.dtype)
        return concatenate(space, values, create_empty_array(space, n=len(values)))


def _entry(batch: Any, i: int) -> Any:
    """What is seen in one copy."""
    if isinstance(batch, dict):
        return {key: _entry(part, i) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_entry(part, i) for part in batch)
    return batch[i]
