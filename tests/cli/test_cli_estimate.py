"""`jumar estimate`: what it prints, and how it fails. Run in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from commands import Finished, run_command
from jumar.core.randomness import random_stream
from jumar.evidence.offpolicy import ESTIMATORS
from jumar.policy.controller import Controller


@pytest.fixture
def estimate(capsys, monkeypatch, folder):
    """Runs `jumar estimate` on the bus log, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*more: object, log: str = "log.csv", policy: str = "new.json") -> Finished:
        command = ["estimate", folder / log, "--controller", folder / policy]
        command += ["--policy", folder / "old.json", "--discount", 0.5, *more]
        return run_command(capsys, *command)

    return run


NAMES = ("good", "worn"), ("keep", "repair")
HEADER = "episode,observation,action,reward,terminated"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """40 buses, half of them kept (which pays 1) and half repaired (which pays 0) at once; the old
    rule is a coin, the new one keeps three times in four."""
    folder = tmp_path_factory.mktemp("buses")
    Controller.uniform(*NAMES, name="coin").save(folder / "old.json")
    Controller.constant(*NAMES, [0.75, 0.25], name="keeps").save(folder / "new.json")
    Controller.constant(*NAMES, [1, 0], name="\x1b[2Jnever repairs").save(folder / "never.json")
    rows = [f"{i},good,{'keep' if i % 2 else 'repair'},{i % 2},true" for i in range(40)]
    (folder / "log.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    repaired = [row for row in rows if "repair" in row]
    (folder / "repaired.csv").write_text("\n".join([HEADER, *repaired]) + "\n")
    renamed = HEADER.replace("episode", "bus").replace("reward", "loss")
    costs = [row.replace(",1,true", ",-1,true") for row in rows]
    (folder / "costs.csv").write_text("\n".join([renamed, *costs]) + "\n")
    return folder


def test_all_estimators_by_default(estimate):
    done = estimate()
    assert done.code == 0
    assert "Expected return" in done.out
    for name in ESTIMATORS:
        assert f"\n  {name} " in done.out
    assert "Student t, asymptotic" in " ".join(done.out.split())
    assert "40 episodes, mean return 0.5" in done.out
    # weights 1.5 and 0.5, twenty of each: (20 · 2)² / (20 · (2.25 + 0.25)) = 32
    assert "32.0 of 40 episodes" in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_numbers_for_machines_are_those_of_the_library(estimate, folder):
    data = estimate("--json", "--seed", 3).data
    log = jm.read_logs(folder / "log.csv", observations=NAMES[0], actions=NAMES[1])
    new, old = (jm.load_controller(folder / f"{name}.json") for name in ("new", "old"))
    found = jm.offpolicy.estimate_all(
        log, new, old, discount=0.5, seed=random_stream(3, "offpolicy")
    )
    assert data["estimates"] == [item.to_dict() for item in found.values()]
    assert [item["estimator"] for item in data["estimates"]] == list(ESTIMATORS)
    assert data["seed"] == 3
    by_name = {item["estimator"]: item for item in data["estimates"]}
    assert by_name["pdis"]["value"] == pytest.approx(0.75)  # 20 · 1.5 · 1 / 40


def test_the_difference_and_its_verdict(estimate):
    """1.5 - 1 for the kept, 0 for the repaired: 0.25 ± 2.02 · 0.0400."""
    done = estimate("--difference", "--estimator", "pdis", "--interval", "t")
    assert "Difference to your policy" in done.out
    assert "Better than the behavior by at least 0.169" in " ".join(done.out.split())
    asked = "--difference", "--estimator", "pdis", "--interval", "t", "--json"
    item = estimate(*asked).data["estimates"][0]
    se = np.std([0.5, 0] * 20, ddof=1) / np.sqrt(40)
    assert item["standard_error"] == pytest.approx(se)
    assert item["lower"] == pytest.approx(0.25 - 2.0226909 * se)


def test_little_evidence_is_said_beside_the_number(estimate):
    """Half of the 40 episodes are what it would have done."""
    done = estimate(policy="never.json", log="log.csv")
    text = " ".join(done.out.split())
    assert done.code == 0
    assert "Read this with care: the log says as much of it as 20 ordinary episodes would." in text
    assert "as much as" not in text  # the same thing twice


def test_next_to_no_evidence_shows_no_number_and_exits_with_1(estimate, folder):
    """8 of the 40 episodes."""
    rows = (folder / "log.csv").read_text().splitlines()
    (folder / "short.csv").write_text("\n".join(rows[:17]) + "\n")
    done = estimate(policy="never.json", log="short.csv")
    text = " ".join(done.out.split())
    assert done.code == 1
    assert "No number is shown: the log says as much of it as 8 ordinary episodes would." in text
    assert text.count("not shown") == len(ESTIMATORS)
    done = estimate("--json", policy="never.json", log="short.csv")
    assert done.code == 1
    for item in done.data["estimates"]:
        assert [item[x] for x in ("value", "lower", "upper", "standard_error")] == [None] * 4
        assert item["not_shown_because"] in item["verdict"]


def test_a_cost_is_said_to_count_as_negative(estimate):
    columns = "episode=bus,reward=loss"
    done = estimate("--columns", columns, "--cost", log="costs.csv")
    assert "Expected return (costs count as negative)" in done.out
    assert "costs count" not in estimate().out


@pytest.mark.parametrize(
    ("arguments", "kind", "message", "code"),
    [
        (["--estimator", "dq"], "ParameterError", "estimator 'dq' is not one of pdis", 2),
        (["--rewards", "3"], "ParameterError", "--rewards 3: expected LO:HI", 2),
        (["--rewards", "2:3"], "LogError", "row 2 (episode 0): reward 0 lies outside 2 to 3", 1),
        (["--seed", "-1"], "ParameterError", "seed: -1", 2),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_printed(estimate, arguments, kind, message, code):
    done = estimate(*arguments, "--json")
    assert done.code == code
    assert done.error["kind"] == kind
    assert message in done.error["message"]


def test_a_log_that_tells_nothing_and_a_name_that_would_clear_the_terminal(estimate):
    done = estimate(policy="never.json", log="repaired.csv")
    assert done.code == 1
    assert done.out == ""
    assert "Of 20 episodes, none is one that \\x1b[2Jnever repairs could have made" in done.err
    assert "\x1b" not in done.err
