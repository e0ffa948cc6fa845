"""The command line: bad input exits with 1, wrong usage with 2. Run in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commands import HEADER, RULE, improve
from facts import tells

# ---------------------------------------------------------------- bad input: exit code 1


def controller_with(old: str, new: str) -> str:
    assert old in RULE
    return RULE.replace(old, new)


BAD_CONTROLLERS = {
    "sum": (
        controller_with('action = "repair"', "action = { repair = 0.7, keep = 0.2 }"),
        "rule.toml, rule 1: probabilities sum to 0.9, not 1",
    ),
    "unknown action": (
        controller_with('action = "repair"', 'action = "repaire"'),
        "rule.toml, rule 1: action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "unknown observation": (
        controller_with('observation = "worn"', 'observation = "wron"'),
        "rule.toml, rule 1: observation 'wron' is not one of nothing seen, good, worn. "
        "Did you mean 'worn'?",
    ),
    "newer version": (
        controller_with("jumar-controller/1", "jumar-controller/2"),
        "rule.toml: the file is of a newer format version 2; this jumar reads version 1.",
    ),
    "cut off": (RULE[:150], "rule.toml, "),
    "empty": ("", "rule.toml: the file is empty."),
}


@pytest.mark.parametrize(("text", "message"), BAD_CONTROLLERS.values(), ids=BAD_CONTROLLERS)
def test_a_bad_controller_is_named_and_nothing_is_written(jumar, buses, text, message):
    (buses / "rule.toml").write_text(text)
    refused_everywhere(jumar, buses, 1, "ControllerError", message)
    assert jumar("show", buses / "rule.toml").code == 1


def test_a_binary_controller_is_refused(jumar, buses):
    (buses / "rule.toml").write_bytes(bytes(range(256)))
    refused_everywhere(jumar, buses, 1, "ControllerError", "rule.toml: not UTF-8 text")


BAD_LOGS = {
    "unknown action": (
        ["1,good,repaire,0,true"],
        "row 2 (episode 1): action 'repaire' is not one of keep, inspect, repair. "
        "Did you mean 'repair'?",
    ),
    "unknown observation": (
        ["1,good,keep,0,", "1,god,inspect,0,true"],
        "row 3 (episode 1): observation 'god' is not one of nothing seen, good, worn. "
        "Did you mean 'good'?",
    ),
    "NaN": (
        ["1,good,keep,nan,true"],
        "row 2, column 'reward': reward is nan; rewards must be finite numbers.",
    ),
    "infinite": (
        ["1,good,keep,-inf,true"],
        "row 2, column 'reward': reward is -inf; rewards must be finite numbers.",
    ),
    "no steps": (
        ["1,good,keep,0,true", "2,good,,,"],
        "row 3 (episode 2): the episode has no steps, only a final observation. Leave it out.",
    ),
    "empty": ([], "the log is empty: it has no rows. Give at least one episode."),
    "ragged": (["1,good,keep"], "row 2: has 3 cells, but the header has 5."),
}


@pytest.mark.parametrize(("rows", "message"), BAD_LOGS.values(), ids=BAD_LOGS)
def test_a_bad_log_is_named_and_nothing_is_written(jumar, buses, rows, message):
    (buses / "log.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    refused_everywhere(jumar, buses, 1, "LogError", message)


def test_an_action_the_behavior_never_takes_is_named(jumar, buses):
    (buses / "rule.toml").write_text(controller_with("exploration = 0.02\n", ""))
    refused_everywhere(
        jumar,
        buses,
        1,
        "LogError",
        "row 2 (episode bus 0): action 'repair' was taken, but inspect every second year gives it "
        "probability 0 at node 'inspected', observation 'nothing seen' (10 such steps in all). "
        "Is this the policy that produced the log?",
    )


@pytest.mark.parametrize("content", [bytes(range(256)), b"PAR1" + bytes(100), b""])
@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_garbage_is_refused(jumar, buses, name, content):
    (buses / name).write_bytes(content)
    arguments = ("--policy", buses / "rule.toml", "--discount", 0.9, "-o", buses / "out")
    done = jumar("improve", buses / name, *arguments)
    assert done.code == 1
    assert done.err.startswith(f"jumar: LogError: {buses / name}: ")
    assert not (buses / "out").exists()


def test_files_that_are_not_there(jumar, buses):
    done = jumar("improve", buses / "lgo.csv", "--policy", buses / "rule.toml", "--discount", 0.9)
    assert (done.code, done.out) == (1, "")
    assert (
        done.err
        == f"jumar: LogError: {buses / 'lgo.csv'}: there is no such file. Check the path.\n"
    )
    done = jumar("show", buses / "rull.toml")
    assert done.code == 1
    assert f"Did you mean '{buses / 'rule.toml'}'?" in done.err


def test_a_controller_for_another_model_is_refused(jumar, buses, tmp_path):
    done = jumar("evaluate", "tiger", "--policy", buses / "rule.toml")
    assert done.code == 1
    assert "in this order: hear-left, hear-right" in done.err
    done = jumar("simulate", "tiger", "--policy", buses / "rule.toml", "-o", tmp_path / "x.csv")
    assert done.code == 1
    assert not (tmp_path / "x.csv").exists()


def refused_everywhere(jumar, folder: Path, code: int, kind: str, message: str, *more) -> None:
    """The command fails with the message, printed or as JSON, and leaves no trace."""
    before = sorted(os.listdir(folder))
    printed = jumar(*improve(folder, *more, "-o", folder / "out"))
    assert (printed.code, printed.out) == (code, "")
    assert printed.err.startswith(f"jumar: {kind}: ")
    tells(printed.err, message)
    as_json = jumar(*improve(folder, *more, "-o", folder / "out", "--json"))
    assert as_json.code == code
    assert as_json.error["kind"] == kind
    tells(as_json.error["message"], message)
    assert sorted(os.listdir(folder)) == before


# ---------------------------------------------------------------- wrong usage: exit code 2


WRONG_OPTIONS = """
--discount 1 | discount: 1.0 must lie in [0, 1).
--discount 1.5 | discount: 1.5 must lie in [0, 1).
--discount -0.1 | discount: -0.1 must lie in [0, 1).
--discount nan | discount: nan must lie in [0, 1).
--delta 0 | delta 0.0 is not strictly between 0 and 1
--delta 1 | delta 1.0 is not strictly between 0 and 1
--delta -3 --algorithm basic | delta -3.0 is not strictly between 0 and 1
--n-wedge -1 | n_wedge: -1
--set n_wedge=-1 | n_wedge: -1
--set foo | --set foo: expected NAME=VALUE, such as n_wedge=20.
--set n_wedge=many | n_wedge: 'many' is not a
--set nwedge=3 | parameter 'nwedge' is not one of n_wedge. Did you mean 'n_wedge'?
--set n_wedge=3 --n-wedge 4 | --set n_wedge=3: n_wedge is given twice.
--algorithm spib | algorithm 'spib' is not one of
--algorithm basic --n-wedge 3 | basic: parameter 'n_wedge' is not one of unseen
--algorithm basic --set unseen=none | choice 'none' is not one of exclude, zero, pessimistic.
--rewards 5 | --rewards 5: expected LO:HI, lower number first, such as -100:10.
--rewards a:b | --rewards a:b: expected LO:HI, lower number first, such as
--rewards 5:-5 | --rewards 5:-5: expected LO:HI, lower number first
--rewards 0:inf | --rewards 0:inf: expected LO:HI, lower number first
--ending-rewards 0:1 | --ending-rewards: give --rewards as well.
--window 0 | window: length 0 must be a whole number from 1
--with-actions | --with-actions: give --window as well.
--columns bus_id | --columns bus_id: expected PART=NAME, such as episode=bus_id.
--columns episode= | expected PART=NAME
--columns bus=bus_id | part 'bus' is not one of episode, observation, action
--ends finished | meaning 'finished' is not one of terminated, cut.
"""


@pytest.mark.parametrize("case", WRONG_OPTIONS.strip().splitlines())
def test_an_option_out_of_its_range_is_named(jumar, buses, case):
    options, message = case.split(" | ")
    refused_everywhere(jumar, buses, 2, "ParameterError", message, *options.split())


def test_a_wrong_algorithm_is_told_before_the_log_is_read(jumar, buses):
    (buses / "log.csv").unlink()
    assert "algorithm 'spib' is not" in jumar(*improve(buses, "--algorithm", "spib")).err


def test_declared_rewards_that_the_log_contradicts_are_named(jumar, buses):
    message = "row 2 (episode bus 0): reward -8 lies outside -5 to 0"
    refused_everywhere(jumar, buses, 1, "LogError", message, "--rewards", "-5:0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["improove"], "No such command 'improove'. Did you mean 'improve'?"),
        (["improve", "l", "--policy", "b", "--discount", "high"], "'--discount'"),
        (["train", "tiger"], "Missing option '--output'"),
        (["train", "tiger", "-o", "b.json", "--seed", "one"], "'--seed'"),
        (["show"], "Missing argument 'POLICY'"),
        (["show", "b.json", "--rows", "0"], "'--rows'"),
        (["evaluate", "tiger"], "Missing option '--policy'"),
        (["models", "--jsn"], "No such option: --jsn"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_done(jumar, arguments, message):
    printed = jumar(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert message in " ".join(printed.err.split())
    assert "Usage: jumar" in printed.err
    as_json = jumar(*arguments, "--json")
    assert as_json.code == 2
    assert as_json.error["kind"] == "UsageError"
    assert message.split(".")[0] in as_json.error["message"]


OUT_OF_RANGE = """
train tigr -o b.json | model 'tigr' is not one of
train tiger -o b.json --window 0 | window: length 0
train tiger -o b.json --seed -1 | seed: -1
train tiger -o b.json --episodes 0 | episodes: 0
train tiger -o b.json --softmax -1 | softmax: -1.0
evaluate tiger --policy RULE --horizon 0 | horizon: 0
evaluate tiger --policy RULE --simulate -1 | episodes: -1
evaluate cheese_maze:speed=2 --policy RULE | option 'speed' is not one of
simulate tiger --policy RULE -o x.csv --episodes 0 | episodes: 0
simulate tiger --policy RULE -o x.csv --max-steps 0 | max_steps: 0
"""


@pytest.mark.parametrize("case", OUT_OF_RANGE.strip().splitlines())
def test_numbers_out_of_range(jumar, tiger, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    words, message = case.split(" | ")
    printed = jumar(*(tiger / "behavior.json" if w == "RULE" else w for w in words.split()))
    assert (printed.code, printed.out) == (2, "")
    tells(printed.err, message)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["improve"], "LOG: which log?"),
        (["improve", "log.csv", "--policy", "b.json"], "--discount: how much"),
    ],
)
def test_what_neither_options_nor_a_project_say_is_asked_for(jumar, arguments, message):
    printed = jumar(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert message in printed.err
    assert jumar(*arguments, "--json").error["kind"] == "ParameterError"


@pytest.mark.parametrize("name", ["\x07.toml", "\x1b[2J.toml", "\u202emoc.toml", "a\rb.toml"])
def test_a_file_name_cannot_disturb_the_terminal(jumar, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = jumar("show", name)
    assert done.code == 1
    assert name not in done.err
    assert name.encode("unicode_escape").decode() in done.err
    (tmp_path / name).write_text('format = "jumar-project/1"\n')
    used = jumar("improve", "--project", name)
    assert used.code == 2
    assert name not in used.err
    assert "Using " in used.err
