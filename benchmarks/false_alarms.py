"""How often does the λ-discrepancy reject a memory that is enough? At level 0.05, 0.05 of the logs.

Every log is one of a new random process whose law depends on the last k observations, made by a
random behavior that knows them: 2 to 4 observations, 1 to 3 actions, rewards that depend on
observation and action, with noise. Records end by themselves (`end`), after at most 4 steps, or are
all cut off after so many (`cut`). One JSON line per setting.

    python benchmarks/false_alarms.py --logs 2000 [--seed 1] [--only "k=2, 50 episodes, end"]

Where records are cut off and there are no more of them than steps in the longest (`few`), the test
promises to reject too rarely, not as often as the level says. Not run by `make bench`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import jumar as jm  # noqa: E402
from common import report  # noqa: E402
from jumar.core.episodes import Episodes  # noqa: E402
from order_logs import finite_history  # noqa: E402

LEVEL = 0.05
RESAMPLES = 99  # with so many a p-value of 0.05 is possible, and level and share are the same
DISCOUNT = 0.95
ENDING = 0.15  # the mean chance that a step is the last, where episodes end
ENDING_OR_CUT = 0.1

# window that is enough, episodes, steps after which all are cut off, chance that a step is the last
SETTINGS: dict[str, tuple[int, int, int | None, float]] = {
    **{
        f"k={k}, {episodes} episodes, end": (k, episodes, None, ENDING)
        for k in (1, 2)
        for episodes in (50, 200)
    },
    "k=1, 50 episodes, cut at 6": (1, 50, 6, 0.0),
    "k=2, 50 episodes, cut at 6": (2, 50, 6, 0.0),
    "k=1, 50 episodes, cut at 40": (1, 50, 40, 0.0),
    "k=1, 200 episodes, cut at 20": (1, 200, 20, 0.0),
    "k=1, 50 episodes, end or cut at 4": (1, 50, 4, ENDING_OR_CUT),
    "k=2, 200 episodes, end or cut at 4": (2, 200, 4, ENDING_OR_CUT),
    "k=1, 20 episodes, cut at 40 (few)": (1, 20, 40, 0.0),
}


def logs(name: str, many: int, seed: int) -> Iterator[tuple[Episodes, jm.Controller, int]]:
    """Logs of random processes for which the behavior's memory is enough."""
    k, episodes, cut, ending = SETTINGS[name]
    for number in range(many):
        rng = jm.random_stream(seed, "false alarms", name, number)
        O, A = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        pomdp, behavior = finite_history(rng, k, O, A, ending)
        log = jm.simulate(replace(pomdp, max_steps=cut), behavior, episodes=episodes, seed=rng)
        paid = rng.normal(size=(O, A))[log.observation, log.action]
        yield replace(log, reward=paid + (rng.random(log.n_steps) < 0.3)), behavior, number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=SETTINGS)
    asked = parser.parse_args()
    for name in asked.only or SETTINGS:
        found = [
            jm.lambda_discrepancy(
                log, behavior, discount=DISCOUNT, resamples=RESAMPLES, level=LEVEL, seed=number
            ).p
            for log, behavior, number in logs(name, asked.logs, asked.seed)
        ]
        p = np.array(found)
        report(
            f"false alarms of the λ-discrepancy: {name}",
            {"rejected": 0.06},
            rejected=float((p <= LEVEL).mean()),
            at_a_tenth=float((p <= 0.1).mean()),
            at_a_half=float((p <= 0.5).mean()),
            error=(LEVEL * (1 - LEVEL) / len(p)) ** 0.5,
            logs=len(p),
        )


if __name__ == "__main__":
    main()
