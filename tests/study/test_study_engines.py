"""A study gives the same table, byte for byte, wherever it is run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jumar as jm
from commands import run_command
from dask_cluster import cluster
from jumar.lab.study.guarantees.measuring import GuaranteesSpec, run_guarantees
from jumar.lab.study.runner import run_study
from jumar.lab.study.spec import load_study, study_from_document

DOCUMENT = {
    "format": "jumar-study/1",
    "seed": 5,
    "datasets": 7,
    "sizes": [1, 30],
    "behaviors": [
        {"model": "tiger", "window": 1, "memories": [1, 2]},
        {"model": "voicemail", "window": 1, "memories": [1]},
    ],
    "algorithms": [{"name": "spibb", "n_wedge": [5, 20]}, {"name": "basic"}],
}
COMPILED = study_from_document({**DOCUMENT, "datasets": 51})  # three blocks per behavior
IN_PYTHON = study_from_document(
    {**DOCUMENT, "algorithms": [{"name": "strict"}, {"name": "auto", "gate": "asymptotic"}]}
)
GUARANTEES = GuaranteesSpec(
    datasets=12, processes=("fatigue", "all-equal"), parts=("gates",), sizes=(20,), seed=3
)


def table(store) -> bytes:
    return store.results.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("spec", [COMPILED, IN_PYTHON], ids=["compiled", "in Python"])
def test_threads_and_processes_write_the_same_table(tmp_path, spec):
    alone = table(run_study(spec, tmp_path / "alone"))
    for engine in ("here", "processes"):
        assert table(run_study(spec, tmp_path / engine, engine=engine, jobs=2)) == alone


@pytest.mark.slow
def test_dask_writes_the_same_table(tmp_path, capsys):
    pytest.importorskip("distributed", reason="needs dask: pip install 'jumar[cluster]'")
    with cluster(tmp_path / "cluster") as found:
        there = {"engine": "dask", "scheduler": found.address}
        for name, spec in (("compiled", COMPILED), ("python", IN_PYTHON)):
            alone = table(run_study(spec, tmp_path / name))
            assert table(run_study(spec, tmp_path / f"{name}-dask", **there)) == alone
        alone = table(run_guarantees(GUARANTEES, tmp_path / "guarantees", jobs=1))
        assert table(run_guarantees(GUARANTEES, tmp_path / "guarantees-dask", **there)) == alone

        (tmp_path / "study.json").write_text(json.dumps({**DOCUMENT, "datasets": 51}))
        out = tmp_path / "command"
        asked = ("--engine", "dask", "--scheduler", found.address, "--json")
        done = run_command(capsys, "study", tmp_path / "study.json", "-o", out, *asked)
        assert done.code == 0
        assert (out / "results.parquet").read_bytes() == table(run_study(COMPILED, tmp_path / "c"))
    local = run_study(COMPILED, tmp_path / "local", engine="dask", jobs=2)
    assert table(local) == (out / "results.parquet").read_bytes()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--engine", "dusk"], "engine 'dusk' is not one of here, processes, dask"),
        (["--scheduler", "tcp://h:8786"], "--scheduler: give --engine dask as well"),
        (["--engine", "here", "--scheduler", "tcp://h:8786"], "engine 'here' has none"),
        (["--jobs", "0"], "jobs is 0; at least 1 is needed"),
    ],
)
@pytest.mark.parametrize("command", [["study", "guarantees"], ["paper"]])
def test_wrong_workers_leave_nothing_behind(capsys, tmp_path, command, asked, message):
    done = run_command(capsys, *command, "-o", tmp_path / "out", *asked)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_workers_need_no_file_of_the_study(tmp_path):
    rule, model = tmp_path / "rule.json", tmp_path / "model.toml"
    pages = Path(__file__).parents[2] / "docs" / "studies.md"
    blocks = re.findall(r"```toml\n(.*?)```", pages.read_text(), re.DOTALL)
    model.write_text(next(block for block in blocks if "jumar-model/1" in block))
    pomdp = jm.load_model(model)
    jm.Controller.uniform(pomdp.observations, pomdp.actions).save(rule)
    behavior = {"model": model.name, "policy": rule.name, "memories": [1]}
    document = {**DOCUMENT, "behaviors": [behavior], "algorithms": [{"name": "strict"}]}
    (tmp_path / "study.json").write_text(json.dumps(document))
    spec = load_study(tmp_path / "study.json")
    alone = table(run_study(spec, tmp_path / "alone"))

    def take_away(done: int, total: int) -> None:  # it is called before the first block, too
        for path in (rule, model):
            path.unlink(missing_ok=True)

    store = run_study(spec, tmp_path / "out", engine="processes", jobs=2, progress=take_away)
    assert table(store) == alone
