"""Counting and improving on a 10,000-episode Tiger log, as a library call."""

from __future__ import annotations

import jumar as jm
from common import cpu_seconds, report
from jumar.core.randomness import random_stream
from jumar.lab.truth.models import entry


def main() -> None:
    tiger = jm.models.tiger()
    softmax = entry("tiger").training.softmax
    behavior = jm.train_behavior(
        tiger, jm.window(2), softmax=softmax, seed=random_stream(1, "train")
    )
    log = jm.simulate(tiger, behavior, episodes=10_000, seed=random_stream(1, "data"))

    def job() -> None:
        jm.improve(log, behavior, discount=0.95, n_wedge=20)

    def bare() -> None:
        jm.spibb(jm.count(log, jm.window(2)).mle(0.95), behavior, n_wedge=20)

    whole, core = cpu_seconds(job), cpu_seconds(bare)
    report(
        "count and improve, Tiger, 10,000 episodes",
        {"median_s": 0.05, "with_certificate_median_s": 0.05},
        steps=log.n_steps,
        median_s=core["median_s"],
        best_s=core["best_s"],
        with_certificate_median_s=whole["median_s"],
    )


if __name__ == "__main__":
    main()
