"""All problems of a log are told at once, up to twenty."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from commands import run_command as run
from jumar.core.errors import LogError
from jumar.log.formats.source import naming
from jumar.log.problems import MOST
from jumar.log.reading import read_logs
from log_rows import FILL_IN_REWARD, HEADER, PLAIN_DIGITS


def problems(path, **options) -> list[str]:
    """What is wrong with a log, without the path."""
    with pytest.raises(LogError) as caught:
        read_logs(path, **options)
    lines = str(caught.value).split("\n")
    assert len(lines) <= MOST + 1
    assert all(line.isprintable() for line in lines)
    assert lines[0] == caught.value.problems[0]
    for line, problem in zip(lines, caught.value.problems, strict=False):
        assert problem.startswith(line)
    return [problem.removeprefix(str(path)) for problem in caught.value.problems]


def test_a_remedy_is_given_once(log_file):
    path = log_file("1,z,a,ten,", "1,z,a,lots,", header=HEADER)
    with pytest.raises(LogError) as caught:
        read_logs(path)
    first, second = str(caught.value).split("\n")
    assert first == f"{path}, row 2, column 'reward': 'ten' is not a number." + PLAIN_DIGITS
    assert second == f"{path}, row 3, column 'reward': 'lots' is not a number."
    assert caught.value.problems[1] == second + PLAIN_DIGITS


def test_at_most_twenty_are_told_and_the_others_counted(log_file):
    path = log_file(*(f"1,z,a,x{i},{'maybe' if i == 49 else ''}" for i in range(50)), header=HEADER)
    with pytest.raises(LogError) as caught:
        read_logs(path)
    lines = str(caught.value).split("\n")
    assert len(lines) == MOST + 1
    assert lines[-1] == "... and 31 more problems."
    assert len(caught.value.problems) == MOST


def test_missing_values_and_unknown_names_are_told_together(log_file):
    rows = ["1,,fix,1,", "1,god,keep,,", "1,god,fxi,inf,", "1,,keep,2,"]
    names = {"observations": ("good", "worn"), "actions": ("keep", "fix")}
    found = problems(log_file(*rows, header=HEADER), **names)
    assert [problem.partition(":")[0] for problem in found] == [
        ", row 2 (episode 1)", ", row 3 (episode 1)", ", row 4 (episode 1)",
        ", row 3, column 'reward'", ", row 4, column 'reward'",
    ]  # fmt: skip
    assert "So it is in 2 rows in all (also 5)" in found[0]
    assert "observation 'god' is not one of good, worn. Did you mean 'good'?" in found[1]
    assert "action 'fxi' is not one of keep, fix. Did you mean 'fix'?" in found[2]
    assert "the reward is missing." + FILL_IN_REWARD in found[3]
    assert "reward is inf" in found[4]


def test_all_missing_columns_are_told(log_file):
    found = problems(log_file("1,2", header="a,b"))
    assert [problem.split(":")[1] for problem in found] == [
        f" no column for the {part}" for part in ("episode", "reward", "observation", "action")
    ]


def test_all_ragged_rows_are_told(log_file):
    found = problems(log_file("1,z,a,0,", "1,z,a", "1,z,a,0,,,", "2,z,a,0,", header=HEADER))
    assert [problem.partition(",")[2].partition(",")[0] for problem in found] == [
        " row 3: has 3 cells", " row 4: has 7 cells",
    ]  # fmt: skip


def test_all_steps_that_are_there_twice_are_told(log_file):
    header = "episode,step,observation,action,reward"
    rows = ["1,1,z,a,0", "1,1,y,a,0", "2,5,z,a,0", "2,5,z,a,0"]
    found = problems(log_file(*rows, header=header), ends="cut")
    assert [problem.partition(". ")[0] for problem in found] == [
        ", row 3 (episode 1): the step is the same as in row 2",
        ", row 5 (episode 2): the step is the same as in row 4",
    ]
    assert "--repeated drop" not in found[0]
    assert "--repeated drop" in found[1]


def test_endings_rewards_and_clusters_are_told_together(log_file):
    header = "episode,observation,action,reward,terminated,cluster"
    rows = ["1,z,a,0,true,x", "1,z,a,0,,y", "2,z,a,0,,x", "2,z,,3,,x", "3,z,a,0,,"]
    found = problems(log_file(*rows, header=header))
    assert [problem.partition(": ")[2][:30] for problem in found] == [
        "there is a reward but no actio",
        "marked terminated, but the epi",
        "no row of the episode names it",
    ]


def test_an_error_with_problems_survives_a_process(log_file):
    with pytest.raises(LogError) as caught:
        read_logs(log_file("1,z,a,ten,", "1,z,a,lots,", header=HEADER))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.problems) == (str(caught.value), caught.value.problems)
    assert LogError("alone").problems == ("alone",)


def test_json_lists_the_problems(log_file, capsys):
    path = log_file("1,z,a,ten,", "1,z,a,lots,", header=HEADER)
    finished = run(capsys, "check", path, "--no-project", "--json")
    assert len(finished.error["problems"]) == 2
    path = log_file("1,z,a,ten,", header=HEADER)
    assert "problems" not in run(capsys, "check", path, "--no-project", "--json").error


def test_a_message_of_a_library_cannot_disturb_a_terminal():
    """Arrow quotes the bytes of a damaged file."""
    with pytest.raises(LogError) as caught, naming("log.parquet", "Parquet"):
        raise pa.ArrowInvalid("magic bytes \x1b[2J\x07 found" + "x" * 1000)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 300
    assert "\\x1b[2J" in message
