"""Exact evaluation of a window-3 controller on CheeseMaze."""

from __future__ import annotations

import jumar as jm
from common import cpu_seconds, report
from jumar.core.randomness import random_stream
from jumar.lab.truth.models import entry


def main() -> None:
    maze = jm.models.cheese_maze()
    softmax = entry("cheese_maze").training.softmax
    controller = jm.train_behavior(
        maze, jm.window(3), softmax=softmax, seed=random_stream(1, "train")
    )
    times = cpu_seconds(lambda: jm.evaluate(maze, controller), repeats=31)
    report(
        "exact evaluation, CheeseMaze, window 3",
        {"median_s": 0.005},
        triples=jm.evaluate(maze, controller).n_triples,
        **times,
    )


if __name__ == "__main__":
    main()
