"""The main job on a log that is read in parts: as on the same log in memory, however it is cut."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.errors import LogError
from jumar.gate import dealing
from jumar.log.shards import batches
from jumar.show.remedies import command_of
from jumar.tally import counting
from large_logs import improve_logs

CHEESE = jm.models.cheese_maze()
RANDOM = jm.Controller.uniform(CHEESE.observations, CHEESE.actions, name="random")


@pytest.fixture(scope="module")
def log():
    return jm.simulate(CHEESE, RANDOM, episodes=3000, seed=1)


@pytest.fixture(scope="module")
def whole(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "log.parquet"
    jm.write_logs(log, path)
    return path


@pytest.fixture(scope="module")
def folder(whole, tmp_path_factory):
    """The same log in files that are cut anywhere, with row groups of any size."""
    place = tmp_path_factory.mktemp("parts")
    table = pq.read_table(whole)
    ends = np.sort(np.random.default_rng(1).integers(0, table.num_rows, 6))
    for i, (a, b) in enumerate(zip([0, *ends], [*ends, table.num_rows], strict=True)):
        pq.write_table(table.slice(a, b - a), place / f"part-{i}.parquet", row_group_size=10_001)
    return place


@pytest.fixture(scope="module")
def streamed(folder):
    return improve_logs(folder, RANDOM, discount=0.95)


def told(result):
    """All that is said, in plain types."""
    return json.dumps(result.assessment.to_dict(), sort_keys=True)


@pytest.mark.parametrize(
    ("batch", "rows"),
    [
        (997, 5_000),
        pytest.param(997, 10**9, marks=pytest.mark.slow),
        pytest.param(1 << 16, 5_000, marks=pytest.mark.slow),
        (1 << 16, 10**9),
    ],
)
def test_shards_and_batches_leave_no_trace(folder, streamed, monkeypatch, rows, batch):
    monkeypatch.setattr(counting, "SHARD_ROWS", rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", batch)
    again = improve_logs(folder, RANDOM, discount=0.95, jobs=2)
    assert told(again) == told(streamed)
    assert again.controller == streamed.controller


@pytest.mark.slow
def test_processes_give_the_same(folder, streamed):
    again = improve_logs(folder, RANDOM, discount=0.95, engine="processes", jobs=2)
    assert told(again) == told(streamed)


def test_a_result_can_be_sent_to_another_process(streamed):
    again = pickle.loads(pickle.dumps(streamed))
    assert again == streamed


def test_checks_look_at_a_sample_in_the_order_of_the_log(folder, monkeypatch):
    monkeypatch.setattr(dealing, "SAMPLED", 50)
    found = improve_logs(folder, RANDOM, discount=0.95)
    assert len(found.log) == 8 * 50
    assert "sampled" in [notice.kind for notice in found.assessment.notices]
    assert found.assessment.verdict.word.value == "adopt-if"


def test_what_the_behavior_never_does_is_refused(folder):
    other = jm.Controller.constant(CHEESE.observations, CHEESE.actions, [1.0, 0, 0, 0], name="up")
    with pytest.raises(LogError, match="probability 0"):
        improve_logs(folder, other, discount=0.95)


def test_rewards_outside_the_declared_range_are_refused(folder):
    with pytest.raises(LogError, match="wider"):
        improve_logs(folder, RANDOM, discount=0.95, rewards=jm.RewardRange((0, 0), ending=(0, 0.5)))


def test_pieces_of_an_episode_that_a_gap_split_are_one_unit(tmp_path):
    rng, rows = np.random.default_rng(2), []
    for e in range(300):
        day = 1
        for t in range(6):
            z = "xy"[rng.integers(2)]
            a = "ab"[rng.integers(2)]
            rows.append(f"{e},{day},{z},{a},{int((z == 'x') == (a == 'a'))}")
            day += 9 if t == 2 else 1
    (tmp_path / "log.csv").write_text("episode,step,observation,action,reward\n" + "\n".join(rows))
    like = jm.Controller.uniform(("x", "y"), ("a", "b"))
    asked = {"ends": "terminated", "gap": 5}
    log = jm.read_logs(tmp_path / "log.csv", observations=("x", "y"), actions=("a", "b"), **asked)
    expected = jm.improve(log, like, discount=0.9).selection
    found = improve_logs(tmp_path, like, discount=0.9, **asked).selection
    assert (found.units, found.episodes) == (expected.units, expected.episodes) == (300, 600)
    for mine, theirs in zip(found.trials, expected.trials, strict=True):
        assert (mine.setting, mine.units, mine.passed) == (theirs.setting, theirs.units, True)
        assert mine.gain == pytest.approx(theirs.gain)


def test_clusters_are_the_units(tmp_path):
    log = jm.simulate(CHEESE, RANDOM, episodes=1200, seed=3)
    path = tmp_path / "log.parquet"
    jm.write_logs(log, path)
    table = pq.read_table(path)
    who = pa.array([f"plant {e % 150}" for e in table["episode"].to_pylist()])
    pq.write_table(table.append_column("cluster", who), path, row_group_size=7_001)
    expected = jm.improve(path, RANDOM, discount=0.95).selection
    found = improve_logs(path, RANDOM, discount=0.95).selection
    assert (found.units, found.episodes) == (expected.units, expected.episodes) == (150, 1200)
    assert found.chosen.setting == expected.chosen.setting
    assert found.chosen.gain == pytest.approx(expected.chosen.gain)


@pytest.fixture
def first_ones(monkeypatch):
    """The test begins with most of the episodes, not with all."""
    monkeypatch.setattr(dealing, "FIRST", 1200)
    monkeypatch.setattr(dealing, "SAMPLED", 300)


@pytest.mark.slow
def test_what_the_first_episodes_decide_is_not_read_again(folder, first_ones):
    done = []
    found = improve_logs(
        folder, RANDOM, discount=0.95, progress=lambda *so_far: done.append(so_far)
    )
    assert {trial.units for trial in found.selection.trials} == {1200}
    assert found.selection.chosen is not None
    assert done[-1][0] == done[-1][1]
    (notice,) = [n for n in found.assessment.notices if n.kind == "sampled"]
    assert "clear after 1,200 of each half" in notice.fact
    typed = ["jumar", "improve", "logs", "--policy", "rule.toml"]
    assert command_of(notice, typed) == "jumar improve logs --policy rule.toml --thorough"
    everything = improve_logs(folder, RANDOM, discount=0.95, thorough=True)
    assert min(trial.units for trial in everything.selection.trials) > 1400
    by_setting = {(t.half, t.setting): t for t in everything.selection.trials}
    for trial in found.selection.trials:
        assert trial.lower <= by_setting[trial.half, trial.setting].lower


@pytest.mark.parametrize("rows", [5_000, pytest.param(10**9, marks=pytest.mark.slow)])
def test_the_first_episodes_are_the_same_in_all_shards(folder, first_ones, monkeypatch, rows):
    expected = improve_logs(folder, RANDOM, discount=0.95, jobs=1)
    monkeypatch.setattr(counting, "SHARD_ROWS", rows)
    monkeypatch.setattr(batches, "BATCH_ROWS", 997)
    assert told(improve_logs(folder, RANDOM, discount=0.95, jobs=2)) == told(expected)


def test_episodes_that_grow_longer_are_looked_at_as_well(tmp_path, monkeypatch):
    """The first file makes one expect many short episodes; there are few, and long ones."""
    monkeypatch.setattr(dealing, "SAMPLED", 20)
    rng, place = np.random.default_rng(1), 0
    for name, lengths in (("a", [1] * 2000), ("b", [900] * 300)):
        n = sum(lengths)
        table = pa.table(
            {
                "episode": place + np.repeat(np.arange(len(lengths)), lengths),
                "observation": np.array(["x", "y"])[rng.integers(0, 2, n)],
                "action": np.array(["a", "b"])[rng.integers(0, 2, n)],
                "reward": rng.random(n),
            }
        )
        place += len(lengths)
        pq.write_table(table, tmp_path / f"{name}.parquet")
    like = jm.Controller.uniform(("x", "y"), ("a", "b"))
    found = improve_logs(tmp_path, like, discount=0.9, ends="terminated")
    assert len(found.log) == 8 * 20
