"""Episodes that go on from one file to the next: in order, and with one cluster."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import jumar as jm
from jumar.core.errors import LogError
from jumar.log.shards import batches
from jumar.tally import counting
from jumar.tally.counting import count_logs
from large_logs import improve_logs
from log.test_stores import save
from tally.test_counting import a_table, controller, written
from tally.test_counts_files import the_same

KINDS = ("csv", "tsv", "parquet", "arrow")


def steps(numbers, kind=None):
    """An episode with these steps."""
    n = len(numbers)
    return pa.table(
        {
            "episode": pa.array([7] * n),
            "step": pa.array(numbers, kind),
            "observation": ["good"] * n,
            "action": ["keep"] * n,
            "reward": [1.0] * n,
        }
    )


def put(table, path):
    if path.suffix == ".tsv":
        options = pa.csv.WriteOptions(delimiter="\t")
        pa.csv.write_csv(table, path, options)
        return
    written(table, path)


# ---- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shard_rows", [1, 10**9])
def test_order_is_checked_between_files(tmp_path, monkeypatch, kind, shard_rows):
    monkeypatch.setattr(counting, "SHARD_ROWS", shard_rows)
    put(steps([0, 1]), tmp_path / f"a.{kind}")
    put(steps([2, 3]), tmp_path / f"b.{kind}")
    facts = count_logs(tmp_path, controller(), ends="cut").facts
    assert (facts.episodes, facts.steps) == (1, 4)
    for first, then in (([2, 3], [0, 1]), ([2, 3], [1, 4]), ([-2, 3], [-1, 5])):
        put(steps(first), tmp_path / f"a.{kind}")
        put(steps(then), tmp_path / f"b.{kind}")
        row = 2 if kind in ("csv", "tsv") else 1  # in text the header is row 1
        place = rf"b\.{kind}, row {row}: the rows of this episode are not in order.*--sort"
        with pytest.raises(LogError, match=place):
            count_logs(tmp_path, controller(), ends="cut")


@pytest.mark.parametrize(("one", "two"), [*itertools.pairwise([*KINDS, "csv"])])
def test_an_episode_in_files_of_two_kinds_is_refused_with_a_remedy(tmp_path, one, two):
    """Their steps may be numbers in one and times in the other."""
    put(steps([0, 1]), tmp_path / f"a.{one}")
    put(steps([2, 3]), tmp_path / f"b.{two}")
    with pytest.raises(LogError, match=r"goes on in .*Put all rows of an episode into one file"):
        count_logs(tmp_path, controller(), ends="cut")


def test_arrow_files_must_be_of_one_type(tmp_path):
    put(steps([0, 1]), tmp_path / "a.arrow")
    put(steps([2.0, 3.0]), tmp_path / "b.arrow")
    with pytest.raises(LogError, match=r"b\.arrow, column 'step': is of type double, but in .*a\."):
        count_logs(tmp_path, controller(), ends="cut")
    put(steps([2, 3]).drop_columns("reward"), tmp_path / "b.arrow")
    with pytest.raises(LogError, match=r"b\.arrow: has no column reward"):
        count_logs(tmp_path, controller(), ends="cut")


@pytest.mark.parametrize("shard_rows", [1, 10**9])
def test_a_log_in_files_of_all_kinds(tmp_path, monkeypatch, shard_rows):
    monkeypatch.setattr(counting, "SHARD_ROWS", shard_rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", 11)
    table = a_table(21)
    save(table, tmp_path / "whole.parquet")
    whole = count_logs(tmp_path / "whole.parquet", controller(jm.window(2)))
    (tmp_path / "logs").mkdir()
    labels = np.array(table["episode"])
    begins = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    cuts = [*begins[::7].tolist(), len(table)]
    for i, (first, last) in enumerate(itertools.pairwise(cuts)):
        put(table.slice(first, last - first), tmp_path / f"logs/{i:02d}.{KINDS[i % 4]}")
    the_same(count_logs(tmp_path / "logs", controller(jm.window(2)), jobs=2), whole)


# ---- clusters ------------------------------------------------------------------------------------


def clustered(bad=None, column="cluster"):
    """A log with clusters; row `bad` names another one than its episode."""
    table = a_table(21)
    names = [f"s{label[-1]}" for label in table["episode"].to_pylist()]
    if bad is not None:
        names[bad] = "elsewhere"
    return table.append_column(column, pa.array(names))


def in_the_middle(table, after=100):
    """A row that is neither the first nor the second one of its episode."""
    labels = table["episode"].to_pylist()
    return next(i for i in range(after, len(labels)) if labels[i] == labels[i - 2])


@pytest.mark.parametrize("column", ["cluster", "behavior"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "ndjson"])
@pytest.mark.parametrize("batch", [3, 1 << 17])
def test_two_clusters_of_an_episode_as_in_memory(tmp_path, monkeypatch, column, kind, batch):
    monkeypatch.setattr(batches, "BATCH_ROWS", batch)
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    bad = in_the_middle(a_table(21))
    path = written(clustered(bad, column), tmp_path / f"log.{kind}")
    with pytest.raises(LogError) as in_memory:
        jm.read_logs(path)
    with pytest.raises(LogError) as streamed:
        count_logs(path, controller())
    assert f"the {column} is 'elsewhere', but 's" in str(in_memory.value)
    assert str(streamed.value) == str(in_memory.value)


def test_a_folder_that_tells_another_cluster(tmp_path):
    table = a_table(21)
    at = in_the_middle(table)
    for site, piece in (("a", table.slice(0, at)), ("b", table.slice(at))):
        save(piece, tmp_path / f"site={site}/log.parquet")
    asked = {"columns": {"cluster": "site"}}
    with pytest.raises(LogError, match=r"site=a/log\.parquet: its last .* goes on in .*site=b/log"):
        count_logs(tmp_path, controller(), **asked)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_a_cluster_may_stand_in_any_row_of_an_episode(tmp_path, kind):
    """As in memory: an empty cell is filled by another one; and who is held out does not change."""
    full = clustered()
    labels, names = (full[c].to_pylist() for c in ("episode", "cluster"))
    last = [i + 1 == len(labels) or labels[i + 1] != labels[i] for i in range(len(labels))]
    sparse = pa.array([name if here else None for name, here in zip(names, last, strict=True)])
    sparse = full.set_column(full.column_names.index("cluster"), "cluster", sparse)
    found = [
        improve_logs(written(table, tmp_path / f"{name}.{kind}"), controller(), discount=0.9)
        for name, table in (("full", full), ("sparse", sparse))
    ]
    assert found[0].selection.to_dict() == found[1].selection.to_dict()
    nobody = full.set_column(
        full.column_names.index("cluster"), "cluster", pa.array([None] * len(full), pa.string())
    )
    with pytest.raises(LogError, match="no row of the episode names its cluster"):
        count_logs(written(nobody, tmp_path / f"nobody.{kind}"), controller())


def test_each_file_has_clusters_of_its_own(tmp_path):
    """An episode of the same label in another file is another one."""
    for name in ("a", "b"):
        site = pa.array([name] * 3)
        put(steps([0, 1, 2]).append_column("cluster", site), tmp_path / f"{name}.parquet")
    found = count_logs(tmp_path, controller(), each_file=True, ends="cut")
    assert found.facts.episodes == 2
