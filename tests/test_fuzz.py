"""The fuzzer makes the same inputs again, notices what fails, and finds nothing in a few inputs."""

from __future__ import annotations

import importlib.util
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

FUZZ = Path(__file__).parents[1] / "benchmarks" / "fuzz"


@pytest.fixture(scope="module")
def fuzz():
    """Its modules, which live in a folder that is run and not installed."""
    sys.path.insert(0, str(FUZZ))
    try:
        import cases
        import make
        import worker

        yield SimpleNamespace(cases=cases, make=make, worker=worker)
    finally:
        sys.path.remove(str(FUZZ))


def test_an_input_is_named_by_its_seed_and_number(fuzz):
    for number in range(30):
        assert fuzz.make.make(3, number) == fuzz.make.make(3, number)
    assert fuzz.make.make(3, 0) != fuzz.make.make(4, 0)


@pytest.mark.parametrize("kind", ["log bytes", "log table", "deep log", "controller", "model",
                                  "deep model", "study", "project", "options", "count", "counts",
                                  "kept shards", "draft", "pomdp", "deep pomdp",
                                  "program", "model export", "result folder", "minari", "convert",
                                  "parts", "frames", "wishes", "drifting", "by counts",
                                  "counted"])  # fmt: skip
def test_a_few_inputs_of_every_kind_are_answered(fuzz, kind):
    for number in range(4):
        case = fuzz.make.make(11, number, (kind,))
        verdict = fuzz.worker.judge(case)
        assert verdict.failure == "", f"{case.arguments}\n{verdict.text}"
        assert verdict.code in (0, 1, 2)


def test_no_option_takes_the_next_one_for_its_value(fuzz, monkeypatch):
    """A value that no command line can hold leaves its place behind."""
    monkeypatch.setattr(fuzz.make.mutate, "ODD_TEXTS", ("\0",))
    monkeypatch.setattr(fuzz.make.random.Random, "shuffle", lambda *_: None)
    empty = 0
    for number in range(200):
        case = fuzz.make.make(11, number, ("options",))
        taken = fuzz.make.OPTIONS[case.arguments[0]]
        for option, value in itertools.pairwise(case.arguments):
            assert option not in taken or value != "--json"
        empty += "" in case.arguments
    assert empty > 10


def planted(monkeypatch, fuzz, fault, *words: str):
    """The verdict on a command with a fault built into it."""
    monkeypatch.setattr("jumar.show.terminal.plain_table", fault)
    return fuzz.worker.judge(fuzz.cases.Case("planted", ("models", *words)))


def test_an_exception_is_noticed_with_its_place(fuzz, monkeypatch):
    def fault(*_, **__):
        raise KeyError("planted")

    verdict = planted(monkeypatch, fuzz, fault)
    assert (verdict.failure, verdict.code) == ("exception", None)
    assert verdict.signature.startswith("KeyError commands.py:models:")
    assert "planted" in verdict.text


def test_a_warning_is_noticed(fuzz, monkeypatch):
    import numpy as np

    def fault(*_, **__):
        return str(np.array([1.0]) / np.array([0.0]))

    verdict = planted(monkeypatch, fuzz, fault)
    assert verdict.failure == "warning"
    assert "RuntimeWarning: divide by zero" in verdict.text


def test_a_control_character_is_noticed(fuzz, monkeypatch):
    def fault(*_, **__):  # printed past `say`, which would escape it
        print("\x1b[2J")
        return ""

    assert planted(monkeypatch, fuzz, fault).failure == "control character"


def test_broken_json_is_noticed(fuzz, monkeypatch):
    monkeypatch.setattr("jumar.cli.commands.say", lambda *_: print('{"a": NaN}'))
    verdict = fuzz.worker.judge(fuzz.cases.Case("planted", ("models", "--json")))
    assert verdict.failure == "no JSON"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.py", "def f(:"),
        ("x.json", "{"),
        ("x.sql", "CREATE TABEL x (a);"),
        ("x.POMDP", "states: none"),
        ("x.drn", "state é"),
    ],
)
def test_an_exported_file_that_is_none_is_noticed(fuzz, monkeypatch, name, text):
    monkeypatch.setattr(
        "jumar.show.program.export_controller", lambda *_, **__: Path(name).write_text(text)
    )
    monkeypatch.setattr("jumar.lab.save_model", lambda *_: Path(name).write_text(text))
    monkeypatch.setattr("jumar.lab.export_model", lambda *_, **__: Path(name).write_text(text))
    what = "tiger" if name.endswith(("POMDP", "drn")) else "coin.toml"
    coin = {"coin.toml": fuzz.make.seeds.COIN.encode()}
    verdict = fuzz.worker.judge(fuzz.cases.Case("planted", ("export", what, "-o", name), coin))
    assert verdict.failure == "broken file", verdict.text


def test_a_temporary_file_left_behind_is_noticed(fuzz, monkeypatch):
    def fault(*_, **__):
        Path(".jumar-0.tmp").write_text("half")
        return ""

    assert planted(monkeypatch, fuzz, fault).failure == "left behind"


def fuzz_command():
    """Its main module, which has no name that could be imported."""
    spec = importlib.util.spec_from_file_location("fuzz_command", FUZZ / "__main__.py")
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)
    return command


@pytest.mark.parametrize(
    ("verdicts", "failure"), [(["memory", ""], ""), (["memory"] * 2, "memory")]
)
def test_too_much_memory_must_show_in_a_new_worker(fuzz, tmp_path, monkeypatch, verdicts, failure):
    command = fuzz_command()
    said = iter(verdicts)
    monkeypatch.setattr(
        command.Crew, "_try_once", lambda *_: fuzz.cases.Verdict(next(said), code=1)
    )
    assert command.Crew(tmp_path).try_out(fuzz.make.make(1, 1)).failure == failure
    assert next(said, None) is None


def test_what_waits_for_a_core_does_not_hang(fuzz):
    command = fuzz_command()
    sleeps = subprocess.Popen(["sleep", "60"])
    runs = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.5)
        assert command._wants_a_core(runs.pid)
        assert not command._wants_a_core(sleeps.pid)
    finally:
        for process in (sleeps, runs):
            process.kill()
            process.wait()


def test_commands_follow_each_other_in_one_folder(fuzz, tmp_path):
    coin = {"coin.toml": fuzz.make.seeds.COIN.encode()}
    words = ("export", "coin.toml", "-o", "x.json", "@then", "show", "x.json", "--json")
    case = fuzz.cases.Case("two", words, coin)
    assert case.commands == [words[:4], words[5:]]
    assert fuzz.worker.judge(case).code == 0
    first = fuzz.cases.Case("two", ("show", "none.toml", *words[4:]), coin)
    assert fuzz.worker.judge(first).code == 1  # there is no x.json, and no failure either
    case.save(tmp_path / "kept", "")
    line = (tmp_path / "kept" / "command.sh").read_text()
    assert "python -m jumar export" in line
    assert "python -m jumar show" in line


def test_a_failing_input_is_kept_with_the_command_that_shows_it(fuzz, tmp_path):
    case = fuzz.make.make(1, 1)
    case.save(tmp_path / "kept", "why it failed")
    assert fuzz.cases.load(tmp_path / "kept") == case
    assert "python -m jumar" in (tmp_path / "kept" / "command.sh").read_text()


@pytest.mark.slow
def test_the_command_counts_goes_on_and_kills_what_hangs(tmp_path):
    def run(*more: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(FUZZ), "--folder", str(tmp_path), "--seed", "5", *more]
        return subprocess.run(command, capture_output=True, text=True)

    first = run("--inputs", "5")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "5 inputs, 0 failed" in first.stdout
    again = run("--inputs", "8")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads((tmp_path / "state.json").read_text())["next"] == 8
    hung = run("--inputs", "9", "--seconds", "0")
    assert hung.returncode == 1
    (kept,) = (tmp_path / "failures").iterdir()
    assert kept.name.startswith("0001-hang")
    assert (kept / "command.sh").exists()
