"""What is a table: the same numbers in pyarrow, pandas, Polars and whatever reads Arrow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.log.episodes import Labels

pd = pytest.importorskip("pandas", reason="pandas is not installed: pip install jumar[pandas]")
pl = pytest.importorskip("polars", reason="polars is not installed: pip install jumar[polars]")

TIGER = jm.models.tiger()
FAIR = jm.Controller.uniform(TIGER.observations, TIGER.actions, name="fair")


@pytest.fixture(scope="module")
def log():
    return jm.simulate(TIGER, FAIR, episodes=600, max_steps=3)


@pytest.fixture(scope="module")
def result(log):
    return jm.improve(log, FAIR, discount=0.95, memory=jm.window(2), n_wedge=10)


@pytest.mark.parametrize("name", ["log", "counts", "controller", "decisions"])
def test_all_libraries_see_the_same_table(log, result, name):
    shown = log if name == "log" else getattr(result, name)
    table = shown.to_arrow()
    pandas, polars = shown.to_pandas(), shown.to_polars()
    assert list(pandas.columns) == polars.columns == table.column_names
    assert len(pandas) == len(polars) == table.num_rows > 0
    for column in table.column_names:
        wanted = table[column].to_pylist()
        assert polars[column].to_list() == wanted, column
        there = [None if pd.isna(value) else value for value in pandas[column].tolist()]
        assert there == wanted, column
    assert pl.DataFrame(shown).equals(polars)  # through the protocol, without a method


def test_a_log_goes_through_a_frame_unchanged(log):
    log = replace(
        log,
        node=Labels(("a", "b"), np.arange(log.n_steps) % 2),
        propensity=np.full(log.n_steps, 1 / 3),
        cluster=Labels.of([f"c{e % 7}" for e in range(len(log))]),
    )
    for frame in (log.to_pandas(), log.to_polars(), log.to_arrow()):
        back = jm.read_logs(frame, observations=log.observations, actions=log.actions)
        for column in ("observation", "action", "reward", "start", "final_observation",
                       "terminated", "propensity"):  # fmt: skip
            assert getattr(back, column).tolist() == getattr(log, column).tolist(), column
        assert back.node.code.tolist() == log.node.code.tolist()
        assert back.cluster.code.tolist() == log.cluster.code.tolist()


def test_improve_takes_frames_and_says_the_same(log):
    whole = jm.improve(log, FAIR, discount=0.95, n_wedge=20).to_dict()
    for frame in (log.to_pandas(), log.to_polars()):
        assert jm.improve(frame, FAIR, discount=0.95, n_wedge=20).to_dict() == whole


def test_the_table_of_counts_adds_up(result):
    counts, frame = result.counts, result.counts.to_pandas()
    assert frame["visits"].sum() == counts.visits.sum()
    assert frame["ends"].sum() == counts.ends.sum()
    assert frame["reward_sum"].sum() == pytest.approx(counts.reward_sum.sum())
    row = frame.query("node == '(start)' and observation == 'hear-left' and action == 'listen'")
    h = counts.states.tolist().index(result.controller.state([""], "hear-left").tolist())
    assert row["visits"].tolist() == [counts.visits[h, 2]]


def test_the_table_of_a_controller_has_its_rows_and_its_default(result):
    rule = result.controller
    frame = rule.to_pandas()
    own = frame[frame["layer"] == 0]
    assert len(own) == rule.rows.size
    for (node, seen), part in own.groupby(["node", "observation"], observed=True):
        words = [""] if node == "(start)" else [node]
        assert part["probability"].tolist() == rule.row(words, seen).tolist()
    default = frame[frame["observation"].isna()]
    assert default["probability"].tolist() == rule.default.tolist()
    memoryless = FAIR.to_pandas()
    assert memoryless["node"].isna().all()
    assert memoryless["probability"].tolist() == [1 / 3] * 3


def test_the_table_of_decisions_is_the_file_with_numbers(result):
    decisions, frame = result.decisions, result.decisions.to_pandas()
    assert frame["share_of_the_gain"].sum() == pytest.approx(1)
    assert frame["changed"].sum() == result.improvement.changed
    assert frame["changed"].tolist() == sorted(frame["changed"].tolist(), reverse=True)
    new = frame[[f"new: {action}" for action in TIGER.actions]]
    np.testing.assert_allclose(new.sum(axis=1), 1)
    assert frame[[f"tried: {a}" for a in TIGER.actions]].sum(axis=1).tolist() == (
        frame["times_seen"].tolist()
    )
    assert frame["why"].tolist() == [decisions.why(h) for h in decisions.order.tolist()]


def test_a_frame_that_people_index_by_episode_and_step_is_read(log):
    frame = log.to_pandas().set_index(["episode", "step"])
    back = jm.read_logs(frame, observations=log.observations, actions=log.actions)
    assert back.reward.tolist() == log.reward.tolist()
    assert back.final_observation.tolist() == log.final_observation.tolist()


def test_a_lazy_frame_is_collected(log):
    lazy = log.to_polars().lazy().filter(pl.col("episode") < 10)
    assert len(jm.read_logs(lazy)) == 10
    whole = jm.improve(lazy.collect(), FAIR, discount=0.95, n_wedge=1).to_dict()
    assert jm.improve(lazy, FAIR, discount=0.95, n_wedge=1).to_dict() == whole


def test_labels_of_a_file_stay_the_names_of_episodes(log):
    rows = {"episode": ["b", "a"], "observation": ["z", "z"], "action": ["x", "x"],
            "reward": [1, 2], "terminated": [True, True]}  # fmt: skip
    read = jm.read_logs(pd.DataFrame(rows))
    assert read.to_pandas()["episode"].tolist() == ["b", "a"]
    twice = read + read
    assert twice.labels is None
    assert twice.to_pandas()["episode"].tolist() == [0, 1, 2, 3]
    assert log.to_pandas()["episode"].tolist()[:1] == [0]
