"""Off-policy estimates of a new policy on CheeseMaze: ten times the episodes, how much more CPU?

python benchmarks/offpolicy.py
"""

from __future__ import annotations

import jumar as jm
from common import cpu_seconds, report
from jumar.core.randomness import random_stream
from jumar.lab.truth.models import entry


def main() -> None:
    maze, discount = jm.models.cheese_maze(), 0.95
    softmax = entry("cheese_maze").training.softmax
    seed = random_stream(1, "train")
    old = jm.train_behavior(maze, jm.window(2), softmax=softmax, seed=seed)
    first = jm.simulate(maze, old, episodes=1000, seed=5)
    new = jm.spibb(jm.count(first, jm.window(2)).mle(discount), old, n_wedge=20).controller
    logs = [jm.simulate(maze, old, episodes=n, seed=1) for n in (10_000, 100_000)]
    for name in jm.offpolicy.ESTIMATORS:
        few, many = (
            cpu_seconds(
                lambda log=log, name=name: jm.offpolicy.estimate(
                    log, new, old, discount=discount, estimator=name
                ),
                repeats=5,
            )["median_s"]
            for log in logs
        )
        figures = {"few_s": few, "many_s": many, "ratio": many / few}
        steps = logs[1].n_steps
        report(f"{name}, CheeseMaze, 10^4 to 10^5", {"ratio": 11.0}, steps=steps, **figures)


if __name__ == "__main__":
    main()
