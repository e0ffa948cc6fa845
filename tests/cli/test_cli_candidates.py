"""`jumar improve --candidates`: what it tests, writes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jumar as jm


@pytest.fixture(scope="module")
def tiger(tmp_path_factory) -> Path:
    """A log of 1,500 episodes, which is enough for something to pass."""
    folder = tmp_path_factory.mktemp("tiger")
    model = jm.models.tiger()
    behavior = jm.Controller.uniform(model.observations, model.actions)
    behavior.save(folder / "behavior.json")
    jm.write_logs(jm.simulate(model, behavior, episodes=1500, seed=1), folder / "log.csv")
    return folder


def improve(folder: Path, *more: object) -> list[object]:
    log, rule = folder / "log.csv", folder / "behavior.json"
    return ["improve", log, "--policy", rule, "--discount", 0.95, *more]


def test_what_was_chosen_is_named_everywhere(jumar, tiger, tmp_path):
    done = jumar(*improve(tiger, "--candidates", "soft,robust", "--delta", 0.2, "-o", tmp_path))
    told = json.loads((tmp_path / "certificate.json").read_text())
    assert told["selection"]["candidates_from"] == ["soft", "robust"]
    base = told["parameters"]["base"]
    assert base in ("soft", "robust")
    assert f"auto(base={base}" in " ".join(done.out.split())
    page = (tmp_path / "report.html").read_text()
    assert "They were made by soft, robust." in page
    assert f"{base}: window of " in page
    assert told["selection"]["chosen"]["setting"].startswith(base)


def test_it_is_recorded_and_done_again(jumar, tiger, tmp_path):
    first = jumar(*improve(tiger, "--candidates", "ramdp", "-o", tmp_path / "out", "--json")).data
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["options"]["candidates"] == "ramdp"
    again = jumar("improve", "--again", tmp_path / "out" / "run.json", "--json").data
    assert again["selection"] == first["selection"]
    assert again["selection"]["candidates_from"] == ["ramdp"]


@pytest.mark.parametrize("written", ['["soft", "ramdp"]', '"soft,ramdp"'])
def test_it_may_stand_in_the_project_file(jumar, tiger, tmp_path, written):
    (tmp_path / "jumar.toml").write_text(
        'format = "jumar-project/1"\n'
        f'log = "{tiger / "log.csv"}"\npolicy = "{tiger / "behavior.json"}"\n'
        f"discount = 0.95\ncandidates = {written}\n"
    )
    project = ("--project", tmp_path / "jumar.toml")
    found = jumar("improve", *project, "--json").data
    assert found["selection"]["candidates_from"] == ["soft", "ramdp"]
    # what is typed comes first
    found = jumar("improve", *project, "--candidates", "auto", "--json").data
    assert found["selection"]["candidates_from"] == ["auto"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--candidates", "sfot"], "candidates: algorithm 'sfot' is not one of"),
        (["--candidates", "sfot"], "Did you mean 'soft'?"),
        (["--candidates", ","], "candidates: there is no name in it"),
        (["--candidates", "soft", "--algorithm", "spibb"], "--candidates: spibb takes none"),
        (["--candidates", "soft", "--n-wedge", 5], "--candidates: spibb takes none"),
    ],
)
def test_what_is_refused(jumar, tiger, more, message):
    assert message in " ".join(jumar(*improve(tiger, *more)).err.split())


def test_counts_have_no_candidates(jumar, tiger, tmp_path):
    rule = ["--policy", tiger / "behavior.json"]
    jumar("count", tiger / "log.csv", *rule, "-o", tmp_path / "c.parquet")
    asked = ["--discount", 0.95, "--candidates", "soft"]
    done = jumar("improve", "--counts", tmp_path / "c.parquet", *rule, *asked)
    assert "--candidates: that takes the episodes of a log" in " ".join(done.err.split())
