"""A window of 8 on CheeseMaze, 10,000 episodes: cost follows the data, not the nodes."""

from __future__ import annotations

import resource

import jumar as jm
from common import cpu_seconds, report
from jumar.core.randomness import random_stream
from jumar.lab.truth.models import entry


def main() -> None:
    maze = jm.models.cheese_maze()
    softmax = entry("cheese_maze").training.softmax
    behavior = jm.train_behavior(
        maze, jm.window(2), softmax=softmax, seed=random_stream(1, "train")
    )
    log = jm.simulate(maze, behavior, episodes=10_000, seed=random_stream(1, "data"))
    memory = jm.window(8)

    def job() -> jm.Improvement:
        return jm.spibb(jm.count(log, memory).mle(0.95), behavior, n_wedge=20)

    times = cpu_seconds(job, repeats=3)
    nodes = (len(maze.observations) + 1) ** 7
    states = nodes * len(maze.observations)
    report(
        "window 8, CheeseMaze, 10,000 episodes",
        {"median_s": 5.0, "peak_gb": 1.0},
        steps=log.n_steps,
        history_states=len(job().mdp),
        dense_states=states,
        dense_transition_array_tb=states * len(maze.actions) * len(maze.observations) * 8 / 1e12,
        dense_memory_array_tb=nodes * len(maze.actions) * len(maze.observations) * nodes * 8 / 1e12,
        peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        **times,
    )


if __name__ == "__main__":
    main()
