"""Rows that lie anywhere, sorted on disk: the same counts, and nothing is left behind."""

from __future__ import annotations

import builtins
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.errors import LogError, ParameterError
from jumar.log.shards import batches, sorting
from jumar.tally import counting
from jumar.tally.counting import count_logs
from jumar.tally.files import save_counts
from jumar.tally.replay import count

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jumar[duckdb]'")

OBSERVATIONS, ACTIONS = ("good", "worn", "bad"), ("keep", "fix")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Where sorting takes place; empty afterwards, whatever happens."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def controller(memory=None):
    return jm.Controller.uniform(OBSERVATIONS, ACTIONS, memory or jm.window(1))


def a_table(seed, episodes=80, labels=str, step="step"):
    rng = np.random.default_rng(seed)
    rows = []
    for e in range(episodes):
        n = int(rng.integers(1, 30))
        for t in range(n):
            rows.append(
                {
                    "episode": labels(e),
                    "unused": "x" * 50,
                    step: t,
                    "observation": OBSERVATIONS[rng.integers(3)],
                    "action": ACTIONS[rng.integers(2)],
                    "reward": float(rng.normal() * 10.0 ** rng.integers(-6, 6)),
                    "terminated": t == n - 1 and e % 3 > 0,
                }
            )
    return pa.Table.from_pylist(rows)


def scattered(table, folder, kind="parquet", files=7, seed=1):
    """Shuffled and dealt out to files."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.num_rows)
    for i, rows in enumerate(np.array_split(order, files)):
        write(table.take(pa.array(rows)), folder / f"part-{i}.{kind}")
    return folder


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    else:
        mark = "\t" if path.suffix == ".tsv" else ","
        options = pyarrow.csv.WriteOptions(delimiter=mark)
        pyarrow.csv.write_csv(table, path, options)
    return path


def content(counted, path):
    """What was counted, to the last bit, but not where."""
    save_counts(counted, path)
    table = pq.read_table(path)
    return table.replace_schema_metadata(None), counted.facts


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv"])
@pytest.mark.parametrize("labels", [str, int, "day {:03d}".format])
def test_scattered_and_shuffled_rows_give_the_counts_of_the_sorted_ones(
    tmp_path, monkeypatch, kind, labels
):
    monkeypatch.setattr(batches, "BATCH_ROWS", 33)
    monkeypatch.setattr(counting, "SHARD_ROWS", 200)
    table = a_table(1, labels=labels)
    like = controller(jm.window(2))
    there = count_logs(write(table, tmp_path / f"sorted.{kind}"), like)
    here = count_logs(scattered(table, tmp_path / "logs", kind), like, sort=True, jobs=2)
    one, other = content(there, tmp_path / "a"), content(here, tmp_path / "b")
    assert one[0].equals(other[0])
    assert one[1] == other[1]
    assert [part.file for part in here.files.parts] == [
        f"{tmp_path}/logs/part-0.{kind} and 6 more files (sorted)"
    ]


def test_columns_that_differ_in_case_only(tmp_path):
    """DuckDB takes their names for the same."""
    table = a_table(2)
    there = count_logs(write(table, tmp_path / "a.parquet"), controller())
    named = {"observation": "State", "action": "STATE", "episode": "state"}
    odd = table.rename_columns([named.get(name, name) for name in table.column_names])
    logs = scattered(odd, tmp_path / "logs")
    here = count_logs(logs, controller(), sort=True, columns=named)
    assert content(here, tmp_path / "b")[0].equals(content(there, tmp_path / "a")[0])


def test_times_and_the_order_of_the_file_where_there_is_none(tmp_path):
    table = a_table(2)
    like = controller(jm.window(3))
    expected = content(count_logs(write(table, tmp_path / "a.parquet"), like), tmp_path / "a")
    moments = pa.compute.add(
        pa.scalar(1_700_000_000, pa.int64()), pa.compute.multiply(table["step"], 60)
    ).cast(pa.timestamp("s"))
    timed = table.rename_columns(["episode", "unused", "time", *table.column_names[3:]])
    timed = timed.set_column(2, "time", moments)
    here = count_logs(scattered(timed, tmp_path / "timed"), like, sort=True)
    assert content(here, tmp_path / "b")[0].equals(expected[0])
    here = count_logs(scattered(timed, tmp_path / "in-words", "csv"), like, sort=True)
    assert content(here, tmp_path / "b")[0].equals(expected[0])

    # episodes take turns, and only the place of a row says when: sorting is stable
    turns = table.sort_by("step").drop_columns(["step"])
    folder = tmp_path / "turns"
    folder.mkdir()
    for i in range(5):
        size = -(-turns.num_rows // 5)
        write(turns.slice(i * size, size), folder / f"{i}.parquet")
    here = count_logs(folder, like, sort=True)
    assert content(here, tmp_path / "b")[0].equals(expected[0])


def test_numbers_that_only_the_general_way_understands(tmp_path):
    table = a_table(3)
    like = controller()
    folder = tmp_path / "logs"
    folder.mkdir()
    rows = table.to_pylist()
    np.random.default_rng(1).shuffle(rows)
    whole = ["episode;step;observation;action;reward;terminated"]
    for row in rows:
        reward = f"{row['reward']:.3f}".replace(".", ",")
        flag = str(row["terminated"]).lower()
        whole.append(
            f"{row['episode']};{row['step']};{row['observation']};{row['action']};{reward};{flag}"
        )
    (tmp_path / "whole.csv").write_text("\n".join(whole) + "\n")
    half = len(whole) // 2
    (folder / "1.csv").write_text("\n".join(whole[:half]) + "\n")
    (folder / "2.csv").write_text("\n".join([whole[0], *whole[half:]]) + "\n")
    names = {"observations": OBSERVATIONS, "actions": ACTIONS}
    log = jm.read_logs(tmp_path / "whole.csv", decimal=",", **names)
    found = count_logs(folder, like, sort=True, decimal=",")
    assert found.facts.steps == log.n_steps
    assert found.facts.episodes == len(log)
    expected = count(log, jm.window(1).on(3, 2))
    assert (found.counts.visits == expected.visits).all()
    assert found.counts.reward_sum == pytest.approx(expected.reward_sum, rel=1e-9)


@pytest.mark.slow
def test_what_does_not_fit_is_spilled(tmp_path, monkeypatch):
    monkeypatch.setattr(sorting, "MEMORY", "80MB")
    monkeypatch.setattr(sorting, "MOST_THREADS", 1)
    monkeypatch.setattr(sorting, "GROUP_ROWS", 1 << 16)
    n = 3_000_000
    rng = np.random.default_rng(4)
    order = rng.permutation(n)
    table = pa.table(
        {
            "episode": np.arange(n)[order] // 20,
            "step": np.arange(n)[order] % 20,
            "observation": pa.array(OBSERVATIONS).take(pa.array(order % 3)),
            "action": pa.array(ACTIONS).take(pa.array(order % 2)),
            "reward": rng.normal(size=n),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    found = count_logs(tmp_path / "log.parquet", controller(), ends="cut", sort=True)
    assert (found.facts.steps, found.facts.episodes) == (n, n // 20)
    assert found.facts.lengths_cut.shortest == found.facts.lengths_cut.longest == 20


# ---- what can go wrong ---------------------------------------------------------------------------


def test_without_duckdb_the_extra_is_named(tmp_path, monkeypatch):
    folder = scattered(a_table(1, 5), tmp_path / "logs")
    real = builtins.__import__

    def refuse(name, *more, **others):
        if name == "duckdb":
            raise ImportError("No module named 'duckdb'")
        return real(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ParameterError, match=r"needs DuckDB.*pip install 'jumar\[duckdb\]'"):
        count_logs(folder, controller(), sort=True)


def test_a_truncated_file_is_named(tmp_path):
    folder = scattered(a_table(1), tmp_path / "logs")
    bad = folder / "part-3.parquet"
    raw = bytearray(bad.read_bytes())
    raw[4:400] = b"\xff" * 396  # the first pages; its end is whole
    bad.write_bytes(raw)
    with pytest.raises(LogError, match=r"part-3\.parquet: cannot be read as Parquet"):
        count_logs(folder, controller(), sort=True)


def test_errors_of_duckdb_name_the_log(tmp_path, monkeypatch):
    folder = scattered(a_table(1), tmp_path / "logs")
    monkeypatch.setattr(sorting, "GROUP_ROWS", "'many'")
    with pytest.raises(LogError, match=r"part-0\.parquet and 6 more files \(sorted\): cannot be"):
        count_logs(folder, controller(), sort=True)


def test_a_wrong_row_and_a_step_that_occurs_twice(tmp_path):
    table = a_table(1)
    rows = table.to_pylist()
    rows[100]["observation"] = "melted"
    folder = scattered(pa.Table.from_pylist(rows, table.schema), tmp_path / "logs")
    told = rf"\(sorted\), row \d+ \(episode {rows[100]['episode']}\).*'melted'"
    with pytest.raises(LogError, match=told):
        count_logs(folder, controller(), sort=True)
    rows = table.to_pylist()
    rows[100]["step"] = rows[101]["step"]
    folder = scattered(pa.Table.from_pylist(rows, table.schema), tmp_path / "twice")
    with pytest.raises(LogError, match=r"the step is the same as in row"):
        count_logs(folder, controller(), sort=True)


def test_each_file_does_not_go_with_it(tmp_path):
    folder = scattered(a_table(1), tmp_path / "logs")
    with pytest.raises(ParameterError, match=r"--each-file.*used again"):
        count_logs(folder, controller(), sort=True, each_file=True)


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    folder = scattered(a_table(1), tmp_path / "logs")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sorting, "_cast", interrupted)
    with pytest.raises(KeyboardInterrupt):
        count_logs(folder, controller(), sort=True)
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(counting, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        count_logs(folder, controller(), sort=True)


def test_only_needed_columns_are_written(tmp_path, monkeypatch):
    seen = []
    original = sorting._renamed

    def looked(made, *more):
        seen.append(pq.read_schema(Path(made.files[0].name)).names)
        return original(made, *more)

    monkeypatch.setattr(sorting, "_renamed", looked)
    count_logs(scattered(a_table(1), tmp_path / "logs"), controller(), sort=True)
    assert [sorted(names) for names in seen] == [
        ["action", "episode", "observation", "reward", "step", "terminated"]
    ]
