"""Steps of environments, and of recording a controller in them, per second of CPU time."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

import jumar as jm
import jumar.lab.envs
from common import cpu_seconds, report

STEPS, EPISODES = 100_000, 20_000
LISTEN = 2


def walk(env: Any) -> None:
    env.reset(seed=1)
    for _ in range(STEPS):
        _, _, terminated, truncated, _ = env.step(LISTEN)
        if terminated or truncated:
            env.reset()


def main() -> None:
    env = gym.make("jumar/Tiger-v0")
    fair = jm.Controller.uniform(*jumar.lab.envs.names(env))
    logged = jm.record(env, fair, episodes=EPISODES).n_steps
    for name, job, steps, most in (
        ("one environment, unwrapped", lambda: walk(env.unwrapped), STEPS, 5e-6),
        ("one environment, as made", lambda: walk(env), STEPS, 1e-5),
        ("record", lambda: jm.record(env, fair, episodes=EPISODES), logged, 3e-5),
    ):
        times = cpu_seconds(job, repeats=5)
        rate = {"seconds_per_step": times["best_s"] / steps}
        per_second = round(1 / rate["seconds_per_step"])
        report(f"Tiger, {name}", {"seconds_per_step": most}, steps_per_s=per_second, **rate)


if __name__ == "__main__":
    main()
