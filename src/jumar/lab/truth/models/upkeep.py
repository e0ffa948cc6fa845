"""A part that wears unseen: what matters is the time since it was last inspected."""

from __future__ import annotations

import numpy as np

from jumar.lab.truth.pomdp import END, Pomdp

DISCOUNT = 0.95
MAX_STEPS = 300  # as in the paper's models
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
