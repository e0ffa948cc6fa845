"""Command lines run in this process, and what they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jumar.cli import main

HEADER = "episode,observation,action,reward,terminated"
# as a maintenance engineer writes it
RULE = """\
format = "jumar-controller/1"
name = "inspect every second year"
observations = ["nothing seen", "good", "worn"]
actions = ["keep", "inspect", "repair"]
exploration = 0.02
default = "keep"

[memory]
nodes = ["inspected", "due"]
moves = [
  { node = "inspected", to = "due" },
  { node = "due", to = "inspected" },
]

[[rules]]
observation = "worn"
action = "repair"

[[rules]]
node = "due"
action = "inspect"
"""


class Finished:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def text(self) -> str:
        """What was printed, as if the terminal were wide enough."""
        return " ".join(self.out.split())

    @property
    def data(self) -> dict:
        """The JSON on standard output, which may hold no NaN and no Infinity."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)

    @property
    def error(self) -> dict:
        assert self.out == ""
        return json.loads(self.err)["error"]


def run_command(capsys, *arguments: object) -> Finished:
    """Run a command line in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Finished(left.value.code or 0, captured.out, captured.err)


def improve(folder: Path, *more: object) -> list[object]:
    """SPIBB unless told otherwise: what comes out is then known beforehand."""
    name = "rule.toml" if (folder / "rule.toml").exists() else "behavior.json"
    usual = [] if "--algorithm" in more else ["--algorithm", "spibb"]
    log = ["improve", folder / "log.csv", "--policy", folder / name, "--discount", 0.95]
    return [*log, *usual, *more]
