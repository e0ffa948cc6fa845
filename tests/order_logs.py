"""Small logs for the memory order test."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st

from jumar.core.randomness import random_stream
from jumar.evidence.steps import cut_into_steps
from jumar.lab.truth.pomdp import Pomdp, from_arrays
from jumar.log.episodes import Episodes
from jumar.memory import Memory, product, window
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay
from strategies import logs, memories, names

ONE = ("go",)


def log_of(episodes: list[list[int]], n_observations: int, rewards=None, actions=ONE) -> Episodes:
    """Cut-off episodes of one action, each with its last observation; reward 0 unless given."""
    seen = [z for episode in episodes for z in episode[:-1]]
    paid = np.zeros(len(seen)) if rewards is None else rewards
    lengths = [len(episode) - 1 for episode in episodes]
    return Episodes(
        names("z", n_observations),
        actions,
        seen,
        np.zeros(len(seen), np.int64),
        paid,
        np.concatenate([[0], np.cumsum(lengths)]),
        [episode[-1] for episode in episodes],
        np.zeros(len(episodes), bool),
    )


def fork(zeros: int, ones: int, flips: int = 0) -> Episodes:
    """0 or 1, then always 2, then 3 after 0 and 4 after 1, except for `flips` of each."""
    after_zero = [[0, 2, 4]] * flips + [[0, 2, 3]] * (zeros - flips)
    return log_of(after_zero + [[1, 2, 3]] * flips + [[1, 2, 4]] * (ones - flips), 5)


def only(log_: Episodes) -> Controller:
    return Controller.uniform(log_.observations, log_.actions)


def steps_of(log_: Episodes, base: Memory, finer: Memory, rewards: bool = True):
    return cut_into_steps(Replay.of(log_, base), Replay.of(log_, finer), rewards)


@st.composite
def cases(draw):
    O, A = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    log_ = draw(logs(names("z", O), names("a", A), most_episodes=8))
    base = draw(memories(O, A))
    return log_, base, product(base, window(draw(st.integers(2, 3)))).on(O, A)


def finite_history(
    rng: np.random.Generator, k: int, O: int, A: int, end: float
) -> tuple[Pomdp, Controller]:
    """A random process whose law depends on the last k observations, and a random behavior."""
    memory = window(k).on(O, A)
    histories = [(*node, z) for node in memory.enumerate().tolist() for z in range(O)]
    number = {history: i for i, history in enumerate(histories)}
    S = len(histories)
    law, see = np.zeros((A, S, S)), np.zeros((A, S, O))
    for *node, z in histories:
        i = number[(*node, z)]
        see[:, i, z] = 1
        for a in range(A):
            row = np.array([node], np.int64).reshape(1, -1)
            after = memory.step(row, np.array([z]), np.array([a]))[0].tolist()
            p = rng.dirichlet(np.ones(O)) * (1 - end * 2 * rng.random())
            law[a, i, [number[(*after, to)] for to in range(O)]] = p
    start = np.zeros(S)
    start[[number[(*memory.initial().tolist(), z)] for z in range(O)]] = rng.dirichlet(np.ones(O))
    pomdp = from_arrays(
        name="finite history",
        states=names("s", S),
        actions=names("a", A),
        observations=names("z", O),
        transition=law,
        ending=np.maximum(1 - law.sum(2), 0),
        observation=see,
        reward=np.zeros((A, S)),
        start=start,
        first_observation=see[0],
        discount=0.9,
    )
    rows = rng.dirichlet(np.ones(A), S)
    behavior = Controller(
        pomdp.observations, pomdp.actions, memory, np.array(histories), rows, np.full(A, 1 / A)
    )
    return pomdp, behavior


@cache
def forks(seed: int, episodes: int, sure: float) -> Episodes:
    """0 or 1, then 2, then 3 or 4: as 0 or 1 foretold with probability `sure`."""
    rng = random_stream(seed, "fork", episodes)
    first = rng.integers(0, 2, episodes)
    last = np.where(rng.random(episodes) < sure, first, 1 - first) + 3
    return log_of([[a, 2, b] for a, b in zip(first.tolist(), last.tolist(), strict=True)], 5)
