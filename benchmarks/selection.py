"""One improvement that chooses and tests by itself, certificates included, on logs of two sizes."""

from __future__ import annotations

from dataclasses import asdict

import jumar as jm
from common import cpu_seconds, report
from jumar.core.randomness import random_stream
from jumar.lab.truth.models import training

LIMITS = {1000: 0.5, 10_000: 3.0}


def main() -> None:
    for name, k in (("tiger", 2), ("voicemail", 2), ("cheese_maze", 2)):
        pomdp = jm.models.build(name)
        behavior = jm.train_behavior(pomdp, jm.window(k), **asdict(training(name, pomdp)))
        for episodes, limit in LIMITS.items():
            log = jm.simulate(pomdp, behavior, episodes=episodes, seed=random_stream(1, "data"))

            def job(log: jm.Episodes = log, behavior: jm.Controller = behavior) -> None:
                jm.improve(log, behavior, discount=0.95)

            spent = cpu_seconds(job, repeats=5)
            title = f"improve by itself, {name}, {episodes:,} episodes"
            report(title, {"median_s": limit}, steps=log.n_steps, **spent)


if __name__ == "__main__":
    main()
