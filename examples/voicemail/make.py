"""Makes log.csv: the turns of five thousand calls to a voicemail system. Simulated.

python examples/voicemail/make.py [FOLDER]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from jumar import load_controller, models, simulate
from jumar.core.randomness import random_stream

HERE = Path(__file__).parent
CALLS, SEED = 5000, 1


def make(folder: Path) -> None:
    """Saving and deleting end the call."""
    voicemail = models.voicemail()
    dialog = load_controller(HERE / "dialog.toml")
    log = simulate(voicemail, dialog, episodes=CALLS, seed=random_stream(SEED, "calls"))
    with open(folder / "log.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["call", "turn", "heard", "response", "score"])
        for call in range(CALLS):
            for row in range(log.start[call], log.start[call + 1]):
                turn = row - int(log.start[call]) + 1
                heard, did = log.observations[log.observation[row]], log.actions[log.action[row]]
                table.writerow([call + 1, turn, heard, did, f"{log.reward[row]:g}"])


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
