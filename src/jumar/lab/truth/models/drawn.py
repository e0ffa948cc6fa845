"""Models drawn at random, for studies over many of them."""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.lab.truth.pomdp import END, Pomdp

DISCOUNT = 0.95
SWEEPS = 600  # of value iteration, to tell which goal is the hardest: 0.95^600 is 4e-14


def garnet(seed: float = 1, states: float = 50, actions: float = 4, successors: float = 4) -> Pomdp:
    """A random MDP with a goal, as in the experiments of Laroche et al. (2019).

    Every action leads to `successors` other states, by a random law. An episode begins in the first
    state and ends with a reward of 1 on reaching the goal; nothing else pays. The goal is the state
    that is worth least at the beginning when one acts as well as one can. The state is observed.
    """
    S, A, K = (_whole(n, x) for n, x in (("states", states), ("actions", actions),
                                         ("successors", successors)))  # fmt: skip
    if not 1 <= K < S:
        raise ParameterError(
            f"garnet: option successors: {K} of {S} states cannot follow; use 1 to {S - 1}."
        )
    rng = random_stream(_whole("seed", seed), "garnet", S, A, K)
    law = np.zeros((S, A, S))
    for s in range(S):
        others = np.delete(np.arange(S), s)
        for a in range(A):
            cuts = np.sort(rng.random(K - 1))
            to = rng.choice(others, K, replace=False)
            law[s, a, to] = np.diff(np.concatenate([[0.0], cuts, [1.0]]))
    goal = _hardest(law)
    kept = np.delete(np.arange(S), goal)
    source, action, to = np.nonzero(law[kept])
    ends = to == goal
    number = np.cumsum(np.arange(S) != goal) - 1  # of a state, without the goal
    follows = np.where(ends, END, number[to])
    names = tuple(f"s{i}" for i in kept)
    first = np.zeros(S - 1)
    first[0] = 1.0
    return Pomdp(
        name="garnet",
        states=names,
        actions=tuple(f"a{i}" for i in range(A)),
        observations=names,
        start=first,
        first_observation=np.eye(S - 1),
        pointer=np.searchsorted(source * A + action, np.arange((S - 1) * A + 1)),
        probability=law[kept[source], action, to],
        next_state=follows,
        next_observation=follows,
        reward=ends.astype(float),
        discount=DISCOUNT,
        max_steps=300,
    )


def _whole(option: str, value: float) -> int:
    if value != int(value) or value < (0 if option == "seed" else 1):
        raise ParameterError(f"garnet: option {option}: {value:g} is not a whole number from 1.")
    return int(value)


def _hardest(law: Floats) -> int:
    """The goal whose best value at the first state is the lowest; all goals are solved at once."""
    S = len(law)
    v = np.zeros((S, S))  # of each state, for each goal
    reached = np.eye(S)
    for _ in range(SWEEPS):
        # at the goal the episode is over: it is worth 1 to come there, and nothing to stay
        worth = np.where(reached > 0, 1.0, DISCOUNT * v)
        v = np.einsum("sat,tg->sag", law, worth).max(1)
        v[np.arange(S), np.arange(S)] = 0.0
    return int(v[0, 1:].argmin()) + 1
