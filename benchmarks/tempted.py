"""Does the gate hold whoever proposes: a memory that was learned, or other algorithms?

Logs of processes that tempt (`jumar.lab.study.guarantees`), improved behind the proved gate with a
memory that each half learns (`learned`) and with candidates of four algorithms (`candidates`). What
is deployed is judged by its exact value: it is *false* if it gains nothing, or less than its
lower bound. A share of at most δ of the logs may be false; δ is 20 %, so that errors show.

    python benchmarks/tempted.py --logs 200 --out tempted.ndjson
    python benchmarks/tempted.py --only rare-trap --way learned --episodes 20000

With --out every log is a line of its own, and a run that was stopped goes on where it was. Not run
by `make bench`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common import add_row, report, rows_of, upper_limit
from jumar.core.randomness import random_stream
from jumar.gate import select
from jumar.lab.study.guarantees import process
from jumar.lab.study.guarantees.base import Process

DELTA = 0.2
ROUNDING = 1e-9
EPISODES = {  # as many as let something pass
    "inverted-memory": 1000,
    "rare-trap": 2000,
    "near-ties": 1000,
    "voicemail-memoryless": 2000,
}
WAYS: dict[str, dict[str, Any]] = {
    "learned": {"memory": "learn"},
    "candidates": {"candidates": ["soft", "robust", "ramdp", "basic"]},
}


def tried(tempting: Process, way: str, episodes: int, number: int, seed: int) -> dict[str, Any]:
    """One log: what is deployed, and what it is worth."""
    log = tempting.log(episodes, random_stream(seed, "tempted", tempting.name, episodes, number))
    found = select(
        log,
        tempting.behavior,
        discount=tempting.pomdp.discount,
        delta=DELTA,
        rewards=tempting.rewards,
        seed=number,
        **WAYS[way],
    )
    row = {"process": tempting.name, "way": way, "episodes": episodes, "seed": seed, "log": number}
    if found.chosen is None:
        return {**row, "deployed": False}
    gain = tempting.value(found.controller) - tempting.value(tempting.behavior)
    return {
        **row,
        "deployed": True,
        "gain": gain,
        "lower": found.chosen.lower,
        "nodes": found.controller.memory.count_nodes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=20)
    parser.add_argument("--episodes", type=int, help="of a log; without it, as the process needs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=EPISODES)
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    kept = rows_of(asked.out)
    for name in asked.only or EPISODES:
        tempting, episodes = process(name), asked.episodes or EPISODES[name]
        for way in asked.way or WAYS:
            same = {"process": name, "way": way, "episodes": episodes, "seed": asked.seed}
            rows = [row for row in kept if same.items() <= row.items()]
            done = {row["log"] for row in rows}
            for number in range(asked.logs):
                if number not in done:
                    rows.append(tried(tempting, way, episodes, number, asked.seed))
                    add_row(asked.out, rows[-1])
            made = [row for row in rows if row["deployed"]]
            false = sum(row["gain"] <= max(ROUNDING, row["lower"] - ROUNDING) for row in made)
            report(
                f"tempted: {name}, {way}, {episodes:,} episodes",
                {"share": DELTA},
                share=false / len(rows),
                false=false,
                worse=sum(row["gain"] < -ROUNDING for row in made),
                deployed=len(made),
                logs=len(rows),
                at_most=upper_limit(false, len(rows)),
                mean_gain=sum(row["gain"] for row in made) / len(rows),
                longest=max((row["nodes"] for row in made), default=0),
            )


if __name__ == "__main__":
    main()
