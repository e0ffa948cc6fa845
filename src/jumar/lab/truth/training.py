"""Behavior policies as in the paper: tabular Q-learning on a finite memory, then softmax.

Over `episodes` episodes the learning rate and the exploration rate both fall as exp(-λi). The
policy is ψ(a | n, z) ∝ exp(+τ Q(n, z, a)); τ is an inverse temperature, so a larger one is closer
to greedy. Defaults per model are the paper's (appendix B) and stand in the model registry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints, RowIndex
from jumar.core.errors import ParameterError
from jumar.core.randomness import Seed, generator
from jumar.core.resources import check_room
from jumar.lab.truth.pomdp import Pomdp, check_it_stops_mattering
from jumar.lab.truth.simulation import model_tables, step_limit
from jumar.memory import Memory
from jumar.policy.controller import Controller

MOST = 1_000_000_000  # training episodes: some hours


@dataclass(frozen=True)
class Training:
    """The settings of one training run."""

    softmax: float  # τ in exp(+τ Q): an inverse temperature
    episodes: int = 5000
    learning_rate: float = 1.0
    exploration: float = 0.5
    decay: float = 0.002

    def __post_init__(self) -> None:
        for field, fits, remedy in (
            ("softmax", 0 <= self.softmax < math.inf, "use a finite number from 0 (uniform)"),
            ("episodes", 1 <= self.episodes <= MOST, f"use a whole number from 1 to {MOST:,}"),
            ("learning_rate", 0 < self.learning_rate <= 1, "use a number in (0, 1]"),
            ("exploration", 0 <= self.exploration <= 1, "use a number in [0, 1]"),
            ("decay", 0 <= self.decay < math.inf, "use a finite number from 0"),
        ):
            if not fits:
                raise ParameterError(f"{field}: {getattr(self, field)} is out of range; {remedy}.")


def train_behavior(
    pomdp: Pomdp,
    memory: Memory,
    *,
    softmax: float,
    episodes: int = 5000,
    learning_rate: float = 1.0,
    exploration: float = 0.5,
    decay: float = 0.002,
    seed: Seed = 1,
    name: str | None = None,
) -> Controller:
    """Learn a stochastic behavior with a given memory, by Q-learning as in the paper.

    Parameters
    ----------
    pomdp
        The model.
    memory
        What the behavior remembers, as ``window(2)``.
    softmax
        Inverse temperature of the policy. A larger one is closer to greedy.
    episodes
        Training episodes.
    learning_rate
        Of the first episode. It falls as exp(-decay i).
    exploration
        Share of random actions in the first episode. It falls likewise.
    decay
        How fast the two fall.
    seed
        A whole number or a generator. With a number the result is what `jumar train` writes.
    name
        What the controller is called. Without it, after model, memory and seed.

    Returns
    -------
    Controller
        The behavior.

    Examples
    --------
    >>> from jumar import models, window
    >>> train_behavior(models.tiger(), window(2), softmax=0.05, episodes=100).name
    'tiger behavior, window of 2, seed 1'
    """
    check_it_stops_mattering(pomdp, "an episode of training")
    rng = generator(seed, "train", pomdp.name, str(memory))
    if name is None:
        known = "" if isinstance(seed, np.random.Generator) else f", seed {seed}"
        name = f"{pomdp.name} behavior, {memory}{known}"
    Training(softmax, episodes, learning_rate, exploration, decay)  # checks them
    O, A = len(pomdp.observations), len(pomdp.actions)
    memory = memory.on(O, A)
    setting = (learning_rate, exploration, decay)
    nodes, q = _action_values(pomdp, memory, episodes, setting, rng)
    M = len(nodes)
    with np.errstate(over="ignore"):  # where the inverse temperature is huge: exp(-inf) is 0
        weight = np.exp(softmax * (q - q.max(2, keepdims=True)))
    rows = (weight / weight.sum(2, keepdims=True)).reshape(M * O, A)
    states = np.column_stack([nodes[np.repeat(np.arange(M), O)], np.tile(np.arange(O), M)])
    return Controller(
        pomdp.observations, pomdp.actions, memory, states, rows, np.full(A, 1 / A), name=name
    )


def _action_values(
    pomdp: Pomdp,
    memory: Memory,
    episodes: int,
    setting: tuple[float, float, float],  # learning rate, exploration, decay
    rng: np.random.Generator,
) -> tuple[Ints, Floats]:
    """All nodes of the memory, and (M, O, A) what Q-learning finds."""
    from jumar.lab.truth import loops  # compiled: models are named without it

    O, A = memory.alphabet
    nodes = memory.enumerate()
    M = len(nodes)
    check_room(
        f"{M:,} memory nodes of {memory}, {O:,} observations and {A:,} actions",
        8 * M * O * (A * (5 + memory.width) + memory.width),
        "Use a shorter memory.",
    )
    n, z, a = (grid.ravel() for grid in np.indices((M, O, A)))
    index = RowIndex(nodes)
    after = index.find(memory.step(nodes[n], z, a)).reshape(M, O, A)
    q = loops.q_learning(
        episodes,
        step_limit(pomdp, None),
        rng,
        *model_tables(pomdp),
        after,
        int(index.find(memory.initial()[None, :])[0]),
        pomdp.discount,
        *setting,
    )
    return nodes, q
