"""Counting on a real Dask cluster: the same file as here, to the last byte."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import jumar as jm
from dask_cluster import cluster
from jumar.tally import counting
from jumar.tally.counting import count_logs
from jumar.tally.files import load_counts, save_counts
from large_logs import improve_logs
from object_store import quoted, serving

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
        dataset = ds.dataset(logs)
        there = count_logs(dataset, LIKE, ends="cut", engine="dask", scheduler=found.address)
        assert written(there, tmp_path) == expected
        asked = {"discount": 0.9, "ends": "cut"}
        here = improve_logs(logs, LIKE, **asked)
        there = improve_logs(logs, LIKE, **asked, engine="dask", scheduler=found.address)
        assert there.selection.to_dict() == here.selection.to_dict()
        assert there.controller == here.controller


def test_workers_read_from_a_store_with_the_credentials_of_an_address(
    logs, expected, tmp_path, monkeypatch
):
    """Those who work know neither the address nor the secret before they are told."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 25_000)
    with serving() as store:
        store.upload("logs", {path.name: path.read_bytes() for path in sorted(logs.iterdir())})
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        with store.only_for_one() as (key, secret), cluster(tmp_path / "cluster") as found:
            address = f"s3://{key}:{quoted(secret)}@logs{store}"
            there = count_logs(address, LIKE, ends="cut", engine="dask", scheduler=found.address)
            here = count_logs(address, LIKE, ends="cut")
            assert written(there, tmp_path) == written(here, tmp_path)
            assert there.facts == load_counts(put(expected, tmp_path)).facts
        for file in (tmp_path / "cluster").rglob("*"):
            assert not file.is_file() or secret.encode() not in file.read_bytes()


def put(raw, folder):
    (folder / "here.parquet").write_bytes(raw)
    return folder / "here.parquet"
