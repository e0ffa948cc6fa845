"""Makes log.csv: a trial of an app that asks people to walk. Simulated.

python examples/trial/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, load_model, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
PEOPLE, DAYS, SEED = 320, 12, 1
SENT = 0.6


def make(folder: Path) -> None:
    """Every day ends after its last decision point. Some people walk more than others, always."""
    app, trial = load_model(HERE / "app.toml"), load_controller(HERE / "trial.toml")
    log = simulate(app, trial, episodes=PEOPLE * DAYS, seed=random_stream(SEED, "days"))
    habit = random_stream(SEED, "habits").integers(-2, 3, size=PEOPLE)
    luck = random_stream(SEED, "luck").integers(-3, 4, size=log.n_steps)
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["person", "day", "point", "seen", "sent", "chance", "minutes"])
        for episode in range(PEOPLE * DAYS):
            day, number = divmod(episode, PEOPLE)  # day by day, as the app writes it
            person = f"P{number + 1:03d}"
            for row in range(log.start[episode], log.start[episode + 1]):
                seen, done = log.observations[log.observation[row]], log.actions[log.action[row]]
                chance = 1 if seen == "driving" else {"send": SENT, "nothing": 1 - SENT}[done]
                minutes = int(log.reward[row]) + int(habit[number]) + int(luck[row])
                point = row - int(log.start[episode]) + 1
                name = f"{person} day {day + 1}"
                table.writerow([person, name, point, seen, done, f"{chance:g}", minutes])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
