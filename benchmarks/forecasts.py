"""How often do intervals of forecasts miss where a process drifts? Not run by `make bench`.

Episodes of one step: `keep` pays 0, `other` pays what the case says along the log, both with noise
of deviation 1. The behavior does `other` in 30 % of the episodes, the new policy in 90 %, so it is
better by 0.6 times what `other` pays. The truth is the mean over the next twentieth of the log.
One JSON line per case and number of episodes: the share of logs that are refused, and of the others
the share whose 95 % interval lies above and below the truth, for the behavior and the difference;
with the median half width of each.

    python benchmarks/forecasts.py [--logs 400] [--sizes 200 1000] [--cases stationary] [--speed]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np

import jumar as jm
from common import cpu_seconds, report
from jumar.core.arrays import Floats
from jumar.core.errors import LogError
from jumar.core.randomness import random_stream
from jumar.evidence import forecasting

OLD, NEW = 0.3, 0.9  # how often each does `other`
NAMES = ("seen",), ("keep", "other")
# what `other` pays along the log, from 0 to 1, and what the noise is
CASES: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "stationary": (lambda x: 1 + 0 * x, "normal"),
    "straight": (lambda x: 0.5 + 3 * x, "normal"),
    "curved": (lambda x: 2 - 4 * (x - 0.3) ** 2, "normal"),
    "one season": (lambda x: 1 + 3 * np.sin(2 * np.pi * x), "normal"),
    "three seasons": (lambda x: 1 + 3 * np.sin(6 * np.pi * x), "normal"),
    "jump at 30 %": (lambda x: 1 + 3.0 * (x >= 0.3), "normal"),
    "jump at 90 %": (lambda x: 1 + 3.0 * (x >= 0.9), "normal"),
    "jump at 98 %": (lambda x: 1 + 3.0 * (x >= 0.98), "normal"),
    "straight, noise grows": (lambda x: 0.5 + 3 * x, "grows"),
    "straight, heavy tails (t, 3 degrees)": (lambda x: 0.5 + 3 * x, "heavy"),
    "straight, very skewed (lognormal)": (lambda x: 0.5 + 3 * x, "skewed"),
    "straight, neighbours alike (correlation 0.5)": (lambda x: 0.5 + 3 * x, "alike"),
    "jump after the log": (lambda x: 1 + 3.0 * (x >= 1), "normal"),
}


def noise(kind: str, n: int, rng: np.random.Generator) -> Floats:
    """(n,) of deviation 1 or so, neighbouring ones correlated where the kind says so."""
    if kind == "grows":
        return np.asarray(rng.normal(size=n) * (0.3 + 2 * np.arange(n) / n))
    if kind == "heavy":
        return np.asarray(rng.standard_t(3, n))
    if kind == "skewed":
        return np.asarray(np.exp(rng.normal(size=n)) - np.exp(0.5))
    found = np.asarray(rng.normal(size=n))
    if kind == "alike":
        for i in range(1, n):
            found[i] = 0.5 * found[i - 1] + 0.75**0.5 * found[i]
    return found


def drawn(case: str, n: int, rng: np.random.Generator) -> jm.Episodes:
    pays, kind = CASES[case]
    other = rng.random(n) < OLD
    reward = other * pays(np.arange(n) / n) + noise(kind, n, rng)
    actions, start = other.astype(np.int64), range(n + 1)
    return jm.Episodes(*NAMES, [0] * n, actions, reward, start, [-1] * n, [True] * n)


def measured(case: str, n: int, logs: int) -> dict[str, Any]:
    old, new = (jm.Controller.constant(*NAMES, [1 - p, p]) for p in (OLD, NEW))
    pays = CASES[case][0]((n + np.arange(n // 20)) / n).mean()
    truth, rows = np.array([OLD, NEW - OLD]) * pays, []
    for i in range(logs):
        try:
            log = drawn(case, n, random_stream(1, case, n, i))
            found = jm.evidence.forecast(log, old, new, discount=1.0)
        except LogError:
            continue
        ends = [item.interval for item in (found.behavior, found.difference)]
        if None not in ends:
            rows.append(ends)
    low, high = np.array(rows).reshape(-1, 2, 2).transpose(2, 0, 1)
    shares = {} if not rows else {
        name: {
            "above": round(float((low > truth).mean(0)[i]), 4),
            "below": round(float((high < truth).mean(0)[i]), 4),
            "half_width": round(float(np.median(high - low, 0)[i] / 2), 3),
        }
        for i, name in enumerate(("behavior", "difference"))
    }  # fmt: skip
    head = {"benchmark": "forecasts", "case": case, "episodes": n, "logs": logs}
    return {**head, "refused": round(1 - len(rows) / logs, 4), **shares}


def speed() -> None:
    y = random_stream(1, "speed").normal(size=100_000)
    timed = cpu_seconds(lambda: forecasting.trend(y, 10_000, delta=0.05))
    report("forecast through 100,000 episodes", {"best_s": 0.5}, **timed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 1000])
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--degree", type=int, default=forecasting.DEGREE, help="1: a straight line")
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    forecasting.DEGREE = arguments.degree
    speed()
    for size in [] if arguments.speed else arguments.sizes:
        for case in arguments.cases:
            print(json.dumps(measured(case, size, arguments.logs)), flush=True)
