"""Run every benchmark, each in a process of its own; one JSON line each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_BENCHMARKS = {
    "run.py",
    "common.py",
    "false_alarms.py",
    "hard_cases.py",
    "learned_memory.py",
    "objectives.py",
    "same_numbers.py",
    "tempted.py",
}


def main() -> None:
    for script in sorted(HERE.glob("*.py")):
        if script.name not in NOT_BENCHMARKS:
            subprocess.run([sys.executable, str(script)], check=True)


if __name__ == "__main__":
    main()
