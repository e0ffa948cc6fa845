"""Does the check for drift fail on machines that were bought at different times? Not run by
`make bench`.

Machines age, look worn more often the older they are, cost more, and break down at last; all are
recorded from the day they were bought to today, so later records are shorter. Nothing depends on
when a machine was bought ("nothing"), or a machine costs up to 50 % more the later it was bought
("dearer"), or wears out up to twice as fast ("worse"). One JSON line per cell: the share of logs on
which the check fails (two tests at 1 %), and that of the naive test, the slope of returns up to the
cut.

    python benchmarks/staggered.py [--logs 400] [--machines 60 300]
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.randomness import random_stream
from jumar.evidence.checking.drift import check_drift, trend_of
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller
from jumar.tally.replay import Replay

NAMES = ("good", "worn"), ("keep", "repair")
TODAY, LEVEL = 61, 0.01
CHANGES = {"nothing": (0.0, 0.0), "dearer": (0.5, 0.0), "worse": (0.0, 1.0)}
BOUGHT = ("evenly", "in three batches", "mostly early", "mostly late")


def bought(when: str, machines: int, rng: np.random.Generator) -> Ints:
    """(n,) day on which each was bought, in this order."""
    if when == "in three batches":
        return np.repeat([0, 30, 55], machines // 3)
    power = {"evenly": 1.0, "mostly early": 3.0, "mostly late": 1 / 3}[when]
    return np.sort((60 * rng.random(machines) ** power).astype(np.int64))


def fleet(when: str, machines: int, change: str, rng: np.random.Generator) -> Episodes:
    start = bought(when, machines, rng)
    dearer, worse = CHANGES[change]
    shape, late = (machines, TODAY), np.arange(machines)[:, None] / machines
    age = np.minimum(np.cumsum(rng.random(shape) < 0.1 * (1 + worse * late), 1), 5)
    worn = (rng.random(shape) < 0.1 + 0.16 * age).astype(np.int64)
    breaks = rng.random(shape) < 0.01 * age
    cost = (worn + 0.2 * age + 10 * breaks + 0.3 * rng.normal(size=shape)) * (1 + dearer * late)
    lives = np.where(breaks.any(1), breaks.argmax(1) + 1, TODAY + 1)
    steps = np.minimum(lives, TODAY - start)
    there = np.arange(TODAY) < steps[:, None]
    action = rng.integers(0, 2, int(there.sum()))
    first = np.append(0, np.cumsum(steps))
    ends = np.full(machines, -1), lives <= TODAY - start
    return Episodes(*NAMES, worn[there], action, -cost[there], first, *ends)


def main(logs: int, sizes: list[int]) -> None:
    behavior = Controller.uniform(*NAMES)
    for when in BOUGHT:
        for machines in sizes:
            for change in CHANGES:
                failed = naive = 0
                for i in range(logs):
                    log = fleet(when, machines, change, random_stream(1, when, machines, i))
                    found = check_drift(Replay.of(log, behavior.memory), 1.0, LEVEL)
                    failed += found.verdict.status == "failed"
                    naive += trend_of(log.returns(1.0)).p <= LEVEL
                row = {"bought": when, "machines": machines, "changes": change, "logs": logs}
                shares = {"failed": failed / logs, "naive_failed": naive / logs}
                print(json.dumps({"benchmark": "staggered", **row, **shares}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--machines", type=int, nargs="+", default=[60, 300])
    arguments = parser.parse_args()
    main(arguments.logs, arguments.machines)
