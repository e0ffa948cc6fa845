"""The command check: what it answers, how it exits, which logs it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumar as jm
from commands import Finished, run_command
from jumar.core.randomness import random_stream
from jumar.policy.controller import Controller

POLICY = """\
format = "jumar-controller/1"
name = "listen"
observations = ["hear-left", "hear-right"]
actions = ["open-left", "open-right", "listen"]
exploration = {exploration}
default = "listen"
"""


@pytest.fixture
def check(capsys, monkeypatch, folder):
    """Runs `jumar check` in the folder of logs, on a terminal of 80 columns."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: object) -> Finished:
        return run_command(capsys, "check", *arguments)

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """300 episodes of a tiger listener who explores in 30 % of the steps."""
    folder = tmp_path_factory.mktemp("check")
    for percent in (2, 30):
        (folder / f"explores{percent}.toml").write_text(POLICY.format(exploration=percent / 100))
    behavior = jm.load_controller(folder / "explores30.toml")
    log = jm.simulate(jm.models.tiger(), behavior, episodes=300, seed=random_stream(2, "data"))
    jm.write_logs(log, folder / "log.csv")
    never = Controller.constant(log.observations, log.actions, [0, 0, 1], name="only listens")
    never.save(folder / "never.json")
    return folder


# ---- verdicts and exits -------------------------------------------------------------------------


def test_a_sound_log_passes_with_exit_0(check):
    done = check("log.csv", "--policy", "explores30.toml")
    assert done.code == 0
    assert "verdict look Usable, but look at: order." in done.text  # Tiger asks for memory
    assert "300 episodes" in done.text
    assert "each at level 0.01" in done.text
    questions = "Did this policy produce", "Is there enough", "How much memory", "the same over"
    for question in (*questions, "twice?"):
        assert question in done.text


def test_a_policy_that_did_something_else_fails_with_exit_1(check):
    done = check("log.csv", "--policy", "explores2.toml")
    data = check("log.csv", "--policy", "explores2.toml", "--json").data
    assert data["verdict"]["status"] == data["sections"]["fit"]["verdict"]["status"] == "failed"
    assert list(data["sections"]) == ["fit", "spread", "order", "drift", "repeats", "rows"]
    assert done.code == 1
    assert "verdict failed" in done.text
    assert "Where it does not fit: the worst 2 of 2 situations" in done.text
    assert "hear-left listen 98.7%" in done.text


def test_impossible_actions_are_shown_with_their_rows(check):
    done = check("log.csv", "--policy", "never.json")
    assert done.code == 1
    first = jm.read_logs("log.csv")
    row = int((first.action != first.actions.index("listen")).argmax())
    assert f"log.csv, row {first.origin.row[row]} (episode 0)" in done.text


def test_something_to_look_at_is_exit_0(check, folder):
    text = (folder / "log.csv").read_text()
    header, *rows = text.splitlines()
    (folder / "twice.csv").write_text("\n".join([header, *rows, *("x" + row for row in rows)]))
    done = check("twice.csv", "--policy", "explores30.toml")
    assert done.code == 0
    assert "verdict look Usable, but look at: order, repeats." in done.text


def test_an_infinite_likelihood_is_valid_json(check):
    fit = check("log.csv", "--policy", "never.json", "--json").data["sections"]["fit"]
    assert fit["statistic"] is None
    assert len(fit["examples"]) == 10 < fit["impossible"]


def test_the_same_seed_gives_the_same_page_and_another_one_another(check):
    pages = [check("log.csv", "--policy", "explores30.toml", "--seed", s).out for s in (1, 1, 2)]
    assert pages[0] == pages[1] != pages[2]


def test_the_level_decides(check):
    p = check("log.csv", "--policy", "explores30.toml", "--json").data["sections"]["fit"]["p"]
    strict = check("log.csv", "--policy", "explores30.toml", "--level", min(0.999, p + 0.001))
    assert strict.code == 1


# ---- the estimated policy -----------------------------------------------------------------------


def test_an_estimated_policy_is_asked_about_its_memory(check):
    done = check("log.csv", "--policy", "estimate")
    assert done.code == 0
    assert "Does the estimated policy remember enough?" in done.text
    assert "a window of 2 would not explain the actions better" in done.text
    assert "Did this policy produce" not in done.text


def test_its_window_can_be_chosen(check):
    arguments = "log.csv", "--policy", "estimate", "--window", 2, "--with-actions", "--json"
    data = check(*arguments).data
    assert data["behavior"] == "estimated from the log (window of 2 with actions)"
    assert data["sections"]["longer"]["longer"] == "window of 3 with actions"


@pytest.mark.parametrize("option", [("--level", "0"), ("--discount", "1.5"), ("--exploration", 1)])
def test_wrong_numbers_are_wrong_usage(check, option):
    done = check("log.csv", "--policy", "explores30.toml", *option)
    assert done.code == 2
    assert option[0].strip("-") in done.err


# ---- reading ------------------------------------------------------------------------------------


MACHINES = """\
machine,month,vibration,work,cost
7,2,6.5,repair,5
7,1,1.0,none,0
7,3,1.5,none,0
7,3,1.5,none,0
8,1,2.5,none,0
8,2,,none,0
9,1,1.0,none,0
9,20,1.0,none,0
"""


def test_every_way_to_read_a_log_is_open(check, folder):
    (folder / "machines.csv").write_text(MACHINES)
    done = check(
        "machines.csv", "--policy", "estimate", "--json",
        "--columns", "episode=machine,step=month,observation=vibration,action=work",
        "--bins", "vibration=calm:2:rough", "--cost", "--ends", "cut", "--missing", "drop",
        "--gap", "5",
    )  # fmt: skip
    rows = done.data["sections"]["rows"]
    said = {remark["what"].partition(",")[0]: remark["count"] for remark in rows["remarks"]}
    assert said["row out of order"] == 1
    assert said["row that repeats another"] == 1
    assert said["episode with a missing value"] == 1
    assert said["gap at which an episode was cut in two"] == 1
    assert (done.data["episodes"], done.data["steps"]) == (3, 5)
    assert rows["verdict"]["status"] == "look"


def test_repeated_rows_can_still_be_an_error(check, folder):
    (folder / "machines.csv").write_text(MACHINES)
    done = check(
        "machines.csv", "--policy", "estimate", "--ends", "cut", "--repeated", "error",
        "--columns", "episode=machine,step=month,observation=vibration,action=work,reward=cost",
        "--missing", "drop",
    )  # fmt: skip
    assert done.code == 1
    assert done.out == ""
    assert "machines.csv" in done.err


def test_names_that_would_take_over_the_terminal_do_not(check, folder):
    evil = "\x1b[2J[bold]<script>\u202e" + "x" * 500
    lines = ["episode,observation,action,reward,terminated"]
    lines += [f"{evil}{i},{evil},{'a' + evil if i % 2 else 'b'},0,true" for i in range(30)]
    (folder / "evil.csv").write_text("\n".join(lines) + "\n")
    Controller.constant((evil,), ("a" + evil, "b"), [0, 1], name=evil).save(folder / "evil.json")
    done = check("evil.csv", "--policy", "evil.json")
    assert done.code == 1
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert "x" * 201 not in done.out.replace("\n", "").replace(" ", "")
