"""The main job on one page: train a behavior, log it, improve it, check it against the truth.

Every line that starts with $ is a command you can run yourself.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

OUT = Path("out/demo")
STEPS = (
    (
        "A behavior: Q-learning with a memory of two observations.",
        "jumar train tiger --window 2 --seed 1 -o out/demo/behavior.json",
    ),
    (
        "Its log: what an operator would have on disk.",
        "jumar simulate tiger --policy out/demo/behavior.json --episodes 1000 --seed 1 "
        "-o out/demo/log.csv",
    ),
    (
        "The improvement: from the log and the behavior alone, remembering one observation more.",
        "jumar improve out/demo/log.csv --policy out/demo/behavior.json --discount 0.95 --window 3 "
        "--n-wedge 20 --rewards=-1:-1 --ending-rewards=-100:10 -o out/demo",
    ),
    (
        "The truth, which the improvement never saw: both controllers evaluated exactly.",
        "jumar evaluate tiger --policy out/demo/behavior.json --policy out/demo/improved.json "
        "--simulate 100000",
    ),
)


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for why, command in STEPS:
        print(f"\n{why}\n$ {command}", flush=True)
        _, *arguments = shlex.split(command)
        subprocess.run([sys.executable, "-m", "jumar", *arguments], check=True)
    print(f"\nThe improved controller and its certificate are in {OUT}/.")


if __name__ == "__main__":
    main()
