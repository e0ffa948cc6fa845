"""Brackets of the best value: do they hold what is known, and how long until they are narrow?

    python benchmarks/optimum.py              # one JSON line for each certified bracket
    python benchmarks/optimum.py --hallway    # also five minutes of hallway

Known values are those of others' solvers or of closed forms; see `docs/optimum.md`. Model files are
looked for beside the project (../shared/data/pomdp), or where JUMAR_DATA says; without them, or
without a reader for them, only models of the registry are tried.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import jumar as jm
from common import report
from jumar.core.errors import JumarError
from jumar.lab.truth.pomdp import Pomdp

DATA = Path(
    os.environ.get("JUMAR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"), "pomdp"
)
# model, what is known of its best value, relative gap to reach, seconds for it
KNOWN = [
    ("tiger", (5.0212519209, 5.0212519210), 1e-3, 60),
    ("voicemail", (1.5164184502, 1.5164184504), 1e-3, 60),
    ("cheese_maze", (0.8152996749, 0.8152996751), 1e-3, 60),
    ("sumatran_tiger", (1405.28, 1405.30), 1e-3, 60),
    ("bridge_repair", (-4603.5, -4602.3), 1e-3, 60),
    ("cassandra/tiger.95.POMDP", (19.371, 19.372), 1e-3, 60),
    ("cassandra/4x3.95.POMDP", (1.889, 1.899), 1e-3, 60),
    ("cassandra/shuttle.95.POMDP", (32.88, 32.89), 1e-3, 60),
]
HALLWAY = ("paynt/hallway.pomdp", (0.9, 1.2), 0.05, 300)


def model_of(name: str) -> Pomdp | None:
    if name in jm.models.MODELS:
        return jm.models.build(name)
    try:
        return jm.models.build(str(DATA / name)) if (DATA / name).exists() else None
    except JumarError:
        return None


def main() -> None:
    jm.optimum(jm.models.tiger(), gap=0.1)  # compile
    for name, (low, high), gap, seconds in [
        *KNOWN,
        *([HALLWAY] if "--hallway" in sys.argv else []),
    ]:
        pomdp = model_of(name)
        if pomdp is None:
            continue
        begin = time.process_time()
        best = jm.optimum(replace(pomdp, name=name), seconds=seconds, gap=gap)
        report(
            f"bracket of the best value, {name}",
            {"gap": gap, "cpu_s": float(seconds), "misses_known_by": 0.0},
            states=len(pomdp.states),
            actions=len(pomdp.actions),
            observations=len(pomdp.observations),
            bracket=[best.lower, best.upper],
            gap=best.gap,
            seconds=best.seconds,
            cpu_s=time.process_time() - begin,
            backups=best.backups,
            stopped=best.stopped,
            known=[low, high],
            misses_known_by=max(0.0, low - best.upper, best.lower - high),
        )


if __name__ == "__main__":
    main()
