"""Is a memory that is learned from a log worth as much as the best window, and how large is it?

Logs of 10,000 episodes are improved behind the gate (δ = 5 %): with a window of 2, 3, 4 and 5, as
`auto` does by itself, and with `memory="learn"`. What is handed over is judged by its exact value.
The *best* window is the one with the best mean, which nobody knows beforehand. Nodes are those of
the controller that is handed over; `smallest` are the fewest with which it does the same.

    python benchmarks/learned_memory.py                            # 12 logs of every model
    python benchmarks/learned_memory.py --only tiger --seed 3 --out learned.ndjson

With --out every improvement is a line of its own, and a run that was stopped goes on where it was.
The figures of the documentation are of --seed 2; no choice was made on its logs. Not run by
`make bench`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import jumar as jm
from common import add_row, report, rows_of
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.lab.truth import models
from jumar.lab.truth.pomdp import Pomdp

EPISODES = 10_000
LEARNED = "learned"
WINDOWS = {f"window {k}": {"memory": jm.window(k)} for k in (2, 3, 4, 5)}
WAYS: dict[str, dict[str, Any]] = {**WINDOWS, "auto": {}, LEARNED: {"memory": "learn"}}
HALF = 0.5  # of the nodes of the best window, where no window expresses what matters

Case = tuple[Pomdp, jm.Controller]


def trained(name: str) -> Case:
    """A model of the paper, and its behavior of k = 1."""
    pomdp = models.build(name)
    softmax = models.training(name, pomdp).softmax
    return pomdp, jm.train_behavior(pomdp, jm.window(1), softmax=softmax, seed=1)


def upkeep() -> Case:
    """Nothing matters but the time since the last inspection, which comes in 3 of 10 steps."""
    pomdp = models.inspection()
    return pomdp, jm.Controller.constant(pomdp.observations, pomdp.actions, [0.7, 0.3])


CASES: dict[str, Callable[[], Case]] = {
    "tiger": lambda: trained("tiger"),
    "voicemail": lambda: trained("voicemail"),
    "inspection": upkeep,
}


def improved(name: str, case: Case, way: str, episodes: int, number: int, seed: int) -> dict:
    """One log, improved in one way."""
    pomdp, behavior = case
    drawn = random_stream(seed, "learned memory", name, episodes, number)
    log = jm.simulate(pomdp, behavior, episodes=episodes, seed=drawn)
    began = time.process_time()
    found = select(log, behavior, discount=pomdp.discount, seed=number, **WAYS[way])
    spent = time.process_time() - began
    return {
        "model": name,
        "episodes": episodes,
        "seed": seed,
        "log": number,
        "way": way,
        "deployed": found.chosen is not None,
        "value": jm.evaluate(pomdp, found.controller).value,
        "nodes": found.controller.memory.count_nodes(),
        "smallest": found.controller.minimized().memory.count_nodes(),
        "cpu_s": round(spent, 2),
    }


def summed_up(name: str, case: Case, episodes: int, rows: list[dict]) -> None:
    """One line for every way, and one that compares."""
    behavior = float(jm.evaluate(*case).value)
    gain = {}
    for way in WAYS:
        mine = [row for row in rows if row["way"] == way]
        if not mine:
            continue
        values = [row["value"] for row in mine]
        gain[way] = fmean(values) - behavior
        report(
            f"memory: {name}, {way}",
            {},
            logs=len(mine),
            deployed=sum(row["deployed"] for row in mine),
            worse=sum(value < behavior - 1e-9 for value in values),
            value=fmean(values),
            error=stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0,
            behavior=behavior,
            nodes=_range(mine, "nodes"),
            smallest=_range(mine, "smallest"),
            cpu_s=fmean(row["cpu_s"] for row in mine),
        )
    windows = [way for way in WINDOWS if way in gain]
    if LEARNED not in gain or not windows:
        return
    best = max(windows, key=gain.__getitem__)
    nodes = {way: max(row["nodes"] for row in rows if row["way"] == way) for way in (best, LEARNED)}
    paired = _paired(rows, best)
    limits = {"behind": 0.0} | ({"of_its_nodes": HALF} if name == "inspection" else {})
    report(
        f"learned memory: {name}, {episodes:,} episodes",
        limits,
        best=best,
        gain_of_best=gain[best],
        gain=gain[LEARNED],
        behind=gain[best] - gain[LEARNED],
        error=stdev(paired) / len(paired) ** 0.5 if len(paired) > 1 else 0.0,
        of_its_nodes=nodes[LEARNED] / nodes[best],
    )


def _range(rows: list[dict], what: str) -> list[int]:
    found = [row[what] for row in rows]
    return [min(found), max(found)]


def _paired(rows: list[dict], best: str) -> list[float]:
    """By how much the learned memory is ahead, log by log."""
    value = {(row["way"], row["log"]): row["value"] for row in rows}
    logs = sorted({log for way, log in value if way == LEARNED and (best, log) in value})
    return [value[LEARNED, log] - value[best, log] for log in logs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=12)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--only", action="append", choices=CASES)
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    kept = rows_of(asked.out)
    for name in asked.only or CASES:
        case = CASES[name]()
        same = {"model": name, "episodes": asked.episodes, "seed": asked.seed}
        rows = [row for row in kept if same.items() <= row.items() and row["log"] < asked.logs]
        done = {(row["log"], row["way"]) for row in rows}
        for number in range(asked.logs):
            for way in asked.way or WAYS:
                if (number, way) not in done:
                    rows.append(improved(name, case, way, asked.episodes, number, asked.seed))
                    add_row(asked.out, rows[-1])
        summed_up(name, case, asked.episodes, rows)


if __name__ == "__main__":
    main()
