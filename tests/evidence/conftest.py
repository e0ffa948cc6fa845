"""Logs in which nothing is wrong."""

from __future__ import annotations

import pytest

from jumar import simulate
from jumar.core.randomness import random_stream
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay
from strategies import random_controller, random_pomdp


@pytest.fixture(scope="session")
def sound() -> list[tuple[Controller, Replay]]:
    """200 logs of 200 random worlds with their true behavior, replayed over its memory."""
    found = []
    for seed in range(200):
        rng = random_stream(seed, "sound")
        pomdp = random_pomdp(rng, S=3, A=3, O=3, discount=0.9)
        behavior = random_controller(rng, pomdp, window(1 + seed % 2))
        log_ = simulate(pomdp, behavior, episodes=40, seed=rng, max_steps=20)
        found.append((behavior, Replay.of(log_, behavior.memory)))
    return found
