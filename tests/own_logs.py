"""Three logs as people have them, made without jumar: pumps, support calls, a clinic.

Run it to write them into a folder: python tests/own_logs.py FOLDER
"""

from __future__ import annotations

import json
import random
import sys
from datetime import date, timedelta
from pathlib import Path


def pumps(
    path: Path, *, pumps: int = 120, weeks: int = 104, slips: float = 0.06, seed: int = 1
) -> None:
    """A wide CSV from a German spreadsheet: semicolons, decimal commas, dates as 31.05.2024, costs.

    The rule: replace at a vibration of 7 or more, lubricate from 4 on; now and then a slip.
    """
    rng = random.Random(seed)
    lines = ["pump;date;vibration;temperature;action;cost_eur;comment"]
    for pump in range(pumps):
        wear, day = rng.uniform(0, 2), date(2022, 1, 3)
        for week in range(weeks):
            vibration = max(0.1, rng.gauss(1 + wear, 0.6))
            temperature = rng.gauss(60 + 2 * wear, 4)
            action = "replace" if vibration >= 7 else "lubricate" if vibration >= 4 else "run"
            if rng.random() < slips:
                action = rng.choice(["run", "lubricate", "replace"])
            cost = {"run": 0.0, "lubricate": 40.0, "replace": 2500.0}[action]
            failed = action != "replace" and rng.random() < 0.002 * 1.7 ** max(0, wear - 2)
            if failed:
                cost += 9000.0
            remark = "leak" if failed else ""
            cells = [f"P{pump:03}", f"{day + timedelta(weeks=week):%d.%m.%Y}"]
            cells += [_comma(vibration, 2), _comma(temperature, 1), action, _comma(cost, 2), remark]
            lines.append(";".join(cells))
            if action == "replace" or failed:
                wear = rng.uniform(0, 0.5)
            else:
                wear += rng.expovariate(4 if action == "run" else 12)
    path.write_text("\n".join(lines) + "\n")


def _comma(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".replace(".", ",")


def calls(path: Path, *, calls: int = 3000, seed: int = 2) -> None:
    """Support calls as nested JSON lines: one object per call, with a list of turns.

    The caller wants a refund or a repair; what is heard is right four times in five. The rule asks
    once, then acts on what it hears; one time in ten it does anything.
    """
    rng = random.Random(seed)
    with path.open("w") as file:
        for call in range(calls):
            wish, turns = rng.choice(["refund", "repair"]), []
            for turn in range(1, 9):
                other = {"refund": "repair", "repair": "refund"}[wish]
                heard = wish if rng.random() < 0.8 else other
                said = "ask" if turn == 1 else heard
                if rng.random() < 0.1:
                    said = rng.choice(["ask", "refund", "repair"])
                score = -1 if said == "ask" else (5 if said == wish else -10)
                turns.append({"n": turn, "heard": {"intent": heard}, "said": said, "score": score})
                if said != "ask":
                    break
            file.write(json.dumps({"call": f"C{call}", "agent": "bot-3", "turns": turns}) + "\n")


def clinic(path: Path, *, patients: int = 900, seed: int = 3) -> None:
    """Visits to a clinic as a long CSV with missing values: three readings and a therapy.

    The protocol: insulin if glucose is 11 or more, tablets from 7.5 on, else diet; doctors deviate
    one time in eight. Benefit is what the patient reports at the next visit, from 0 to 10.
    """
    rng = random.Random(seed)
    lines = ["patient_id,visit,glucose,systolic,weight,therapy,benefit"]
    for patient in range(patients):
        severity, weight = rng.uniform(0, 3), rng.gauss(85, 12)
        for visit in range(1, rng.randint(5, 9)):
            glucose = rng.gauss(5.5 + 2.2 * severity, 0.8)
            systolic = rng.gauss(125 + 6 * severity, 9)
            therapy = "insulin" if glucose >= 11 else "tablets" if glucose >= 7.5 else "diet"
            if rng.random() < 1 / 8:
                therapy = rng.choice(["diet", "tablets", "insulin"])
            help_ = {"diet": 0.1, "tablets": 0.5, "insulin": 0.9}[therapy]
            burden = {"diet": 0.0, "tablets": 0.6, "insulin": 2.0}[therapy]
            severity = min(4.0, max(0.0, severity + rng.gauss(0.35 - help_, 0.3)))
            benefit = min(10.0, max(0.0, 9 - 2 * severity - burden + rng.gauss(0, 0.7)))
            cells = [f"{glucose:.1f}", f"{systolic:.0f}", f"{weight:.1f}"]
            cells = ["" if rng.random() < 0.03 else cell for cell in cells]
            lines.append(
                ",".join([f"{10_000 + patient}", str(visit), *cells, therapy, f"{benefit:.2f}"])
            )
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pumps(folder / "pumps.csv")
    calls(folder / "calls.jsonl")
    clinic(folder / "clinic.csv")
