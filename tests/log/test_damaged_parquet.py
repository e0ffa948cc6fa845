"""Parquet files whose end, which tells where all the rest is, is damaged."""

from __future__ import annotations

import io
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.errors import LogError
from jumar.log.files import check_columns
from jumar.log.formats import FileOptions
from jumar.log.shards import batches
from jumar.log.shards.batches import NotPlain
from jumar.log.shards.plan import head_of, plan
from jumar.tally import counting
from jumar.tally.counting import count_logs

OBSERVATIONS, ACTIONS = ("good", "worn", "bad"), ("keep", "fix")
COLUMNS = ["episode", "step", "observation", "action", "reward", "terminated"]


def a_table(rows=400, length=7):
    """Episodes of so many rows, which all end."""
    n = np.arange(rows)
    return pa.table(
        {
            "episode": 1000 + n // length,
            "step": n % length,
            "observation": np.array(OBSERVATIONS)[n * 7 // 5 % 3],
            "action": np.array(ACTIONS)[n * 5 // 3 % 2],
            "reward": n / 8,
            "terminated": n % length == length - 1,
        }
    )


def written(table, path=None, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **{"row_group_size": 130, **options})
    if path is not None:
        path.write_bytes(file.getvalue())
    return file.getvalue()


def with_end(data, replace):
    """A file with another end, whose length is told."""
    length = int.from_bytes(data[-8:-4], "little")
    end = replace(data[-8 - length : -8])
    return data[: -8 - length] + end + len(end).to_bytes(4, "little") + data[-4:]


def counted(path, **options):
    controller = jm.Controller.uniform(OBSERVATIONS, ACTIONS, jm.window(1))
    return count_logs(path, controller, memory=jm.window(2), **options).counts


def in_memory(path):
    log = jm.read_logs(path, observations=OBSERVATIONS, actions=ACTIONS)
    return jm.count(log, jm.window(2))


# pyarrow ends the process if it is asked for what is damaged here


def another_codec(end):
    return end.replace(b"observation\x15\x02", b"observation\x15\x7f")


def short_numbers(end):
    for label in range(1000, 1060):
        number = label.to_bytes(8, "little")
        end = end.replace(b"\x08" + number, b"\x03" + number[:3])
    return end


def another_type(end):
    for before in (b"\x15\x0c", b"\x15\x04"):  # words and whole numbers
        end = end.replace(b"\x1c" + before, b"\x1c\x15\x0e")
    return end


@pytest.mark.parametrize("damage", [another_codec, short_numbers, another_type])
def test_a_damaged_end_does_not_end_the_process(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    path = tmp_path / "log.parquet"
    sound = written(a_table(), path)
    whole = in_memory(path)
    data = with_end(sound, damage)
    assert data != sound
    path.write_bytes(data)
    with suppress(LogError):  # versions of pyarrow differ in what they refuse
        assert np.array_equal(counted(path, jobs=1).visits, whole.visits)


@pytest.mark.parametrize("column", ["episode", "terminated", "observation"])
def test_no_row_group_is_lost_where_a_column_tells_of_no_rows(tmp_path, column):
    """Batch by batch, pyarrow would hand over none of its rows, and say nothing."""
    path = tmp_path / "log.parquet"
    marked = column.encode() + b"\x15\x00\x16"  # its codec; then its values, twice 130

    def none(end):
        assert marked + b"\x84\x02" in end
        return end.replace(marked + b"\x84\x02", marked + b"\x80\x00")

    path.write_bytes(with_end(written(a_table(), compression="none"), none))
    for read in (counted, in_memory):
        with pytest.raises(LogError, match=r"log\.parquet: cannot be read as Parquet"):
            read(path)


@pytest.mark.slow
def test_a_damaged_end_is_refused_or_read_as_pyarrow_reads_it(tmp_path):
    """Whatever byte of it: no crash, and no row is lost."""
    rng = np.random.default_rng(3)
    data = written(a_table(), compression="none")
    length = int.from_bytes(data[-8:-4], "little")
    seen = {"alike": 0, "refused": 0}
    for turn in range(300):
        damaged = bytearray(data)
        damaged[len(data) - 8 - int(rng.integers(1, length))] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"{turn}.parquet"
        path.write_bytes(damaged)
        try:
            log = plan([str(path)])
            check_columns(log.files[0].name, head_of(log.files[0], FileOptions()).names, COLUMNS)
            found = [
                row
                for unit in log.units
                for batch in batches.typed_batches(
                    unit, COLUMNS, ["observation", "action"], [], FileOptions()
                )
                for row in batch.to_pylist()
            ]
        except (LogError, NotPlain):
            seen["refused"] += 1
            continue
        file = pq.ParquetFile(path)
        assert repr(found) == repr(file.read(columns=COLUMNS).to_pylist())
        seen["alike"] += 1
    assert min(seen.values()) > 30


def test_labels_that_are_times_beyond_the_calendar(tmp_path, monkeypatch):
    """Python has no date for them, and needs none."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    table = a_table()
    far = pa.array(np.array(table["episode"]) + 2**62).cast(pa.timestamp("ms"))
    path = tmp_path / "log.parquet"
    written(table.set_column(0, "episode", far), path)
    assert np.array_equal(counted(path).visits, in_memory(path).visits)


def test_a_folder_tells_the_episode_and_so_does_the_file(tmp_path, monkeypatch):
    """What the folder tells holds, also at the borders of row groups."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    folder = tmp_path / "episode=7"
    folder.mkdir()
    table = a_table(length=1).set_column(1, "step", pa.array(range(400)))
    table = table.set_column(5, "terminated", pa.array([False] * 400))
    written(table, folder / "log.parquet")
    assert counted(tmp_path, jobs=1).starts.sum() == 1
