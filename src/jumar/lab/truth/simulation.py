"""Simulation: a model run by a controller, as a log.

Every draw comes from the generator that is handed in; the same generator state gives the same log.
`max_steps` (the model's, unless given) cuts an episode off, which is not an ending.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints, RowIndex, number_rows
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.resources import check_room
from jumar.core.text import counted, whole_number
from jumar.lab.truth.chain import Chain, check_names_agree, unroll
from jumar.lab.truth.pomdp import MOST_STEPS, Pomdp
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller

FOREVER = 10_000  # steps after which an episode is cut off when the model sets no limit
FIRST = 100  # episodes that tell how long the others will be
STEP_BYTES = 100  # of a log in memory, and of writing it
EPISODE_BYTES = 400


def simulate(
    pomdp: Pomdp,
    controller: Controller,
    *,
    episodes: int,
    seed: Seed = 1,
    max_steps: int | None = None,
) -> Episodes:
    """Run a controller on a model for some episodes.

    Parameters
    ----------
    pomdp
        The model.
    controller
        The controller, with the same names.
    episodes
        How many to run.
    seed
        A whole number or a generator. With a number the log is what `jumar simulate` writes.
    max_steps
        An episode is cut off after so many steps. Without it, after the model's limit.

    Returns
    -------
    Episodes
        The log.

    Examples
    --------
    >>> from jumar import models
    >>> tiger = models.tiger()
    >>> log = simulate(tiger, Controller.uniform(tiger.observations, tiger.actions),
    ...                episodes=100, seed=1)
    >>> len(log), bool(log.terminated.all())
    (100, True)
    """
    if not isinstance(episodes, int | np.integer) or episodes < 1:
        raise ParameterError(f"episodes: {episodes!r} is not a whole number from 1.")
    check_names_agree(pomdp, controller)
    limit = step_limit(pomdp, max_steps)
    check_log_size(int(episodes), 1.0)
    tables = *model_tables(pomdp), *controller_tables(unroll(pomdp, controller), controller)
    columns = _in_parts(int(episodes), limit, generator(seed, "data"), tables)
    return Episodes(pomdp.observations, pomdp.actions, *columns)


def _in_parts(
    episodes: int, limit: int, rng: np.random.Generator, tables: tuple[Any, ...]
) -> list[Any]:
    """The columns of the log. Each part has as many episodes as all before it, which tell how much
    room all will take; the generator goes on where it was, so the log is the same as in one go."""
    from jumar.lab.truth import loops

    parts, done, steps = [], 0, 0
    while done < episodes:
        ahead = min(episodes - done, max(1, done))
        z, a, r, start, final, terminated = loops.simulate_episodes(ahead, limit, rng, *tables)
        parts.append((z, a, r, start[min(done, 1) :] + steps, final, terminated))
        done, steps = done + ahead, steps + len(z)
        if done >= FIRST or steps > MOST_STEPS:
            check_log_size(episodes, steps / done)
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def check_log_size(episodes: int, steps: float) -> None:
    """Refuse a log that takes more memory than there is."""
    check_room(
        f"{whole_number(episodes)} episodes of about {counted(round(steps), 'step')}",
        episodes * math.ceil(EPISODE_BYTES + STEP_BYTES * steps),
        "Simulate fewer, cut them off earlier with max_steps, or make several logs with other "
        "seeds.",
    )


def step_limit(pomdp: Pomdp, max_steps: int | None) -> int:
    """How long an episode may be."""
    limit = max_steps if max_steps is not None else pomdp.max_steps or FOREVER
    if not 1 <= limit <= MOST_STEPS:
        raise ParameterError(
            f"max_steps: {whole_number(limit)} is not a whole number from 1 to {MOST_STEPS:,}."
        )
    return limit


def model_tables(pomdp: Pomdp) -> tuple[Floats, Ints, Ints, Ints, Floats, Ints, Ints, Floats]:
    """What the kernels draw from: first (s, z), then outcomes, as cumulative probabilities."""
    joint = pomdp.start[:, None] * pomdp.first_observation
    s, z = (part.astype(np.int64) for part in np.nonzero(joint))
    groups = np.split(pomdp.probability, pomdp.pointer[1:-1])
    within = np.concatenate([np.cumsum(group) for group in groups])
    outcomes = pomdp.next_state, pomdp.next_observation, pomdp.reward
    return np.cumsum(joint[s, z]), s, z, pomdp.pointer, within, *outcomes


def controller_tables(chain: Chain, controller: Controller) -> tuple[Floats, Ints, Ints, int]:
    """What the kernels run: the controller's rows as cumulative probabilities, and the nodes."""
    return np.cumsum(chain.rows, 1).ravel(), *compact_nodes(chain, controller.memory)


def compact_nodes(chain: Chain, memory: Memory) -> tuple[Ints, Ints, int]:
    """The memory on the nodes it can reach, numbered compactly: the node after each history state
    and action, the history state of each node and observation, and the first node."""
    X, A = chain.rows.shape
    nodes, node = number_rows(chain.states[:, :-1])
    find = RowIndex(nodes).find
    x, a = np.divmod(np.arange(X * A), A)
    moved = memory.step(chain.states[x, :-1], chain.states[x, -1], a)
    state_of = np.full((len(nodes), memory.alphabet[0]), -1, np.int64)
    state_of[node, chain.states[:, -1]] = np.arange(X)
    first = int(find(memory.initial()[None, :])[0])
    return find(moved).reshape(X, A), state_of, first


@dataclass(frozen=True)
class SimulatedMean:
    """A mean with its standard error."""

    mean: float
    standard_error: float
    episodes: int


def simulated_value(
    pomdp: Pomdp,
    controller: Controller,
    *,
    episodes: int,
    seed: Seed = 1,
    max_steps: int | None = None,
) -> SimulatedMean:
    """The value estimated from simulated returns: a cross-check of exact evaluation.

    Parameters
    ----------
    pomdp
        The model.
    controller
        As for `simulate`.
    episodes
        How many to run.
    seed
        As for `simulate`, but it draws other episodes than there.
    max_steps
        As for `simulate`.

    Returns
    -------
    SimulatedMean
        `mean` and `standard_error`.

    Examples
    --------
    >>> from jumar import models
    >>> tiger = models.tiger()
    >>> listen = Controller.constant(tiger.observations, tiger.actions, [0, 0, 1])
    >>> round(simulated_value(tiger, listen, episodes=10).mean, 3)
    -20.0
    """
    rng = generator(seed, "evaluation")
    log = simulate(pomdp, controller, episodes=episodes, seed=rng, max_steps=max_steps)
    returns = log.returns(pomdp.discount)
    spread = float(returns.std(ddof=1)) if episodes > 1 else math.inf
    return SimulatedMean(float(returns.mean()), spread / math.sqrt(episodes), episodes)
