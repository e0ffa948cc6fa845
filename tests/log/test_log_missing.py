"""Missing values: an error with count and examples, a symbol, or an episode less."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs

HEADER = "episode,observation,action,reward"


def seen(log) -> list[str]:
    return [log.observations[z] for z in log.observation]


HOLES = ["1,z,a,0", "2,,a,0", "3,z,a,0", "4,,a,0", "4,,a,0", "5,,a,0", "6,,a,0"]


def test_the_error_counts_and_gives_examples(log_file):
    path = log_file(*HOLES)
    with pytest.raises(LogError) as caught:
        read_logs(path, ends="cut")
    assert str(caught.value) == (
        f"{path}, row 3 (episode 2): the observation is missing. So it is in 5 rows in all (also "
        "5, 6, 7, ...). Fill it in, or say missing='symbol' (--missing symbol) to call it "
        "'missing' or missing='drop' (--missing drop) to leave out its episode."
    )


def test_an_observation_that_is_partly_missing_is_named_as_the_controller_must_know_it(log_file):
    path = log_file("1,low,,run,0", header="episode,vibration,noise,action,reward")
    options = {"columns": {"observation": "vibration+noise"}, "ends": "cut", "missing": "symbol"}
    with refuses(LogError, "add 'low+missing'", "controller"):
        read_logs(path, observations=("low+quiet",), **options)


def test_a_missing_observation_becomes_a_symbol(log_file):
    log = read_logs(log_file(*HOLES, "6,,,"), ends="cut", missing="symbol")
    assert seen(log) == ["z", "missing", "z", *["missing"] * 4]
    assert log.observations[log.final_observation[-1]] == "missing"
    assert log.origin.remarks.replaced == 6
    assert len(log) == 6


def test_the_controller_must_know_the_symbol(log_file):
    path = log_file(*HOLES)
    options = {"ends": "cut", "missing": "symbol"}
    with pytest.raises(LogError) as caught:
        read_logs(path, observations=("z",), **options)
    assert str(caught.value) == (
        f"{path}, row 3 (episode 2): observation 'missing' is not one of z. Add 'missing' to the "
        "observations of the controller, or say missing='drop' (--missing drop) to leave out its "
        "episode."
    )
    assert read_logs(path, observations=("missing", "z"), **options).observation[0] == 1


def test_the_symbol_stands_for_the_part_that_is_missing(log_file):
    header = "episode,vibration,noise,action,reward"
    path = log_file("1,low,,run,0", "1,,quiet,run,0", "1,,,run,0", "1,9,loud,run,0", header=header)
    options = {
        "columns": {"observation": "vibration+noise"},
        "bins": {"vibration": ("low", 5, "high")},
        "ends": "cut",
    }
    with refuses(LogError, "row 2, column 'vibration'", "'low'", "number"):
        read_logs(path, **options)
    options["bins"] = {}
    with refuses(LogError, "row 2", "observation is missing", "column 'noise'"):
        read_logs(path, **options)
    log = read_logs(path, missing="symbol", **options)
    assert seen(log) == ["low+missing", "missing+quiet", "missing+missing", "9+loud"]
    assert log.origin.remarks.replaced == 3


def test_nan_in_a_column_of_numbers_is_missing():
    table = pa.table(
        {"episode": [1, 2], "observation": [1.5, math.nan], "action": [1, 1], "reward": [0, 0]}
    )
    with refuses(LogError, "row 2 (episode 2)", "observation is missing"):
        read_logs(table, ends="cut")
    assert seen(read_logs(table, ends="cut", missing="symbol")) == ["1.5", "missing"]


@pytest.mark.parametrize(
    "hole", ["2,,a,0", "2,z,,\n2,z,a,0", "2,z,a,", "2,z,a,nan", "2,z,a,0\n2,,,"]
)
def test_an_episode_with_a_hole_is_left_out(log_file, hole):
    path = log_file("1,z,a,1", "1,y,,", *hole.split("\n"), "3,x,b,3")
    log = read_logs(path, ends="cut", missing="drop")
    assert (log.reward.tolist(), log.origin.label) == ([1, 3], ["1", "3"])
    assert log.final_observation.tolist() == [1, -1]  # y, as a last row without action is no hole
    assert log.origin.remarks.dropped == 1


def test_names_of_episodes_that_were_left_out_are_forgotten(log_file):
    path = log_file("1,z,a,1", "2,rare,b,", "3,x,a,3")
    log = read_logs(path, ends="cut", missing="drop")
    assert (log.observations, log.actions) == (("x", "z"), ("a",))


def test_only_the_part_with_the_hole_is_left_out_after_a_gap(log_file):
    path = log_file("1,1,z,a,1", "1,9,,a,2", "1,19,z,a,3", header="episode,step," + HEADER[8:])
    log = read_logs(path, ends="terminated", missing="drop", gap=5)
    assert (log.reward.tolist(), log.origin.label) == ([1, 3], ["1", "1 (3)"])
    assert log.terminated.tolist() == [False, True]


def test_nothing_left_is_an_error(log_file):
    path = log_file("1,,a,1", "2,z,a,")
    with pytest.raises(LogError) as caught:
        read_logs(path, ends="cut", missing="drop")
    assert str(caught.value).startswith(
        f"{path}: every episode has a missing value, so missing='drop' (--missing drop) leaves "
        "nothing; the first is in row 2."
    )


def test_a_hole_in_a_column_with_a_price(log_file):
    path = log_file("1,z,a,5", "2,z,a,", header="episode,observation,action,miles")
    with refuses(LogError, "row 3, column 'miles'", "missing", "fill"):
        read_logs(path, prices={"column:miles": -1}, ends="cut")
    log = read_logs(path, prices={"column:miles": -1}, ends="cut", missing="drop")
    assert log.reward.tolist() == [-5]


def test_half_an_action_is_missing(log_file):
    path = log_file("1,z,oil,,0", header="episode,observation,tool,side,reward")
    with refuses(LogError, "row 2", "action is missing", "column 'side'"):
        read_logs(path, columns={"action": "tool+side"}, ends="cut")


@pytest.mark.parametrize("option", ["missing", "repeated"])
def test_an_unknown_choice_is_refused(log_file, option):
    with pytest.raises(ParameterError, match=rf"{option}: choice 'dorp' is not one of .*'drop'"):
        read_logs(log_file("1,z,a,0"), **{option: "dorp"})
