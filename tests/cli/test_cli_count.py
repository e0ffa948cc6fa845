"""jumar count and merge on many files, some of them bad: nothing is lost or half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.tally import counting
from jumar.tally.counting import Counting

FILES = 20
OBSERVATIONS, ACTIONS = ("good", "worn", "bad"), ("keep", "fix")


def a_table(number, episodes=30):
    rng = np.random.default_rng(number)
    n = episodes * 8
    return pa.table(
        {
            "episode": number * episodes + np.arange(n) // 8,
            "step": np.arange(n) % 8,
            "observation": np.array(OBSERVATIONS)[rng.integers(0, 3, n)],
            "action": np.array(ACTIONS)[rng.integers(0, 2, n)],
            "reward": rng.normal(size=n),
        }
    )


def name(number):
    return f"part-{number:02d}.parquet"


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    for i in range(FILES):
        pq.write_table(a_table(i), folder / name(i))
    jm.Controller.uniform(OBSERVATIONS, ACTIONS).save(tmp_path / "policy.json")
    return folder


@pytest.fixture
def count(jumar, logs, tmp_path, monkeypatch):
    """Counts the folder, one file after the other."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)

    def run(*more, output="counts.parquet", source=logs):
        policy = ["--policy", tmp_path / "policy.json", "--ends", "cut", "--window", 2]
        return jumar("count", source, *policy, "-o", tmp_path / output, "--jobs", 1, *more)

    return run


@pytest.fixture
def counted(monkeypatch):
    """The shards that were counted, as they are."""
    done = []
    original = Counting.__call__

    def call(self, shard):
        done.append(shard)
        return original(self, shard)

    monkeypatch.setattr(Counting, "__call__", call)
    return done


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def spoil_end(path):
    path.write_bytes(path.read_bytes()[:-200])


def spoil_pages(path):
    """The end is whole, and tells of pages that are not there."""
    raw = bytearray(path.read_bytes())
    raw[4 : len(raw) // 2] = b"\xff" * (len(raw) // 2 - 4)
    path.write_bytes(raw)


def unknown_symbol(path):
    table = pq.read_table(path)
    words = table["observation"].to_pylist()
    words[77] = "melted"
    pq.write_table(table.set_column(2, "observation", pa.array(words)), path)


def other_type(path):
    table = pq.read_table(path)
    pq.write_table(table.set_column(4, "reward", table["reward"].cast(pa.string())), path)


def no_column(path):
    pq.write_table(pq.read_table(path).drop_columns("reward"), path)


# ---- bad files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "facts"),
    [
        (spoil_end, "cannot be read as Parquet"),
        (other_type, "column 'reward': is of type string, but in .*part-00.parquet it is"),
        (no_column, "has no column reward, which the other files have"),
    ],
)
def test_what_the_end_of_a_file_tells_is_told_before_anything_is_counted(
    count, counted, logs, tmp_path, spoil, facts
):
    import re

    spoil(logs / name(14))
    ran = count("--json")
    assert ran.code == 1
    assert re.search(f"part-14.parquet.*{facts}", ran.error["message"]), ran.error
    assert counted == []
    assert left_in(tmp_path) == ["logs", "policy.json"]


@pytest.mark.parametrize(
    ("spoil", "facts", "kept"),
    [
        (unknown_symbol, "part-14.parquet, row 78 (episode 429)", 14),
        # whether an episode goes on there, the shard before cannot see either
        (spoil_pages, "part-14.parquet: cannot be read as Parquet", 13),
    ],
)
def test_what_was_counted_is_kept_and_goes_on_after_the_file_was_mended(
    count, counted, logs, tmp_path, spoil, facts, kept
):
    assert count(output="expected.parquet").code == 0
    counted.clear()
    whole = (logs / name(14)).read_bytes()
    spoil(logs / name(14))
    ran = count("--json")
    assert ran.code == 1
    assert facts in ran.err
    assert left_in(tmp_path) == ["counts.parquet.parts", "expected.parquet", "logs", "policy.json"]
    parts = tmp_path / "counts.parquet.parts"
    endings = Counter(path.suffix for path in parts.iterdir())
    assert endings == {".parquet": kept, ".json": kept + 1}

    counted.clear()
    again = count("--resume", "--json")  # nobody has mended it
    assert again.code == 1
    assert facts in again.err
    assert counted == [(kept, kept + 1)]

    counted.clear()
    (logs / name(14)).write_bytes(whole)
    ran = count("--resume")
    assert ran.code == 0, ran.err
    assert counted == [(i, i + 1) for i in range(13, FILES)]
    assert left_in(tmp_path) == ["counts.parquet", "expected.parquet", "logs", "policy.json"]
    same_bytes(tmp_path, "counts.parquet", "expected.parquet")


def same_bytes(folder, one, other):
    assert (folder / one).read_bytes() == (folder / other).read_bytes()


@pytest.mark.parametrize("which", [3, 18])
def test_a_file_that_changed_is_counted_again_with_its_neighbours(
    count, counted, logs, tmp_path, which
):
    """Whether it was counted before (3) or not (18)."""
    unknown_symbol(logs / name(14))
    assert count().code == 1
    pq.write_table(a_table(14), logs / name(14))
    table = a_table(which)
    table = table.set_column(4, "reward", pa.compute.add(table["reward"], 1.0))
    pq.write_table(table, logs / name(which))
    os.utime(logs / name(which), (1, 1))
    counted.clear()
    assert count("--resume").code == 0
    again = [which - 1, which, which + 1] if which < 14 else []
    assert counted == [(i, i + 1) for i in [*again, *range(13, FILES)]]
    assert count(output="expected.parquet").code == 0
    same_bytes(tmp_path, "counts.parquet", "expected.parquet")


def test_counts_that_were_made_in_another_way_are_not_resumed(count, logs, tmp_path):
    unknown_symbol(logs / name(14))
    assert count().code == 1
    ran = count("--resume", "--cost", "--json")
    assert ran.code == 1
    assert "counted in another way" in ran.error["message"]
    assert "Leave out --resume" in ran.error["message"]
    pq.write_table(a_table(14), logs / name(14))
    assert count("--cost").code == 0  # begins anew
    assert "counts.parquet.parts" not in left_in(tmp_path)


def test_files_that_came_or_went(count, counted, logs, tmp_path):
    unknown_symbol(logs / name(14))
    assert count().code == 1
    (logs / name(14)).unlink()
    (logs / name(3)).unlink()
    pq.write_table(a_table(50), logs / "part-07b.parquet")
    counted.clear()
    assert count("--resume").code == 0
    # by the numbers of the files as they are now: what stood beside a change is counted again
    assert counted == [(i, i + 1) for i in [2, 3, 6, 7, 8, *range(13, FILES - 1)]]
    assert count(output="expected.parquet").code == 0
    same_bytes(tmp_path, "counts.parquet", "expected.parquet")


def test_an_episode_over_many_files_depends_on_all_of_them(count, counted, logs, tmp_path):
    """Files 5 to 9 hold one episode, which belongs to the first of them."""
    for i in range(5, 10):
        table = a_table(i)
        steps = np.arange(table.num_rows) + i * table.num_rows
        table = table.set_column(0, "episode", pa.array([150] * table.num_rows))
        pq.write_table(table.set_column(1, "step", pa.array(steps)), logs / name(i))
    unknown_symbol(logs / name(14))
    assert count().code == 1
    table = pq.read_table(logs / name(9))
    pq.write_table(table.set_column(4, "reward", pa.array([1.0] * len(table))), logs / name(9))
    pq.write_table(a_table(14), logs / name(14))
    counted.clear()
    assert count("--resume").code == 0
    assert {shard[0] for shard in counted} >= {5, 9, 10, 13, 14}
    assert {shard[0] for shard in counted}.isdisjoint({0, 1, 2, 3, 11, 12})
    assert count(output="expected.parquet").code == 0
    same_bytes(tmp_path, "counts.parquet", "expected.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["here", "processes"])
def test_killed_in_the_middle(count, counted, logs, tmp_path, engine):
    assert count(output="expected.parquet").code == 0
    parts = tmp_path / "counts.parquet.parts"
    slow = f"""
import time
from jumar.tally import counting
from jumar.tally.keeping import KeptShards
counting.SHARD_ROWS = 1
keep = KeptShards.keep
def slowly(*arguments):
    keep(*arguments)
    time.sleep(0.3)
KeptShards.keep = slowly
if __name__ == "__main__":
    from jumar.cli import main
    main(["count", {str(logs)!r}, "--policy", {str(tmp_path / "policy.json")!r}, "--ends", "cut",
          "--window", "2", "-o", {str(tmp_path / "counts.parquet")!r}, "--jobs", "1",
          "--engine", {engine!r}])
"""
    (tmp_path / "slow.py").write_text(slow)
    process = subprocess.Popen([sys.executable, tmp_path / "slow.py"], start_new_session=True)
    try:
        for _ in range(600):
            if len(list(parts.glob("shard-*.json"))) >= 4:
                break
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = len(list(parts.glob("shard-*.json")))
    assert 4 <= kept < FILES
    assert not (tmp_path / "counts.parquet").exists()
    counted.clear()
    assert count("--resume").code == 0
    assert len(counted) == FILES - kept
    same_bytes(tmp_path, "counts.parquet", "expected.parquet")
    assert [left for left in left_in(tmp_path) if "parts" in left or "tmp" in left] == []


# ---- shards and merging --------------------------------------------------------------------------


def test_shards_that_are_merged_are_the_same_bytes(count, jumar, tmp_path):
    n = 3
    assert count(output="whole.parquet").code == 0
    for i in range(1, n + 1):
        ran = count("--shard", f"{i}/{n}", output=f"part-{i}.parquet")
        assert ran.code == 0, ran.err
    parts = [tmp_path / f"part-{i}.parquet" for i in range(n, 0, -1)]
    assert jumar("merge", *parts, "-o", tmp_path / "merged.parquet").code == 0
    same_bytes(tmp_path, "merged.parquet", "whole.parquet")


def test_what_does_not_add_up_is_refused(count, jumar, logs, tmp_path):
    assert count(output="one.parquet").code == 0
    assert count("--with-actions", output="memory.parquet").code == 0
    like = jm.Controller.uniform((*OBSERVATIONS, "more"), ACTIONS)
    like.save(tmp_path / "policy.json")
    assert count(output="names.parquet").code == 0
    for other, fact in (
        ("memory", "memory.parquet: Counts over a window of 2 and over a window of 2 "),
        ("names", "names.parquet: Counts over different observations or actions"),
        ("one", "is counted twice"),
    ):
        ran = jumar(
            "merge", tmp_path / "one.parquet", tmp_path / f"{other}.parquet",
            "-o", tmp_path / "sum.parquet", "--json",
        )  # fmt: skip
        assert ran.code == 1
        assert fact in ran.error["message"]
        assert not (tmp_path / "sum.parquet").exists()


# ---- rows that lie anywhere ----------------------------------------------------------------------


@pytest.fixture
def scattered(tmp_path):
    """The same rows, shuffled and dealt out to other files."""
    pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jumar[duckdb]'")
    folder = tmp_path / "scattered"
    folder.mkdir()
    table = pa.concat_tables([a_table(i) for i in range(FILES)])
    order = np.random.default_rng(1).permutation(table.num_rows)
    for i, rows in enumerate(np.array_split(order, 5)):
        pq.write_table(table.take(pa.array(rows)), folder / name(i))
    return folder


def test_sorted_first(count, jumar, scattered, tmp_path):
    ran = count(source=scattered)
    assert ran.code == 1
    assert "--sort" in ran.err
    assert "pip install 'jumar[duckdb]'" in " ".join(ran.err.split())
    assert count(output="expected.parquet").code == 0
    assert count("--sort", source=scattered).code == 0
    one, other = (pq.read_table(tmp_path / f"{n}.parquet") for n in ("counts", "expected"))
    assert one.equals(other)
    ran = count("--sort", "--shard", "1/3", "--json", source=scattered)
    assert ran.code == 2
    assert "every job would sort the whole log" in ran.error["message"]


def test_a_sorted_log_is_resumed_too(count, counted, scattered, tmp_path, monkeypatch):
    from jumar.log.shards import sorting

    monkeypatch.setattr(sorting, "GROUP_ROWS", 2048)
    whole = (scattered / name(2)).read_bytes()
    table = pq.read_table(scattered / name(2))
    words = ["melted" if e == 500 else w for e, w in zip(
        table["episode"].to_pylist(), table["observation"].to_pylist(), strict=True
    )]  # fmt: skip
    pq.write_table(table.set_column(2, "observation", pa.array(words)), scattered / name(2))
    ran = count("--sort", source=scattered)
    assert ran.code == 1
    assert "(sorted)" in " ".join(ran.err.split())
    counted.clear()
    again = count("--sort", "--resume", source=scattered)
    assert again.code == 1
    assert len(counted) == 1
    (scattered / name(2)).write_bytes(whole)
    assert count("--sort", source=scattered).code == 0


def test_improving_sorts_too(jumar, scattered, logs, tmp_path):
    asked = ["--policy", tmp_path / "policy.json", "--ends", "cut", "--discount", 0.9, "--json"]
    there = jumar("improve", logs, *asked)
    here = jumar("improve", scattered, "--sort", *asked)
    assert here.code == there.code, here.err
    assert here.data["selection"] == there.data["selection"]
