"""Makes log.csv: what a road authority might have on file about its steel bridges. Simulated.

python examples/bridge/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, models, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
BRIDGES, SEED = 520, 1
FIRST, LAST, TODAY = 1965, 1994, 2024  # bridges were opened from FIRST to LAST


def make(folder: Path) -> None:
    """Every bridge is new when it is opened and still stands at the end: no episode ends."""
    bridge = models.bridge_repair()
    schedule = load_controller(HERE / "schedule.toml")
    longest = TODAY - FIRST
    log = simulate(
        bridge, schedule, episodes=BRIDGES, seed=random_stream(SEED, "bridges"), max_steps=longest
    )
    opened = random_stream(SEED, "opened").integers(FIRST, LAST, size=BRIDGES, endpoint=True)
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["bridge", "year", "finding", "work", "cost"])
        for number, first in enumerate(opened.tolist()):
            name, start = f"B{number + 1:03d}", int(log.start[number])
            for year in range(first, TODAY):
                row = start + year - first
                finding = log.observations[log.observation[row]]
                work, cost = log.actions[log.action[row]], 0 - log.reward[row]
                table.writerow([name, year, finding, work, f"{cost:g}"])
            # this year's finding, on which nothing has been done yet
            row = start + TODAY - first
            last = (
                log.observation[row] if TODAY - first < longest else log.final_observation[number]
            )
            table.writerow([name, TODAY, log.observations[last], "", ""])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
