"""Logs to choose from: of the tiger, and of a coin."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms.auto import select
from jumar.algorithms.auto.board import chain, lay_out
from jumar.algorithms.auto.dealing import deal
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.trials import GATES
from jumar.algorithms.auto.workbench import Workbench
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.evidence.rewards import RewardRange
from strategies import names

Z, A = names("z", 2), names("a", 2)
TIGER = jm.models.tiger()
NAMES = ("good",), ("keep", "repair")
HALF = Controller.uniform(*NAMES)
both_gates = pytest.mark.parametrize("which", GATES)


def uniform_tiger() -> Controller:
    return Controller.uniform(TIGER.observations, TIGER.actions)


def tiger_log(episodes: int, seed: int = 1) -> Episodes:
    return jm.simulate(
        TIGER, uniform_tiger(), episodes=episodes, seed=jm.random_stream(seed, "data")
    )


def coin_log(n: int, better: float, rng: np.random.Generator) -> Episodes:
    """One step each, actions in turn; repair pays `better` more than keep, both with unit noise."""
    action = np.arange(n) % 2
    reward = rng.standard_normal(n) + better * action
    return Episodes(*NAMES, [0] * n, action, reward, np.arange(n + 1), [-1] * n, [True] * n)


def bench_of(
    log: Episodes,
    behavior: Controller,
    discount: float,
    more: int = 1,
    rewards: RewardRange | None = None,
) -> Workbench:
    board = lay_out(log, behavior, discount, chain(behavior.memory, None, more))
    dealt = deal(log, jm.random_stream(1, "selection"))
    return Workbench.on(board, dealt, limits_of(log, discount, rewards))


def choose(log, behavior, which, seed=1, discount=0.9, **more):
    rng = jm.random_stream(seed, "selection")
    return select(log, behavior, discount=discount, seed=rng, gate=which, **more)
