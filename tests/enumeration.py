"""Every trajectory that a model and a controller can make, each once, with its probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.lab.truth.pomdp import END, Pomdp
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller


@dataclass
class Everything:
    """All that can be logged in `horizon` steps, each trajectory once, with its probability."""

    log: Episodes
    probability: np.ndarray

    def mean(self, values: np.ndarray) -> float:
        return float(self.probability @ values)


def enumerate_all(pomdp: Pomdp, behavior: Controller, horizon: int) -> Everything:
    """Walk the tree of hidden states, observations, actions and outcomes."""
    found: dict[tuple, float] = {}
    A, memory = len(pomdp.actions), behavior.memory

    def walk(s: int, z: int, node: np.ndarray, steps: tuple, p: float) -> None:
        row = behavior.rows_at(np.append(node, z)[None, :])[0]
        for a in np.flatnonzero(row).tolist():
            first, last = pomdp.pointer[s * A + a], pomdp.pointer[s * A + a + 1]
            for k in range(first, last):
                chance = p * row[a] * pomdp.probability[k]
                taken = (*steps, (z, a, float(pomdp.reward[k])))
                ended = pomdp.next_state[k] == END
                if ended or len(taken) == horizon:
                    final = -1 if ended else int(pomdp.next_observation[k])
                    key = (taken, final, bool(ended))
                    found[key] = found.get(key, 0.0) + chance
                    continue
                after = memory.step(node[None, :], np.array([z]), np.array([a]))[0]
                walk(pomdp.next_state[k], int(pomdp.next_observation[k]), after, taken, chance)

    for s, z in np.argwhere(pomdp.first_observation * pomdp.start[:, None] > 0).tolist():
        walk(s, z, memory.initial(), (), pomdp.start[s] * pomdp.first_observation[s, z])
    return Everything(episodes_of(pomdp, list(found)), np.array(list(found.values())))


def episodes_of(pomdp: Pomdp, trajectories: list[tuple]) -> Episodes:
    steps = [step for taken, _, _ in trajectories for step in taken]
    z, a, r = zip(*steps, strict=True)
    return Episodes(
        pomdp.observations,
        pomdp.actions,
        z,
        a,
        r,
        np.cumsum([0, *(len(taken) for taken, _, _ in trajectories)]),
        [final for _, final, _ in trajectories],
        [ended for _, _, ended in trajectories],
    )
