"""A study as a run: killed and resumed, any number of jobs, its table, its figures, its page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

import jumar as jm
from facts import refuses
from jumar.core.errors import ParameterError, StudyError, TooLarge
from jumar.lab.study import runner
from jumar.lab.study.datasets import dataset_stream, prepare
from jumar.lab.study.figures import draw, save
from jumar.lab.study.page import summary_data, write_report
from jumar.lab.study.runner import read_planned, run_planner, run_study
from jumar.lab.study.spec import study_from_document
from jumar.lab.study.store import Store, slug
from jumar.lab.study.summary import Results
from jumar.lab.truth.model_files import model_to_document

DOCUMENT = {
    "format": "jumar-study/1",
    "title": "a <small> study",
    "seed": 3,
    "datasets": 60,
    "sizes": [1, 10, 100],
    "behaviors": [
        {"model": "tiger", "window": 1, "memories": [1, 2]},
        {"model": "voicemail", "window": 2, "memories": [2]},
    ],
    "algorithms": [
        {"name": "spibb", "n_wedge": [5, 20]},
        {"name": "basic", "unseen": ["zero", "exclude"]},
    ],
}
SPEC = study_from_document(DOCUMENT)
FIGURES = SPEC.figures_to_draw()  # curves and a heatmap of each behavior


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One whole run, to compare with and to look at."""
    folder = tmp_path_factory.mktemp("study")
    return run_study(SPEC, folder)


def rows(store: Store):
    return pq.read_table(store.results).to_pylist()


# ---- the table ----------------------------------------------------------------------------------


def test_the_table_has_one_row_for_every_policy(finished):
    table = pq.read_table(finished.results)
    assert table.num_rows == SPEC.n_policies == 60 * 3 * 3 * 4
    keys = ("behavior", "k_new", "parameters", "algorithm", "size", "dataset")
    assert len({tuple(row[key] for key in keys) for row in rows(finished)}) == table.num_rows
    assert set(table.column_names) >= {
        "environment", "k", "k_new", "algorithm", "n_wedge", "size", "dataset", "value",
        "model_value", "zeta", "known",
    }  # fmt: skip


def test_zeta_stands_only_where_a_bound_applies_and_falls_with_the_estimated_gain(finished):
    for row in rows(finished):
        assert (row["zeta"] is None) == (row["algorithm"] != "spibb")
    spibb = [r for r in rows(finished) if r["n_wedge"] == 5 and r["behavior"] == "tiger:1"]
    same = {
        r["zeta"] + r["model_value"] - r["model_behavior_value"] for r in spibb if r["k_new"] == 2
    }
    assert max(same) == pytest.approx(min(same))


# ---- killed and resumed -------------------------------------------------------------------------


def test_results_do_not_depend_on_the_number_of_jobs(finished, tmp_path):
    assert rows(run_study(SPEC, tmp_path, jobs=3)) == rows(finished)


def test_a_run_goes_on_where_it_was_and_does_nothing_twice(finished, tmp_path, monkeypatch):
    calls = []
    work = runner.run_dataset

    def fails_later(spec, prepared, number):
        calls.append((prepared.spec.name, number))
        if len(calls) == 40:
            raise KeyboardInterrupt
        return work(spec, prepared, number)

    monkeypatch.setattr(runner, "run_dataset", fails_later)
    with pytest.raises(KeyboardInterrupt):
        run_study(SPEC, tmp_path)
    blocks = {b: b.stat().st_mtime_ns for b in (tmp_path / "blocks").iterdir()}
    assert len(blocks) in (1, 2)  # 25 of the 40 data sets are a whole block, or 25 and the last 10
    assert not (tmp_path / "results.parquet").exists()
    assert len(Results(Store(tmp_path)).cells()) > 0  # what is there can be looked at

    done = []
    monkeypatch.setattr(runner, "run_dataset", lambda *a: done.append(a[2]) or work(*a))
    told = []
    store = run_study(SPEC, tmp_path, progress=lambda done, total: told.append((done, total)))
    assert len(done) == 2 * 60 - 25
    assert told[0] == (25, 120)  # data sets
    assert told[-1] == (120, 120)
    assert rows(store) == rows(finished)
    assert not (tmp_path / "blocks").exists()

    done.clear()
    run_study(SPEC, tmp_path)
    assert done == []  # a finished study is not run again


@pytest.mark.slow
def test_a_run_survives_kill_9_at_any_moment(tmp_path):
    study = tmp_path / "study.json"
    study.write_text(json.dumps({**DOCUMENT, "datasets": 250}))
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "jumar", "study", str(study), "-o", str(folder), "--json"]
    kills = 0
    for _ in range(2):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        before = len(list(folder.glob("blocks/*.parquet")))
        while process.poll() is None:
            if len(list(folder.glob("blocks/*.parquet"))) > before:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.communicate()
        if process.returncode == 0:
            break
    assert kills >= 1
    spec = replace(SPEC, datasets=250)
    assert rows(run_study(spec, folder)) == rows(run_study(spec, tmp_path / "plain"))
    assert not list(folder.rglob("*.tmp"))  # what a killed writer left behind is gone
    assert not [f for f in folder.rglob("*.parquet") if f.name != "results.parquet"]


def test_a_folder_of_another_study_is_refused(finished):
    with pytest.raises(ParameterError, match="another study"):
        run_study(replace(SPEC, seed=4), finished.folder)


# ---- summaries ----------------------------------------------------------------------------------


def test_summary_data_is_json_with_every_cell(finished):
    data = json.loads(json.dumps(summary_data(finished)))
    assert len(data["cells"]) == 3 * 3 * 4
    assert {"mean", "cvar_10", "cvar_1", "worse", "zeta"} <= set(data["cells"][0])


# ---- figures and page ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reported(finished):
    """With the figures of the first behavior; rendering takes most of the time."""
    run_planner(SPEC, finished, episodes=3, simulations=20)
    return finished, write_report(finished, replace(SPEC, figures=FIGURES[:2]))


@pytest.mark.slow
def test_every_figure_is_there_as_svg_pdf_and_png(reported):
    store, files = reported
    names = {path.name for path in files}
    for figure in FIGURES[:2]:
        assert {f"{figure.name}.{kind}" for kind in ("svg", "pdf", "png")} <= names
    for path in files:
        assert path.stat().st_size > 1000
    for svg in (store.folder / "figures").glob("*.svg"):
        ElementTree.parse(svg)


@pytest.mark.slow
def test_the_same_results_give_the_same_svg(reported, tmp_path):
    store, _ = reported
    for figure in FIGURES[:2]:
        again = tmp_path / f"{figure.name}.svg"
        save(draw(figure, Results(store), read_planned(store)), again)
        assert again.read_bytes() == (store.folder / "figures" / again.name).read_bytes()


def test_the_page_shows_every_figure_escapes_names_and_needs_no_network(reported):
    store, _ = reported
    page = (store.folder / "index.html").read_text()
    assert "a &lt;small&gt; study" in page
    assert "<small>" not in page
    for figure in FIGURES[:2]:
        assert f'src="figures/{figure.name}.svg"' in page
        assert Path(store.folder, f"figures/{figure.name}.svg").exists()
    assert not re.findall(r"https?://|//[a-z]|<script", page)
    assert page.count("<figcaption>") == 2


# ---- what a folder knows ------------------------------------------------------------------------


def test_a_model_file_that_changed_is_another_study(tmp_path):
    model = tmp_path / "model.json"
    model.write_text(json.dumps(model_to_document(jm.models.tiger())))
    behavior = {"model": "model.json", "window": 1, "memories": [1]}
    document = {**DOCUMENT, "datasets": 2, "behaviors": [behavior]}
    spec = study_from_document(document, folder=str(tmp_path))
    run_study(spec, tmp_path / "out")
    run_study(spec, tmp_path / "out")
    other = replace(jm.models.tiger(), max_steps=2)
    model.write_text(json.dumps(model_to_document(other)))
    with refuses(ParameterError, "another study", "behaviors"):
        run_study(spec, tmp_path / "out")


def test_the_behaviors_are_there_as_controller_files(finished):
    names = [path.name for path in (finished.folder / "behaviors").iterdir()]
    assert sorted(names) == sorted(f"{slug(b.name)}.json" for b in SPEC.behaviors)
    path = finished.folder / "behaviors" / f"{slug('tiger:1')}.json"
    value = jm.evaluate(jm.models.tiger(), jm.load_controller(path)).value
    assert value == Results(finished).environments[0].behavior


def test_an_infinite_zeta_is_null_for_machines(tmp_path):
    document = {**DOCUMENT, "datasets": 1, "algorithms": [{"name": "spibb", "n_wedge": [0]}]}
    store = run_study(study_from_document(document), tmp_path)
    data = summary_data(store)
    assert json.dumps(data, allow_nan=False)
    assert data["cells"][0]["zeta"] is None


def test_a_broken_planner_file_is_an_error_with_a_remedy(finished, tmp_path):
    store = Store(tmp_path)
    (tmp_path / "planner.json").write_text("{")
    with refuses(StudyError, "planner.json", "delete"):
        read_planned(store)


def test_zeta_is_the_one_that_improve_reports(finished):
    """The same log through the public interface, rewards declared."""
    behavior = SPEC.behaviors[0]
    prepared = prepare(SPEC, behavior)
    rng = dataset_stream(SPEC, behavior, 0)
    log = jm.simulate(prepared.pomdp, prepared.behavior, episodes=100, seed=rng)
    rewards = jm.RewardRange((-1, -1), (-100, 10))
    result = jm.improve(
        log, prepared.behavior, discount=0.95, memory=jm.window(2), rewards=rewards, n_wedge=5
    )
    (row,) = (
        r
        for r in rows(finished)
        if (r["behavior"], r["k_new"], r["n_wedge"], r["size"], r["dataset"])
        == ("tiger:1", 2, 5, 100, 0)
    )
    corollary = next(c for c in result.certificates if c.bound == "corollary")
    assert row["zeta"] == pytest.approx(corollary.zeta)


# ---- cost follows the data, or is refused at once -------------------------------------------


def of_memories(*memories: int, **more: object) -> dict:
    behavior = {"model": "tiger", "window": 1, "memories": list(memories)}
    return {**DOCUMENT, "datasets": 2, "sizes": [1, 10], "behaviors": [behavior], **more}


def test_a_memory_that_is_too_long_is_refused_at_once(tmp_path):
    """It took 82 s and 8.5 GB to say so."""
    began = time.process_time()
    with refuses(TooLarge, "'tiger:1', memory 1000", "more than 9,000", "Use a shorter memory"):
        run_study(study_from_document(of_memories(1000)), tmp_path / "out")
    assert time.process_time() - began < 20
    assert not (tmp_path / "out").exists()


def test_two_tiny_data_sets_with_a_memory_of_ten_take_seconds(tmp_path):
    """They took more than 100 s: all of it went into planning the elimination."""
    began = time.process_time()
    store = run_study(study_from_document(of_memories(1, 10)), tmp_path)
    assert time.process_time() - began < 30
    assert store.read().num_rows == 2 * 2 * 2 * 4


def test_logs_that_take_more_memory_than_there_is_are_refused_at_once(tmp_path):
    spec = study_from_document(of_memories(1, sizes=[1, 10**12]))
    with refuses(TooLarge, "'tiger:1', size 1,000,000,000,000", "TB", "fewer"):
        run_study(spec, tmp_path / "out")
    assert not (tmp_path / "out").exists()
