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

from jumar.core.errors import MissingExtra, ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.text import printable, whole_number
from jumar.lab.envs.naming import Edges
from jumar.lab.envs.playing import Player
from jumar.lab.truth.pomdp import MOST_STEPS
from jumar.lab.truth.simulation import FOREVER
from jumar.log.episodes import UNKNOWN, Episodes, Origin, Remarks
from jumar.policy.controller import Controller

Steps = tuple[list[int], list[int], list[float]]  # what was seen, done and paid
Made = tuple[Steps, int, bool]  # an episode: what was seen at last, and whether it ended


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
        A controller with the names of the environment (`jumar.lab.envs.names`).
    episodes
        How many to run.
    seed
        A whole number or a generator, for the environment and for what the controller draws.
    max_steps
        An episode is cut off after so many steps, if the environment does not do so before. Without
        it, after 10,000.
    bins
        As for `jumar.lab.envs.names`. Real numbers without bins do not matter.
    observations
        As for `jumar.lab.envs.names`.
    actions
        As for `jumar.lab.envs.names`.

    Returns
    -------
    Episodes
        The log.

    Examples
    --------
    >>> import gymnasium as gym
    >>> import jumar.lab.envs
    >>> env = gym.make("jumar/Tiger-v0")
    >>> fair = Controller.uniform(*jumar.lab.envs.names(env))
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
    run = _run_copies if _is_vector(env) else _run_one
    rng = generator(seed, "recording")
    first = int(rng.integers(2**31))
    player = Player(
        env, controller, seed=rng, bins=bins, observations=observations, actions=actions
    )
    limit = FOREVER if max_steps is None else int(max_steps)
    made = run(env, player, int(episodes), limit, first)
    return _log([made[number] for number in sorted(made)], player)


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


def _log(made: list[Made], player: Player) -> Episodes:
    z, a, r = (np.concatenate([steps[i] for steps, _, _ in made]) for i in range(3))
    spaces, controller = player.spaces, player.controller
    rows, labels = np.arange(1, len(z) + 1), range(len(made))
    return Episodes(
        controller.observations,
        controller.actions,
        z,
        a,
        r,
        np.cumsum([0, *(len(steps[0]) for steps, _, _ in made)]),
        np.array([UNKNOWN if ended else final for _, final, ended in made]),
        np.array([ended for _, _, ended in made]),
        Origin(spaces.source, rows, labels, Remarks(rows=len(z)), reading=spaces.reading),
    )


def _run_one(env: Any, player: Player, episodes: int, limit: int, seed: int) -> dict[int, Made]:
    """Episodes by their number."""
    made: dict[int, Made] = {}
    seen, values, table, dice = player.seen, player.values, player.table, player.dice
    for number in range(episodes):
        # after the first reset the random numbers of the environment continue
        observation, _ = env.reset(seed=seed if number == 0 else None)
        node, z = table.first, seen(observation)
        steps: Steps = [], [], []
        for _ in range(limit):
            a = table.choose(node, z, next(dice))
            observation, reward, terminated, truncated, _ = env.step(values[a])
            _note(steps, z, a, reward)
            if terminated:
                break
            node, z = table.next(node, z, a), seen(observation)
            if truncated:
                break
        made[number] = steps, z, bool(terminated)
    return made


def _run_copies(env: Any, player: Player, episodes: int, limit: int, seed: int) -> dict[int, Made]:
    """The first episodes to begin, by their number, in the copies of a vector environment that
    begin anew in the step after an end."""
    made: dict[int, Made] = {}
    table, copies = player.table, range(env.num_envs)
    source = player.spaces.source
    mode = env.metadata.get("autoreset_mode")
    if getattr(mode, "value", mode) != "NextStep":
        raise ParameterError(
            f"{source}: its copies begin anew in the autoreset_mode {mode!r}. Make it with "
            "AutoresetMode.NEXT_STEP, so that steps can be told from resets."
        )
    batch, _ = env.reset(seed=seed)
    begun = len(copies)
    number, node = list(copies), [table.first] * begun
    z = [player.seen(_entry(batch, i)) for i in copies]
    steps: list[Steps] = [([], [], []) for _ in copies]
    over = np.zeros(begun, np.bool_)  # the next step of such a copy only resets it
    while len(made) < episodes:
        a = [table.choose(node[i], z[i], next(player.dice)) for i in copies]
        batch, reward, terminated, truncated, _ = env.step(
            _sent(env, [player.values[k] for k in a])
        )
        for i in copies:
            if over[i]:
                number[i], begun = begun, begun + 1
                node[i], z[i], steps[i] = table.first, player.seen(_entry(batch, i)), ([], [], [])
                continue
            _note(steps[i], z[i], a[i], reward[i])
            if not terminated[i]:
                node[i] = table.next(node[i], z[i], a[i])
                z[i] = player.seen(_entry(batch, i))
            if (terminated[i] or truncated[i]) and number[i] < episodes:
                made[number[i]] = steps[i], z[i], bool(terminated[i])
            elif not (terminated[i] or truncated[i]) and len(steps[i][0]) >= limit:
                raise ParameterError(
                    f"{source}: an episode has {limit:,} steps, and copies that reset themselves "
                    "cannot be cut off from here. Say so when they are made: "
                    "gymnasium.make_vec(..., max_episode_steps=...)."
                )
        over = (terminated | truncated) & ~over
    return made


def _note(steps: Steps, z: int, a: int, reward: Any) -> None:
    steps[0].append(z)
    steps[1].append(a)
    steps[2].append(float(reward))


def _sent(env: Any, values: list[Any]) -> Any:
    """The actions of all copies, as the environment takes them."""
    from gymnasium.vector.utils import concatenate, create_empty_array

    space = env.single_action_space
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
