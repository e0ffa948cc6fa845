"""Models with long records, and what keeps them: wear in plain view, hidden wear, hidden modes.

Every builder takes its numbers from a seed, so that rules can be tuned on some of the models and
measured on others. All run for ever; a log is what was recorded up to a horizon.
"""

from __future__ import annotations

import numpy as np

from jumar.core.controller import Controller
from jumar.core.randomness import random_stream
from jumar.truth.pomdp import Pomdp, from_arrays

DISCOUNT = 0.95
WORK = ("hard", "gentle", "repair")


def memoryless(pomdp: Pomdp, rows: np.ndarray, name: str = "as ever") -> Controller:
    """One row of action probabilities per observation."""
    uniform = Controller.uniform(pomdp.observations, pomdp.actions)
    return uniform.except_at(np.arange(len(rows))[:, None], np.asarray(rows, float), name)


def wear(seed: int = 0, *, seen: float | None = 1.0, levels: int | None = None) -> Pomdp:
    """A machine that wears: working hard pays more and wears faster, a repair makes it new.

    `seen` is the chance that the level is seen as it is (1: in plain view); otherwise the observer
    reads any level at random. None: nothing is ever seen.
    """
    rng = random_stream(seed, "wear")
    n = levels or int(rng.integers(4, 7))
    fast, slow = rng.uniform(0.25, 0.6), rng.uniform(0.03, 0.15)
    pay, less = rng.uniform(8, 12), rng.uniform(4, 7)
    cost = rng.uniform(6, 15)
    drop = np.linspace(0, 1, n) ** rng.uniform(0.7, 2.5) * rng.uniform(12, 22)
    T, R = np.zeros((3, n, n)), np.zeros((3, n))
    for a, p in enumerate((fast, slow)):
        for s in range(n):
            T[a, s, min(s + 1, n - 1)] += p
            T[a, s, s] += 1 - p
        R[a] = (pay, less)[a] - drop * (1, 0.7)[a]
    T[2, :, 0] = 1
    R[2] = -cost
    if seen is None:
        names, Z = ["nothing seen"], np.ones((n, 1))
    else:
        names = [f"level {s}" for s in range(n)]
        Z = seen * np.eye(n) + (1 - seen) / n
    return from_arrays(
        name=f"wear {seed}",
        states=[f"worn {s}" for s in range(n)],
        actions=WORK,
        observations=names,
        transition=T,
        observation=np.repeat(Z[None], 3, 0),
        reward=R,
        start=np.eye(n)[0],
        first_observation=Z,
        discount=DISCOUNT,
        max_steps=100,
    )


def wear_behavior(pomdp: Pomdp, seed: int = 0, explore: float = 0.3) -> Controller:
    """Mostly one habit per observation, the rest of the time anything: repair comes often."""
    rng = random_stream(seed, "wear behavior")
    rows = []
    for z in range(len(pomdp.observations)):
        worn = z / max(1, len(pomdp.observations) - 1)
        usual = np.array([0.5 - 0.3 * worn, 0.3, 0.2 + 0.3 * worn])
        rows.append((1 - explore) * usual + explore * rng.dirichlet(np.ones(3) * 3))
    return memoryless(pomdp, np.array(rows))


def mode(seed: int = 0, *, seen: float = 0.5) -> Pomdp:
    """A plant that is calm or critical, which nobody sees: pushing pays while it is calm and makes
    it critical; resting lets it calm down. `seen` is the chance that the alarm tells the truth
    (0.5: it tells nothing)."""
    rng = random_stream(seed, "mode")
    harm, heal = rng.uniform(0.05, 0.2), rng.uniform(0.03, 0.15)
    win, lose = rng.uniform(2, 4), rng.uniform(3, 9)
    Z = np.array([[seen, 1 - seen], [1 - seen, seen]])
    return from_arrays(
        name=f"mode {seed}",
        states=["calm", "critical"],
        actions=["push", "rest"],
        observations=["quiet", "alarm"],
        transition=[[[1 - harm, harm], [0, 1]], [[1, 0], [heal, 1 - heal]]],
        observation=[Z, Z],
        reward=[[win, -lose], [0, -rng.uniform(0, 1)]],
        start=[1, 0],
        first_observation=Z,
        discount=DISCOUNT,
        max_steps=100,
    )


def mode_behavior(pomdp: Pomdp, seed: int = 0) -> Controller:
    rng = random_stream(seed, "mode behavior")
    p = rng.uniform(0.3, 0.6, len(pomdp.observations))
    return memoryless(pomdp, np.column_stack([p, 1 - p]))


def breakdowns(seed: int = 0, *, seen: float | None = None) -> Pomdp:
    """Hidden wear whose only trace in the rewards is luck: pay is the same at every level, but a
    worn machine breaks down more often, and a break-down costs much."""
    rng = random_stream(seed, "breakdowns")
    n = int(rng.integers(3, 6))
    fast, slow = rng.uniform(0.2, 0.5), rng.uniform(0.02, 0.1)
    pay, less, cost = rng.uniform(8, 12), rng.uniform(4, 7), rng.uniform(6, 12)
    risk = rng.uniform(0.01, 0.04) + np.linspace(0, 1, n) ** 1.5 * rng.uniform(0.25, 0.5)
    loss = rng.uniform(30, 60)
    # a state is a level and whether the machine will break down in this step if it works
    S = 2 * n
    level, breaks = np.divmod(np.arange(S), 2)

    def lands(at: np.ndarray) -> np.ndarray:
        """(S,) over level and luck, from a law over levels."""
        return np.column_stack([at * (1 - risk), at * risk]).ravel()

    T, R = np.zeros((3, S, S)), np.zeros((3, S))
    for s in range(S):
        here, worse = np.eye(n)[level[s]], np.eye(n)[min(level[s] + 1, n - 1)]
        for a, p in enumerate((fast, slow)):
            T[a, s] = lands((1 - p) * here + p * worse)
            R[a, s] = (pay, less)[a] - loss * breaks[s] * (1, 0.7)[a]
        T[2, s] = lands(np.eye(n)[0])
        R[2, s] = -cost
    if seen is None:
        names, Z = ["nothing seen"], np.ones((S, 1))
    else:
        names = [f"level {k}" for k in range(n)]
        Z = (seen * np.eye(n) + (1 - seen) / n)[level]
    return from_arrays(
        name=f"breakdowns {seed}",
        states=[
            f"worn {k}, {'breaks' if b else 'holds'}" for k, b in zip(level, breaks, strict=True)
        ],
        actions=WORK,
        observations=names,
        transition=T,
        observation=np.repeat(Z[None], 3, 0),
        reward=R,
        start=lands(np.eye(n)[0]),
        first_observation=Z,
        discount=DISCOUNT,
        max_steps=100,
    )


def cliff(seed: int = 0, *, seen: float | None = None) -> Pomdp:
    """Hidden wear that shows only at the end: all levels but the last pay the same, the last one is
    a disaster, and only those who hardly ever repair get there."""
    rng = random_stream(seed, "cliff")
    n = int(rng.integers(4, 8))
    fast, slow = rng.uniform(0.2, 0.5), rng.uniform(0.1, 0.2)
    pay, less, cost = rng.uniform(8, 12), rng.uniform(6, 8), rng.uniform(4, 8)
    drop = np.zeros(n)
    drop[-1] = rng.uniform(30, 60)
    T, R = np.zeros((3, n, n)), np.zeros((3, n))
    for a, p in enumerate((fast, slow)):
        for s in range(n):
            T[a, s, min(s + 1, n - 1)] += p
            T[a, s, s] += 1 - p
        R[a] = (pay, less)[a] - drop
    T[2, :, 0] = 1
    R[2] = -cost
    Z = np.ones((n, 1)) if seen is None else seen * np.eye(n) + (1 - seen) / n
    return from_arrays(
        name=f"cliff {seed}",
        states=[f"worn {s}" for s in range(n)],
        actions=WORK,
        observations=["nothing seen"] if seen is None else [f"level {s}" for s in range(n)],
        transition=T,
        observation=np.repeat(Z[None], 3, 0),
        reward=R,
        start=np.eye(n)[0],
        first_observation=Z,
        discount=DISCOUNT,
        max_steps=100,
    )
