"""Options of a project file that speak of a rule, or of an output, which may not be there."""

from __future__ import annotations

import pytest

from commands import run_command
from made_logs import WORKSHOP_RULE, workshop

PROJECT = """format = "jumar-project/1"
log = "log.csv"
policy = "rule.toml"
discount = 0.95
algorithm = "spibb"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    workshop(tmp_path / "log.csv")
    (tmp_path / "rule.toml").write_text(WORKSHOP_RULE)
    return tmp_path


def test_an_exploration_is_that_of_a_rule(place, capsys):
    (place / "jumar.toml").write_text(PROJECT)
    refused = run_command(capsys, "check", "--policy", "estimate", "--exploration", "0.3")
    assert refused.code == 2
    assert "--exploration" in refused.err
    (place / "jumar.toml").write_text(PROJECT + "exploration = 0.2\n")
    # that of the project belongs to its rule, and falls with it
    assert run_command(capsys, "check", "--policy", "estimate").code == 0


def test_a_window_of_a_project_is_that_of_the_new_policy(place, capsys):
    """So a written policy can be checked beside it, and only whoever types one is refused."""
    (place / "jumar.toml").write_text(PROJECT + "window = 2\n")
    assert run_command(capsys, "check").code == 0
    refused = run_command(capsys, "check", "--window", "2")
    assert refused.code == 2
    assert "Leave it out." in refused.err
    assert run_command(capsys, "check", "--policy", "estimate").code == 0


def test_pictures_of_a_project_are_drawn_where_there_is_a_folder(place, capsys):
    (place / "jumar.toml").write_text(PROJECT + 'pictures = "png"\n')
    assert run_command(capsys, "improve").code == 0
    done = run_command(capsys, "improve", "-o", "out")
    assert done.code == 0, done.err
    assert (place / "out" / "controller.png").is_file()


def test_pictures_of_an_earlier_run_do_not_stay(place, capsys):
    (place / "jumar.toml").write_text(PROJECT)
    assert run_command(capsys, "improve", "-o", "out", "--pictures", "png,pdf").code == 0
    assert (place / "out" / "controller.pdf").is_file()
    assert run_command(capsys, "improve", "-o", "out", "--pictures", "png").code == 0
    assert (place / "out" / "controller.png").is_file()
    assert not (place / "out" / "controller.pdf").exists()
    assert run_command(capsys, "improve", "-o", "out").code == 0
    assert not (place / "out" / "controller.png").exists()


def test_ranges_of_a_project_fall_with_their_column(place, capsys):
    """--columns observation=noise, where the project cuts what it observes into ranges."""
    rows = [
        f"{e},{t},{(e + t) % 9}.5,{'ab'[t % 2]},{'xy'[e % 2]},1"
        for e in range(20)
        for t in range(5)
    ]
    text = "episode,step,level,noise,action,reward\n" + "\n".join(rows)
    (place / "other.csv").write_text(text)
    (place / "jumar.toml").write_text(
        'format = "jumar-project/1"\nlog = "other.csv"\npolicy = "estimate"\nends = "cut"\n'
        '[columns]\nobservation = "level"\n[bins]\nlevel = ["low", 4, "high"]\n'
    )
    for columns in ("noise", "level+noise", "level"):
        done = run_command(capsys, "check", "--columns", f"observation={columns}", "--json")
        assert done.code in (0, 1), done.err
        assert done.data["log"] == "other.csv"


def test_a_json_error_beside_a_project_stands_alone(place, capsys):
    (place / "jumar.toml").write_text(PROJECT.replace("log.csv", "nowhere.csv"))
    refused = run_command(capsys, "check", "--json")
    assert refused.error["kind"] == "LogError"  # all of standard error is one JSON object
    (place / "jumar.toml").write_text(PROJECT)
    assert run_command(capsys, "check", "--json").err == "Using jumar.toml\n"
