"""Logs in text: the order of rows, columns, and what is wrong in a row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.episodes import UNKNOWN
from jumar.log.reading import read_logs
from log_rows import (
    FILL_IN,
    HEADER,
    PLAIN_DIGITS,
    THE_AMOUNT,
    refused,
)

# ---------------------------------------------------------------- order of rows


def test_interleaved_episodes_are_taken_apart_in_order_of_appearance(log_file):
    path = log_file(
        "bus9,a,keep,1,false", "bus10,b,keep,2,false", "bus9,c,keep,3,true", "bus10,d,keep,4,true"
    )
    log = read_logs(path)
    assert log.reward.tolist() == [1, 3, 2, 4]
    assert log.start.tolist() == [0, 2, 4]
    assert log.where(1) == f"{path}, row 4 (episode bus9)"
    assert log.where(2) == f"{path}, row 3 (episode bus10)"


def test_steps_are_sorted_as_numbers_so_2_comes_before_10(log_file):
    rows = [f"1,{step},z,keep,{step},{'true' if step == 11 else ''}" for step in (10, 2, 11, 1)]
    log = read_logs(log_file(*rows, header="episode,step,observation,action,reward,terminated"))
    assert log.reward.tolist() == [1, 2, 10, 11]
    assert log.origin.row.tolist() == [5, 3, 2, 4]


def test_steps_may_be_negative_or_fractions(log_file):
    rows = [f"1,{step},z,keep,{step},false" for step in ("1.5", "-3", " 1.25 ", "1e1")]
    log = read_logs(log_file(*rows, header="episode,step,observation,action,reward,terminated"))
    assert log.reward.tolist() == [-3, 1.25, 1.5, 10]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_steps_that_differ_by_a_nanosecond_are_told_apart(tmp_path, ending):
    """1,700,000,000,000,000,001 and ...002 are the same float."""
    now = 1_700_000_000_000_000_000
    table = pa.table(
        {
            "episode": [1, 1, 1],
            "step": [now + 2, now, now + 1],
            "observation": ["z"] * 3,
            "action": ["a"] * 3,
            "reward": [2, 0, 1],
            "terminated": [False] * 3,
        }
    )
    path = tmp_path / f"log.{ending}"
    if ending == "csv":
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    assert read_logs(path).reward.tolist() == [0, 1, 2]


def test_two_rows_with_the_same_step_are_named(log_file):
    path = log_file(
        "7,1,z,a,0,", "7,3,z,a,0,", "7,1.0,z,a,0,", header=HEADER.replace("e,o", "e,step,o")
    )
    refused(
        path,
        ", row 4 (episode 7): the step is the same as in row 2. "
        "Number the steps of an episode differently. If it is a copy, say repeated='drop' "
        "(--repeated drop) to leave it out.",
    )


@pytest.mark.parametrize(
    ("step", "fact"),
    [
        ("", "the step is missing. Fill it in, or rename or leave out the column."),
        ("third", "'third' is not a number. Number the steps 1, 2, 3, ..."),
        ("nan", "nan is not a number to sort by. Write a finite one."),
        ("inf", "inf is not a number to sort by. Write a finite one."),
    ],
)
def test_a_step_that_is_not_a_number_is_named(log_file, step, fact):
    path = log_file("1,1,z,a,0,", f"1,{step},z,a,0,", header=HEADER.replace("e,o", "e,step,o"))
    refused(path, f", row 3, column 'step': {fact}")


# ---------------------------------------------------------------- columns


def test_a_missing_column_is_named_with_what_may_be_meant(log_file):
    path = log_file("1,z,a,0", header="episode,observation,acton,reward")
    refused(
        path,
        ": no column for the action: column 'action' is not one of episode, observation, acton, "
        "reward. Did you mean 'acton'? If it has another name, say so: columns={'action': ...} "
        "(--columns action=...).",
    )


def test_an_unknown_part_is_refused(log_file):
    with refuses(ParameterError, "'rewards'", "'reward'"):
        read_logs(log_file("1,z,a,0,true"), columns={"rewards": "gain"})


def test_two_columns_of_the_same_name_are_refused(log_file):
    path = log_file("1,z,a,0,5,true", header="episode,observation,action,reward,reward,terminated")
    refused(path, ": there are 2 columns 'reward'. Rename all but one.")


def test_two_columns_that_nobody_needs_may_share_a_name(log_file):
    path = log_file("1,z,a,0,x,y,true", header="episode,observation,action,reward,n,n,terminated")
    assert len(read_logs(path)) == 1


# ---------------------------------------------------------------- what is wrong in a row


def test_a_missing_action_in_the_middle_is_named(log_file):
    refused(
        log_file("7,z,a,0,", "7,z,,,", "7,z,a,0,true"),
        ", row 3 (episode 7): the action is missing. Only the last row of an episode that was cut "
        "off may have none." + FILL_IN,
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('7,z,a,"1,5,6",', ", row 3, column 'reward': '1,5,6' is not a number." + PLAIN_DIGITS),
        ("7,z,a,0x10,", ", row 3, column 'reward': '0x10' is not a number." + PLAIN_DIGITS),
        (
            "7,z,a,NaN,",
            ", row 3, column 'reward': reward is nan; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "7,z,a,1e400,",
            ", row 3, column 'reward': reward is inf; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "7,z,*,0,",
            ", row 3 (episode 7): action '*' is reserved for the wildcard. Choose another name.",
        ),
    ],
)
def test_what_is_wrong_in_a_row_is_named(log_file, row, message):
    refused(log_file("7,z,a,0,", row), message)


def test_a_step_marked_terminated_must_be_the_last(log_file):
    refused(
        log_file("7,z,a,0,", "7,z,a,0,1", "7,z,a,0,true"),
        ", row 3 (episode 7): marked terminated, but the episode goes on. "
        "Start a new episode after an ending.",
    )


def test_nothing_is_seen_after_an_ending(log_file):
    refused(
        log_file("7,z,a,0,true", "7,z,,,"),
        ", row 3 (episode 7): an observation follows a step that is marked terminated. "
        "Drop the row, or the mark.",
    )


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "1", "yes", "Yes", "1.0", " true "])
def test_words_for_ended(log_file, word):
    assert read_logs(log_file(f"7,z,a,0,{word}")).terminated.tolist() == [True]


@pytest.mark.parametrize("word", ["false", "False", "FALSE", "0", "no", "0.0", ""])
def test_words_for_not_ended(log_file, word):
    assert read_logs(log_file(f"7,z,a,0,{word}")).terminated.tolist() == [False]


def test_without_a_terminated_column_it_must_be_said_what_an_end_means(log_file):
    path = log_file("1,z,a,0", "2,z,a,0", "2,z,,", header="episode,observation,action,reward")
    with refuses(LogError, "column 'terminated'", "ends='terminated'", "ends='cut'"):
        read_logs(path)
    # the second episode carries what was seen in the end, so it was cut off whatever is said
    assert read_logs(path, ends="terminated").terminated.tolist() == [True, False]
    assert read_logs(path, ends="cut").terminated.tolist() == [False, False]
    assert read_logs(path, ends="cut").final_observation.tolist() == [UNKNOWN, 0]


def test_what_an_end_means_is_not_said_twice(log_file):
    refused(
        log_file("1,z,a,0,false"),
        ": the column 'terminated' says how each episode ends. "
        "Leave out ends='terminated', or the column.",
        ends="terminated",
    )


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ("7,z,repaire,0,", "action 'repaire' is not one of keep, repair. Did you mean 'repair'?"),
        (
            "7,Z,keep,0,",
            "observation 'Z' is not one of z, worn. Correct the log, or add the observation to "
            "those of the controller.",
        ),
        ("7,z, keep,0,", "action ' keep' is not one of keep, repair. Did you mean 'keep'?"),
    ],
)
def test_a_name_the_controller_does_not_know_is_named_with_its_row(log_file, row, fact):
    path = log_file("7,z,keep,0,", row)
    refused(
        path,
        f", row 3 (episode 7): {fact}",
        observations=("z", "worn"),
        actions=("keep", "repair"),
    )


def test_given_names_fix_the_numbers(log_file):
    log = read_logs(log_file("7,b,x,0,"), observations=("c", "b", "a"), actions=("y", "x"))
    assert (log.observation.tolist(), log.action.tolist()) == ([1], [1])
    assert log.observations == ("c", "b", "a")


def test_given_names_must_be_names(log_file):
    with refuses(LogError, "observation name 2", "'a'", "name 1"):
        read_logs(log_file("7,a,x,0,"), observations=("a", "a"))
    with refuses(LogError, "list of names", "'ab'"):
        read_logs(log_file("7,a,x,0,"), actions="ab")


# ---------------------------------------------------------------- names that look like numbers


def test_names_that_look_like_numbers_stay_apart(log_file):
    log = read_logs(log_file("1,0,1,0,", "1,1,01,0,", "1,01,1.0,0,", "1,00,1,0,"))
    assert log.observations == ("0", "00", "01", "1")
    assert log.actions == ("01", "1", "1.0")


def test_episodes_may_be_numbers_and_01_is_not_1(log_file):
    log = read_logs(log_file("1,z,a,0,", "01,z,a,0,", "1,z,a,0,"))
    assert log.lengths.tolist() == [2, 1]
    assert log.where(2).endswith("row 3 (episode 01)")
