"""Logs to choose from: of the tiger, and of a coin."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.core.arrays import Ints
from jumar.core.randomness import random_stream
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.gate import select
from jumar.gate.bench import Bench, chain, given
from jumar.gate.dealing import DealtLog, codes_of, half_of, salt_of
from jumar.gate.limits import limits_of
from jumar.gate.trials import GATES
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from strategies import names

Z, A = names("z", 2), names("a", 2)
TIGER = jm.models.tiger()
NAMES = ("good",), ("keep", "repair")
HALF = Controller.uniform(*NAMES)
both_gates = pytest.mark.parametrize("which", GATES)


def one_step(names, z, action, reward, **more) -> Episodes:
    """Episodes of one step that end; `z` is what is seen in each, or in all of them."""
    n = len(reward)
    seen, ends = np.broadcast_to(z, n), ([-1] * n, [True] * n)
    return Episodes(*names, seen, action, reward, np.arange(n + 1), *ends, **more)


def uniform_tiger() -> Controller:
    return Controller.uniform(TIGER.observations, TIGER.actions)


def tiger_log(episodes: int, seed: int = 1) -> Episodes:
    return jm.simulate(TIGER, uniform_tiger(), episodes=episodes, seed=random_stream(seed, "data"))


def coin_log(n: int, better: float, rng: np.random.Generator) -> Episodes:
    """One step each, actions in turn; repair pays `better` more than keep, both with unit noise."""
    action = np.arange(n) % 2
    reward = rng.standard_normal(n) + better * action
    return one_step(NAMES, 0, action, reward)


def bench_of(
    log: Episodes,
    behavior: Controller,
    discount: float,
    more: int = 1,
    rewards: RewardRange | None = None,
) -> Bench:
    rng = random_stream(1, "selection")
    dealt = DealtLog.of(practice_of(log, behavior), rng, discount)
    (laid,) = given(dealt, chain(behavior.memory, None, more))
    return Bench.on(dealt, laid, discount, limits_of(log, discount, rewards))


def halves_of(log: Episodes, seed: int = 1) -> Ints:
    """(E,) to which half the gate deals each episode."""
    return half_of(codes_of(log, salt_of(random_stream(seed, "selection"))))


def choose(log, behavior, which, seed=1, discount=0.9, **more):
    rng = random_stream(seed, "selection")
    return select(log, behavior, discount=discount, seed=rng, gate=which, **more)
