"""Shared by the benchmarks: warm-up, best of several in CPU time, one JSON line."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def cpu_seconds(job: Callable[[], Any], repeats: int = 7) -> dict[str, float]:
    """Best and median CPU time of a job, after one run that is not counted."""
    job()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        job()
        times.append(time.process_time() - begin)
    return {"best_s": min(times), "median_s": sorted(times)[repeats // 2]}


def rows_of(out: Path | None) -> list[dict[str, Any]]:
    """What a run that was stopped has left, one JSON line each."""
    if out is None or not out.exists():
        return []
    return [json.loads(line) for line in out.read_text().splitlines()]


def add_row(out: Path | None, row: Mapping[str, Any]) -> None:
    """One more line."""
    if out is not None:
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


def upper_limit(found: int, of: int) -> float:
    """Of a share, one-sided, 95 % (Clopper and Pearson)."""
    from scipy.stats import beta

    return 1.0 if found == of else float(beta.ppf(0.95, found + 1, of - found))


def report(name: str, limits: dict[str, float], **figures: Any) -> None:
    """Print one JSON line: what was measured, what was asked for, whether it holds, on what."""
    line = {
        "benchmark": name,
        **{key: _short(value) for key, value in figures.items()},
        "limits": limits,
        "holds": all(figures[key] <= limit for key, limit in limits.items()),
        "machine": _machine(),
    }
    print(json.dumps(line), flush=True)


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _machine() -> str:
    try:
        cpu = next(
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        )
    except (OSError, StopIteration):
        cpu = platform.processor() or "unknown"
    return f"{cpu}, Python {platform.python_version()}"
