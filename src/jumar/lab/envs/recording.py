"""An environment run by a controller, as a log.

What ends an episode and what cuts it off are told apart: `terminated` is an ending; `truncated`
(TimeLimit) and a limit given here are cuts, with the observation that would have been acted on
next.
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
        An environment with spaces of whole numbers, or of real ones that are cut into bins. It is
        reset, and left open.
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
    _check_environment(env)
    rng = generator(seed, "recording")
    first = int(rng.integers(2**31))
    player = Player(
        env, controller, seed=rng, bins=bins, observations=observations, actions=actions
    )
    steps: list[tuple[int, int, float]] = []  # seen, done, paid
    start, final, ended = [0], list[int](), list[bool]()
    for number in range(int(episodes)):
        # after the first reset the random numbers of the environment continue
        observation, _ = env.reset(seed=first if number == 0 else None)
        player.reset()
        for _ in range(max_steps or FOREVER):
            z, a = player.choose(observation)
            observation, reward, terminated, truncated, _ = env.step(player.values[a])
            steps.append((z, a, float(reward)))
            if terminated or truncated:
                break
        start.append(len(steps))
        final.append(UNKNOWN if terminated else player.seen(observation))
        ended.append(bool(terminated))
    z_log, a_log, r_log = map(np.array, zip(*steps, strict=True))
    rows, labels = np.arange(1, len(steps) + 1), range(len(ended))
    spaces = player.spaces
    return Episodes(
        controller.observations,
        controller.actions,
        z_log,
        a_log,
        r_log,
        np.array(start),
        np.array(final),
        np.array(ended),
        Origin(spaces.source, rows, labels, Remarks(rows=len(rows)), reading=spaces.reading),
    )


def _check_environment(env: Any) -> None:
    try:
        import gymnasium
    except ImportError as error:
        raise MissingExtra("Environments", "gymnasium", "gym") from error
    if not isinstance(env, gymnasium.Env):
        raise ParameterError(
            f"env: {printable(repr(env))[:60]} is no environment. Pass what gymnasium.make "
            "returns; an old one of gym is wrapped with shimmy; of a vector environment record "
            "single copies with other seeds and add the logs."
        )
