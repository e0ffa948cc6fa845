"""What the end of a Parquet file tells, and what becomes of a log where it is damaged or lies."""

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
from jumar.log.shards import batches, footers
from jumar.log.shards.batches import NotPlain
from jumar.log.shards.footers import read_ends
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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none", "data_page_version": "2.0"},
        {"compression": "gzip", "version": "1.0", "use_dictionary": False},
        {"compression": "zstd", "write_statistics": False, "write_page_index": True},
    ],
)
def test_it_tells_what_pyarrow_tells(options):
    data = written(a_table(), **options)
    metadata = pq.read_metadata(pa.BufferReader(data))
    told = read_ends(data)
    assert len(told) == metadata.num_row_groups == 4
    for g, ends in enumerate(told):
        columns = [metadata.row_group(g).column(i) for i in range(len(COLUMNS))]
        whole = [c for c in columns if "INT" in c.physical_type and c.statistics is not None]
        assert ends == {c.path_in_schema: (c.statistics.min, c.statistics.max) for c in whole}


def test_numbers_without_a_sign_have_ends_that_are_in_order_or_none():
    labels = pa.array([2**63 - 2 + i for i in range(6)], pa.uint64())
    told = [g["u"] for g in read_ends(written(pa.table({"u": labels}), row_group_size=1))]
    assert told == [(n, n) for n in (2**63 - 2, 2**63 - 1, *range(-(2**63), -(2**63) + 4))]
    assert read_ends(written(pa.table({"u": labels}))) == ({},)


def test_columns_inside_others_and_empty_ones_have_no_ends():
    table = pa.table({"a": [{"b": 1}], "a.b": [2], "c": pa.nulls(1, pa.int64())})
    assert read_ends(written(table)) == ({"a.b": (2, 2)},)


def test_an_end_that_is_too_long_is_left_to_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    data = written(a_table(), path)
    whole = in_memory(path)
    monkeypatch.setattr(footers, "LONGEST", int.from_bytes(data[-8:-4], "little") - 1)
    assert footers.ends_of.__wrapped__(plan([str(path)]).files[0]) == ()
    footers.ends_of.cache_clear()
    found = counted(path)
    assert np.array_equal(found.visits, whole.visits)
    footers.ends_of.cache_clear()


def test_any_bytes_at_all():
    rng = np.random.default_rng(1)
    data = written(a_table())
    length = int.from_bytes(data[-8:-4], "little")
    for turn in range(3000):
        end = bytearray(data[-8 - length : -8])
        for _ in range(1 + turn % 3):
            end[rng.integers(length)] = rng.integers(256)
        if turn % 10 == 0:
            end = end[: rng.integers(length)]
        for ends in read_ends(bytes(end) + len(end).to_bytes(4, "little") + b"PAR1"):
            assert all(least <= most for least, most in ends.values())
    lists = b"\x49" + b"\x19" * 5000  # a list of lists of lists
    assert read_ends(lists + len(lists).to_bytes(4, "little") + b"PAR1") == ()
    assert read_ends(b"") == read_ends(b"PAR1") == ()


# ---- logs ---------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("column", ["episode", "terminated", "observation"])
def test_no_row_group_is_lost_where_a_column_tells_of_no_rows(tmp_path, monkeypatch, column, whole):
    """Batch by batch, pyarrow would hand over none of its rows, and say nothing."""
    monkeypatch.setattr(batches, "WHOLE_ROWS", 1 << 20 if whole else 0)
    path = tmp_path / "log.parquet"
    marked = column.encode() + b"\x15\x00\x16"  # its codec; then its values, twice 130

    def none(end):
        assert marked + b"\x84\x02" in end
        return end.replace(marked + b"\x84\x02", marked + b"\x80\x00")

    path.write_bytes(with_end(written(a_table(), compression="none"), none))
    for read in (counted, in_memory):
        with pytest.raises(LogError, match=r"log\.parquet: cannot be read as Parquet"):
            read(path)


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


def test_ends_that_lie_are_found_out(tmp_path, monkeypatch):
    """Where they say that an episode does not go on in the next shard and it does, it would be two.
    It has begun before, so that is told."""
    monkeypatch.setattr(counting, "SHARD_ROWS", 1)
    data = written(a_table())
    first, second = (ends["episode"] for ends in read_ends(data)[:2])
    assert first[1] == second[0]  # an episode in two row groups
    right, wrong = (n.to_bytes(8, "little") for n in (second[0], second[0] + 1))
    path = tmp_path / "log.parquet"

    def lie(end):
        at = end.index(b"\x08" + right, end.index(b"\x08" + second[1].to_bytes(8, "little")))
        return end[:at] + end[at:].replace(b"\x08" + right, b"\x08" + wrong)

    path.write_bytes(with_end(data, lie))
    assert read_ends(path.read_bytes())[1]["episode"] == (second[0] + 1, second[1])
    with pytest.raises(LogError, match="an episode comes up a second time"):
        counted(path, jobs=1)


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
