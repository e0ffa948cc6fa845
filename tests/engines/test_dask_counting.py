"""Counting on a real Dask cluster: the same file as here, to the last byte."""

from __future__ import annotations

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumar as jm
from dask_cluster import cluster
from jumar.large import counting
from jumar.large.counting import count_logs
from jumar.large.files import save_counts
from jumar.pipeline.in_parts import improve_logs

pytest.importorskip("distributed", reason="needs dask: pip install 'jumar[cluster]'")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Dask closes its sockets late
]

OBSERVATIONS, ACTIONS = ("good", "worn", "bad"), ("keep", "fix")
LIKE = jm.Controller.uniform(OBSERVATIONS, ACTIONS, jm.window(2))
FILES, ROWS = 6, 100_000


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Episodes go on from one file to the next."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(1)
    n = FILES * ROWS
    z, a = rng.integers(0, 3, n), rng.integers(0, 2, n)
    table = pa.table(
        {
            "episode": np.arange(n) // 23,
            "step": np.arange(n) % 23,
            "observation": pa.array(OBSERVATIONS).take(pa.array(z)),
            "action": pa.array(ACTIONS).take(pa.array(a)),
            "reward": rng.normal(size=n) * 10.0 ** rng.integers(-9, 9, n),
        }
    )
    for i in range(FILES):
        piece = table.slice(i * ROWS, ROWS)
        pq.write_table(piece, folder / f"{i}.parquet", row_group_size=5_000)
    return folder


@pytest.fixture(scope="module")
def expected(logs, tmp_path_factory):
    return written(count_logs(logs, LIKE, ends="cut"), tmp_path_factory.mktemp("here"))


def written(counted, folder):
    save_counts(counted, folder / "counts.parquet")
    return (folder / "counts.parquet").read_bytes()


def test_the_same_file(logs, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "SHARD_ROWS", 25_000)
    with cluster(tmp_path / "cluster") as found:
        there = count_logs(logs, LIKE, ends="cut", engine="dask", scheduler=found.address)
        assert written(there, tmp_path) == expected
        asked = {"discount": 0.9, "ends": "cut"}
        here = improve_logs(logs, LIKE, **asked)
        there = improve_logs(logs, LIKE, **asked, engine="dask", scheduler=found.address)
        assert there.selection.to_dict() == here.selection.to_dict()
        assert there.controller == here.controller


def test_the_same_file_where_a_worker_is_killed(logs, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "SHARD_ROWS", 5_000)
    with cluster(tmp_path / "cluster") as found:
        killed = []

        def progress(done, whole):
            if not killed and done >= 20_000:
                killed.append(done)
                os.killpg(found.processes[1].pid, signal.SIGKILL)  # with all it has started

        there = count_logs(
            logs, LIKE, ends="cut", engine="dask", scheduler=found.address, progress=progress
        )
        assert killed
        assert killed[0] < FILES * ROWS // 2
        assert written(there, tmp_path) == expected
