"""Makes log.csv: what a workshop might have on file about the items of a machine. Simulated.

python examples/machine/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, models, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
RUNS, ITEMS, SEED = 1200, 30, 1


def make(folder: Path) -> None:
    """Every run begins with a machine that was overhauled and goes on elsewhere: none ends."""
    machine = models.machine()
    practice = load_controller(HERE / "practice.toml")
    log = simulate(
        machine, practice, episodes=RUNS, seed=random_stream(SEED, "runs"), max_steps=ITEMS
    )
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["run", "item", "last", "done", "worth"])
        for number in range(RUNS):
            name = f"{number + 1}"
            for row in range(log.start[number], log.start[number + 1]):
                item = 1 + row - int(log.start[number])
                seen, done = log.observations[log.observation[row]], log.actions[log.action[row]]
                table.writerow([name, item, seen, done, f"{log.reward[row]:g}"])
            last = log.observations[log.final_observation[number]]
            table.writerow([name, ITEMS + 1, last, "", ""])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
