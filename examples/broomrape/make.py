"""Makes log.csv: thirty years of fields on which broomrape was found. Simulated.

python examples/broomrape/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, models, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
FIELDS, SEED = 1000, 1
FIRST, TODAY = 1995, 2025


def make(folder: Path) -> None:
    """Every field goes on at the end of the record: no episode ends."""
    weed = models.broomrape()
    practice = load_controller(HERE / "practice.toml")
    log = simulate(
        weed,
        practice,
        episodes=FIELDS,
        seed=random_stream(SEED, "fields"),
        max_steps=TODAY - FIRST,
    )
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["field", "year", "plants", "treatment", "benefit"])
        for number in range(FIELDS):
            for row in range(log.start[number], log.start[number + 1]):
                year = FIRST + row - int(log.start[number])
                seen, done = log.observations[log.observation[row]], log.actions[log.action[row]]
                table.writerow([number + 1, year, seen, done, f"{log.reward[row]:g}"])
            last = log.observations[log.final_observation[number]]
            table.writerow([number + 1, TODAY, last, "", ""])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
