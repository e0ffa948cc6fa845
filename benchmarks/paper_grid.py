"""The whole grid of the paper, every policy evaluated exactly; how cost grows with a data set."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from dataclasses import replace

from common import report
from jumar.lab.study.datasets import prepare, run_dataset
from jumar.lab.study.runner import run_study
from jumar.lab.study.spec import load_study

PUBLIC_CODE_CPU_HOURS = 198  # an estimate for the public research code on the same grid


def main() -> None:
    spec = load_study("paper")
    with tempfile.TemporaryDirectory() as folder:
        run_study(replace(spec, datasets=1), f"{folder}/warm")
        cpu, wall = time.process_time(), time.perf_counter()
        run_study(spec, f"{folder}/grid", jobs=os.cpu_count() or 1)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    report(
        "paper grid",
        {"cpu_s": 60.0, "peak_gb": 2.0},
        policies=spec.n_policies,
        cpu_s=cpu,
        wall_s=wall,
        policies_per_cpu_s=round(spec.n_policies / cpu),
        times_faster_than_public_code=round(PUBLIC_CODE_CPU_HOURS * 3600 / cpu),
        peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    )
    growth()


def growth() -> None:
    """CPU time of one data set of ten times the size, relative to ten times the time."""
    spec = replace(load_study("paper").only(("cheese_maze:2",)), figures=())
    times = []
    for size in (20_000, 200_000):
        one = replace(spec, sizes=(size,))
        prepared = prepare(one, one.behaviors[0])
        run_dataset(one, prepared, 0)
        begin = time.process_time()
        for number in range(3):
            run_dataset(one, prepared, number)
        times.append((time.process_time() - begin) / 3)
    report(
        "growth with the size of a data set",
        {"ten_times_the_size_over_ten_times_the_cost": 1.3},
        s_20_000_episodes=times[0],
        s_200_000_episodes=times[1],
        ten_times_the_size_over_ten_times_the_cost=times[1] / times[0] / 10,
    )


if __name__ == "__main__":
    main()
