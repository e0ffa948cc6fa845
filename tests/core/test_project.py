"""A project file, and the record of a run, stand behind the options of a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run_command
from jumar.core.errors import ParameterError, ProjectError
from jumar.policy.controller import Controller
from jumar.project import load_project, seconds, step_discount

HEAD = 'format = "jumar-project/1"\n'
NAMES = ("good", "worn"), ("keep", "repair")
PROJECT = (
    HEAD
    + """
log = "bus.csv"
policy = "coin.toml"
discount = 0.5
ends = "terminated"
cost = true
rewards = [-1, 0]

[columns]
episode = "bus"
reward = "price"
"""
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """40 buses with costs under other names, the coin that made them, and a project."""
    rows = [f"{i},good,{'keep' if i % 2 else 'repair'},{i % 2}" for i in range(40)]
    (tmp_path / "bus.csv").write_text("\n".join(["bus,observation,action,price", *rows]) + "\n")
    coin = Controller.uniform(*NAMES, name="coin")
    coin.save(tmp_path / "coin.json")
    (tmp_path / "coin.toml").write_text(
        'format = "jumar-controller/1"\nobservations = ["good", "worn"]\n'
        'actions = ["keep", "repair"]\ndefault = { keep = 0.5, repair = 0.5 }\n'
    )
    (tmp_path / "jumar.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_need_no_options(folder, capsys):
    done = run_command(capsys, "check", "--json")
    assert "Using jumar.toml" in done.err
    check = done.data
    improved = run_command(capsys, "improve", "--json").data
    assert check["behavior"] == "coin"
    assert improved["discount"] == 0.5
    assert improved["logged"] == pytest.approx(-0.5)  # a cost, under the name price
    assert run_command(capsys, "samples", "--json").data["episodes"] == 40
    told = run_command(capsys, "estimate", "--controller", "coin.json", "--json").data
    assert told["policy"].endswith("coin.toml")


def test_options_win(folder, capsys):
    assert run_command(capsys, "improve", "--discount", 0.25, "--json").data["discount"] == 0.25
    paid = run_command(capsys, "improve", "--no-cost", "--rewards", "0:1", "--json").data
    assert paid["logged"] == pytest.approx(0.5)


def test_a_project_elsewhere(folder, capsys, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert run_command(capsys, "check").code == 2  # there is no project here
    refused = run_command(capsys, "check", folder / "bus.csv", "--no-project", "--policy", "x.json")
    assert refused.code != 0
    for named in (folder, folder / "jumar.toml"):
        assert run_command(capsys, "check", "--project", named, "--json").data["behavior"] == "coin"


def test_a_run_is_repeated_from_its_record(folder, capsys):
    first = run_command(capsys, "improve", "-o", "out", "--n-wedge", 3, "--seed", 7)
    assert first.code == 0
    (folder / "jumar.toml").unlink()
    again = run_command(capsys, "improve", "--again", "out/run.json", "-o", "again")
    assert again.code == 0, again.err
    for name in ("improved.json", "certificate.json", "decisions.csv"):
        assert (folder / "again" / name).read_text() == (folder / "out" / name).read_text()
    one, two = (json.loads((folder / name / "run.json").read_text()) for name in ("out", "again"))
    assert one["options"] == two["options"]
    assert "has changed" not in again.err


def test_a_changed_log_is_named(folder, capsys):
    run_command(capsys, "improve", "-o", "out")
    with (folder / "bus.csv").open("a") as file:
        file.write("40,worn,keep,1\n")
    again = run_command(capsys, "improve", "--again", "out/run.json")
    assert "bus.csv has changed since that run." in again.err


def test_the_discount_of_a_year(folder, capsys):
    text = PROJECT.replace("discount = 0.5", 'yearly_discount = 0.95\nstep_length = "7d"')
    (folder / "jumar.toml").write_text(text)
    found = run_command(capsys, "improve", "--json").data["discount"]
    assert found == pytest.approx(0.95 ** (7 / 365.25))
    assert run_command(capsys, "improve", "--discount", 0.5, "--json").data["discount"] == 0.5
    (folder / "jumar.toml").write_text(PROJECT)
    more = ("--yearly-discount", 0.9, "--step-length", "365.25d", "--json")
    assert run_command(capsys, "improve", *more).data["discount"] == pytest.approx(0.9)
    missing = run_command(capsys, "improve", "--yearly-discount", 0.9)
    assert missing.code == 2
    assert "--step-length" in missing.err


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('log = "a.csv"', ("format", "jumar-project/1")),
        (HEAD + "cots = true", ("'cots'", "'cost'")),
        (HEAD + 'cost = "yes"', ("cost", "text", "true or false")),
        (HEAD + "rewards = [1]", ("rewards", "[1]", "[LOWEST, HIGHEST]")),
        (HEAD + "rewards = [1, 0]", ("rewards", "1", "0", "lower")),
        (HEAD + "discount = nan", ("discount", "nan", "number")),
        (HEAD + "[columns]\nreward = 3", ("columns, reward", "number", "text")),
        (HEAD + "[columns]\nreward = 'a'\ndiscount = 3", ("columns, discount", "number")),
        (HEAD + "[bins]\nspeed = 'low'", ("bins, speed", "text", "list")),
        (HEAD + "policy = 3", ("policy", "number", "text")),
        (HEAD + "window = 1.5", ("window", "1.5", "whole")),
    ],
)
def test_a_mistake_in_the_file(tmp_path, text, facts):
    file = tmp_path / "jumar.toml"
    file.write_text(text)
    with pytest.raises(ProjectError) as caught:
        load_project(file)
    for fact in (str(file), *facts):
        assert fact in str(caught.value)


def test_files_that_hold_no_project(tmp_path):
    for name, text, fact in (
        ("run.json", '{"format": "jumar-run/1", "options": null}', "not recorded"),
        ("run.json", '{"format": "jumar-run/2"}', "newer"),
        ("run.json", '{"format": "jumar-run/1", "options": [], "files": 3}', "a list"),
        ("other.json", "[]", "a list"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ProjectError, match=fact):
            load_project(tmp_path / name)
    with pytest.raises(ProjectError, match="no such file"):
        load_project(tmp_path / "nothing.toml")


def test_lengths_of_time():
    assert seconds("90m") == 5400
    assert step_discount(0.9, "365.25d") == pytest.approx(0.9)
    for bad in ("7", "a week", ""):
        with pytest.raises(ParameterError):
            seconds(bad)
    for bad in (0.0, 1.0, float("nan"), -1.0):
        with pytest.raises(ParameterError):
            step_discount(bad, "7d")
