"""Columns with other names, several columns in one symbol, bins, costs, prices and nodes."""

from __future__ import annotations

import pytest

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs

HEADER = "episode,vibration,noise,action,reward"


def seen(log) -> list[str]:
    return [log.observations[z] for z in log.observation]


# ---- several columns in one symbol --------------------------------------------------------------


@pytest.mark.parametrize(
    "columns", [("vibration", "noise"), ["vibration", "noise"], "vibration+noise"]
)
def test_two_columns_make_one_observation(log_file, columns):
    path = log_file("1,low,quiet,run,0", "1,high,quiet,run,0", "1,low,loud,fix,0")
    log = read_logs(path, columns={"observation": columns}, ends="cut")
    assert seen(log) == ["low+quiet", "high+quiet", "low+loud"]
    assert log.observations == ("high+quiet", "low+loud", "low+quiet")


def test_actions_are_combined_too_and_a_closing_row_has_none_of_them(log_file):
    path = log_file("1,z,oil,left,0", "1,y,,,", header="episode,observation,tool,side,reward")
    log = read_logs(path, columns={"action": "tool+side"}, ends="cut")
    assert (log.actions, log.n_steps, log.final_observation.tolist()) == (("oil+left",), 1, [0])


def test_a_column_that_is_called_like_a_sum_wins(log_file):
    path = log_file(
        "1,a,b,both,run,0", header="episode,vibration,noise,vibration+noise,action,reward"
    )
    log = read_logs(path, columns={"observation": "vibration+noise"}, ends="cut")
    assert seen(log) == ["both"]


def test_different_values_must_not_make_the_same_name(log_file):
    path = log_file("1,a+b,c,run,0", "1,a,b,run,0", "1,a,b+c,run,0")
    with pytest.raises(LogError) as caught:
        read_logs(path, columns={"observation": "vibration+noise"}, ends="cut")
    assert str(caught.value) == (
        f"{path}, row 4 (episode 1): the observation would be called 'a+b+c' like the one in row "
        "2, which is made of other values. Rename a value that has a '+' in it."
    )


@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        ({"observation": ("vibration", "vibration")}, "named twice"),
        ({"observation": "vibration+vibration"}, "named twice"),
        ({"reward": ("reward", "noise")}, "reward: takes one column, not 2"),
        ({"observation": ()}, r"\(\) is not the name of a column"),
        ({"observation": ["vibration", 3]}, "is not the name of a column"),
        ({"cost": "reward"}, "Say cost=True"),
    ],
)
def test_columns_that_make_no_sense_are_refused(log_file, columns, fact):
    with pytest.raises(ParameterError, match=fact):
        read_logs(log_file("1,a,b,run,0"), columns=columns, ends="cut")


def test_one_of_several_columns_that_is_not_there_is_named(log_file):
    path = log_file("1,a,b,run,0")
    with refuses(LogError, "observation", "'noize'", "'noise'"):
        read_logs(path, columns={"observation": "vibration+noize"}, ends="cut")


# ---- bins ---------------------------------------------------------------------------------------

BINS = {"vibration": ("low", 2, "mid", 5, "high")}


def test_an_edge_belongs_to_the_range_above_it(log_file):
    values = ["-1e9", "1.999", "2", "2.0001", "4.999", " 5 ", "inf"]
    path = log_file(*(f"1,{value},x,run,0" for value in values))
    log = read_logs(path, columns={"observation": "vibration"}, bins=BINS, ends="cut")
    assert seen(log) == ["low", "low", "mid", "mid", "mid", "high", "high"]


def test_a_binned_column_can_be_combined_with_another(log_file):
    path = log_file("1,1,quiet,run,0", "1,7,loud,run,0")
    log = read_logs(path, columns={"observation": "vibration+noise"}, bins=BINS, ends="cut")
    assert seen(log) == ["low+quiet", "high+loud"]


@pytest.mark.parametrize(
    ("spec", "fact"),
    [
        (("low", 5, "mid", 2, "high"), "the edges 5, 2 do not rise"),
        (("low", 2, "low"), "two ranges have the same name"),
        (("low", 2), "is not a list of names and edges"),
        ("low", "is not a list of names and edges"),
        (("low", "2", "high"), "the edge '2' is not a number"),
        (("*", 2, "high"), "'\\*' cannot be a name"),
    ],
)
def test_bins_that_make_no_sense_are_refused_with_an_example(log_file, spec, fact):
    with pytest.raises(ParameterError, match=rf"bins: vibration: .*{fact}.*'low', 2, 'mid'"):
        read_logs(
            log_file("1,1,x,run,0"), columns={"observation": "vibration"}, bins={"vibration": spec}
        )


def test_only_columns_of_symbols_are_cut(log_file):
    with refuses(ParameterError, "'reward'", "vibration, action"):
        read_logs(
            log_file("1,1,x,run,0"),
            columns={"observation": "vibration"},
            bins={"reward": ("a", 1, "b")},
        )


# ---- costs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "columns"),
    [("reward", {}), ("cost", {}), ("euro", {"cost": "euro"}), ("euro", {"reward": "euro"})],
)
def test_costs_are_negated(log_file, column, columns):
    path = log_file("1,z,a,10", "1,z,a,0", header=f"episode,observation,action,{column}")
    log = read_logs(path, columns=columns, cost=True, ends="cut")
    assert [str(r) for r in log.reward] == ["-10.0", "0.0"]  # and not -0.0
    assert log.origin.remarks.costs


def test_a_cost_column_is_not_taken_for_rewards(log_file):
    path = log_file("1,z,a,10", header="episode,observation,action,cost")
    with refuses(LogError, "no column", "reward", "cost=True", "--cost"):
        read_logs(path, ends="cut")


def test_reward_and_cost_are_one_part(log_file):
    with pytest.raises(ParameterError, match="the same part"):
        read_logs(log_file("1,z,a,run,0"), columns={"reward": "a", "cost": "b"}, cost=True)


# ---- prices -------------------------------------------------------------------------------------


def test_rewards_are_the_sum_of_prices(log_file):
    """repair costs 10, broken costs 5, a mile pays 0.5."""
    path = log_file(
        "1,fine,run,100", "1,broken,repair,0", "1,broken,run,4", "1,fine,,",
        header="episode,observation,action,miles",
    )  # fmt: skip
    prices = {"action:repair": -10, "observation:broken": -5, "column:miles": 0.5}
    log = read_logs(path, prices=prices, ends="cut")
    assert log.reward.tolist() == [50, -15, -3]
    assert log.origin.remarks.rewards_assumed


@pytest.mark.parametrize(
    ("prices", "fact"),
    [
        ({"repair": -1}, "Write action:NAME, observation:NAME or column:NAME"),
        ({"action:run": float("inf")}, "inf is not a finite number"),
        ({"action:run": "ten"}, "'ten' is not a finite number"),
    ],
)
def test_prices_that_make_no_sense_are_refused(log_file, prices, fact):
    with pytest.raises(ParameterError, match=f"prices: .*{fact}"):
        read_logs(
            log_file("1,z,run", header="episode,observation,action"), prices=prices, ends="cut"
        )


@pytest.mark.parametrize(
    ("prices", "fact"),
    [
        ({"action:rum": -1}, "prices: action 'rum' is not one of run. Did you mean 'run'?"),
        ({"observation:y": -1}, "prices: observation 'y' is not one of z."),
        ({"column:mile": -1}, "column 'mile' is not one of episode, observation, action, miles"),
    ],
)
def test_a_price_of_something_unknown_is_named(log_file, prices, fact):
    path = log_file("1,z,run,3", header="episode,observation,action,miles")
    with pytest.raises(LogError) as caught:
        read_logs(path, prices=prices, ends="cut")
    assert fact in str(caught.value)


def test_rewards_and_prices_are_not_mixed(log_file):
    with refuses(LogError, "column 'reward'", "leave out prices"):
        read_logs(
            log_file("1,z,a,run,0"), columns={"observation": "noise"}, prices={"action:run": 1}
        )
    with refuses(ParameterError, "minus sign", "prices"):
        read_logs(log_file("1,z,a,run,0"), cost=True, prices={"action:run": 1})


def test_a_log_without_rewards_is_told_of_prices(log_file):
    path = log_file("1,z,run", header="episode,observation,action")
    with refuses(LogError, "no column", "reward", "--prices action:repair=-10"):
        read_logs(path, ends="cut")


# ---- nodes --------------------------------------------------------------------------------------


def test_nodes_are_kept_and_carried_along(log_file):
    path = log_file(
        "1,z,a,0,calm", "1,z,a,0,", "2,z,b,0,alert", header="episode,observation,action,reward,node"
    )
    log = read_logs(path, ends="cut")
    assert (log.node.names, log.node.code.tolist()) == (("calm", "alert"), [0, -1, 1])
    assert log.select([1, 0]).node.code.tolist() == [1, 0, -1]
    assert log.align(("z",), ("b", "a")).node.code.tolist() == [0, -1, 1]


def test_nodes_of_two_logs_are_numbered_by_name(log_file):
    header = "episode,observation,action,reward,node"
    one = read_logs(log_file("1,z,a,0,calm", "1,z,a,0,alert", header=header), ends="cut")
    two = read_logs(log_file("1,z,a,0,alert", "1,z,a,0,", header=header), ends="cut")
    none = read_logs(log_file("1,z,a,0", header="episode,observation,action,reward"), ends="cut")
    assert (one + two).node.code.tolist() == [0, 1, 1, -1]
    assert (none + one).node.code.tolist() == [-1, 0, 1]
    assert (one + none).node.code.tolist() == [0, 1, -1]
    assert (none + none).node is None


def test_a_label_cannot_disturb_a_terminal(log_file):
    label = "\x1b[2J" + "7" * 1000
    path = log_file(f"{label},z,a,0", header="episode,observation,action,reward")
    place = read_logs(path, ends="cut").where(0)
    assert place.isprintable()
    assert place.startswith(f"{path}, row 2 (episode \\x1b[2J777")
    assert len(place) < len(str(path)) + 100
