"""`jumar init` on logs as other people have them: each broke the first draft of something."""

from __future__ import annotations

import gzip
import io
import random
import sys
import tomllib
from pathlib import Path

import pytest

import jumar as jm
from commands import run_command
from jumar.core.errors import LogError
from jumar.core.reading import NO_NUMBER
from jumar.draft import draft
from jumar.draft.parts import columns_of
from jumar.draft.rule import patterns
from jumar.draft.writing import rule_text
from jumar.show.program import runtime


def lines(path: Path, *rows: str, end: str = "\n") -> Path:
    path.write_bytes(end.join([*rows, ""]).encode())
    return path


def lifts(path: Path) -> Path:
    """A German spreadsheet: "n/a" where the sensor failed, dates, decimal commas, costs."""
    rng = random.Random(1)
    rows = ["Aufzug;Datum;Schwingung;Maßnahme;Kosten"]
    for lift in range(40):
        for week in range(12):
            value = rng.uniform(0, 9)
            done = "Wartung" if value >= 4.5 else "nichts"
            done = rng.choice(["Wartung", "nichts"]) if rng.random() < 0.1 else done
            shown = "n/a" if rng.random() < 0.1 else f"{value:.1f}".replace(".", ",")
            cost = "150,50" if done == "Wartung" else "0,00"
            rows.append(f"A{lift};{1 + 2 * week:02}.01.2023;{shown};{done};{cost}")
    return lines(path, *rows)


def test_readings_that_are_not_available_are_missing(tmp_path):
    made = draft(lifts(tmp_path / "lifts.csv"))
    assert made.trouble == ""
    assert made.value("missing") == "symbol"
    low, edge, high = made.value("bins")["Schwingung"]
    assert (low, high) == ("low", "high")
    assert edge == pytest.approx(4.5, abs=0.11)
    assert set(made.starter.observations) == {"low", "high", "missing"}


@pytest.mark.parametrize("word", NO_NUMBER)
def test_every_word_for_no_number_is_missing_in_logs_and_programs(tmp_path, word):
    path = lines(
        tmp_path / "log.csv",
        "episode,observation,action,reward",
        "1,3.5,go,1",
        f"1,{word.upper()},go,1",
    )
    reading = {"ends": "cut", "bins": {"observation": ("low", 2, "high")}}
    assert jm.read_logs(path, **reading, missing="symbol").observations == ("high", "missing")
    with pytest.raises(LogError, match="missing"):
        jm.read_logs(path, **reading)
    assert word in runtime.NO_NUMBER


def test_an_outcome_in_the_last_row_is_paid_there(tmp_path):
    rng = random.Random(3)
    rows = []
    for patient in range(200):
        for visit in range(4):
            pain, fever = rng.randint(0, 10), rng.choice(["yes", "no"])
            act = (
                "operate" if fever == "yes" and pain >= 7 else "drug" if fever == "yes" else "wait"
            )
            act = rng.choice(["operate", "drug", "wait"]) if rng.random() < 0.1 else act
            rows.append(f"P{patient},{visit},{pain},{fever},{act},{'' if visit < 3 else pain}")
    path = lines(tmp_path / "log.csv", "patient,visit,pain,fever,treatment,outcome", *rows)
    made = draft(path)
    assert (made.value("missing_reward"), made.value("ends")) == (0, "terminated")
    assert made.value("bins") == {"pain": ("low", 7, "high")}  # its values times those of fever
    rules = tomllib.loads(rule_text(made.starter, "log.csv"))["rules"]
    assert {rule["observation"]: rule["action"] for rule in rules} == {
        "yes+high": "operate",
        "yes+low": "drug",
    }


def test_batches_of_two_machines_are_the_episodes(tmp_path):
    """Interleaved, in standard input, compressed, without a step column."""
    rng, rows = random.Random(4), []
    for batch in range(120):
        for minute in range(rng.randint(3, 6)):
            colour = rng.choice(["pale", "dark"])
            done = {"pale": "heat", "dark": "cool"}[colour]
            when = f"2024-03-{1 + batch // 10:02} {8 + batch % 10:02}:{minute:02}:00"
            rows.append(f"{when}\t{'AB'[batch % 2]}\tB{batch}\t{colour}\t{done}\t{minute}")
    rng.shuffle(rows)
    path = lines(tmp_path / "log.tsv", "timestamp\tmachine\tbatch\tcolour\tcommand\tpoints", *rows)
    parts = columns_of(draft(path).proposals)
    assert (parts["episode"], parts["time"]) == (("batch",), ("timestamp",))


def test_standard_input_becomes_a_file_of_the_project(tmp_path, capsys, monkeypatch):
    text = gzip.compress(lifts(tmp_path / "lifts.csv").read_bytes())
    (tmp_path / "lifts.csv").unlink()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    done = run_command(capsys, "init", "-", "--yes")
    assert done.code == 0
    assert "Wrote log.csv.gz" in done.out
    assert run_command(capsys, "check").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    refused = run_command(capsys, "init", "-", "--yes")
    assert refused.code == 2
    assert "--force" in refused.err


def test_money_that_may_be_paid_or_earned_is_asked_about(tmp_path, capsys, monkeypatch):
    """The amount comes after the decision, the quoted price before it."""
    rng, rows = random.Random(5), []
    for ship in range(100):
        for turn in range(3):
            price = rng.uniform(500, 3000)
            rows.append(
                f'S{ship},{turn},"{price:,.2f}",{"yes" if price < 1500 else "no"},{price:.0f}'
            )
    lines(
        tmp_path / "log.csv", "shipment,round,quoted price,decision,amount (USD)", *rows, end="\r\n"
    )
    monkeypatch.chdir(tmp_path)
    done = run_command(capsys, "init", "log.csv", "--yes")
    assert done.code == 0
    project = (tmp_path / "jumar.toml").read_text()
    assert "does not say whether it holds costs or earnings" in run_command(capsys, "check").text
    assert tomllib.loads(project)["columns"]["reward"] == "amount (USD)"
    assert tomllib.loads(project)["columns"]["observation"] == "quoted price"


def test_patterns_say_the_same_as_the_names():
    rng = random.Random(6)
    for _ in range(200):
        names = [f"{a}+{b}+{c}" for a in "xyz" for b in "uv" for c in "pq"]
        usual = {name: rng.choice([0, 0, 1, 2]) for name in names if rng.random() < 0.9}
        found = patterns(usual, 0)
        for name, action in usual.items():
            fits = [a for p, a, _ in found if _fits(p, name)]
            assert (fits[0] if fits else 0) == action
        assert len(found) <= sum(action != 0 for action in usual.values())


def _fits(pattern: str, name: str) -> bool:
    return all(p in ("*", n) for p, n in zip(pattern.split("+"), name.split("+"), strict=True))
