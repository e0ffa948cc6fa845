"""Models made for studies: random ones, and a part that wears unseen, where what matters is the
time since it was last inspected.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.lab.truth.pomdp import END, Pomdp

DISCOUNT, MAX_STEPS = 0.95, 300  # as in the paper's models
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
        max_steps=MAX_STEPS,
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


STAGES = 5
WEARS = 0.8  # chance that a step of running takes the part one stage further
BREAKS = 0.7  # chance that a part in the last stage breaks in a step
OVER = 0.25  # chance that the job is done after a step
LOADS = ("low load", "high load")  # which tell nothing of the part
INSPECTED = "inspected"


def inspection(pay: float = 1.0, cost: float = 1.0, loss: float = 12.0) -> Pomdp:
    """Run a machine, or stop to inspect its part, which is then as good as new.

    The part goes through five hidden stages of wear, one step of running after the other, and in
    the last one it soon breaks: that ends the episode, at a loss. The job may be done after any
    step. What is seen while the machine runs is the load, high or low by chance; after an
    inspection, that it was inspected. So all that can be known of the part is the time since then,
    and loads in between push what was seen then out of every window.

    >>> model = inspection()
    >>> model.observations
    ('low load', 'high load', 'inspected')
    """
    outcomes: dict[tuple[int, int], list[tuple[float, int, int, float]]] = {}
    for s in range(STAGES):
        breaks = BREAKS if s == STAGES - 1 else 0.0
        wears = 0.0 if s == STAGES - 1 else WEARS
        ran = [(breaks, END, END, -loss), ((1 - breaks) * OVER, END, END, pay)]
        goes_on = (1 - breaks) * (1 - OVER)
        for to, p in ((s, 1 - wears), (s + 1, wears)):
            ran += [(goes_on * p / len(LOADS), to, z, pay) for z in range(len(LOADS))]
        inspected = [(OVER, END, END, -cost), (1 - OVER, 0, len(LOADS), -cost)]
        outcomes[s, 0], outcomes[s, 1] = ran, inspected
    rows = [[row for row in outcomes[s, a] if row[0] > 0] for s in range(STAGES) for a in range(2)]
    probability, after, seen, reward = zip(*(row for part in rows for row in part), strict=True)
    first = np.zeros((STAGES, len(LOADS) + 1))
    first[:, : len(LOADS)] = 1 / len(LOADS)
    return Pomdp(
        name="inspection",
        states=tuple(f"stage {s + 1}" for s in range(STAGES)),
        actions=("run", "inspect"),
        observations=(*LOADS, INSPECTED),
        start=np.eye(STAGES)[0],
        first_observation=first,
        pointer=np.cumsum([0, *map(len, rows)]),
        probability=np.array(probability),
        next_state=np.array(after),
        next_observation=np.array(seen),
        reward=np.array(reward),
        discount=DISCOUNT,
        max_steps=MAX_STEPS,
    )
