"""The command optimum, as it is typed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

import jumar as jm
from commands import run_command
from jumar.cli.commands import outward


def test_a_bracket_for_people(capsys):
    done = run_command(capsys, "optimum", "voicemail")
    assert done.code == 0
    assert "voicemail: the best policy of all is worth 1.51641845" in done.text
    assert "as narrow as asked for" in done.text


def test_a_bracket_for_machines(capsys):
    data = run_command(capsys, "optimum", "tiger", "--gap", "0.001", "--json").data
    assert data["model"] == "tiger"
    assert data["lower"] <= 5.0212519209 <= data["upper"]
    assert data["gap"] == pytest.approx((data["upper"] - data["lower"]) / data["upper"])
    assert 1e-9 < data["gap"] <= 1e-3
    assert data["stopped"] == "gap"
    assert data["backups"] > 0
    assert data["seconds"] > 0


def test_its_controller_can_be_saved_and_evaluated(capsys, tmp_path):
    file = tmp_path / "best.json"
    data = run_command(capsys, "optimum", "cheese_maze", "-o", file, "--json").data
    assert data["file"] == str(file)
    value = jm.evaluate(jm.models.cheese_maze(), jm.load_controller(file)).value
    assert data["lower"] <= value <= data["upper"]


def test_a_time_that_is_too_short_still_gives_a_bracket(capsys):
    done = run_command(capsys, "optimum", "bridge_repair", "--seconds", "1e-6")
    assert done.code == 0
    assert "The time is up" in done.text
    low, high = (float(word) for word in done.text.split("worth ")[1].split(" (")[0].split(" to "))
    assert low <= -4603.38844 <= high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seconds", "0"), "seconds: 0.0 must be positive"),
        (("--seconds", "nan"), "seconds: nan must be positive"),
        (("--gap", "-1"), "gap: -1.0 must not be negative"),
    ],
)
def test_impossible_wishes_are_told(capsys, options, message):
    done = run_command(capsys, "optimum", "tiger", *options)
    assert done.code == 2
    assert message in done.err


def test_ctrl_c_prints_the_bracket_so_far():
    # a random model with 80 states, whose bracket stays open for a long time
    command = [sys.executable, "-c", SLOW, "optimum", "slow", "--seconds", "60", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=40)
    assert process.returncode == 0, error
    data = json.loads(out)
    assert data["stopped"] == "interrupted"
    assert data["lower"] < data["upper"]
    assert data["seconds"] < 50


SLOW = """
import signal
import sys
import numpy as np
import jumar.lab.truth.optimality as searching
from jumar.cli import main
from jumar.lab.truth.models import MODELS, ModelEntry
from jumar.lab.truth.pomdp import from_arrays
from jumar.lab.truth.training import Training

rng = np.random.default_rng(1)
S, A, O = 80, 4, 12
slow = from_arrays(
    name="slow", states=[f"s{i}" for i in range(S)], actions=[f"a{i}" for i in range(A)],
    observations=[f"z{i}" for i in range(O)], transition=rng.dirichlet(np.full(S, 0.3), (A, S)),
    observation=rng.dirichlet(np.full(O, 0.5), (A, S)), reward=rng.uniform(-1, 1, (A, S)),
    start=rng.dirichlet(np.ones(S)), first_observation=rng.dirichlet(np.ones(O), S), discount=0.99)
MODELS.add("slow", ModelEntry(lambda: slow, "never done", Training(softmax=1.0)))
go_on = searching.Search.go_on

def go_on_and_tell(self, work):
    if self.backups and not told:
        told.append(print("searching", file=sys.stderr, flush=True))
    return go_on(self, work)

told = []
searching.compile_loops()
searching.Search.go_on = go_on_and_tell
signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal
main(sys.argv[1:])
"""


def test_a_terminal_shows_the_bracket_as_it_narrows(capsys, monkeypatch):
    shown: list[str] = []

    class Status:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, text):
            shown.append(text)

    monkeypatch.setattr("rich.console.Console.status", Status)
    monkeypatch.setattr(sys.modules["jumar.cli.app"], "_nobody_looks", lambda as_json: as_json)
    run_command(capsys, "optimum", "tiger", "--seconds", 5)
    assert re.match(r"tiger: -?[\d.]+ to [\d.]+ \(gap ", shown[-1])
    assert shown[-1].endswith("of 5 s")
    told = len(shown)
    run_command(capsys, "optimum", "tiger", "--seconds", 5, "--json")
    assert len(shown) == told


def test_what_is_printed_is_rounded_outwards():
    assert outward(-4603.38844491, -4603.38844053, 9) == ("-4603.38845", "-4603.38844")
    assert outward(0.0, 0.5) == ("0", "0.5")
    low, high = outward(0.1, 0.1)
    assert float(low) <= 0.1 <= float(high)
