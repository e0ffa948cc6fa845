"""`jumar improve --learn-memory`: what it writes, says and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import jumar as jm
from commands import Finished
from jumar.memory import NamedNodes
from memory_logs import noise, upkeep


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Path:
    """A part that wears unseen: only the time since the last inspection matters."""
    folder = tmp_path_factory.mktemp("upkeep")
    model, behavior = upkeep()
    behavior.save(folder / "behavior.json")
    jm.write_logs(jm.simulate(model, behavior, episodes=3000, seed=1), folder / "log.csv")
    return folder


def improve(folder: Path, *more: object) -> list[object]:
    log, rule = folder / "log.csv", folder / "behavior.json"
    return ["improve", log, "--policy", rule, "--discount", 0.95, *more]


@pytest.fixture(scope="module")
def ran() -> dict[Path, Finished]:
    """Folders of results, and what was printed; filled once."""
    return {}


@pytest.fixture
def out(jumar, parts, ran, tmp_path_factory) -> Path:
    """A folder that the command wrote."""
    if not ran:
        folder = tmp_path_factory.mktemp("learned") / "out"
        ran[folder] = jumar(*improve(parts, "--learn-memory", "-o", folder))
    return next(iter(ran))


def test_what_was_learned_is_told_everywhere(ran, out):
    done = ran[out]
    assert done.code == 0, done.err
    told = json.loads((out / "certificate.json").read_text())
    assert told["verdict"]["word"] == "adopt-if"
    learned = told["selection"]["memories_learned"]
    assert len(learned) == 2  # each half by itself
    chosen = told["selection"]["chosen"]
    name = learned[chosen["half"]]
    assert told["memory"] == name  # the chosen one remembers what its own half taught
    assert chosen["setting"].endswith(name)
    assert f"memory {name}, learned from half {chosen['half'] + 1} of the log;" in done.text
    # the other half tested it; no bound by counts is shown, as those need a memory from before
    assert [c["bound"] for c in told["certificates"]] == ["held-out"]
    page = (out / "report.html").read_text()
    assert f"half 1 taught a {learned[0]}, half 2 taught a {learned[1]}." in page
    assert told["certificates"][0]["claim"] in done.text
    assert told["certificates"][0]["claim"] in page


def test_its_files_are_of_one_controller(jumar, out):
    told = json.loads((out / "certificate.json").read_text())
    controller = jm.load_controller(out / "improved.json")
    assert isinstance(controller.memory, NamedNodes)
    assert str(controller.memory) == told["memory"]
    model, behavior = upkeep()
    assert jm.evaluate(model, controller).value > jm.evaluate(model, behavior).value + 1
    with (out / "decisions.csv").open() as file:
        nodes = {row["memory"] for row in csv.DictReader(file)}
    assert "start" in nodes
    assert len(nodes) == controller.memory.count_nodes()
    page = (out / "report.html").read_text()
    assert all(node in page for node in nodes)  # called after the histories that lead there
    assert jumar("show", out / "improved.json").text.count("How the memory moves") == 1
    program = (out / "improved.py").read_text()
    assert "low load" in program


@pytest.mark.slow
def test_it_is_recorded_and_done_again(jumar, out):
    record = json.loads((out / "run.json").read_text())
    assert record["options"]["learn_memory"] is True
    again = jumar("improve", "--again", out / "run.json", "--json").data
    told = json.loads((out / "certificate.json").read_text())
    for key in ("selection", "memory", "certificates", "gain", "verdict"):
        assert again[key] == told[key]


def test_where_nothing_is_worth_remembering_that_is_said(jumar, tmp_path):
    """Nothing tells anything."""
    log = noise(1, 200)
    fair = jm.Controller.uniform(log.observations, log.actions)
    fair.save(tmp_path / "behavior.json")
    jm.write_logs(log, tmp_path / "log.csv")
    done = jumar(*improve(tmp_path, "--learn-memory", "-o", tmp_path / "out"))
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert told["selection"]["memories_learned"] == [None, None]
    assert ", learned from half" not in done.text
    page = (tmp_path / "out" / "report.html").read_text()
    assert "half 1 taught nothing more, half 2 taught nothing more." in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--window", 2], "--learn-memory: leave --window and --with-actions out."),
        (["--with-actions"], "--learn-memory: leave --window and --with-actions out."),
        (["--algorithm", "spibb"], 'memory: "learn" goes with algorithm="auto"'),
        (["--n-wedge", 5], "learn the memory from an earlier log"),
    ],
)
def test_what_is_refused(jumar, tiger, more, message):
    done = jumar(*improve(tiger, "--learn-memory", *more))
    assert done.code != 0
    assert message in " ".join(done.err.split())


def test_large_logs_teach_a_memory_and_counts_do_not(jumar, tiger, tmp_path, monkeypatch):
    said = ["--policy", tiger / "behavior.json", "--discount", 0.95, "--learn-memory"]
    rule = ["--policy", tiger / "behavior.json"]
    jumar("count", tiger / "log.csv", *rule, "-o", tmp_path / "c.parquet")
    done = jumar("improve", "--counts", tmp_path / "c.parquet", *said)
    assert "--learn-memory: that takes the episodes of a log" in done.err
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.csv").write_text((tiger / "log.csv").read_text())
    usual = jumar("improve", tmp_path / "logs", *said, "--json")
    monkeypatch.setattr("jumar.gate.dealing.LARGE", 10)
    large = jumar("improve", tmp_path / "logs", *said, "--json")
    assert large.data["selection"] == usual.data["selection"]
