"""Wall time of whole commands: `jumar --help`, a warm `jumar improve` of 10,000 episodes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import report

JUMAR = str(Path(sys.executable).with_name("jumar"))


def wall_seconds(*arguments: str, repeats: int = 5) -> float:
    """Median over some runs, the first not counted."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        subprocess.run([JUMAR, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return sorted(times[1:])[repeats // 2]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        behavior, log = f"{folder}/behavior.json", f"{folder}/log.parquet"
        run = [JUMAR, "train", "tiger", "-o", behavior]
        subprocess.run(run, check=True, capture_output=True)
        run = [JUMAR, "simulate", "tiger", "--policy", behavior, "--episodes", "10000", "-o", log]
        subprocess.run(run, check=True, capture_output=True)
        improve = [
            "improve",
            log,
            "--policy",
            behavior,
            "--discount",
            "0.95",
            "-o",
            f"{folder}/out",
        ]
        report(
            "command line, wall time",
            {"help_s": 0.3, "improve_s": 3.0},
            help_s=wall_seconds("--help"),
            improve_s=wall_seconds(*improve),
        )


if __name__ == "__main__":
    main()
