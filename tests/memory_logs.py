"""Models and logs for tests of memories that are learned."""

from __future__ import annotations

import numpy as np

from jumar import models
from jumar.core.randomness import random_stream
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller


def corridor(on: float = 0.6) -> tuple[Pomdp, Controller]:
    """A sign, a corridor of any length, and a junction at which the sign tells where to go; and
    somebody who mostly goes up. What the step before showed never tells more than the current
    one."""
    seen = ("sign up", "sign down", "corridor", "junction")
    states = [(side, place) for side in range(2) for place in ("sign", "corridor", "junction")]
    rows: list[list[tuple[float, int, int, float]]] = []
    for side, place in states:
        for a in range(2):
            if place == "junction":
                rows.append([(1.0, END, END, 1.0 if a == side else -1.0)])
            else:
                stays = [(on, 3 * side + 1, 2, 0.0), (1 - on, 3 * side + 2, 3, 0.0)]
                rows.append(stays if place == "corridor" else [(1.0, 3 * side + 1, 2, 0.0)])
    columns = [np.array(c) for c in zip(*(x for row in rows for x in row), strict=True)]
    first = np.zeros((6, 4))
    first[[0, 1, 2, 3, 4, 5], [0, 2, 3, 1, 2, 3]] = 1.0
    pomdp = Pomdp(
        name="corridor",
        states=tuple(f"{place} {side}" for side, place in states),
        actions=("up", "down"),
        observations=seen,
        start=np.array([0.5, 0, 0, 0.5, 0, 0]),
        first_observation=first,
        pointer=np.cumsum([0, *map(len, rows)]),
        probability=columns[0],
        next_state=columns[1],
        next_observation=columns[2],
        reward=columns[3],
        discount=0.95,
    )
    return pomdp, Controller.constant(pomdp.observations, pomdp.actions, [0.7, 0.3])


def upkeep() -> tuple[Pomdp, Controller]:
    """The time since the last inspection is all that matters; somebody inspects by chance."""
    pomdp = models.inspection()
    return pomdp, Controller.constant(pomdp.observations, pomdp.actions, [0.7, 0.3])


def noise(seed: int, episodes: int, n_observations: int = 3, n_actions: int = 2) -> Episodes:
    """Nothing tells anything: no memory is needed, and none helps."""
    rng = random_stream(seed, "noise", episodes, n_observations)
    lengths = rng.geometric(0.3, episodes)
    N = int(lengths.sum())
    return Episodes(
        tuple(f"z{i}" for i in range(n_observations)),
        tuple(f"a{i}" for i in range(n_actions)),
        rng.integers(0, n_observations, N),
        rng.integers(0, n_actions, N),
        rng.integers(0, 2, N).astype(float),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.full(episodes, -1),
        np.ones(episodes, bool),
    )
