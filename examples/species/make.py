"""Makes log.csv: forty years of decisions in forest blocks with tigers. Simulated.

python examples/species/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, models, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
BLOCKS, SEED = 800, 1
FIRST, TODAY = 1985, 2025


def make(folder: Path) -> None:
    """Every block goes on at the end of the record: no episode ends."""
    tiger = models.sumatran_tiger()
    protocol = load_controller(HERE / "protocol.toml")
    log = simulate(
        tiger,
        protocol,
        episodes=BLOCKS,
        seed=random_stream(SEED, "blocks"),
        max_steps=TODAY - FIRST,
    )
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["block", "year", "tigers", "decision", "benefit"])
        for number in range(BLOCKS):
            name = f"T{number + 1:03d}"
            for row in range(log.start[number], log.start[number + 1]):
                year = FIRST + row - int(log.start[number])
                seen, done = log.observations[log.observation[row]], log.actions[log.action[row]]
                table.writerow([name, year, seen, done, f"{log.reward[row]:.3f}"])
            last = log.observations[log.final_observation[number]]
            table.writerow([name, TODAY, last, "", ""])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
