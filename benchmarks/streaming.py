"""Logs that are counted where they lie: CPU seconds beside Polars, DuckDB and bare decoding, peak
memory, growth with rows and with windows, and the whole job beside one pass of counting.

    python benchmarks/streaming.py [--full] [NAME ...]

Without --full ten million rows at most; with it 50 and 100 million. Names choose some of: parquet,
csv, growth, windows, improve, cluster. CPU seconds are those of all threads. What is compared takes
turns in one process, after one run that is not counted, and the best turn counts: other work
hurts all alike. Peaks are those of processes of their own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import jumar as jm
from common import report
from jumar.tally.counting import count_logs

LENGTH = 20  # steps of an episode
AT_ONCE = 1_000_000  # rows that are made, and in a row group
OBSERVATIONS = ("good", "fair", "worn", "bad", "broken", "unknown")
ACTIONS = ("keep", "inspect", "repair")
COLUMNS = ["episode", "step", "observation", "action", "reward", "terminated"]
MANY = tuple(f"o{i}" for i in range(50))
MILLION = 1_000_000
TURNS = 3


# ---- logs ---------------------------------------------------------------------------------------


def write_random(path: str, rows: int, observations: tuple[str, ...] = OBSERVATIONS) -> None:
    """A log whose symbols come at random; CSV or Parquet, by its name."""
    rng = np.random.default_rng(1)
    writer: Any = None

    def names(alphabet: tuple[str, ...], n: int) -> pa.DictionaryArray:
        code = rng.integers(0, len(alphabet), n, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(code, list(alphabet))

    for first in range(0, rows, AT_ONCE):
        i = np.arange(first, min(first + AT_ONCE, rows))
        step = i % LENGTH
        table = pa.table(
            {
                "episode": i // LENGTH,
                "step": step,
                "observation": names(observations, len(i)),
                "action": names(ACTIONS, len(i)),
                "reward": np.round(rng.normal(0, 10, len(i)), 2),
                "terminated": step == LENGTH - 1,
            }
        )
        if writer is None:
            make = pyarrow.csv.CSVWriter if path.endswith("csv") else pq.ParquetWriter
            writer = make(path, table.schema)
        writer.write_table(table)
    writer.close()


def maze_behavior() -> jm.Controller:
    maze = jm.models.cheese_maze()
    return jm.Controller.uniform(maze.observations, maze.actions)


def write_maze(path: str, rows: int) -> None:
    """CheeseMaze under a behavior that acts at random."""
    maze, behavior = jm.models.cheese_maze(), maze_behavior()
    writer, done, episodes, seed = None, 0, 0, 0
    while done < rows:
        log = jm.simulate(maze, behavior, episodes=20_000, seed=seed)
        n = log.n_steps
        ended = np.zeros(n, np.bool_)
        ended[log.last] = log.terminated

        def names(codes: np.ndarray, alphabet: tuple[str, ...]) -> pa.DictionaryArray:
            return pa.DictionaryArray.from_arrays(codes.astype(np.int32), list(alphabet))

        table = pa.table(
            {
                "episode": np.repeat(np.arange(len(log)), log.lengths) + episodes,
                "step": np.arange(n) - np.repeat(log.start[:-1], log.lengths),
                "observation": names(log.observation, log.observations),
                "action": names(log.action, log.actions),
                "reward": log.reward,
                "terminated": ended,
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        done, episodes, seed = done + n, episodes + len(log), seed + 1
    assert writer is not None
    writer.close()


# ---- what is compared ---------------------------------------------------------------------------


def hand_written() -> jm.memory.NamedNodes:
    """Was there a repair since the last bad sight? 4 nodes."""
    to = np.zeros((4, len(OBSERVATIONS), len(ACTIONS)), np.int64)
    to[:] = np.arange(4)[:, None, None]
    to[:, 3:5, :] = 1
    to[1, :, 1] = 2
    to[:, :, 2] = 3
    return jm.memory.NamedNodes(("fine", "worry", "looked", "repaired"), to)


def ours(path: str, memory: Any, jobs: int = 1) -> Any:
    like = jm.Controller.uniform(OBSERVATIONS, ACTIONS)
    return count_logs(path, like, memory=memory, jobs=jobs)


def bare(path: str) -> int:
    """The same columns, decoded and thrown away."""
    file = pq.ParquetFile(path, read_dictionary=["observation", "action"])
    return sum(
        batch.num_rows for batch in file.iter_batches(1 << 16, columns=COLUMNS, use_threads=False)
    )


def polars_shifts(path: str) -> int:
    """The file is sorted: shifting and comparing is cheaper than a window function."""
    import polars as pl

    e, z = pl.col("episode"), pl.col("observation")
    return (
        pl.scan_parquet(path)
        .with_columns(
            before=pl.when(e == e.shift(1)).then(z.shift(1)),
            after=pl.when(e == e.shift(-1)).then(z.shift(-1)),
        )
        .group_by("before", "observation", "action", "after")
        .agg(pl.len(), pl.col("reward").sum(), pl.col("terminated").sum())
        .collect()
        .height
    )


def polars_less(path: str) -> int:
    """Not the same: what follows is not counted."""
    import polars as pl

    e, z = pl.col("episode"), pl.col("observation")
    return (
        pl.scan_parquet(path)
        .with_columns(before=pl.when(e == e.shift(1)).then(z.shift(1)))
        .group_by("before", "observation", "action")
        .agg(pl.len(), pl.col("reward").sum(), pl.col("terminated").sum())
        .collect()
        .height
    )


def duck(path: str) -> int:
    import duckdb

    rows = duckdb.sql(
        f"""SELECT before, observation, action, after, count(*), sum(reward), sum(terminated::int)
        FROM (SELECT *, lag(observation) OVER w AS before, lead(observation) OVER w AS after
              FROM read_parquet('{path}') WINDOW w AS (PARTITION BY episode ORDER BY step))
        GROUP BY ALL"""
    ).fetchall()
    return len(rows)


def in_turns(jobs: dict[str, Callable[[], Any]], turns: int = TURNS) -> dict[str, float]:
    """The best CPU seconds of each job. Each runs twice in a row: what the one before left in
    caches and allocators is not its fault."""
    best = {}
    for turn in range(turns + 1):
        for name, job in jobs.items():
            for _ in range(2):
                begin = time.process_time()
                job()
                if turn:
                    best[name] = min(best.get(name, np.inf), time.process_time() - begin)
    return best


def load() -> float:
    """Of the machine: what else was running."""
    return os.getloadavg()[0]


def apart(*arguments: Any) -> Any:
    """What this script says when it is run with these words, in a process of its own."""
    command = [sys.executable, __file__, "--apart", *map(str, arguments)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout) if run.stdout else None


def peak_mb() -> float:
    """Of this program alone: what `getrusage` says begins with the peak of whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return float(lines["VmHWM"].split()[0]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


# ---- the benchmarks -----------------------------------------------------------------------------


def parquet(folder: Path, full: bool) -> None:
    rows, path = 50 * MILLION if full else 10 * MILLION, str(folder / "log.parquet")
    apart("write_random", path, rows)
    jobs: dict[str, Callable[[], Any]] = {
        "window_2": lambda: ours(path, jm.window(2)),
        "table": lambda: ours(path, hand_written()),
        "bare": lambda: bare(path),
    }
    if find_spec("polars"):
        jobs |= {"polars": lambda: polars_shifts(path), "polars_less": lambda: polars_less(path)}
    if find_spec("duckdb"):
        jobs["duckdb"] = lambda: duck(path)
    found = ours(path, jm.window(2))
    groups = len(found.pair) + int((found.ends > 0).sum())
    for other in ("polars", "duckdb"):
        if other in jobs:
            assert jobs[other]() == groups, "the queries do not count the same"
    seconds = in_turns(jobs, 2 if full else TURNS)
    for mine in ("window_2", "table"):
        limits, figures = {"of_bare": 2.5}, {"of_bare": seconds[mine] / seconds["bare"]}
        for other in ("polars", "duckdb"):
            if other in seconds:
                limits[f"of_{other}"] = 0.65
                figures[f"of_{other}"] = seconds[mine] / seconds[other]
        told = {f"{name}_cpu_s": value for name, value in seconds.items()}
        report(f"{rows:,} rows of Parquet, {mine}", limits, **figures, **told, load=load())


def csv(folder: Path, full: bool) -> None:
    rows, path = 10 * MILLION if full else 2 * MILLION, str(folder / "log.csv")
    apart("write_random", path, rows)
    word, whole = pa.dictionary(pa.int32(), pa.string()), pa.int64()
    types = dict(zip(COLUMNS, (whole, whole, word, word, pa.float64(), pa.bool_()), strict=True))

    def parse() -> None:
        options = pyarrow.csv.ConvertOptions(column_types=types, include_columns=COLUMNS)
        once = pyarrow.csv.ReadOptions(use_threads=False)
        with pyarrow.csv.open_csv(path, once, convert_options=options) as batches:
            for _ in batches:
                pass

    seconds = in_turns({"window_2": lambda: ours(path, jm.window(2)), "parse": parse})
    report(
        f"{rows:,} rows of CSV, window 2",
        {"of_parsing": 1.5},
        of_parsing=seconds["window_2"] / seconds["parse"],
        **{f"{name}_cpu_s": value for name, value in seconds.items()},
        load=load(),
    )


def growth(folder: Path, full: bool) -> None:
    """Rows: CPU seconds for each, and the peak."""
    sizes = [MILLION, 10 * MILLION, *([100 * MILLION] if full else [])]
    each, peaks = [], []
    for rows in sizes:
        path = folder / f"rows-{rows}.parquet"
        apart("write_random", path, rows)
        took = apart("count_random", path, max(2, 3 * 10 * MILLION // rows))
        each.append(took["cpu_s"] / rows * 1e9)
        peaks.append(took["peak_mb"])
        path.unlink()
    report(
        f"{sizes[0]:,} to {sizes[-1]:,} rows of Parquet, window 2",
        {"largest_change": 0.1, "peak_gb": 1.0, "peak_change": 0.1},
        rows=sizes,
        cpu_ns_per_row=[round(e, 1) for e in each],
        peaks_mb=[round(p) for p in peaks],
        # the start of a run is a larger part of a short one: only growth is at fault
        largest_change=max(later / before - 1 for before, later in pairwise(each)),
        peak_gb=max(peaks) / 1e3,
        peak_change=abs(peaks[-1] / peaks[-2] - 1),
        load=load(),
    )


def count_random(path: str, turns: str) -> dict[str, float]:
    """CPU seconds of one thread, which no other one slows down; the peak of two."""
    seconds = in_turns({"count": lambda: ours(path, jm.window(2))}, int(turns))
    ours(path, jm.window(2), jobs=2)
    return {"cpu_s": seconds["count"], "peak_mb": peak_mb()}


def windows(folder: Path, full: bool) -> None:
    """Long windows cost as much as there are histories to tell apart."""
    rows = 2 * MILLION if full else 500_000
    logs = {"maze": folder / "windows-maze.parquet", "many": folder / "windows-many.parquet"}
    apart("write_maze", logs["maze"], rows)
    apart("write_many", logs["many"], rows)
    for name, path in logs.items():
        lines = apart("count_windows", name, path, 1 if full else 0)
        report(
            f"windows 1 to 12, {'CheeseMaze' if name == 'maze' else '50 observations at random'}",
            # from one window to the next, as a part of how histories grow; with room for noise
            {"time_beside_histories": 1.25, "memory_beside_histories": 1.25},
            rows=pq.ParquetFile(path).metadata.num_rows,
            windows=[line["window"] for line in lines],
            histories=[line["histories"] for line in lines],
            cpu_s=[round(line["cpu_s"], 3) for line in lines],
            peaks_mb=[round(line["peak_mb"]) for line in lines],
            time_beside_histories=_steepest(lines, "cpu_s"),
            memory_beside_histories=_steepest(lines, "peak_mb"),
            load=load(),
        )


def _steepest(lines: list[dict[str, float]], name: str) -> float:
    """The largest growth of a figure from one window to the next, for that of histories."""
    return max((b[name] / a[name]) / (b["histories"] / a["histories"]) for a, b in pairwise(lines))


def count_windows(name: str, path: str, every: str) -> list[dict[str, float]]:
    """Peaks never go down; windows are tried from short to long, and so do not need to."""
    like = maze_behavior() if name == "maze" else jm.Controller.uniform(MANY, ACTIONS)
    lines = []
    for k in range(1, 13) if int(every) else (1, 2, 3, 4, 6, 8, 12):
        for _ in range(2):  # the first time something may have to be compiled
            begin = time.process_time()
            found = count_logs(path, like, memory=jm.window(k), jobs=1)
            seconds = time.process_time() - begin
        histories = len(found.states)
        lines.append({"window": k, "histories": histories, "cpu_s": seconds, "peak_mb": peak_mb()})
    return lines


def improve(folder: Path, full: bool) -> None:
    rows, path = 50 * MILLION if full else 5 * MILLION, folder / "maze.parquet"
    apart("write_maze", path, rows)
    took = apart("improve_maze", path)
    report(
        f"{pq.ParquetFile(path).metadata.num_rows:,} rows of CheeseMaze improved, proved gate",
        {"of_counting_wall": 3.0, "of_counting_cpu": 3.0, "peak_gb": 1.5},
        **took,
        of_counting_wall=took["improve_wall_s"] / took["count_wall_s"],
        of_counting_cpu=took["improve_cpu_s"] / took["count_cpu_s"],
        load=load(),
    )


def improve_maze(path: str) -> dict[str, float]:
    behavior, small = maze_behavior(), f"{path}.small.parquet"
    apart("write_maze", small, 100_000)
    jm.improve(small, behavior, discount=0.95)  # compiles
    figures: dict[str, float] = {}

    def timed(name: str, job: Callable[[], Any]) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        job()
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        for clock, seconds in took.items():
            key = f"{name}_{clock}_s"
            figures[key] = min(seconds, figures.get(key, math.inf))

    count_logs(path, behavior, memory=jm.window(2))
    for _ in range(TURNS):
        timed("count", lambda: count_logs(path, behavior, memory=jm.window(2)))
        timed("improve", lambda: jm.improve(path, behavior, discount=0.95))
    return {**figures, "peak_gb": peak_mb() / 1e3}


def cluster(folder: Path, full: bool) -> None:
    """Two workers of a Dask cluster beside two processes, each without its start: what a small log
    takes is taken off. The large one is many times the same file, so that the start is small."""
    if not find_spec("distributed"):
        return
    rows, times = (50 if full else 10) * MILLION, 10
    large, small = folder / "large", str(folder / "small.parquet")
    large.mkdir()
    apart("write_random", large / "0.parquet", rows)
    for i in range(1, times):
        (large / f"{i}.parquet").hardlink_to(large / "0.parquet")
    apart("write_random", small, AT_ONCE // 100)
    found = apart("count_on_engines", large, small)
    report(
        f"{rows * times:,} rows of Parquet, window 2, two workers",
        {"of_processes": 1.5, "differences": 0},
        **found,
        of_processes=found["dask_s"] / found["processes_s"],
        load=load(),
    )


def count_on_engines(large: str, small: str) -> dict[str, float]:
    from jumar.tally.files import save_counts

    like = jm.Controller.uniform(OBSERVATIONS, ACTIONS)
    seconds: dict[str, float] = {}
    files = {}
    python = str(Path(sys.executable).parent)
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}

    def timed(path: str, **engine: Any) -> tuple[float, Any]:
        begin = time.perf_counter()
        found = count_logs(path, like, memory=jm.window(2), each_file=True, jobs=2, **engine)
        return time.perf_counter() - begin, found

    with tempfile.TemporaryDirectory() as place:
        told = f"{place}/scheduler.json"
        words = ["--scheduler-file", told]
        started = [
            subprocess.Popen(
                [f"{python}/dask", *command, *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=alone,
                cwd=place,
            )
            for command in (
                ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
                *[["worker", "--nthreads", "1", "--no-dashboard"]] * 2,
            )
        ]
        try:
            while not Path(told).exists():
                time.sleep(0.1)
            time.sleep(5)  # workers are there
            address = json.loads(Path(told).read_text())["address"]
            engines: dict[str, dict[str, Any]] = {
                "processes": {"engine": "processes"},
                "dask": {"engine": "dask", "scheduler": address},
            }
            for _turn in range(TURNS):
                for name, engine in engines.items():
                    start, _ = timed(small, **engine)
                    all_of_it, counted = timed(large, **engine)
                    seconds[name] = min(seconds.get(name, np.inf), all_of_it - start)
                    save_counts(counted, f"{place}/{name}.parquet")
                    files[name] = Path(f"{place}/{name}.parquet").read_bytes()
        finally:
            for process in reversed(started):
                process.terminate()
    return {
        **{f"{name}_s": value for name, value in seconds.items()},
        "differences": int(files["dask"] != files["processes"]),
    }


BENCHMARKS = {job.__name__: job for job in (parquet, csv, growth, windows, improve, cluster)}


def _apart(name: str, *words: str) -> None:
    if name in ("write_random", "write_maze", "write_many"):
        path, rows = words
        if name == "write_maze":
            write_maze(path, int(rows))
        else:
            write_random(path, int(rows), MANY if name == "write_many" else OBSERVATIONS)
        return
    job: Any = {
        "count_random": count_random,
        "count_windows": count_windows,
        "improve_maze": improve_maze,
        "count_on_engines": count_on_engines,
    }[name]
    print(json.dumps(job(*words)))


def main() -> None:
    if sys.argv[1:2] == ["--apart"]:
        return _apart(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--full", action="store_true", help="50 and 100 million rows")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    asked = parser.parse_args()
    for name in asked.names or BENCHMARKS:
        with tempfile.TemporaryDirectory() as folder:
            BENCHMARKS[name](Path(folder), asked.full)
    return None


if __name__ == "__main__":
    main()
