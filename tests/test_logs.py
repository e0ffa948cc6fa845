"""Logs in files: what was written comes back; what is wrong is named by file, row and column."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from facts import refuses
from jumar import models, simulate, stream
from jumar.core.controller import Controller
from jumar.core.episodes import UNKNOWN, Episodes
from jumar.core.errors import JumarError, LogError, ParameterError
from jumar.io.logs import read_logs, write_logs

HEADER = "episode,observation,action,reward,terminated"
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson")
SYMBOL = "missing='symbol' (--missing symbol) to call it 'missing'"
DROP = "missing='drop' (--missing drop) to leave out its episode"
FILL_IN = f" Fill it in, or say {DROP}."
AS_UTF_8 = " Save it as UTF-8, or give the file the ending of its format, such as .parquet."
WHICH_EPISODE = " Write in every row which episode it belongs to."
PLAIN_DIGITS = " Write plain digits, such as -12.5; leave the cell empty if nobody knows."
THE_AMOUNT = " Write the amount itself; leave the cell empty if nobody knows."
WRITE_TRUE = " Write true or false, yes or no, 1 or 0; an empty cell is false."
FILL_IN_OBSERVATION = f" Fill it in, or say {SYMBOL} or {DROP}."


@pytest.fixture
def log_file(tmp_path):
    """Writes rows below the usual header and gives the path."""

    def write(*rows: str, header: str = HEADER, name: str = "log.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture
def parquet_file(tmp_path):
    def write(**columns: object) -> Path:
        path = tmp_path / "log.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write


def refused(path: Path, message: str, **options: object) -> None:
    """The file is refused with exactly this message after its path."""
    with pytest.raises(LogError) as caught:
        read_logs(path, **options)
    assert str(caught.value) == f"{path}{message}"


def in_names(log: Episodes) -> list[tuple[list[tuple[str, str, float]], str | None, bool]]:
    """A log without its numbering: steps by name, final observation, terminated."""
    episodes = []
    for e in range(len(log)):
        rows = range(log.start[e], log.start[e + 1])
        steps = [
            (log.observations[log.observation[i]], log.actions[log.action[i]], float(log.reward[i]))
            for i in rows
        ]
        final = int(log.final_observation[e])
        seen = None if final == UNKNOWN else log.observations[final]
        episodes.append((steps, seen, bool(log.terminated[e])))
    return episodes


# ---------------------------------------------------------------- there and back


def three_endings(observations: tuple[str, ...], actions: tuple[str, ...]) -> Episodes:
    """One episode that ended, one cut off with what was seen last, one cut off without."""
    return Episodes(
        observations=observations,
        actions=actions,
        observation=[0, 1, 1, 0, 0],
        action=[0, 1, 1, 0, 1],
        reward=[0.1, -1e-300, 1e99, 1 / 3, -0.0],
        start=[0, 2, 4, 5],
        final_observation=[UNKNOWN, 1, UNKNOWN],
        terminated=[True, False, False],
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_the_three_ways_an_episode_can_stop_come_back(tmp_path, ending):
    log = three_endings(("good", "worn"), ("keep", "repair"))
    path = tmp_path / f"log.{ending}"
    write_logs(log, path)
    back = read_logs(path)
    assert in_names(back) == in_names(log)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_simulated_log_comes_back_bit_for_bit(tmp_path, ending):
    maze = models.cheese_maze()
    uniform = Controller.uniform(maze.observations, maze.actions)
    log = simulate(maze, uniform, episodes=300, rng=stream(7, "data"), max_steps=20)
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


STRANGE = {
    "comma": "worn, badly",
    "quotes": 'the "good" one',
    "only a quote": '"',
    "newline": "first\nsecond",
    "carriage return": "first\r\nsecond",
    "emoji": "🔧🌧️",
    "right to left": "תקין",
    "both directions": "ok תקין 12",
    "spaces around": "  worn  ",
    "a space": " ",
    "formula": "=1+1",
    "minus": "-",
    "null word": "NULL",
    "not a number": "NaN",
    "true": "true",
    "a tab": "\t",
    "NUL": "a\0b",
    "escape": "\x1b[31mred",
    "markup": "[red]",
    "10,000 letters": "x" * 10_000,
    "byte order mark": "\ufeffworn",
    "combining": "e\u0301",  # not the same as é
}


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", STRANGE.values(), ids=STRANGE)
def test_strange_names_come_back(tmp_path, name, ending):
    log = three_endings(("é", name), ("y" + name, "é"))
    path = tmp_path / f"log.{ending}"
    write_logs(log, path)
    assert in_names(read_logs(path)) == in_names(log)


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
@given(reward=st.floats(-1e100, 1e100))
@example(reward=5e-324)
@example(reward=1e100)
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


@pytest.mark.parametrize("ending", FORMATS)
def test_a_disk_that_fills_up_leaves_the_old_log(tmp_path, ending, monkeypatch):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    log = three_endings(("good", "worn"), ("keep", "repair"))
    path = tmp_path / f"log.{ending}"
    path.write_text("the old one")
    monkeypatch.setattr("jumar.io.files._sync", full)
    with pytest.raises(ParameterError, match="No space left"):
        write_logs(log, path)
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == [path.name]


def test_a_log_is_not_written_under_an_unknown_ending(tmp_path):
    with refuses(LogError, ".csv", ".parquet"):
        write_logs(three_endings(("good", "worn"), ("keep", "repair")), tmp_path / "log.xlsx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", FORMATS)
def test_half_a_character_cannot_be_written(tmp_path, ending):
    with pytest.raises(LogError, match="lone surrogate"):
        write_logs(three_endings(("good", "\ud800"), ("keep", "repair")), tmp_path / f"x.{ending}")
    assert os.listdir(tmp_path) == []


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


def test_columns_separated_by_semicolons_are_recognised(log_file):
    path = log_file("1;z;a;0", header="episode;observation;action;reward")
    refused(
        path,
        ": no column for the episode: column 'episode' is not one of "
        "episode;observation;action;reward. Separate the columns by commas.",
    )


def test_columns_may_have_other_names(log_file):
    path = log_file("8,z,a,2,1", header="bus_id,Zustand,Maßnahme,gain (€),over")
    names = {
        "episode": "bus_id",
        "observation": "Zustand",
        "action": "Maßnahme",
        "reward": "gain (€)",
        "terminated": "over",
    }
    log = read_logs(path, columns=names)
    assert in_names(log) == [([("z", "a", 2.0)], None, True)]


@pytest.mark.parametrize("part", ["step", "terminated"])
def test_an_optional_column_that_was_asked_for_must_exist(log_file, part):
    path = log_file("1,z,a,0,true")
    with pytest.raises(LogError, match=rf"no column for the {part}: column 'nr' is not one of"):
        read_logs(path, columns={part: "nr"})


def test_an_unknown_part_is_refused(log_file):
    with refuses(ParameterError, "'rewards'", "'reward'"):
        read_logs(log_file("1,z,a,0,true"), columns={"rewards": "gain"})


def test_two_columns_of_the_same_name_are_refused(log_file):
    path = log_file("1,z,a,0,5,true", header="episode,observation,action,reward,reward,terminated")
    refused(path, ": there are 2 columns 'reward'. Rename all but one.")


def test_two_columns_of_the_same_name_in_parquet_are_refused(tmp_path):
    names = ["episode", "observation", "action", "reward", "reward"]
    columns = [pa.array(v) for v in ([1], ["z"], ["a"], [0.0], [1.0])]
    path = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_arrays(columns, names), path)
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
        (",z,a,0,", ", row 3, column 'episode': the episode is missing." + WHICH_EPISODE),
        ("7,,a,0,", ", row 3 (episode 7): the observation is missing." + FILL_IN_OBSERVATION),
        ('7,"",a,0,', ", row 3 (episode 7): the observation is missing." + FILL_IN_OBSERVATION),
        ("7,z,a,,", ", row 3, column 'reward': the reward is missing." + FILL_IN),
        ("7,z,a,  ,", ", row 3, column 'reward': the reward is missing." + FILL_IN),
        ("7,z,a,abc,", ", row 3, column 'reward': 'abc' is not a number." + PLAIN_DIGITS),
        ('7,z,a,"1,5",', ", row 3, column 'reward': '1,5' is not a number." + PLAIN_DIGITS),
        ("7,z,a,1_000,", ", row 3, column 'reward': '1_000' is not a number." + PLAIN_DIGITS),
        ("7,z,a,0x10,", ", row 3, column 'reward': '0x10' is not a number." + PLAIN_DIGITS),
        ("7,z,a,True,", ", row 3, column 'reward': 'True' is not a number." + PLAIN_DIGITS),
        (
            "7,z,a,NaN,",
            ", row 3, column 'reward': reward is nan; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "7,z,a,inf,",
            ", row 3, column 'reward': reward is inf; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "7,z,a,-Infinity,",
            ", row 3, column 'reward': reward is -inf; rewards must be finite numbers."
            + THE_AMOUNT,
        ),
        (
            "7,z,a,1e400,",
            ", row 3, column 'reward': reward is inf; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "7,z,a,0,maybe",
            ", row 3, column 'terminated': 'maybe' is not true or false." + WRITE_TRUE,
        ),
        ("7,z,a,0,2", ", row 3, column 'terminated': '2' is not true or false." + WRITE_TRUE),
        (
            "7,*,a,0,",
            ", row 3 (episode 7): observation '*' is reserved for the wildcard. "
            "Choose another name.",
        ),
        (
            "7,z,*,0,",
            ", row 3 (episode 7): action '*' is reserved for the wildcard. Choose another name.",
        ),
        (
            "7,z,,5,",
            ", row 3 (episode 7): there is a reward but no action. Write what was done; or leave "
            "the reward out, if the row only tells what was seen in the end.",
        ),
        (
            "7,z,,,true",
            ", row 3 (episode 7): marked terminated, but has no action. Mark the step with which "
            "the process ended, and drop this row.",
        ),
        (
            "8,z,,,",
            ", row 3 (episode 8): the episode has no steps, only a final observation. "
            "Leave it out.",
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


def test_an_unknown_meaning_of_an_end_is_refused(log_file):
    with refuses(ParameterError, "'ended'", "terminated, cut"):
        read_logs(log_file("1,z,a,0,"), ends="ended")


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


# ---------------------------------------------------------------- what is wrong with a file


def test_an_empty_log_is_refused_in_every_form(tmp_path):
    empty = {
        "": ": the file is empty. A log needs a header and at least one row.",
        HEADER: ": the log is empty: it has no rows. Give at least one episode.",
        HEADER + "\n": ": the log is empty: it has no rows. Give at least one episode.",
        HEADER + "\n\n\n": ": the log is empty: it has no rows. Give at least one episode.",
    }
    for i, (text, message) in enumerate(empty.items()):
        path = tmp_path / f"{i}.csv"
        path.write_text(text)
        refused(path, message)


def test_an_empty_parquet_log_is_refused(parquet_file):
    nothing = {name: pa.array([], pa.string()) for name in HEADER.split(",")}
    refused(
        parquet_file(**nothing), ": the log is empty: it has no rows. Give at least one episode."
    )


def test_a_path_that_is_no_log_is_refused(tmp_path):
    refused(tmp_path / "no.csv", ": there is no such file. Check the path.")
    (tmp_path / "spark.parquet").mkdir()
    refused(
        tmp_path / "spark.parquet",
        ": this is a directory. Give the path of a .csv or .parquet file.",
    )
    for name in ("log.xlsx", "log", ".csv", "log.gz", "log.parquet.gz"):
        (tmp_path / name).write_text(HEADER)
        refused(
            tmp_path / name,
            ": cannot tell the format; end the name in .csv or .parquet, or in .tsv, .arrow or "
            ".ndjson.",
        )


def test_capitals_in_the_ending_do_not_matter(log_file):
    assert len(read_logs(log_file("1,z,a,0,true", name="LOG.CSV"))) == 1


@pytest.mark.parametrize("ending", FORMATS)
def test_binary_garbage_is_refused(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(
        LogError, match=r"this is not (CSV|TSV)|cannot be read|is not a JSON object"
    ) as caught:
        read_logs(path)
    assert str(caught.value).startswith((f"{path}: ", f"{path}, row 1: "))
    assert str(caught.value).isprintable()


def test_a_parquet_file_called_csv_is_refused(tmp_path):
    write_logs(three_endings(("good", "worn"), ("keep", "repair")), tmp_path / "log.parquet")
    (tmp_path / "log.parquet").rename(tmp_path / "log.csv")
    refused(tmp_path / "log.csv", ": this is not CSV: its first line is not UTF-8 text." + AS_UTF_8)


def test_every_truncation_of_a_parquet_file_is_refused(tmp_path):
    write_logs(three_endings(("good", "worn"), ("keep", "repair")), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    path = tmp_path / "cut.parquet"
    for size in range(1, len(whole), 97):
        path.write_bytes(whole[:size])
        with refuses(LogError, "Parquet", "complete"):
            read_logs(path)


def test_text_in_parquet_that_is_not_utf8_is_refused(parquet_file):
    """Parquet promises UTF-8 and nobody checks it on writing."""
    latin = pa.array([b"z", b"\xe4", b"z"]).view(pa.string())
    path = parquet_file(**{**ONE_OF_EACH, "observation": latin})
    with refuses(LogError, "log.parquet", "Parquet", "UTF8"):
        read_logs(path)


def test_a_ragged_row_is_named(log_file):
    remedy = "Is a comma missing, or a quotation mark?"
    path = log_file("1,z,a,0,", "1,z,a,0")
    refused(path, f", row 3: has 4 cells, but the header has 5. {remedy}")
    path = log_file("1,z,a,0,", "", "1,z,a,0,,,")
    refused(path, f", row 4: has 7 cells, but the header has 5. {remedy}")
    path = log_file('1,"z,a,0,', "1,z,a,0,")
    refused(path, f", row 2: has 2 cells, but the header has 5. {remedy}")


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER.encode() + "\n1,z,a,0,\n1,zustand ä,a,0,\n".encode("latin-1"))
    refused(path, ", row 3, column 'observation': is not UTF-8 text. Save the file as UTF-8.")
    path.write_bytes("episode,observation,action,reward,Größe\n1,z,a,0,\n".encode("latin-1"))
    refused(path, ": this is not CSV: its first line is not UTF-8 text." + AS_UTF_8)
    path.write_bytes((HEADER + "\n1,z,a,0,\n").encode("utf-16"))
    refused(path, ": this is not CSV: its first line is not UTF-8 text." + AS_UTF_8)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbf" + f"{HEADER}\r\n1,z,a,0,\r\n1,y,a,0,1\r\n".encode())
    assert in_names(read_logs(path)) == [([("z", "a", 0.0), ("y", "a", 0.0)], None, True)]


def test_columns_nobody_needs_may_hold_anything(tmp_path):
    """Arrow guesses a column's type from its first megabyte; a word after that must not matter."""
    rows = [f"{i},z,a,0,true,{i}" for i in range(120_000)] + ["last,z,a,0,true,a word"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER + ",note", *rows]))
    assert path.stat().st_size > 2_000_000
    assert len(read_logs(path)) == 120_001
    path.write_bytes(HEADER.encode() + b",note\n1,z,a,0,true,\xff\n")
    assert len(read_logs(path)) == 1


# ---------------------------------------------------------------- row numbers


BIG = 100_000


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("99,z,a,abc,", ", column 'reward': 'abc' is not a number." + PLAIN_DIGITS),
        (
            "99,z,a,nan,",
            ", column 'reward': reward is nan; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "99,z,,,\n99,z,a,0,",
            " (episode 99): the action is missing. Only the last row of an "
            "episode that was cut off may have none." + FILL_IN,
        ),
        (
            "99,z,a,0,,",
            ": has 6 cells, but the header has 5. Is a comma missing, or a quotation mark?",
        ),
    ],
)
def test_the_row_is_right_at_the_end_of_a_file_of_many_blocks(tmp_path, bad, message):
    path = tmp_path / "log.csv"
    rows = "\n".join(f"{i},some observation,a,0.25,true" for i in range(100, BIG + 100))
    path.write_text(f"{HEADER}\n{rows}\n{bad}\n")
    assert path.stat().st_size > 3 * 2**20  # Arrow reads blocks of one megabyte
    refused(path, f", row {BIG + 2}{message}")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("lines", "row"),
    [
        (["1,z,a,0,", "1,z,a,x,"], 3),
        (["1,z,a,0,", "", "1,z,a,x,"], 4),
        (["", "1,z,a,0,", "", "", "1,z,a,x,"], 6),
        (['1,"two\nlines",a,0,', "1,z,a,x,"], 3),  # a spreadsheet shows one row
        (['1,"one\n\nthree",a,0,', "", "1,z,a,x,"], 4),
        (["1,z,a,x,", "", ""], 2),
    ],
)
def test_blank_lines_count_as_rows_and_line_breaks_in_quotes_do_not(tmp_path, lines, row, newline):
    path = tmp_path / "log.csv"
    path.write_text(newline.join([HEADER, *lines, ""]), newline="")
    refused(path, f", row {row}, column 'reward': 'x' is not a number." + PLAIN_DIGITS)


def test_line_breaks_in_quotes_may_stand_where_a_block_ends(tmp_path):
    path = tmp_path / "log.csv"
    rows = "".join(f'{i},"a\nb\n\nc",a,0.25,true\n' for i in range(BIG))
    path.write_text(f"{HEADER}\n{rows}")
    assert path.stat().st_size > 2 * 2**20
    log = read_logs(path)
    assert (len(log), log.observations) == (BIG, ("a\nb\n\nc",))
    assert log.origin.row[-1] == BIG + 1


def test_a_blank_line_before_the_header_counts_too(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"\n{HEADER}\n1,z,a,x,\n")
    refused(path, ", row 3, column 'reward': 'x' is not a number." + PLAIN_DIGITS)


def test_parquet_rows_are_counted_from_1(parquet_file):
    path = parquet_file(
        episode=[1, 1], observation=["z", "z"], action=["a", "a"], reward=[0.0, float("nan")]
    )
    refused(
        path,
        ", row 2, column 'reward': reward is nan; rewards must be finite numbers." + THE_AMOUNT,
    )


def test_a_path_with_braces_is_printed_as_it_is(log_file):
    refused(
        log_file("1,z,a,x,", name="{0}{log}.csv"),
        ", row 2, column 'reward': 'x' is not a number." + PLAIN_DIGITS,
    )


# ---------------------------------------------------------------- names that look like numbers


def test_names_that_look_like_numbers_stay_apart(log_file):
    log = read_logs(log_file("1,0,1,0,", "1,1,01,0,", "1,01,1.0,0,", "1,00,1,0,"))
    assert log.observations == ("0", "00", "01", "1")
    assert log.actions == ("01", "1", "1.0")


def test_episodes_may_be_numbers_and_01_is_not_1(log_file):
    log = read_logs(log_file("1,z,a,0,", "01,z,a,0,", "1,z,a,0,"))
    assert log.lengths.tolist() == [2, 1]
    assert log.where(2).endswith("row 3 (episode 01)")


# ---------------------------------------------------------------- Parquet types


ONE_OF_EACH = {
    "episode": [3, 3, 4],
    "observation": ["z", "y", "z"],
    "action": ["a", "b", "a"],
    "reward": [1.0, 2.0, 3.0],
    "terminated": [False, True, True],
}
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
            {"action": pa.nulls(3)},
            ", row 1 (episode 3): the action is missing. Only the last row of an episode that was "
            "cut off may have none." + FILL_IN,
        ),
        (
            {"observation": pa.nulls(3)},
            ", row 1 (episode 3): the observation is missing. So it is in 3 rows in all (also 2, "
            "3)." + FILL_IN_OBSERVATION,
        ),
        (
            {"episode": pa.nulls(3)},
            ", row 1, column 'episode': the episode is missing. So it is in 3 rows in all (also 2, "
            "3)." + WHICH_EPISODE,
        ),
        (
            {"reward": pa.nulls(3)},
            ", row 1, column 'reward': the reward is missing. So it is in 3 rows in all (also 2, "
            "3)." + FILL_IN,
        ),
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


# ---------------------------------------------------------------- fuzzing


def _valid(ending: str) -> bytes:
    buffer = io.BytesIO()
    table = pa.table({**ONE_OF_EACH, "step": [1, 2, 1]})
    if ending in ("csv", "tsv", "csv.gz"):
        mark = "\t" if ending == "tsv" else ","
        lines = [f"{HEADER},step".replace(",", mark)]
        for e in range(4):
            for t in range(3):
                cells = [e, f'"zustand{mark} {t}"', "keep", t / 3, t == 2, t]
                lines.append(mark.join(map(str, cells)))
        text = ("\n".join(lines) + "\n").encode()
        buffer.write(gzip.compress(text) if ending == "csv.gz" else text)
    elif ending == "ndjson":
        for row in table.to_pylist() * 3:
            buffer.write(
                (json.dumps({**row, "episode": f"{len(buffer.getvalue())}"}) + "\n").encode()
            )
    elif ending == "stream":
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
    elif ending == "arrow":
        with pa.ipc.new_file(buffer, table.schema) as file:
            file.write_table(table)
    else:
        pq.write_table(table, buffer, compression="none")
    return buffer.getvalue()


VALID = {ending: _valid(ending) for ending in (*FORMATS, "stream")}
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.sampled_from(["set", "delete", "insert", "cut"]),
        st.sampled_from(b'\x00\xff\x80\n\r,";* .0129+-eEnNtT') | st.integers(0, 255),
    ),
    min_size=1,
    max_size=8,
)


def mutated(data: bytes, changes: list[tuple[int, str, int]]) -> bytes:
    made = bytearray(data)
    for position, kind, byte in changes:
        at = position % (len(made) + 1)
        if kind == "cut":
            del made[at:]
        elif kind == "insert":
            made.insert(at, byte)
        elif kind == "delete":
            del made[at : at + 1]
        else:
            made[at : at + 1] = bytes([byte])
    return bytes(made)


def outcome(path: Path) -> Episodes | str:
    """The log, or the message of the error; any other exception goes through."""
    try:
        return read_logs(path)
    except JumarError as error:
        return str(error)


@pytest.mark.parametrize("ending", VALID)
def test_a_damaged_file_is_read_or_refused_but_never_crashes(tmp_path, ending):
    path = tmp_path / ("log.arrow" if ending == "stream" else f"log.{ending}")
    kinds = set()

    @given(edits)
    def check(changes):
        path.write_bytes(mutated(VALID[ending], changes))
        found = outcome(path)
        kinds.add(type(found))
        if isinstance(found, str):
            assert found.startswith(str(path))
        else:
            assert np.isfinite(found.reward).all()

    path.write_bytes(VALID[ending])
    assert len(read_logs(path)) > 1  # without damage it is a log
    check()
    # files that are all whole, or all broken, test little; but JSON and gzip forgive nothing
    assert kinds >= ({str} if ending in ("ndjson", "csv.gz") else {str, Episodes})


def mostly(*usual: str) -> st.SearchStrategy[str]:
    rare = ["", "*", "nan", "1e400", "-1", "01", "2.5", " ", "true", "é"]
    return st.sampled_from(usual * 15 + tuple(rare))


def test_random_cells_are_read_or_refused(tmp_path):
    columns = {
        "episode": mostly("1", "2"),
        "observation": mostly("z", "0"),
        "action": mostly("a", "0"),
        "reward": mostly("0", "1"),
        "terminated": mostly("", "0"),
        "note": mostly("", "x"),
    }
    path = tmp_path / "log.csv"
    kinds = set()

    @given(
        st.permutations(list(columns)),
        st.lists(st.fixed_dictionaries(columns), max_size=6),
    )
    def check(header, rows):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)
        found = outcome(path)
        kinds.add(type(found))
        if isinstance(found, str):
            assert found.startswith(str(path))
        else:
            assert found.n_steps == sum(row["action"] != "" for row in rows)
            assert len(found) == len({row["episode"] for row in rows})

    check()
    assert kinds == {str, Episodes}
