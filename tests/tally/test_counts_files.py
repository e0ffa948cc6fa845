"""Counts in Parquet files: read back as they were, added up, and refused when damaged."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.errors import CountsError
from jumar.tally.counting import count_logs, run
from jumar.tally.files import load_counts, save_counts
from tally.test_counting import ACTIONS, OBSERVATIONS, TABLE, a_table, controller, prepare, written

MEMORIES = {
    "window 1": jm.window(1),
    "window 3": jm.window(3),
    "window 40 with actions": jm.window(40, actions=True),
    "table": TABLE,
    "both": jm.memory.product(TABLE, jm.window(2)),
}


def the_same(one, other):
    for field in ("states", "starts", "state", "action", "ends", "pair", "seen", "times"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert np.array_equal(one.rewards.expansion(), other.rewards.expansion())
    assert one.facts == other.facts
    assert one.memory == other.memory


@pytest.fixture
def log(tmp_path):
    return written(a_table(11), tmp_path / "log.parquet")


@pytest.mark.parametrize("name", MEMORIES)
def test_what_was_saved_is_read(tmp_path, log, name):
    found = count_logs(log, controller(MEMORIES[name].on(3, 2)))
    save_counts(found, tmp_path / "counts.parquet")
    the_same(load_counts(tmp_path / "counts.parquet"), found)


def test_shards_make_the_same_file_byte_for_byte(tmp_path, log, monkeypatch):
    """Counted at once, and in seven shards that are added in another order."""
    memory = MEMORIES["window 3"].on(3, 2)
    save_counts(count_logs(log, controller(memory)), tmp_path / "whole.parquet")
    job = prepare(log, controller(memory))
    total = None
    for i in (3, 1, 7, 5, 2, 6, 4):
        part = run(job, job.plan.shards(10**9, 1, (i, 7)))
        save_counts(part, tmp_path / "part.parquet")
        part = load_counts(tmp_path / "part.parquet")
        total = part if total is None else total + part
    save_counts(total, tmp_path / "merged.parquet")
    one, other = (pq.read_table(tmp_path / f"{n}.parquet") for n in ("whole", "merged"))
    assert one.equals(other)


def test_shares_are_all_there_is_and_none_is_in_two(log):
    plan = prepare(log, controller()).plan
    for n in (1, 2, 5, 11, 400):
        shards = [s for i in range(1, n + 1) for s in plan.shards(10**9, 1, (i, n))]
        units = [k for shard in shards for k in range(*shard)]
        assert units == list(range(len(plan.units)))


def test_kept_shards_of_other_shares_are_not_counted_twice(log):
    """A run that was cut may have had another --shard, so that what it kept overlaps."""
    plan = prepare(log, controller()).plan
    for kept in ({(1, 4), (0, 3)}, {(0, 4), (1, 3)}, {(2, 5), (3, 4), (4, 6)}):
        shards = plan.shards(10**9, 1, finished=kept)
        units = [k for shard in shards for k in range(*shard)]
        assert units == list(range(len(plan.units)))
        assert kept & set(shards)


def test_no_file_and_no_counts(tmp_path, log):
    with pytest.raises(CountsError, match="no such file"):
        load_counts(tmp_path / "nothing.parquet")
    with pytest.raises(CountsError, match="no file of counts"):
        load_counts(log)
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(CountsError, match=r"text\.parquet"):
        load_counts(tmp_path / "text.parquet")


def test_counts_of_other_names_or_memories_do_not_add_up(tmp_path, log):
    one = count_logs(log, controller())
    with pytest.raises(jm.JumarError, match="memory"):
        one + count_logs(log, controller(jm.window(2)))
    other = jm.Controller.uniform((*OBSERVATIONS, "new"), ACTIONS)
    with pytest.raises(CountsError, match="same controller"):
        one + count_logs(log, other)
