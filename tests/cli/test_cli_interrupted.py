"""Ctrl-C ends a command with exit code 130 and no traceback, from the first moment on."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PRESS = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
sys.argv = ["jumar", "models", *{more!r}]
from jumar.__main__ import run
run()
"""


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("module", ["jumar.cli", "typer", "jumar.cli.app", "numpy"])
def test_ctrl_c_while_modules_load_prints_no_traceback(module, more):
    ran = subprocess.run(
        [sys.executable, "-c", PRESS.format(module=module, more=more)],
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr, ran.stdout) == (130, "", "")


def test_the_command_is_the_guarded_one():
    project = Path(__file__).parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"jumar": "jumar.__main__:run"}


def test_python_m_jumar_runs_the_command_line():
    ran = subprocess.run(
        [sys.executable, "-m", "jumar", "--version"], capture_output=True, text=True
    )
    assert ran.returncode == 0
    assert ran.stdout.startswith("jumar ")
