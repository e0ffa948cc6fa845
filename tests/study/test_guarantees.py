"""The study of guarantees: its processes by hand, its counting, and that it can be interrupted."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from jumar.cli import main
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.consistency import check_rewards
from jumar.evidence.validity import Validity
from jumar.gate import select
from jumar.lab.study.guarantees import PROCESSES, measuring, process
from jumar.lab.study.guarantees.base import rule
from jumar.lab.study.guarantees.measuring import (
    GATES,
    PARTS,
    GuaranteesSpec,
    TriedLog,
    measure,
    run_guarantees,
)
from jumar.lab.study.guarantees.report import (
    ClaimCell,
    at_most,
    chance_of,
    findings,
    tables,
    write_report,
)
from jumar.lab.truth.model_files import model_hash

DOCS = Path(__file__).parents[2] / "docs"
SMALL = GuaranteesSpec(seed=3, datasets=3, processes=("lottery", "near-ties"), sizes=(30,))


def γ_sum(steps: int, discount: float = 0.95) -> float:
    return sum(discount**t for t in range(steps))


# ---- the processes ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_is_what_it_says_and_the_same_every_time(name):
    one, again = process(name), process(name)
    assert one.name == name
    assert model_hash(one.pomdp) == model_hash(again.pomdp)
    assert one.behavior.same_as(again.behavior)
    assert one.target.same_as(again.target)
    assert not one.behavior.same_as(one.target)
    assert list(one.sizes) == sorted(set(one.sizes))
    log = one.log(2, random_stream(1, "log"))
    if one.rewards is not None:
        check_rewards(log, one.rewards)
    if one.horizon is None:
        assert log.terminated.all()
    if one.longest is not None:
        assert log.lengths.max() <= one.longest
    assert one.mechanism.endswith(".")


@pytest.mark.parametrize("name", sorted(set(PROCESSES) - {"one-long-record"}))
def test_a_target_does_only_what_the_behavior_does_sometimes(name):
    one = process(name)
    states = np.arange(len(one.pomdp.observations))[:, None]
    never = one.behavior.rows_at(states) == 0
    assert not one.target.rows_at(states)[never].any()


RISKY, IGNORING, WAITS = 1.1 - 251.1 / 1200, 0.92 * 4 - 0.08 * 60, 0.95 * 10 - 0.05 * 100
PAYS_2_POWERS = sum(2 ** (-0.3 * j) for j in range(13)) / sum(2 ** (-1.3 * j) for j in range(13))


@pytest.mark.parametrize(
    ("name", "behavior", "target"),
    [
        ("lottery", 0.5 * (0.005 * 400 - 1), 0.75 * (0.005 * 400 - 1)),  # a ticket is worth one
        ("rare-loss", 0.7 + 0.3 * RISKY, 0.4 + 0.6 * RISKY),
        ("rare-trap", 0.485 + 0.03 * 0.04 * IGNORING, 0.485 + 0.03 * 0.2 * IGNORING),
        ("declared-time-out", 0.5 * 5 + 0.5 * WAITS, 0.3 * 5 + 0.7 * WAITS),
        ("heavy-tails", 0.975 * PAYS_2_POWERS, 0.99 * PAYS_2_POWERS),
        ("hidden-wear", (0.8 * 2 + 0.2 * 3) * γ_sum(5), (0.6 * 2 + 0.4 * 3) * γ_sum(5)),
    ],
)
def test_values_by_hand(name, behavior, target):
    one = process(name)
    assert one.value(one.behavior) == pytest.approx(behavior)
    assert one.value(one.target) == pytest.approx(target)


def test_the_bold_action_loses_and_a_time_out_is_declared():
    assert RISKY < 1
    assert IGNORING < 0
    assert WAITS < 5
    rewards = process("declared-time-out").rewards
    assert (rewards.continuing, rewards.ending) == ((-100, -100), (0, 10))


def test_a_controller_for_screens_that_mean_nothing_is_handed_over_as_it_was_tested():
    """With keys x at p and q the value is .95·(2p - 1)·(2q - 1), so doing half of what was proposed
    is worse than nothing: it was, in 16 of 20 logs."""
    one = process("coordination")
    before = one.value(one.behavior)
    assert before == pytest.approx(0.95 * 0.2**2)
    for number in range(4):
        rng = random_stream(2, "coordination", number)
        controller, _, _ = GATES["proved"](one, one.log(400, rng), 0.05, rng)
        assert controller is None or one.value(controller) > before


def test_pushing_pays_once_in_a_while_only():
    # V(rested) - V(tired) = p (pays - costs), so V(rested) solves one linear equation
    one, c, pays, costs = process("fatigue"), 0.95 * 0.9, 3, -2

    def value(p):
        return ((1 - p) + p * pays - c * p * p * (pays - costs)) / (1 - c)

    assert one.value(one.behavior) == pytest.approx(value(0.02))
    assert one.value(rule(one.pomdp, {"nothing": (0, 1)}, "always")) == pytest.approx(value(1))
    assert value(1) < value(0.02) < value(0.1)


def test_wear_does_not_show_before_records_stop_and_ruins_what_follows():
    one = process("hidden-wear")
    hard = rule(one.pomdp, {"running": (0, 1)}, "hard")
    assert one.value(hard) > one.value(one.behavior)
    assert one.value_for_ever(hard) < one.value_for_ever(one.behavior) - 10


def test_the_voicemail_behavior_is_the_best_without_memory():
    one = process("voicemail-memoryless")
    best = one.value(one.behavior)
    assert best == pytest.approx(0.5257, abs=1e-4)
    for asks in (0.47, 0.52):
        row = {"hear-save": (0, 1, 0), "hear-delete": (asks, 0, 1 - asks)}
        assert one.value(rule(one.pomdp, row, "other")) < best


# ---- the truth of a claim -----------------------------------------------------------------------


def test_a_row_of_a_gate_is_the_selection_on_that_log_judged_exactly():
    one = process("plain-choice")
    trial = TriedLog("gates", one, 1000, 1, delta=0.05, seed=4)
    row = next(row for row in measure(trial) if row["subject"] == "asymptotic")
    found = select(
        trial.log,
        one.behavior,
        discount=0.95,
        seed=trial.rng("gate"),
        rewards=one.rewards,
        gate="asymptotic",
    )
    assert row["made"] == (found.chosen is not None)
    assert row["gain"] == jm.evaluate(one.pomdp, found.controller).value - 0.5
    assert row["false"] == (row["gain"] < found.chosen.lower)


# ---- counting -----------------------------------------------------------------------------------


def test_limits_are_those_of_clopper_and_pearson():
    assert at_most(0, 60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert at_most(4, 4) == 1.0
    assert chance_of(1, 3, 0.5) == pytest.approx(7 / 8)
    assert 1 - chance_of(4, 50, at_most(3, 50)) == pytest.approx(0.05)


def cell(false, logs, size=100, unseen=0):
    counts = {"logs": logs, "made": logs, "false": false, "false_range_unseen": unseen}
    return ClaimCell("gates", "g", "", "", "p", size, 0.05, **counts, worse=0, mean_gain=None,
                     worse_for_ever=None)  # fmt: skip


def test_a_promise_holds_is_open_or_broken():
    assert cell(0, 60).verdict == "holds"
    assert cell(0, 50).verdict == "open"  # too few to tell
    assert cell(6, 60).verdict == "open"
    assert cell(12, 60).verdict == "BROKEN"
    # nobody promised anything about a range that is neither declared nor in the log
    assert cell(12, 60, unseen=12).verdict == "holds"
    assert cell(60, 60, unseen=48).verdict == "BROKEN"


def careless(process, log, delta, rng):
    """Deploys a rule that does what was done least often, and says it is a little better."""
    rarest = np.bincount(log.action, minlength=len(log.actions)).argmin()
    row = np.eye(len(log.actions))[rarest]
    new = jm.Controller.constant(log.observations, log.actions, row, process.behavior.memory)
    return new, 1e-3, Validity.PROVED


def timid(process, log, delta, rng):
    return None, None, Validity.PROVED


def test_a_gate_that_deploys_always_is_reported_as_broken_and_one_that_never_does_holds(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(measuring, "GATES", {"careless": careless, "timid": timid})
    spec = GuaranteesSpec(
        datasets=60, processes=("fatigue", "all-equal"), parts=("gates",), sizes=(20,)
    )
    found = findings(run_guarantees(spec, tmp_path, jobs=1))
    fatigue, equal = found.of("gates", subject="careless")
    assert (fatigue.verdict, fatigue.worse, fatigue.false, fatigue.made) == ("BROKEN", 60, 60, 60)
    assert fatigue.mean_gain < -1
    # nobody loses where all returns are equal, but nobody gains either
    assert (equal.verdict, equal.worse, equal.false) == ("BROKEN", 0, 60)
    assert [c.verdict for c in found.of("gates", subject="timid")] == ["holds", "holds"]
    (table,) = tables(found)
    text = table.markdown
    assert "careless: made / false / promise" in text
    assert text.count("BROKEN") == 2


# ---- the run ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_guarantees(SMALL, tmp_path_factory.mktemp("guarantees"), jobs=1)


def test_every_claimant_has_a_cell(finished):
    found = findings(finished)
    assert {c.part for c in found.cells} == set(PARTS)
    assert {c.subject for c in found.of("intervals")} == set(jm.offpolicy.INTERVALS)
    drawn = found.of("intervals", subject="bootstrap-t")
    assert {c.of for c in drawn} == set(jm.offpolicy.ESTIMATORS)
    assert {c.subject for c in found.of("tests")} == {
        "fit", "longer", "drift: outcomes", "drift: returns", "order",
    }  # fmt: skip
    assert "data-dependent" in {c.subject for c in found.of("certificates")}
    assert {c.logs for c in found.cells} == {3}
    assert {c.process for c in found.of("gates")} == {"lottery", "near-ties"}


def test_another_run_in_the_same_folder_is_refused(finished):
    with pytest.raises(ParameterError, match="holds the results of another study: seed differ"):
        run_guarantees(replace(SMALL, seed=4), finished.folder, jobs=1)


def test_the_files_are_all_cells_and_a_page(finished):
    table, page = write_report(finished)
    read = findings(finished).to_dict()
    assert json.dumps(read, allow_nan=False)
    assert read["format"] == "jumar-guarantees/1"
    assert [one["name"] for one in read["processes"]] == ["lottery", "near-ties"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["process"] for row in rows] == [cell["process"] for cell in read["cells"]]
    assert {"made", "false", "false_at_most", "worse", "mean_gain"} <= set(rows[0])
    assert "| lottery |" in page.read_text()
    assert page.read_text().count("\n## ") == 4


# ---- the command --------------------------------------------------------------------------------


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["study", "guarantees", *map(str, arguments)])
    told = capsys.readouterr()
    return left.value.code or 0, told.out, told.err


def test_one_process_in_one_command(capsys, tmp_path):
    asked = ("-o", tmp_path / "g", "--only", "lottery", "--sizes", "20", "--datasets", 2)
    code, text, _ = run(capsys, *asked, "--seed", 5, "--jobs", 1, "--json")
    assert code == 0
    data = json.loads(text)
    assert (data["seed"], data["datasets"], data["delta"]) == (5, 2, 0.05)
    assert {c["process"] for c in data["cells"]} == {"lottery"}
    files = {path.name for path in (tmp_path / "g").iterdir()}
    assert {"guarantees.csv", "guarantees.md"} <= files
    code, text, _ = run(capsys, "-o", tmp_path / "g", "--summary")
    assert code == 0
    assert "Gates: false claims of a gain" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "lotery"], "process 'lotery' is not one of"),
        (["--datasets", "0"], "datasets is 0; at least 1 is needed"),
        (["--sizes", "0"], "sizes must be whole numbers from 1"),
        (["--planner", "9"], "the study of guarantees has no planner"),
        (["--seed", "-1"], "seed is -1"),
        (["--summary"], "no study has been run here"),
    ],
)
def test_wrong_usage_leaves_nothing_behind(capsys, tmp_path, arguments, message):
    code, _, error = run(capsys, "-o", tmp_path / "g", *arguments)
    assert code == 2
    assert message in error
    assert not (tmp_path / "g").exists()


# ---- the page -----------------------------------------------------------------------------------


def test_the_page_shows_every_process_and_every_gate():
    page = (DOCS / "guarantees.md").read_text("utf-8")
    (first,) = re.findall(r"<!-- begin gates -->(.*)<!-- end gates -->", page, re.DOTALL)
    cells = csv.DictReader((DOCS / "pictures" / "guarantees.csv").read_text("utf-8").splitlines())
    measured = {(row["process"], row["part"]) for row in cells}
    for name in PROCESSES:
        of_gates = (name, "gates") in measured  # a single record is too few to be tested
        assert of_gates == (f"| {name} |" in first), "run docs/pictures/make.py on a finished run"
        assert of_gates or (name, "certificates") in measured
    for gate in GATES:
        assert f"| {gate}: made / false / promise |" in first
