"""Ten million rows from a file to an improved controller: time and peak memory, CSV and Parquet.

Each format is measured in a process of its own, since a peak never goes down again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import jumar as jm
from common import report
from jumar.core.randomness import random_stream

ROWS = 10_000_000
LENGTH = 20  # steps of an episode
OBSERVATIONS = ("good", "fair", "worn", "bad", "broken", "unknown")
ACTIONS = ("keep", "inspect", "repair")
LIMITS = {"csv": 60.0, "parquet": 20.0}


def write(folder: Path) -> None:
    """A log whose symbols come at random."""
    import pyarrow.csv
    import pyarrow.parquet

    rng = random_stream(1, "data")
    step = np.arange(ROWS) % LENGTH

    def names(alphabet: tuple[str, ...]) -> pa.DictionaryArray:
        code = rng.integers(0, len(alphabet), ROWS, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(code, list(alphabet))

    table = pa.table(
        {
            "episode": np.arange(ROWS) // LENGTH,
            "step": step,
            "observation": names(OBSERVATIONS),
            "action": names(ACTIONS),
            "reward": np.round(rng.normal(0, 10, ROWS), 2),
            "terminated": step == LENGTH - 1,
        }
    )
    pyarrow.csv.write_csv(table, folder / "log.csv")
    pyarrow.parquet.write_table(table, folder / "log.parquet")


def measure(path: str) -> None:
    """Read, count and improve; print how long each took."""
    begin = time.perf_counter()
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    read = time.perf_counter()
    counts = jm.count(log, jm.window(2))
    counted = time.perf_counter()
    jm.spibb(counts.mle(0.95), jm.Controller.uniform(OBSERVATIONS, ACTIONS), n_wedge=20)
    end = time.perf_counter()
    figures = {
        "rows": log.n_steps,
        "read_s": read - begin,
        "count_s": counted - read,
        "improve_s": end - counted,
        "total_s": end - begin,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    print(json.dumps(figures))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # written by another process, whose peak would otherwise be inherited
        subprocess.run([sys.executable, __file__, "write", folder], check=True)
        for ending, limit in LIMITS.items():
            path = Path(folder, f"log.{ending}")
            run = subprocess.run(
                [sys.executable, __file__, "measure", str(path)],
                check=True,
                capture_output=True,
                text=True,
            )
            report(
                f"{ROWS:,} rows of {ending}, window 2",
                {"total_s": limit, "peak_gb": 2.0},
                megabytes=path.stat().st_size / 1e6,
                **json.loads(run.stdout),
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main()
