"""`--help` in panels, what a shell completes, and what -v says."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest
import typer

import jumar
from commands import improve, run_command
from jumar.algorithms import ALGORITHMS
from jumar.cli import app, panels
from jumar.engines import ENGINES
from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS
from jumar.evidence.offpolicy.intervals import Sides
from jumar.gate.trials import GATES
from jumar.log.formats import FORMATS
from jumar.log.reading.options import Ends, Missing, Repeated
from jumar.options import words

GROUP = typer.main.get_command(app)
LONG = ("check", "improve", "samples", "estimate")
LOG_COMMANDS = ("init", *LONG)
TITLE = re.compile(r"^╭─ ([\w ]+) ─+╮$", re.MULTILINE)


def titles(capsys, *arguments: str) -> list[str]:
    asked = "--help-all" if arguments and arguments[0] in LONG else "--help"
    return TITLE.findall(run_command(capsys, *arguments, asked).out)


# ---- help ---------------------------------------------------------------------------------------


def test_commands_stand_by_what_they_are_for(capsys):
    assert titles(capsys) == ["Options", "Main job", "Look closer", "Large logs", "Research"]


def test_every_command_has_one_panel():
    placed = [name for names in panels.COMMANDS.values() for name in names.split()]
    assert placed == list(GROUP.commands)


@pytest.mark.parametrize("command", LOG_COMMANDS)
def test_options_stand_by_what_they_are_for(capsys, command):
    panels_shown = [title for title in titles(capsys, command) if title != "Arguments"]
    expected = ["Data", "Policy", "Decision", "Output"]
    assert panels_shown == [p for p in expected if p != "Decision" or command != "init"]


@pytest.mark.parametrize("command", LOG_COMMANDS)
def test_no_option_is_without_a_panel(command):
    options = [p for p in GROUP.commands[command].params if p.param_type_name == "option"]
    assert [p.name for p in options if p.rich_help_panel not in panels.placed().values()] == []


def test_every_option_that_a_message_names_exists():
    """A remedy that is none sends people the wrong way."""
    params = [p for command in GROUP.commands.values() for p in command.params]
    known = {"--help"}.union(*({*p.opts, *p.secondary_opts} for p in params))
    rooms = "algorithms draft evidence gate log pipeline policy tally verdict"
    for folder in rooms.split():
        for path in (Path(jumar.__file__).parent / folder).rglob("*.py"):
            text = path.read_text()
            assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known, path
            assert set(re.findall(r"--ends (\w+)", text)) <= set(typing.get_args(Ends)), path


def test_a_panel_names_no_option_that_is_gone():
    commands = (*LOG_COMMANDS, "count")
    there = {p.name for command in commands for p in GROUP.commands[command].params}
    # of a log its argument, of parameters what a file says of them
    assert {*panels.placed()} - {"log", "parameters"} <= there


# ---- completion ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("algorithm", ALGORITHMS),
        ("gate", GATES),
        ("estimator", ["all", *ESTIMATORS]),
        ("interval", INTERVALS),
        ("file_format", FORMATS),
        ("ends", typing.get_args(Ends)),
        ("missing", typing.get_args(Missing)),
        ("repeated", typing.get_args(Repeated)),
        ("sides", typing.get_args(Sides)),
        ("engine", ENGINES),
    ],
)
def test_what_is_completed_is_what_there_is(option, known):
    assert sorted(panels.listed(words()[option].values)) == sorted(known)


@pytest.mark.parametrize("command", LONG)
def test_what_a_person_needs_first_fits_on_a_screen(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run_command(capsys, command, "--help").out
    assert len(shown.splitlines()) <= 40
    assert "--policy" in shown
    assert f"more options: jumar {command} --help-all" in shown


def completed(line: str) -> tuple[list[str], set[str]]:
    """What bash is offered at the end of a line, and the packages that were loaded for it."""
    asked = {
        "_JUMAR_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(f"{line}.".split()) - 1),
    }
    code = (
        "import atexit, sys, json\n"
        "tell = lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
        "atexit.register(tell)\n"
        "from jumar.cli import main\n"
        "main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}
    )
    loaded = {name.partition(".")[0] for name in json.loads(run.stderr.splitlines()[-1])}
    return run.stdout.split(), loaded


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("jumar im", ["improve"]),
        ("jumar improve --gate ", ["proved", "asymptotic"]),
        ("jumar improve log.csv --algorithm s", ["spibb", "spibb_leq", "strict", "soft"]),
        ("jumar check --yearly", ["--yearly-discount"]),
    ],
)
def test_the_shell_is_offered_names_and_nothing_heavy_is_loaded(line, offered):
    found, loaded = completed(line)
    assert found == offered
    heavy = {"numba", "scipy", "pyarrow", "rich"}
    # names of algorithms come from their registry
    assert loaded & (heavy if "--algorithm" in line else {*heavy, "numpy"}) == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_can_be_shown(capsys, monkeypatch, shell):
    import shellingham

    monkeypatch.setattr(shellingham, "detect_shell", lambda *_: (shell, f"/bin/{shell}"))
    done = run_command(capsys, "--show-completion")
    assert done.code == 0
    assert f"_JUMAR_COMPLETE=complete_{shell}" in done.out.replace("\n", "").replace(" ", "")


def test_help_shows_square_brackets():
    from rich.text import Text

    for name, command in GROUP.commands.items():
        for option in command.params:
            told = getattr(option, "help", None) or ""
            assert Text.from_markup(told).plain == told.replace("\\[", "["), (name, option.name)


# ---- verbose ------------------------------------------------------------------------------------


def test_verbose_tells_each_step_of_the_main_job_on_standard_error(capsys, tiger, tmp_path):
    arguments = improve(tiger, "--algorithm", "auto", "--json", "-o", tmp_path / "out")
    quiet = run_command(capsys, *arguments)
    told = run_command(capsys, "-v", *arguments)
    assert told.out.replace("jumar -v improve", "jumar improve") == quiet.out
    assert quiet.err == ""
    for step in ("Read ", "Replayed ", "Tried ", "Checked the log: ", "Wrote "):
        assert len(re.findall(rf"^\d\d:\d\d:\d\d {step}", told.err, re.MULTILINE)) >= 1, step
    assert "Check fit:" not in told.err


def test_twice_verbose_tells_more_and_it_ends_with_the_command(capsys, buses):
    arguments = ["check", buses / "log.csv", "--policy", buses / "rule.toml"]
    assert "Check fit: " in run_command(capsys, "-vv", *arguments).err
    assert run_command(capsys, *arguments).err == ""
    assert logging.getLogger("jumar").level == logging.NOTSET


def test_verbose_alone_asks_for_a_command(capsys):
    done = run_command(capsys, "-v")
    assert done.code == 2
    assert "Which command?" in done.err


def test_the_library_is_silent_by_default():
    code = "import jumar as jm\njm.check(jm.simulate(m := jm.models.tiger(), b := "
    code += "jm.Controller.uniform(m.observations, m.actions), episodes=50), b)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == run.stderr == ""
