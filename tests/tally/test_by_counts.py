"""Learning from counts alone: the same controller as from the log, and an honest word about it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jumar as jm
from jumar.cli import main
from jumar.core.errors import CountsError, ParameterError
from jumar.tally.counted import nothing as counts_of_nothing
from jumar.tally.files import save_counts

TIGER = jm.models.tiger()
FAIR = jm.Controller.uniform(TIGER.observations, TIGER.actions, name="fair")


@pytest.fixture(scope="module")
def log():
    return jm.simulate(TIGER, FAIR, episodes=3000, seed=1)


@pytest.fixture
def files(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jm.write_logs(log, tmp_path / "log.parquet")
    FAIR.save(tmp_path / "fair.json")
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    return ended.value.code or 0


def test_the_same_controller_as_from_the_log(log, files):
    counted = jm.count_logs("log.parquet", FAIR, memory=jm.window(2))
    found = jm.improve(counted, FAIR, discount=0.95, n_wedge=20)
    expected = jm.improve(log, FAIR, discount=0.95, memory=jm.window(2), n_wedge=20)
    assert np.allclose(found.improvement.policy, expected.improvement.policy)
    assert found.improvement.gain == pytest.approx(expected.improvement.gain)
    published = {c.bound: c.zeta for c in expected.certificates}
    for certificate in found.certificates:
        assert certificate.zeta == pytest.approx(published[certificate.bound], rel=1e-6)
    assert found.to_dict()["tested"] is False


def test_a_shorter_memory_than_was_counted(log, files):
    counted = jm.count_logs("log.parquet", FAIR, memory=jm.window(3))
    found = jm.improve(counted, FAIR, discount=0.95, memory=jm.window(1), n_wedge=20)
    expected = jm.improve(log, FAIR, discount=0.95, memory=jm.window(1), n_wedge=20)
    assert np.allclose(found.improvement.policy, expected.improvement.policy)


def test_on_the_command_line(files, capsys):
    assert (
        run("count", "log.parquet", "--policy", "fair.json", "--window", 2, "-o", "c.parquet") == 0
    )
    line = ("improve", "--counts", "c.parquet", "--policy", "fair.json", "--discount", 0.95)
    assert run(*line, "--n-wedge", 20, "-o", "out") == 0
    assert "What that brings is not known" in " ".join(capsys.readouterr().out.split())
    assert json.loads((files / "out/certificate.json").read_text())["tested"] is False
    assert jm.load_controller(files / "out/improved.json").actions == FAIR.actions
    assert run(*line, "--json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] > 0


@pytest.mark.parametrize("algorithm", ["spibb", "spibb_leq", "basic", "tilt"])
def test_counts_of_no_episode_teach_nothing(files, algorithm):
    """As those of a shard in which no episode begins."""
    nothing = counts_of_nothing(FAIR.observations, FAIR.actions, FAIR.memory)
    save_counts(nothing, files / "none.parquet")
    with pytest.raises(CountsError, match="of no episode"):
        jm.improve(jm.load_counts("none.parquet"), FAIR, discount=0.95, algorithm=algorithm)


def test_what_counts_cannot_do_is_told(files):
    counted = jm.count_logs("log.parquet", FAIR)
    with pytest.raises(ParameterError, match="episodes"):
        jm.improve(counted, FAIR, discount=0.95, algorithm="auto")
    with pytest.raises(ParameterError, match="episodes"):
        jm.improve(counted, FAIR, discount=0.95, algorithm="strict")
    other = jm.Controller.uniform(("a", "b"), TIGER.actions)
    with pytest.raises(CountsError, match="observations"):
        jm.improve(counted, other, discount=0.95)
