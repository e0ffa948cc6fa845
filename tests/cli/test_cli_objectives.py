"""`jumar improve --objective --keep`: what it says, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

RULE = """format = "jumar-controller/1"
name = "mostly waits"
observations = ["quiet", "noise"]
actions = ["wait", "rush", "care"]

[[rules]]
action = { wait = 0.4, rush = 0.3, care = 0.3 }
"""
COST = ("--objective", "cost", "--cost")
KEEP = ("--keep-cost", "misses", "--keep", "comfort=0.5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Rushing is cheap, and in noise it leads to misses; comfort has nothing to do with it."""
    folder = tmp_path_factory.mktemp("haste")
    rng = np.random.default_rng(5)
    rows = ["episode,observation,action,cost,misses,comfort,none"]
    for episode in range(2000):
        for _ in range(3):
            z = ("quiet", "noise")[rng.integers(2)]
            a = ("wait", "rush", "care")[rng.choice(3, p=[0.4, 0.3, 0.3])]
            cost = 10 - {"wait": 0, "rush": 4, "care": 2}[a] + rng.integers(0, 3)
            miss = int(a == "rush" and z == "noise" and rng.random() < 0.5)
            rows.append(f"{episode},{z},{a},{cost},{miss},{4 + rng.integers(0, 3)},0")
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    (folder / "rule.toml").write_text(RULE)
    return folder


def improve(folder: Path, *more: object) -> list[object]:
    log, rule = folder / "log.csv", folder / "rule.toml"
    said = ["--policy", rule, "--discount", 0.95, "--ends", "terminated", "--window", 1]
    return ["improve", log, *said, *more]


@pytest.mark.slow
def test_every_signal_is_told_everywhere(jumar, folder, tmp_path):
    done = jumar(*improve(folder, *COST, *KEEP, "-o", tmp_path))
    told = json.loads((tmp_path / "certificate.json").read_text())
    assert told["verdict"]["word"] == "adopt-if"
    assert told["certificates"][0]["signal"] == "cost"
    comfort, misses = told["kept"]
    assert (comfort["signal"], misses["signal"]) == ("comfort", "misses")
    assert comfort["zeta"] <= 0.5
    assert misses["zeta"] < 0.04
    assert told["selection"]["keeps"] == ["comfort", "misses"]
    for certificate in told["kept"]:
        assert certificate["odds"] == 0.05
        assert certificate["claim"] in done.text
        assert certificate["claim"] in (tmp_path / "report.html").read_text()
    assert "Certificate for misses" in done.text
    # rushing in noise would save more, and the table of decisions says why it is not done
    reasons = (tmp_path / "decisions.csv").read_text()
    assert "by cost alone 'rush' would be better" in reasons
    assert "'care' is chosen for the sake of misses" in reasons
    assert "more misses per episode" in told["verdict"]["lead"]
    again = jumar("improve", "--again", tmp_path / "run.json", "--json").data
    assert again["kept"] == told["kept"]


@pytest.mark.slow
def test_a_project_file_says_the_same(jumar, folder, monkeypatch, tmp_path):
    typed = jumar(*improve(folder, *COST, *KEEP, "--keep-range", "misses=0:1", "--json")).data
    (tmp_path / "jumar.toml").write_text(
        f'''format = "jumar-project/1"
log = "{folder / "log.csv"}"
policy = "{folder / "rule.toml"}"
discount = 0.95
ends = "terminated"
cost = true
objective = "cost"
keep = ["comfort=0.5"]
keep_cost = ["misses"]
keep_range = ["misses=0:1"]
'''
    )
    monkeypatch.chdir(tmp_path)
    assert jumar("improve", "--window", 1, "--json").data["kept"] == typed["kept"]
    assert jumar("check", "--json").code == 0  # it looks at the objective, too
    others = ("--objective", "comfort", "--no-cost", "--keep", "cost")
    other = jumar("improve", *others, "--window", 1, "--json")
    assert other.data["certificates"][0]["bound"] in ("held-out", "unchanged")
    assert [kept["signal"] for kept in other.data["kept"]] == ["cost", "misses"]
    done = jumar("improve", "--columns", "reward=comfort", "--no-cost", "--json")
    assert done.code != 0  # what is typed wins over the objective of the file; comfort is kept
    assert "--keep comfort: this column is the objective" in done.err


def test_columns_name_signals_too(jumar, folder):
    columns = "reward=cost,cost:harm=misses"
    named = improve(folder, "--cost", "--columns", columns, "--keep", "harm", "--json")
    short = improve(folder, *COST, "--keep-cost", "misses", "--json")
    (one,), (other,) = jumar(*named).data["kept"], jumar(*short).data["kept"]
    assert one["signal"] == "harm"
    assert one["zeta"] == other["zeta"]


def test_what_is_held_back_is_told_with_its_signal(jumar, folder, tmp_path):
    done = jumar(*improve(folder, *COST, "--keep", "comfort=0", "-o", tmp_path))
    assert done.code == 0
    assert "What is better on cost is not proved to keep comfort." in done.text
    page = (tmp_path / "report.html").read_text()
    assert "it loses no more than 0 was not proved" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--keep", "cost"), "--keep cost: this column is the objective"),
        (("--keep", "comfort", "--keep", "comfort=1"), "comfort is named twice"),
        (("--keep", "misses", "--keep-cost", "misses"), "misses is named twice"),
        (("--keep", "comfrt"), "log.csv: no column for the signal:comfrt: "),
        (("--keep", "action"), "row 2, column 'action': "),
        (("--keep", "comfort=-1"), "--keep comfort=-1: expected COLUMN"),
        (("--keep-cost", "misses=nan"), "--keep-cost misses=nan: expected COLUMN"),
        (("--keep", "=3"), "--keep =3: expected COLUMN"),
        (("--keep-range", "comfort=0:9"), "--keep-range comfort: give --keep comfort as well."),
        (("--keep", "comfort", "--keep-range", "comfort"), "expected COLUMN=LO:HI"),
        (("--keep", "comfort", "--keep-range", "comfort=9:0"), "lower number first"),
        (("--keep", "comfort", "--keep-range", "comfort=0:5"), "outside 0 to 5"),
        (("--keep-cost", "misses", "--keep-range", "misses=2:5"), "outside -5 to -2"),
        (("--keep-cost", "none"), "--keep-cost none=0.01 --keep-range none=0:1"),
        (("--keep", "comfort", "--gate", "asymptotic"), "Leave out gate (--gate)."),
        (("--keep", "comfort", "--n-wedge", 5), "keep: spibb is not tested on held-out episodes"),
        (("--columns", "reward=comfort"), "--objective cost: --columns reward=comfort names"),
    ],
)
def test_refused(jumar, folder, options, said):
    done = jumar(*improve(folder, *COST, *options))
    assert done.code != 0
    assert said in " ".join(done.err.split())


@pytest.mark.slow
def test_large_logs_keep_signals_and_counts_do_not(jumar, folder, tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.csv").write_text((folder / "log.csv").read_text())
    said = ["--policy", folder / "rule.toml", "--discount", 0.95, "--ends", "terminated", *COST]
    asked = ("--keep", "comfort", "--window", 1, "--json")
    at_once = jumar("improve", tmp_path / "logs", *said, *asked)
    alone = jumar("improve", folder / "log.csv", *said, *asked)
    assert at_once.data["selection"] == alone.data["selection"]
    monkeypatch.setattr("jumar.gate.dealing.LARGE", 10)
    large = jumar("improve", tmp_path / "logs", *said, *asked)
    assert large.data["selection"] == alone.data["selection"]
    monkeypatch.setattr("jumar.core.resources.memory", lambda: 1000)
    done = jumar("improve", tmp_path / "logs", *said, "--keep-cost", "misses")
    assert done.code != 0
    assert "keep (--keep): this takes every one of" in " ".join(done.err.split())
    monkeypatch.undo()
    jumar("count", folder / "log.csv", *said[:2], *said[4:], "-o", tmp_path / "c.parquet")
    done = jumar("improve", "--counts", tmp_path / "c.parquet", *said, "--keep", "comfort")
    assert done.code == 2
    assert "counts are of one reward" in done.err
