"""Studies with settings that choose by themselves: what is run, what is written, what is shown."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

import jumar as jm
from jumar.core.errors import StudyError
from jumar.gate import select
from jumar.lab.study.datasets import dataset_stream, prepare, selection_stream
from jumar.lab.study.figures import draw, pyplot
from jumar.lab.study.page import summary_data, summary_view, write_report
from jumar.lab.study.runner import run_study
from jumar.lab.study.spec import CHOSEN, StudySetting, load_study, study_from_document
from jumar.lab.study.store import Store
from jumar.lab.study.summary import (
    Cell,
    Environment,
    Results,
    StudyLine,
    in_hindsight,
    kinds,
    safety_data,
)

DOCUMENT = {
    "format": "jumar-study/1",
    "title": "safe <or> not",
    "seed": 5,
    "datasets": 7,
    "sizes": [1, 30, 600],
    "behaviors": [
        {"model": "tiger", "window": 1, "memories": [1, 2]},
        {"model": "voicemail", "window": 1, "memories": [1]},
    ],
    "algorithms": [
        {"name": "auto"},
        {"name": "strict"},
        {"name": "spibb", "n_wedge": [5, 20]},
    ],
}
SPEC = study_from_document(DOCUMENT)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_study(SPEC, tmp_path_factory.mktemp("safety"))


def rows(store: Store):
    return pq.read_table(store.results).to_pylist()


def the_log(behavior, number, size):
    """The log of a data set, made again by name."""
    prepared = prepare(SPEC, behavior)
    rng = dataset_stream(SPEC, behavior, number)
    return prepared, jm.simulate(prepared.pomdp, prepared.behavior, episodes=size, seed=rng)


# ---- the file -----------------------------------------------------------------------------------


def test_the_shipped_study_runs_auto_once_per_log_and_the_rest_with_two_memories():
    spec = load_study("safety")
    assert [b.name for b in spec.behaviors] == [b.name for b in load_study("paper").behaviors]
    assert spec.sizes == load_study("paper").sizes
    assert [s.label for s in spec.choosing] == ["auto(delta=0.05, gate=proved, more_memory=2)"]
    # 500 data sets × 13 sizes × 5 behaviors × (12 settings × 2 memories + 1)
    assert len(spec.fixed) == 12
    assert spec.n_policies == 500 * 13 * 5 * (12 * 2 + 1)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"n_wedge": 5}, "parameter 'n_wedge' is not one of delta, gate, more_memory"),
        ({"delta": 1}, "delta"),
        ({"candidates": "sfot"}, "Did you mean 'soft'"),
        ({"gate": "open"}, "gate 'open' is not one of proved, asymptotic"),
        ({"more_memory": -1}, "more_memory: -1 is not a whole number from 0 to 8"),
    ],
)
def test_wrong_parameters_of_auto_are_refused_with_their_place(item, message):
    with pytest.raises(StudyError, match=r"^s\.toml, algorithm 1") as caught:
        study_from_document({**DOCUMENT, "algorithms": [{"name": "auto", **item}]}, "s.toml")
    assert message in str(caught.value)


def test_a_study_that_chooses_shows_how_safe_it_was_without_being_asked():
    (figure, *others) = SPEC.figures_to_draw()
    assert (figure.kind, figure.behaviors, figure.n_wedge) == (
        "safety",
        ("tiger:1", "voicemail:1"),
        (5, 20),
    )
    assert {f.kind for f in others} == {"curves", "heatmap"}
    alone = study_from_document({**DOCUMENT, "algorithms": [{"name": "auto"}]})
    assert [f.kind for f in alone.figures_to_draw()] == ["safety"]


# ---- the run ------------------------------------------------------------------------------------


def test_auto_has_one_row_per_log_and_says_what_it_chose(finished):
    assert len(rows(finished)) == SPEC.n_policies == 7 * 3 * (2 * 3 + 1 + 1 * 3 + 1)
    auto = [row for row in rows(finished) if row["algorithm"] == "auto"]
    assert len(auto) == 7 * 3 * 2
    assert {row["k_new"] for row in auto} == {CHOSEN}
    assert all(row["known"] is None and row["n_wedge"] is None for row in auto)
    values = {e.name: e.behavior for e in Results(finished).environments}
    for row in auto:
        stayed = row["chosen"] == "behavior"
        assert stayed == (row["value"] == values[row["behavior"]])
        assert stayed == (row["model_value"] == row["model_behavior_value"])
    assert {row["chosen"] for row in auto if row["size"] == 1} == {"behavior"}
    assert any(row["chosen"] != "behavior" for row in auto)
    assert all(row["chosen"] is None for row in rows(finished) if row["algorithm"] != "auto")


def test_auto_is_the_selection_on_that_log_with_the_stream_of_that_name(finished):
    for behavior, number in zip(SPEC.behaviors, (0, 6), strict=True):
        prepared, log = the_log(behavior, number, 600)
        rng = selection_stream(SPEC, behavior, number, 600)
        found = select(log, prepared.behavior, discount=prepared.pomdp.discount, seed=rng)
        (row,) = (
            row
            for row in rows(finished)
            if (row["behavior"], row["algorithm"], row["size"], row["dataset"])
            == (behavior.name, "auto", 600, number)
        )
        assert row["value"] == jm.evaluate(prepared.pomdp, found.controller).value
        assert row["chosen"] == (str(found.chosen.setting) if found.chosen else "behavior")


# ---- the numbers, by hand -----------------------------------------------------------------------

TIGER = Environment("a", "tiger", "tiger", 1, (1, 2), 0.0, 10.0)
TWIN = Environment("b", "tiger", "tiger", 1, (1, 2), -10.0, 10.0)
SPIBB, BASIC = StudySetting("spibb", (("n_wedge", 5),)), StudySetting("basic", ())
OTHER = Environment("c", "tiger", "tiger", 2, (2, 3), 0.0, None)


def cell(environment, values, size=10, k_new=1):
    return Cell(environment, k_new, SPIBB, size, np.array(values, float), np.nan, np.nan)


def test_a_line_counts_data_sets_and_names_its_worst_cell():
    first, second = cell(TIGER, [-1, 5, 5, 5]), cell(TWIN, [-11, 0])
    line = StudyLine(SPIBB, 0, (first, second))
    assert line.worse == 2 / 6
    assert line.worst is second
    # means 3.5 of 10 and, from -10 to 10, 4.5 of 20
    assert line.normalised == pytest.approx((0.35 + 0.225) / 2)
    assert (line.name, line.memory) == ("spibb 5", "k")
    assert replace(line, more=1).memory == "k+1"
    assert replace(line, more=None).memory == "own"


def test_behaviors_of_one_model_and_window_are_averaged_each_counting_the_same():
    assert kinds([TIGER, OTHER, TWIN]) == {"Tiger, k=1": [TIGER, TWIN], "Tiger, k=2": [OTHER]}
    line = StudyLine(SPIBB, 0, (cell(TIGER, [-1, 5, 5, 5]), cell(TWIN, [-11, 0])))
    ((size, point),) = line.points([TIGER, TWIN]).items()
    assert (size, point.worse) == (10, (1 / 4 + 1 / 2) / 2)
    assert point.mean == pytest.approx((0.35 + 0.225) / 2)
    assert point.cvar_10 == pytest.approx((-0.1 - 0.05) / 2)
    assert line.points([OTHER]) == {}


def test_in_hindsight_takes_the_best_mean_of_every_behavior_and_size():
    low, high = cell(TIGER, [1, 3]), cell(TIGER, [-1, 9], k_new=2)
    later = cell(TIGER, [2, 2], size=20)
    lines = [StudyLine(SPIBB, 0, (low, later)), StudyLine(SPIBB, 1, (high,))]
    best = in_hindsight([*lines, StudyLine(BASIC, 0, (cell(TIGER, [10, 10]),))])
    assert best.cells == (high, later)
    assert best.worse == 1 / 4
    assert in_hindsight([StudyLine(BASIC, 0, (low,))]) is None


def test_without_an_optimum_there_is_no_normalised_number_and_json_says_null():
    assert np.isnan(StudyLine(SPIBB, 0, (cell(OTHER, [1, 2]),)).normalised)
    assert cell(OTHER, [1, 2]).to_dict()["normalised"] is None


# ---- what is shown ------------------------------------------------------------------------------


def test_the_summary_is_json_with_every_line_and_every_cell(finished):
    data = json.loads(json.dumps(summary_data(finished), allow_nan=False))
    assert [line["setting"] for line in data["settings"]][-1] == "spibb in hindsight"
    auto = data["settings"][0]
    values = [row for row in rows(finished) if row["algorithm"] == "auto"]
    behaviors = {b["name"]: b["value"] for b in data["behaviors"]}
    worse = [row["value"] < behaviors[row["behavior"]] - 1e-9 for row in values]
    assert auto["worse"] == np.mean(worse)
    assert len(data["cells"]) == 3 * (2 * 3 + 1 + 1 * 3 + 1)
    assert safety_data(Results(finished)) == data["settings"]


def test_figure_page_and_cells_are_written(finished):
    safety, *others = SPEC.figures_to_draw()
    files = {path.name for path in write_report(finished, replace(SPEC, figures=(safety,)))}
    for figure in others:  # rendered in test_study_run.py; here they are drawn with auto in them
        drawn = draw(figure, Results(finished), {})
        assert drawn.axes
        pyplot().close(drawn)
    assert {"safety.svg", "safety.pdf", "safety.png", "cells.csv", "index.html"} <= files
    svg = ElementTree.parse(finished.folder / "figures" / "safety.svg")
    assert svg.getroot().tag.endswith("svg")
    page = (finished.folder / "index.html").read_text()
    assert "<td>spibb in hindsight</td><td>any</td>" in page
    assert "safe &lt;or&gt; not" in page
    with open(finished.folder / "cells.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == 33
    assert {row["k_new"] for row in found if row["algorithm"] == "auto"} == {"0"}
    assert json.loads(found[0]["parameters"]) is not None


def test_behaviors_of_several_training_seeds_are_summed_up_together(tmp_path):
    behaviors = [
        {"name": f"seed {seed}", "model": "tiger", "window": 1, "seed": seed, "memories": [1]}
        for seed in (1, 2)
    ]
    algorithms = [{"name": "auto", "more_memory": 0}, {"name": "basic"}]
    document = {**DOCUMENT, "datasets": 2, "behaviors": behaviors, "algorithms": algorithms}
    spec = study_from_document({**document, "sizes": [40]})
    store = run_study(spec, tmp_path)
    assert len(summary_view(store)) == 1
