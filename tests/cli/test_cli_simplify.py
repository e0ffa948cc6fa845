"""`jumar improve --simplify` and `jumar export --smallest`: what they write, say and refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import jumar as jm
from jumar.policy.controller import Controller


def improve(folder: Path, *more: object) -> list[object]:
    log, rule = folder / "log.csv", folder / "behavior.json"
    return ["improve", log, "--policy", rule, "--discount", 0.95, *more]


SPIBB = ("--n-wedge", 5, "--window", 3)


@pytest.mark.slow
def test_fewer_changes_are_told_in_every_file(jumar, tiger, tmp_path):
    whole = jumar(*improve(tiger, *SPIBB, "--json")).data
    done = jumar(*improve(tiger, *SPIBB, "--simplify", "-o", tmp_path))
    told = json.loads((tmp_path / "certificate.json").read_text())
    kept = told["simplified"]
    assert kept["changes"] == whole["changed"]
    assert kept["kept"] == told["changed"] < whole["changed"]
    assert kept["share"] == 0.95
    assert kept["part"] >= 0.95
    said = f"Simplified: {kept['kept']} of {kept['changes']} changes bring "
    assert said in " ".join(done.out.split())
    assert said in (tmp_path / "report.html").read_text()
    with (tmp_path / "decisions.csv").open() as file:
        whys = [row["why"] for row in csv.DictReader(file)]
    assert sum("keep the policy simple" in why for why in whys) == kept["changes"] - kept["kept"]
    improved = jm.load_controller(tmp_path / "improved.json")
    assert len(improved.rows) == kept["kept"]
    options = json.loads((tmp_path / "run.json").read_text())["options"]
    assert options["simplify"] is True
    again = jumar("improve", "--again", tmp_path / "run.json", "--json").data
    assert again["simplified"] == kept


def test_another_share(jumar, tiger):
    done = jumar(*improve(tiger, *SPIBB, "--simplify", "--gain-share", 0.5, "--json"))
    usual = jumar(*improve(tiger, *SPIBB, "--simplify", "--json"))
    assert done.data["simplified"]["share"] == 0.5
    assert done.data["simplified"]["part"] >= 0.5
    assert done.data["changed"] < usual.data["changed"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gain-share", 0.9), "--gain-share 0.9: give --simplify as well."),
        (("--simplify", "--gain-share", 0), "simplify: 0.0 is not a share of the gain"),
        (("--simplify", "--gain-share", 95), "simplify: 95.0 is not a share of the gain"),
    ],
)
def test_shares_that_make_no_sense_are_refused(jumar, tiger, options, message):
    done = jumar(*improve(tiger, *options))
    assert done.code != 0
    assert message in " ".join(done.err.split())


def same_everywhere(one: Controller, other: Controller) -> bool:
    """On every history, whoever acts."""
    rng = np.random.default_rng(1)
    for seed in range(30):
        agents = [c.start(seed) for c in (one, other)]
        for _ in range(12):
            z = rng.choice(one.observations)
            if len({tuple(agent.probabilities(z).items()) for agent in agents}) > 1:
                return False
            action = rng.choice(one.actions)
            for agent in agents:
                agent.tell(z, action)
    return True


def test_the_smallest_machine_is_handed_over_where_it_is_smaller(jumar, tiger, tmp_path):
    out = tmp_path / "out"
    told = jumar(*improve(tiger, *SPIBB, "--simplify", "-o", out, "--json")).data
    big, small = (jm.load_controller(out / f"{name}.json") for name in ("improved", "smallest"))
    nodes = told["smallest"]
    assert nodes["nodes_before"] == big.memory.count_nodes() == 7
    assert nodes["nodes"] == small.memory.count_nodes() < 7
    assert same_everywhere(big, small)
    page = (out / "report.html").read_text()
    assert f"The same with the fewest nodes: {nodes['nodes']} of 7" in page
    # of an earlier run nothing stays behind
    jumar(*improve(tiger, "--n-wedge", 10**6, "-o", out))
    assert not (out / "smallest.json").exists()


def test_a_memory_that_is_used_to_the_full_has_no_smaller_one(tmp_path):
    observations, actions = ("z0", "z1"), ("a", "b")
    fair = Controller.uniform(observations, actions)
    rng = np.random.default_rng(1)
    z, a = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    log = jm.Episodes(
        observations, actions, z, a, a * 1.0, np.arange(0, 401, 2), [-1] * 200, [True] * 200
    )
    result = jm.improve(log, fair, discount=0.9, n_wedge=5)
    assert result.improvement.changed > 0
    assert result.assessment.smallest is None
    assert "nodes " not in str(result).partition("Certificate")[0]


@pytest.mark.parametrize("ending", ["json", "c", "js", "sql", "py"])
def test_export_writes_the_smallest(jumar, tmp_path, ending):
    keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], jm.window(4))
    rare = np.array([keep.state(["good", "worn", "worn"], "worn")])
    big = keep.except_at(rare, np.array([[0.0, 1.0]]))
    big.save(tmp_path / "big.json")
    path = tmp_path / f"small.{ending}"
    done = jumar("export", tmp_path / "big.json", "--smallest", "-o", path)
    assert done.code == 0
    (tmp_path / "twin").mkdir()
    twin = tmp_path / "twin" / path.name
    jm.export_controller(big.minimized(any_action=True), twin)
    assert path.read_text() == twin.read_text()


def test_export_of_a_model_has_no_smallest(jumar, tmp_path):
    done = jumar("export", "tiger", "--smallest", "-o", tmp_path / "tiger.drn")
    assert done.code != 0
    assert "--smallest are about a policy" in " ".join(done.err.split())


def test_counts_can_be_simplified_too(jumar, tiger, tmp_path):
    counts = tmp_path / "counts.parquet"
    rule = tiger / "behavior.json"
    jumar("count", tiger / "log.parquet", "--policy", rule, "--window", 3, "-o", counts)
    done = jumar(
        "improve", "--counts", counts, "--policy", rule, "--discount", 0.95, "--n-wedge", 5,
        "--simplify",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Simplified: " in done.out
