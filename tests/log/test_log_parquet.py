"""Logs in Parquet: columns of many types, and metadata of somebody else."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumar.log.reading import read_logs
from log_rows import (
    ONE_OF_EACH,
    PLAIN_DIGITS,
    WRITE_TRUE,
    in_names,
    refused,
)

AS_READ = [([("z", "a", 1.0), ("y", "b", 2.0)], None, True), ([("z", "a", 3.0)], None, True)]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"episode": pa.array([3, 3, 4], pa.uint8())},
        {"episode": pa.array(["x", "x", "y"], pa.large_string())},
        {"episode": pa.array([3.5, 3.5, 4.5])},
        {"observation": pa.array(["z", "y", "z"], pa.large_string())},
        {"observation": pa.array(["z", "y", "z"], pa.string_view())},
        {"observation": pa.array(["z", "y", "z"]).dictionary_encode()},
        {"observation": pa.array([b"z", b"y", b"z"])},
        {"reward": pa.array([1, 2, 3], pa.int8())},
        {"reward": pa.array([1, 2, 3], pa.float32())},
        {"reward": pa.array(["1", " 2.0", "3e0"])},
        {"reward": pa.array(["1", "2.0", "3e0"]).dictionary_encode()},
        {"terminated": pa.array([0, 1, 1])},
        {"terminated": pa.array([0.0, 1.0, 1.0])},
        {"terminated": pa.array(["no", "yes", "True"])},
        {"terminated": pa.array(["no", "yes", "True"]).dictionary_encode()},
        {"terminated": pa.array([None, True, True])},
        {"note": pa.array([[1], [], None])},
    ],
    ids=lambda changed: ", ".join(
        f"{name} {getattr(column, 'type', '')}" for name, column in changed.items()
    ),
)
def test_parquet_columns_of_many_types_mean_the_same(parquet_file, changed):
    assert in_names(read_logs(parquet_file(**{**ONE_OF_EACH, **changed}))) == AS_READ


def test_whole_numbers_as_observations_and_actions_become_names(parquet_file):
    numbered = {**ONE_OF_EACH, "observation": [10, 9, 10], "action": [True, False, True]}
    log = read_logs(parquet_file(**numbered))
    assert (log.observations, log.actions) == (("10", "9"), ("false", "true"))
    assert log.observation.tolist() == [0, 1, 0]


def test_categories_that_never_occur_are_not_episodes(parquet_file):
    """What pandas and polars leave behind after filtering."""
    labels = pa.DictionaryArray.from_arrays([2, 2, 0], ["c", "gone", "a"])
    log = read_logs(parquet_file(**{**ONE_OF_EACH, "episode": labels}))
    assert (in_names(log), log.origin.label) == (AS_READ, ["a", "c"])


def test_dictionaries_that_differ_between_row_groups_are_read(tmp_path):
    path = tmp_path / "log.parquet"
    columns = {name: pa.array(v).dictionary_encode() for name, v in ONE_OF_EACH.items()}
    table = pa.table({**columns, "terminated": ONE_OF_EACH["terminated"]})
    with pq.ParquetWriter(path, table.schema) as writer:
        for i in range(3):
            writer.write_table(pa.table({n: table[n].slice(i, 1) for n in table.column_names}))
    assert in_names(read_logs(path)) == AS_READ


def test_an_empty_text_is_a_missing_action(parquet_file):
    closing = {**ONE_OF_EACH, "episode": [3, 3, 3], "action": ["a", "b", ""]}
    closing |= {"reward": [1.0, 2.0, None], "terminated": [False, False, None]}
    log = read_logs(parquet_file(**closing))
    assert in_names(log) == [([("z", "a", 1.0), ("y", "b", 2.0)], "z", False)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"reward": pa.array([[1.0], [2.0], [3.0]])},
            ", row 1, column 'reward': [1.0] is not a number." + PLAIN_DIGITS,
        ),
        (
            {"observation": pa.array([[1], [2], [3]])},
            ", column 'observation': a value of type list<element: int64> cannot be read as a "
            "name. Store text or whole numbers.",
        ),
        (
            {"action": pa.array([b"a", b"\xff", b"a"])},
            ", column 'action': a value of type binary cannot be read as a name. "
            "Store text or whole numbers.",
        ),
        (
            {"terminated": pa.array([0, 2, 1])},
            ", row 2, column 'terminated': '2' is not true or false." + WRITE_TRUE,
        ),
    ],
)
def test_parquet_columns_that_make_no_sense_are_named(parquet_file, changed, message):
    refused(parquet_file(**{**ONE_OF_EACH, **changed}), message)


def test_all_nothing_in_terminated_means_every_episode_was_cut_off(parquet_file):
    log = read_logs(parquet_file(**{**ONE_OF_EACH, "terminated": pa.nulls(3)}))
    assert log.terminated.tolist() == [False, False]


@pytest.mark.parametrize(
    "metadata",
    [
        b"not json",
        b"[1, 2]",
        b'{"observations": "zy", "actions": "ab"}',
        b'{"observations": [1], "actions": ["a"]}',
        b'{"observations": ["z", "z"], "actions": ["a"]}',
        b"\xff",
    ],
)
def test_metadata_of_somebody_else_does_no_harm(tmp_path, metadata):
    table = pa.table(ONE_OF_EACH).replace_schema_metadata({b"jumar": metadata})
    pq.write_table(table, tmp_path / "log.parquet")
    log = read_logs(tmp_path / "log.parquet")
    assert (log.observations, log.actions) == (("y", "z"), ("a", "b"))


def test_names_added_to_a_parquet_log_come_after_those_it_kept(tmp_path):
    kept = b'{"observations": ["z", "never"], "actions": ["b"]}'
    table = pa.table(ONE_OF_EACH).replace_schema_metadata({b"jumar": kept})
    pq.write_table(table, tmp_path / "log.parquet")
    log = read_logs(tmp_path / "log.parquet")
    assert (log.observations, log.actions) == (("z", "never", "y"), ("b", "a"))
    assert in_names(log) == AS_READ


def test_a_folder_called_like_a_column_does_not_become_one(tmp_path):
    """Arrow's dataset reader would take 'reward=5' for a partition."""
    folder = tmp_path / "reward=5"
    folder.mkdir()
    pq.write_table(pa.table(ONE_OF_EACH), folder / "log.parquet")
    assert in_names(read_logs(folder / "log.parquet")) == AS_READ
