"""Logs of the tiger, and logs of two observations that can be counted by hand."""

from __future__ import annotations

import numpy as np

from jumar import models, simulate
from jumar.core.randomness import random_stream
from jumar.evidence.chance import Settings
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller

Z, A = ("good", "worn"), ("keep", "repair")
EVEN = Controller.uniform(Z, A)
TIGER = models.tiger()
FAST = Settings(level=0.05, resamples=99)
MOST = 20  # rejections of 200 sound logs at level 0.05


def facts(row, names: str) -> tuple:
    """Some facts of a section, or of a row in it."""
    return tuple(row[name] for name in names.split())


def listening(exploration: float) -> Controller:
    """Listens, except for the share of steps in which any action is as good as another."""
    other = exploration / 3
    row = [other, other, 1 - 2 * other]
    return Controller.constant(TIGER.observations, TIGER.actions, row, name="listen")


def run(behavior: Controller, episodes: int, seed: int, pomdp=TIGER, **more) -> Episodes:
    return simulate(pomdp, behavior, episodes=episodes, seed=random_stream(seed, "data"), **more)


def log_of(*episodes: list[tuple[int, int]], ended: bool = True) -> Episodes:
    """Episodes of (observation, action) pairs without rewards."""
    steps = [step for episode in episodes for step in episode]
    start = np.cumsum([0, *(len(episode) for episode in episodes)])
    z, a = zip(*steps, strict=True)
    E = len(episodes)
    return Episodes(Z, A, z, a, [0.0] * len(steps), start, [-1] * E, [ended] * E)
