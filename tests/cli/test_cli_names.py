"""The command line: what a terminal may do with strange names."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jumar as jm
from commands import HEADER, improve
from jumar.cli import main
from jumar.policy.controller import Controller

# ---------------------------------------------------------------- what a terminal may do with names


STRANGE = ["[red]worn[/red]", "[/]", ":warning:", "\x1b[31mred", "worn\nout", "תקין", "🔧", "[b"]


@pytest.fixture
def strange(tmp_path) -> Path:
    """A controller and a log whose names are markup, escapes and worse."""
    actions = ["[bold]keep", "[/bold]repair\\", "x" * 500]
    controller = Controller.constant(STRANGE, actions, [0.5, 0.25, 0.25], name="[blink]rule[/]")
    controller.save(tmp_path / "behavior.json")
    n = len(STRANGE)
    log = jm.Episodes(
        STRANGE,
        actions,
        list(range(n)) * 30,
        [i % 3 for i in range(n * 30)],
        [float(i % 3) for i in range(n * 30)],
        range(0, n * 30 + 1, n),
        [-1] * 30,
        [True] * 30,
    )
    jm.write_logs(log, tmp_path / "log.csv")
    return tmp_path


def test_markup_in_names_is_printed_as_it_is(jumar, strange):
    done = jumar(*improve(strange, "--n-wedge", 5, "-o", strange / "[red]out[/red]"))
    assert done.code == 0
    assert f"Wrote {strange}/[red]out[/red]/improved.json\n" in done.out
    shown = jumar("show", strange / "[red]out[/red]" / "improved.json").out
    for output in (done.out, shown):
        for text in ("[red]worn[/red]", "[/]", ":warning:", "[bold]keep", "[/bold]repair\\", "[b"):
            assert text in output
        assert "תקין" in output
        assert "🔧" in output
    assert "[blink]rule[/], improved" in shown


def test_control_characters_never_reach_the_terminal(jumar, strange):
    for command in (improve(strange, "--n-wedge", 5), ["show", strange / "behavior.json"]):
        out = jumar(*command).out
        assert "\x1b" not in out
        assert "\\x1b[31mred" in out
        assert "worn\\nout" in out


def test_columns_of_a_draft_do_not_disturb_a_terminal(jumar, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i // 4},{i * 7 % 11},{('run', 'stop')[i % 3 > 1]},1.5" for i in range(400)]
    text = "\n".join(["episode,\x1b[2J,action,reward", *rows, ""])
    (tmp_path / "log.csv").write_text(text)
    done = jumar("init", "log.csv", "--yes")
    assert "\x1b" not in done.out + done.err
    assert "\\x1b[2J: " in done.out  # where it is cut


def test_long_names_do_not_fill_the_screen(jumar, strange):
    for command in (improve(strange, "--n-wedge", 5), ["show", strange / "behavior.json"]):
        out = jumar(*command).out
        assert "x" * 41 not in out.replace("\n", "")
        assert len(out.splitlines()) < 200


def test_names_in_errors_do_not_disturb(jumar, strange):
    (strange / "log.csv").write_text(f"{HEADER}\n1,[red],keep,0,true\n")
    done = jumar(*improve(strange))
    assert done.code == 1
    assert "observation '[red]' is not one of" in done.err


def test_a_terminal_without_these_letters_is_no_reason_to_crash(strange, monkeypatch):
    """N∧ and names are beyond ASCII."""
    terminal = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, encoding="ascii"))
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in improve(strange, "--n-wedge", 5)])
    sys.stdout.flush()
    assert not left.value.code
    assert b"N\\u2227 = 5" in terminal.getvalue()


def test_an_encoding_without_these_letters_is_no_reason_to_crash(strange):
    """Run apart, as the encoding belongs to the process."""
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "show", str(strange / "behavior.json"), "--json"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["observations"] == STRANGE


@pytest.mark.parametrize("columns", [40, 400])
def test_every_width_of_terminal(jumar, tiger, strange, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (
        ["models"],
        ["algorithms"],
        improve(tiger),
        improve(strange, "--n-wedge", 5),
        ["show", strange / "behavior.json"],
    ):
        done = jumar(*command)
        assert done.code == 0
        lines = [line for line in done.out.splitlines() if line.isascii()]
        # a command to paste is printed whole
        plain = [line for line in lines if not line.strip().startswith("jumar ")]
        assert max(map(len, plain)) <= columns


def test_a_path_cannot_clear_the_screen(jumar, strange):
    out = strange / "\x1b[2J"
    done = jumar(*improve(strange, "--n-wedge", 5, "-o", out))
    assert done.code == 0
    assert (out / "improved.json").exists()
    assert "\x1b" not in done.out
    assert "\nWrote " in done.out
