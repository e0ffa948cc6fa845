"""How often are forecasts right where a process drifts, and averages? Not run by `make bench`.

Episodes of one step: `keep` pays 0, `other` pays what the case says along the log, both with noise
of deviation 1. The behavior does `other` in 30 % of the episodes, the new controller in 90 %, so it
is better by 0.6 times what `other` pays. The truth is the mean of that over the next tenth of the
log. One JSON line per case and number of episodes: the share of logs in which the lower and the
upper end of the forecast of the difference are wrong (δ = 5 % each), the same of the average over
the log (Student's t), how often each says "not worse" at δ = 20 % although it is worse, how far the
lower end lies below the truth, and how often the check finds a slope of the returns.

    python benchmarks/forecasts.py [--logs 500] [--sizes 200 1000] [--draws 2000] [--speed]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from common import cpu_seconds, report
from jumar.core.arrays import Floats
from jumar.core.randomness import random_stream
from jumar.evidence.checking.drift import trend_of
from jumar.evidence.forecasting.trends import DRAWS, trend
from jumar.evidence.offpolicy.intervals import student

OLD, NEW = 0.3, 0.9  # how often each does `other`
CASES: dict[str, Callable[[Floats], Floats]] = {  # what `other` pays; the log goes from 0 to 1
    "no drift": lambda x: 1 + 0 * x,
    "straight": lambda x: 0.5 + 2 * x,
    "one season": lambda x: 1 + np.sin(2 * np.pi * x),
    "one and a half seasons": lambda x: 1 + np.sin(3 * np.pi * x + 0.5),
    "three seasons": lambda x: 1 + np.sin(6 * np.pi * x + 0.5),
    "jump at 70 %": lambda x: 2.0 * (x >= 0.7),
    "jump at 93 %": lambda x: 2.0 * (x >= 0.93),
    "jump down at 93 %": lambda x: 1 - 2.0 * (x >= 0.93),
    "jump down after the log": lambda x: 1 - 2.0 * (x >= 1),
    "tempting: better, then worse": lambda x: 2 - 2.4 * x,
    "tempting: turns in the middle": lambda x: 1.5 - 4 * np.maximum(0, x - 0.5),
}


def drawn(case: str, episodes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(n,) the returns, and (n,) what the new controller earns more: the weighted return less the
    return."""
    other = rng.random(episodes) < OLD
    reward = other * CASES[case](np.arange(episodes) / episodes) + rng.normal(size=episodes)
    weight = np.where(other, NEW / OLD, (1 - NEW) / (1 - OLD))
    return reward, (weight - 1) * reward


def measured(case: str, episodes: int, logs: int, draws: int) -> dict[str, Any]:
    ahead, time = episodes // 10, np.arange(episodes)
    following = np.arange(episodes, episodes + ahead) / episodes
    truth = (NEW - OLD) * float(CASES[case](following).mean())
    rows = []
    for i in range(logs):
        rng = random_stream(1, case, episodes, i)
        returns, gains = drawn(case, episodes, rng)
        row = []
        for δ in (0.05, 0.2):
            found = trend(gains, time, episodes, ahead, delta=δ, rng=rng, draws=draws)
            mean = student(gains, 2 * δ)
            row += [found.lower, found.upper, mean.lower, mean.upper]
        rows.append([*row, trend_of(returns).p <= 0.01])
    low, high, mean_low, mean_high, bold, _, mean_bold, _, drifts = np.array(rows).T
    return {
        "benchmark": "forecasts",
        "case": case,
        "episodes": episodes,
        "logs": logs,
        "truth": round(truth, 4),
        "lower_wrong": float((low > truth).mean()),
        "upper_wrong": float((high < truth).mean()),
        "average_lower_wrong": float((mean_low > truth).mean()),
        "average_upper_wrong": float((mean_high < truth).mean()),
        "median_margin": round(float(np.median(truth - low)), 4),
        "says_not_worse": float((bold > 0).mean()),
        "average_says_not_worse": float((mean_bold > 0).mean()),
        "is_worse": truth < 0,
        "slope_found": float(drifts.mean()),
    }


def speed() -> None:
    """2,000 draws on 100,000 episodes."""
    y = random_stream(1, "speed").normal(size=100_000)
    time = np.arange(100_000)

    def job() -> object:
        return trend(y, time, 100_000, 10_000, delta=0.05, rng=random_stream(1, "signs"))

    report("forecast of 100,000 episodes, 2,000 draws", {"best_s": 0.5}, **cpu_seconds(job))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    speed()
    for size in [] if arguments.speed else arguments.sizes:
        for case in CASES:
            print(json.dumps(measured(case, size, arguments.logs, arguments.draws)), flush=True)
