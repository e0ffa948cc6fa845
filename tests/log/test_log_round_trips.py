"""Logs in files: what was written comes back, and a failed write leaves nothing behind."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from facts import refuses
from jumar import models, simulate
from jumar.core.errors import LogError, ParameterError
from jumar.core.randomness import random_stream
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.log.reading import read_logs, write_logs
from jumar.policy.controller import Controller
from log_rows import FORMATS, in_names, three_endings


@pytest.mark.parametrize("ending", FORMATS)
def test_a_simulated_log_comes_back_bit_for_bit(tmp_path, ending):
    maze = models.cheese_maze()
    uniform = Controller.uniform(maze.observations, maze.actions)
    log = simulate(maze, uniform, episodes=300, seed=random_stream(7, "data"), max_steps=20)
    assert log.terminated.any()
    assert (~log.terminated).any()  # both kinds of episode are in it
    path = tmp_path / f"log.{ending}"
    write_logs(log, path)
    back = read_logs(path, observations=maze.observations, actions=maze.actions)
    for field in ("observation", "action", "reward", "start", "final_observation", "terminated"):
        assert np.array_equal(getattr(back, field), getattr(log, field)), field


@pytest.mark.parametrize("keeping", ["parquet", "arrow"])
def test_typed_files_keep_names_that_never_occurred_and_csv_does_not(tmp_path, keeping):
    log = three_endings(("good", "worn", "broken"), ("repair", "keep", "replace"))
    for ending in FORMATS:
        write_logs(log, tmp_path / f"log.{ending}")
    kept, found = read_logs(tmp_path / f"log.{keeping}"), read_logs(tmp_path / "log.csv")
    assert (kept.observations, kept.actions) == (log.observations, log.actions)
    assert (found.observations, found.actions) == (("good", "worn"), ("keep", "repair"))


STRANGE = (
    "worn, badly",
    'the "good" one',
    '"',
    "first\nsecond",
    "first\r\nsecond",
    "🔧🌧️",
    "תקין",
    "  worn  ",
    "=1+1",
    "NULL",
    "NaN",
    "\t",
    "a\x00b",
    "\x1b[31mred",
    "[red]",
    "x" * 10_000,
    "\ufeffworn",
)


@pytest.mark.parametrize("ending", FORMATS)
def test_strange_names_come_back(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    for name in STRANGE:
        log = three_endings(("é", name), ("y" + name, "é"))
        write_logs(log, path)
        assert in_names(read_logs(path)) == in_names(log), name


printable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name != "*"
)


@given(
    observations=st.lists(printable, min_size=2, max_size=2, unique=True),
    actions=st.lists(printable, min_size=2, max_size=2, unique=True),
    ending=st.sampled_from(FORMATS),
)
def test_any_names_come_back(tmp_path_factory, observations, actions, ending):
    log = three_endings(tuple(observations), tuple(actions))
    path = tmp_path_factory.mktemp("log") / f"log.{ending}"
    write_logs(log, path)
    assert in_names(read_logs(path)) == in_names(log)


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
@given(reward=st.floats(-1e60, 1e60).filter(lambda r: r == 0 or abs(r) >= 1e-60))
@example(reward=1e-60)
@example(reward=1e60)
@example(reward=0.1 + 0.2)
def test_rewards_come_back_exactly_from_text(tmp_path_factory, ending, reward):
    path = tmp_path_factory.mktemp("log") / f"log.{ending}"
    log = Episodes(("z",), ("a",), [0], [0], [reward], [0, 1], [UNKNOWN], [True])
    write_logs(log, path)
    assert read_logs(path).reward[0] == reward


# ---------------------------------------------------------------- writing that fails


@pytest.mark.parametrize("ending", FORMATS)
def test_a_write_that_fails_leaves_nothing_behind(tmp_path, ending):
    log = three_endings(("good", "worn"), ("keep", "repair"))
    (tmp_path / "file").write_text("mine")
    with refuses(ParameterError, "no directory"):
        write_logs(log, tmp_path / "file" / f"log.{ending}")
    with refuses(ParameterError, "no directory"):
        write_logs(log, tmp_path / "missing" / f"log.{ending}")
    (tmp_path / f"folder.{ending}").mkdir()
    with refuses(ParameterError, "a directory"):
        write_logs(log, tmp_path / f"folder.{ending}")
    assert sorted(os.listdir(tmp_path)) == ["file", f"folder.{ending}"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_log_is_not_written_under_an_unknown_ending(tmp_path):
    with refuses(LogError, ".csv", ".parquet"):
        write_logs(three_endings(("good", "worn"), ("keep", "repair")), tmp_path / "log.txt")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", FORMATS)
def test_half_a_character_cannot_be_written(tmp_path, ending):
    with pytest.raises(LogError, match="half a character"):
        write_logs(three_endings(("good", "\ud800"), ("keep", "repair")), tmp_path / f"x.{ending}")
    assert os.listdir(tmp_path) == []
