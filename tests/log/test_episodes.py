"""A log in columns: what it accepts, what it refuses, and what can be done with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError
from jumar.log.episodes import Episodes, Origin
from strategies import logs, names

GOOD = {
    "observations": ("good", "worn"),
    "actions": ("keep", "repair"),
    "observation": [0, 1, 1, 0],
    "action": [0, 1, 0, 0],
    "reward": [1.0, -2.0, 0.5, 4.0],
    "start": [0, 2, 4],
    "final_observation": [-1, 1],
    "terminated": [True, False],
}
COLUMNS = ("observation", "action", "reward", "start", "final_observation", "terminated")


def log(**changes) -> Episodes:
    return Episodes(**{**GOOD, **changes})


def columns(episodes: Episodes) -> list[list]:
    return [getattr(episodes, name).tolist() for name in COLUMNS]


# ---- what a log is ------------------------------------------------------------------------------


def test_a_log_knows_its_size():
    assert (len(log()), log().n_steps) == (2, 4)
    assert log().lengths.tolist() == [2, 2]
    assert log().last.tolist() == [1, 3]
    assert [log().episode_of(row) for row in range(4)] == [0, 0, 1, 1]


@pytest.mark.parametrize("column", COLUMNS)
def test_no_column_can_be_written_to_or_changed_from_outside(column):
    mine = np.array(GOOD[column])
    episodes = log(**{column: mine})
    before = getattr(episodes, column).tolist()
    mine[0] = mine[-1]
    assert getattr(episodes, column).tolist() == before
    with pytest.raises(ValueError, match="read-only"):
        getattr(episodes, column)[0] = 0


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"observation": [], "action": [], "reward": [], "start": [0]}, "The log is empty"),
        ({"action": [0, 1, 0]}, "4 steps, but 3 in 'action'"),
        ({"terminated": [True]}, "2 episodes, but 1 in 'terminated'"),
        ({"start": [1, 2, 4]}, "start must run from 0 to 4"),
        (
            {"start": [0, 2, 2, 4], "final_observation": [-1] * 3, "terminated": [True] * 3},
            "Episode 1: has no steps",
        ),
        ({"observation": [0, 2, 1, 0]}, "observation 1: number 2 is out of range; there are 2"),
        ({"final_observation": [-1, 2]}, "final observation 1: number 2 is out of range"),
        ({"reward": [1, 2, np.nan, 4]}, "Log, episode 1, step 0: reward is nan"),
        ({"final_observation": [0, 1]}, "Episode 0: ended by itself and yet carries a final"),
        ({"observations": ("good", "good")}, "'good' is also name 1"),
    ],
)
def test_a_log_that_cannot_be_is_refused_with_the_place(changes, fact):
    with pytest.raises(LogError, match=fact):
        log(**changes)


def test_a_number_that_is_not_whole_is_no_observation():
    with pytest.raises(LogError):
        log(observation=[0.9, 1, 1, 0])


# ---- returns ------------------------------------------------------------------------------------


@given(logs(names("z", 2), names("a", 2)), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_returns_are_the_sum_one_would_write_down(episodes, discount):
    by_hand = []
    for first, last in zip(episodes.start[:-1], episodes.start[1:], strict=True):
        by_hand.append(sum(r * discount**t for t, r in enumerate(episodes.reward[first:last])))
    assert episodes.returns(discount).tolist() == by_hand


# ---- choosing, joining, renaming ----------------------------------------------------------------


def test_episodes_are_chosen_in_the_order_asked_for_and_may_repeat():
    chosen = log().select([1, 0, 1])
    assert columns(chosen) == [
        [1, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 0, 0],
        [0.5, 4.0, 1.0, -2.0, 0.5, 4.0],
        [0, 2, 4, 6],
        [1, -1, 1],
        [False, True, False],
    ]


@given(logs(names("z", 2), names("a", 2)), st.data())
def test_a_log_cut_in_two_and_joined_is_the_log(episodes, data):
    cut = data.draw(st.integers(0, len(episodes)))
    if 0 < cut < len(episodes):
        number = np.arange(len(episodes))
        joined = episodes.select(number[:cut]) + episodes.select(number[cut:])
        assert columns(joined) == columns(episodes)


def test_a_mask_chooses_the_episodes_it_marks():
    assert log().select(log().terminated).reward.tolist() == [1.0, -2.0]
    with pytest.raises(LogError, match="empty"):
        log().select([])


def test_joining_renumbers_the_second_log_by_name():
    other = log(observations=("worn", "good"), actions=("repair", "keep"))
    joined = log() + other
    assert joined.observation.tolist() == [0, 1, 1, 0, 1, 0, 0, 1]
    assert joined.action.tolist() == [0, 1, 0, 0, 1, 0, 1, 1]
    assert joined.final_observation.tolist() == [-1, 1, -1, 0]


def test_aligning_there_and_back_is_the_same_log():
    there = log().align(("worn", "new", "good"), ("repair", "keep"))
    assert there.observation.tolist() == [2, 0, 0, 2]
    assert there.final_observation.tolist() == [-1, 0]
    assert columns(there.align(("good", "worn"), ("keep", "repair"))) == columns(log())


def test_a_name_that_was_logged_must_be_known_to_the_other_side():
    with refuses(LogError, "step", "'worn'", "good, torn"):
        log().align(("good", "torn"), ("keep", "repair"))


def test_a_name_nobody_logged_need_not_be_known():
    kept = log(action=[0, 0, 0, 0]).align(("good", "worn"), ("keep",))
    assert kept.actions == ("keep",)


# ---- where a log came from ----------------------------------------------------------------------


def with_origin() -> Episodes:
    return log(origin=Origin("logs.csv", np.array([2, 3, 5, 6]), ["bus 17", "bus 4"]))


def test_a_step_is_named_by_file_row_and_episode():
    whole = with_origin()
    assert whole.where(2) == "logs.csv, row 5 (episode bus 4)"
    assert whole.select([1]).where(1) == "logs.csv, row 6 (episode bus 4)"
    assert whole.align(("worn", "good"), ("keep", "repair")).where(0).startswith("logs.csv")


def test_a_reward_that_is_no_number_names_the_row_of_the_file():
    with refuses(LogError, "logs.csv, row 5 (episode bus 4)", "reward", "nan"):
        log(reward=[1, 2, np.nan, 4], origin=with_origin().origin)
