"""The same log in every format and in memory is the same log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.episodes import UNKNOWN, Episodes, Labels
from jumar.log.formats import delimited, places, source
from jumar.log.reading import read_logs, write_logs

TABLE = pa.table(
    {
        "episode": [3, 3, 4, 4],
        "observation": ["z", "y", "z", "x"],
        "action": ["a", "b", "a", None],
        "reward": [1.0, 2.5, 3.0, None],
        "terminated": [False, True, False, None],
    }
)
ENDINGS = [
    "csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather", "ipc", "ndjson", "jsonl",
]  # fmt: skip


def columns(log: Episodes) -> list:
    names = ("observation", "action", "reward", "start", "final_observation", "terminated")
    return [log.observations, log.actions, *(getattr(log, name).tolist() for name in names)]


EXPECTED = [
    ("x", "y", "z"), ("a", "b"), [2, 1, 2], [0, 1, 0], [1.0, 2.5, 3.0], [0, 2, 3],
    [UNKNOWN, 0], [True, False],
]  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_gives_the_same_log(tmp_path, ending):
    written = read_logs(TABLE)
    path = tmp_path / f"log.{ending}"
    write_logs(written, path)
    log = read_logs(path)
    assert columns(log) == EXPECTED
    assert log.origin.remarks.rows == 4
    first = 2 if ending.startswith(("csv", "tsv")) else 1
    assert log.origin.row.tolist() == [first, first + 1, first + 2]


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_files_and_streams_are_told_apart_by_themselves(tmp_path, make, codec):
    path = tmp_path / "log.arrow"
    wide = TABLE.append_column("note", pa.array([[1], [], None, [2]]))
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with make(str(path), wide.schema, options=options) as writer:
        writer.write_table(wide, 2)  # two batches
    assert columns(read_logs(path)) == EXPECTED


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.to_pandas(),
        TABLE.to_pandas().astype({"observation": "category", "episode": "float32"}),
        TABLE.to_pandas().set_index("episode"),
        pl.from_arrow(TABLE),
        pl.from_arrow(TABLE).with_columns(pl.col("action").cast(pl.Categorical)),
    ],
    ids=[
        "Table",
        "RecordBatch",
        "reader",
        "pandas",
        "categories",
        "index",
        "polars",
        "polars codes",
    ],
)
def test_tables_in_memory_are_logs(table):
    log = read_logs(table)
    assert columns(log) == EXPECTED
    assert log.where(1) == "table, row 2 (episode 3)"


def test_what_is_wrong_in_a_table_is_named():
    wrong = TABLE.to_pandas().assign(reward=["1", "two", "3", None])
    with refuses(LogError, "table, row 2, column 'reward'", "'two'", "number"):
        read_logs(wrong)
    sparse = TABLE.to_pandas().assign(reward=pd.arrays.SparseArray([1.0] * 4))
    with refuses(LogError, "table", "Sparse pandas data (column reward) not supported", "Convert"):
        read_logs(sparse)
    with refuses(LogError, "table: the name '\\x00' of a column", "null character", "Rename"):
        read_logs(pl.DataFrame({"\0": [1]}))  # Polars would abort the process
    mixed = pd.DataFrame({"episode": [1, "x"]})
    with pytest.raises(LogError, match=r"^table: "):
        read_logs(mixed)


@pytest.mark.parametrize("nothing", [3, None, np.zeros((2, 5)), [["a", "b"]]])
def test_what_is_neither_file_nor_table_is_refused(nothing):
    with refuses(ParameterError, "is no log", "Pass a file"):
        read_logs(nothing)


def test_nodes_are_written_and_read(tmp_path):
    log = Episodes(
        ("z",), ("a",), [0] * 3, [0] * 3, [0.0] * 3, [0, 3], [0], [False],
        node=Labels(("calm", "alert"), [1, UNKNOWN, 0]),
    )  # fmt: skip
    for ending in ENDINGS:
        write_logs(log, tmp_path / f"log.{ending}")
        back = read_logs(tmp_path / f"log.{ending}").node
        assert [back.names[c] if c >= 0 else None for c in back.code] == ["alert", None, "calm"]


# ---- many batches -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "arrow", "ndjson", "memory"])
def test_codes_agree_between_batches(tmp_path, ending, monkeypatch):
    """New names come up in every batch; row i of the log is row i of the table."""
    monkeypatch.setattr(delimited, "BLOCK", 2000)
    monkeypatch.setattr(places, "BLOCK", 2000)
    monkeypatch.setattr("jumar.log.formats.arrow.BATCH_ROWS", 64)
    monkeypatch.setattr(source, "BATCH_ROWS", 64)
    n = 1000
    names = [f"z{i // 10}" if i % 3 else "often" for i in range(n)]
    table = pa.table(
        {
            "episode": [f"bus {i // 7}" for i in range(n)],
            "observation": names,
            "action": [f"a{i % 5}" for i in range(n)],
            "reward": [i / 8 for i in range(n)],
            "terminated": [i % 7 == 6 for i in range(n)],
        }
    )
    path = tmp_path / f"log.{ending}"
    if ending == "memory":
        log = read_logs(table)
    else:
        write_logs(read_logs(table), path)
        log = read_logs(path)
    assert [log.observations[z] for z in log.observation] == names
    assert [log.actions[a] for a in log.action] == [f"a{i % 5}" for i in range(n)]
    assert np.array_equal(log.reward, np.arange(n) / 8)
    assert np.array_equal(log.start, [*range(0, n, 7), n])
    assert log.terminated.tolist() == [True] * 142 + [False]  # 1000 = 142 · 7 + 6


# ---- NDJSON -------------------------------------------------------------------------------------

STEP = {"episode": 1, "observation": "z", "action": "a", "reward": 0}


@pytest.fixture
def ndjson(tmp_path):
    def write(*rows: object) -> Path:
        path = tmp_path / "log.ndjson"
        texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return path

    return write


def test_a_key_may_come_up_late(ndjson, monkeypatch):
    monkeypatch.setattr(places, "BLOCK", 200)  # three rows
    path = ndjson(*[STEP] * 20, {**STEP, "terminated": True})
    assert read_logs(path).terminated.tolist() == [True]


def test_numbers_and_dates_as_names_stay_as_they_are_written(ndjson):
    rows = [{**STEP, "observation": name} for name in (1, "x", 2.50, "2024-01-05", True)]
    path = ndjson(*rows, '{"episode": 1, "observation": 1.0, "action": "a", "reward": 0}')
    log = read_logs(path, ends="cut")
    assert log.observations == ("1", "1.0", "2.5", "2024-01-05", "true", "x")


def test_a_line_is_a_row_and_blank_lines_count(ndjson):
    path = ndjson("", STEP, "", "  ", {**STEP, "reward": "much"})
    with refuses(LogError, "row 5, column 'reward'", "'much'", "number"):
        read_logs(path, ends="cut")
