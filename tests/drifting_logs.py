"""Logs of a process that changes along the log."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jumar.core.arrays import Floats
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller

NAMES = ("seen",), ("keep", "other")
OLD = Controller.constant(*NAMES, [0.7, 0.3], name="old")
NEW = Controller.constant(*NAMES, [0.1, 0.9], name="new")


def drifting(
    episodes: int, other: Callable[[Floats], Floats], seed: int = 1, noise: float = 1.0
) -> Episodes:
    """Episodes of one step. `keep` pays 0 and `other` pays other(x), x from 0 to 1 along the log;
    so the new controller is better by 0.6 other(x)."""
    rng = np.random.default_rng(seed)
    action = (rng.random(episodes) < 0.3).astype(np.int64)
    x = np.arange(episodes) / episodes
    reward = action * other(x) + noise * rng.normal(size=episodes)
    n = episodes
    return Episodes(*NAMES, [0] * n, action, reward, range(n + 1), [-1] * n, [True] * n)
