"""Several policies, none, clusters: what the commands that read a log make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from commands import run_command
from jumar import offpolicy
from jumar.log.reading import read_logs
from jumar.policy.controller import Controller

NAMES = ("good", "worn"), ("keep", "repair")
COLUMNS = ("--columns", "behavior=plant,cluster=machine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two plants, A with a coin and B with a rule that keeps in 80 %; 30 machines, 4 records each,
    and what the machine pays goes with it."""
    folder = tmp_path_factory.mktemp("plants")
    rows = {"A": [0.5, 0.5], "B": [0.8, 0.2]}
    for plant, row in rows.items():
        Controller.constant(*NAMES, row, name=f"rule of {plant}").save(folder / f"{plant}.json")
    turned = Controller.constant(NAMES[0][::-1], NAMES[1][::-1], [0.2, 0.8], name="B")
    turned.save(folder / "turned.json")
    Controller.constant(*NAMES, [0.7, 0.3], name="new").save(folder / "new.json")
    rng = np.random.default_rng(1)
    worth = rng.normal(0, 2, 30)
    lines = []
    for e in range(120):
        machine, plant = e % 30, "AB"[e % 2]
        for _ in range(2):
            a = int(rng.random() > rows[plant][0])
            pays = worth[machine] + 1 - a + rng.normal()
            lines.append(f"{e},good,{NAMES[1][a]},{pays:.3f},{plant},m{machine},{rows[plant][a]}")
    head = "episode,observation,action,reward,plant,machine"
    (folder / "log.csv").write_text("\n".join([head + ",p", *lines]) + "\n")
    return folder


@pytest.fixture
def run(capsys, monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def command(name: str, *more: object):
        return run_command(capsys, name, "log.csv", "--ends", "cut", *more)

    return command


def told(folder: Path, **columns: str):
    return read_logs(
        folder / "log.csv", ends="cut", observations=NAMES[0], actions=NAMES[1], columns=columns
    )


ESTIMATE = ("--controller", "new.json", "--discount", 0.9, "--json")


@pytest.mark.parametrize(
    "behaviors",
    [
        ("A.json", "B.json"),  # matched by the stem of the file
        ("A=A.json", "B=B.json"),
        ("B=turned.json", "A.json"),  # names in another order
        ("A.json", "turned.json"),  # matched by the name in the file
    ],
)
def test_estimate_with_several_behaviors(run, folder, behaviors):
    options = [part for b in behaviors for part in ("--policy", b)]
    done = run("estimate", *ESTIMATE, "--estimator", "pdis", *COLUMNS, *options)
    log = told(folder, behavior="plant", cluster="machine")
    two = {name: jm.load_controller(folder / f"{name}.json") for name in "AB"}
    new = jm.load_controller(folder / "new.json")
    found = offpolicy.estimate(log, new, two, discount=0.9, estimator="pdis")
    (said,) = done.data["estimates"]
    assert said["value"] == pytest.approx(found.value)
    assert (said["episodes"], said["clusters"]) == (120, 30)
    assert done.data["policy"] == list(behaviors)


def test_check_with_several_policies_and_clusters(run):
    done = run("check", "--policy", "A.json", "--policy", "B.json", *COLUMNS, "--json")
    sections = done.data["sections"]
    assert sections["fit"]["verdict"]["status"] == "passed"
    alike = sections["clusters"]
    assert (alike["clusters"], alike["named"], alike["verdict"]["status"]) == (30, True, "look")
    assert alike["correlation"] > 0.5
    assert done.data["behavior"] == "pooled: A, B"


def test_check_tells_which_policy_does_not_fit(run):
    done = run("check", "--policy", "A=B.json", "--policy", "B=B.json", *COLUMNS, "--json")
    assert done.code == 1
    (misfit,) = done.data["sections"]["fit"]["misfits"]
    assert misfit["situation"].startswith("A: ")
    assert (misfit["expected"], misfit["visits"]) == (0.2, 120)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--policy", "A.json", "--policy", "B.json", *COLUMNS), ["A", "B"]),
        (("--policy", "estimate", *COLUMNS), "estimate"),
        (("--policy", "A.json"), "rule of A"),
        (("--columns", "propensity=p"), None),
    ],
)
def test_improve_and_samples_hand_the_behaviors_on(run, monkeypatch, options, names):
    seen = []

    class Enough(Exception):
        pass

    def stop(log, behavior, **settings):
        seen.append(behavior)
        raise Enough

    monkeypatch.setattr("jumar.improve", stop)
    monkeypatch.setattr("jumar.pipeline.select", stop)
    for command in ("improve", "samples"):
        with pytest.raises((Enough, AssertionError)):
            run(command, "--discount", 0.9, *options)
    assert len(seen) == 2
    for found in seen:
        if isinstance(names, list):
            assert sorted(found) == names
            assert all(isinstance(c, Controller) for c in found.values())
        else:
            assert getattr(found, "name", found) == names


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("check", (), "--policy: give the policy that made the log, or name a column"),
        (
            "estimate",
            ("--controller", "new.json", "--discount", 0.9),
            "--policy: give the policy",
        ),
        ("check", ("--policy", "estimate", "--policy", "A.json"), "estimate stands alone"),
        ("check", ("--policy", "A=A.json", "--policy", "A=B.json"), "A is given twice"),
        ("check", ("--policy", "A.json", "--policy", "A.json"), "two controllers are called"),
        ("check", ("--window", 2, "--policy", "A.json"), "only for --policy estimate"),
    ],
)
def test_wrong_usage(run, command, options, message):
    done = run(command, *options, *COLUMNS)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_a_file_may_have_an_equals_sign_in_its_name(run, folder):
    (folder / "a=b.json").write_text((folder / "A.json").read_text())
    assert run("check", "--policy", "a=b.json", "--json").data["behavior"] == "rule of A"
