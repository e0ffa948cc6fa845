"""The study of all algorithms, with and without a gate; settings that run on a part of a grid."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from jumar.algorithms import ALGORITHMS
from jumar.lab.study.figures import draw
from jumar.lab.study.page import write_report
from jumar.lab.study.runner import run_study
from jumar.lab.study.spec import load_study, settings_from_document, study_from_document
from jumar.lab.study.summary import Results, family_rows, gated_sizes

FAMILY = [name for name in ALGORITHMS if name != "auto"]
SHIPPED = load_study("family")
TIGER = {"model": "tiger", "window": 1, "memories": [1, 2]}
FIGURE = {"name": "family", "kind": "family", "behaviors": ["tiger:1"]}
GATED = {"name": "auto", "candidates": ["soft", "basic"], "datasets": 2}


def document(**more: object) -> dict[str, object]:
    return {
        "format": "jumar-study/1",
        "datasets": 3,
        "sizes": [30, 300],
        "behaviors": [TIGER],
        "algorithms": [{"name": "soft"}, {"name": "basic"}, {"name": "robust"}, GATED],
        "figures": [FIGURE],
        **more,
    }


def test_the_shipped_study_has_every_algorithm_with_and_without_the_gate():
    assert {s.algorithm for s in SHIPPED.fixed} == set(FAMILY)
    assert {s.options["candidates"] for s in SHIPPED.choosing} == set(FAMILY)
    paper = load_study("paper")
    assert [b.name for b in SHIPPED.behaviors] == [b.name for b in paper.behaviors]
    assert SHIPPED.sizes == paper.sizes
    assert SHIPPED.datasets == 100
    # as it is: 100 data sets, 13 sizes, 5 behaviors, 2 memories; gated: 8, 13 and 5
    assert SHIPPED.n_policies == len(FAMILY) * (100 * 13 * 5 * 2 + 8 * 13 * 5)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return run_study(study_from_document(document()), tmp_path_factory.mktemp("family") / "study")


def test_a_setting_runs_on_its_part_of_the_grid(store):
    spec = study_from_document(document())
    rows = pq.read_table(store.results).to_pylist()
    assert len(rows) == spec.n_policies == 3 * 2 * 2 * 3 + 2 * 2 * 2
    gated = [row for row in rows if row["algorithm"] == "auto"]
    assert {row["dataset"] for row in gated} == {0, 1}
    assert all(np.isfinite(row["value"]) for row in rows)


def test_the_rows_of_a_family(store):
    results = Results(store)
    rows = family_rows(results)
    assert {row.name for row in rows} == {"soft", "basic", "robust"}
    assert [row.worse for row in rows] == sorted(row.worse for row in rows)
    assert gated_sizes(rows) == [30, 300]
    for row in rows:
        assert [line.more for line in row.plain] == [0, 1]
        assert (row.gated is None) == (row.name == "robust")
        if row.gated is not None:
            points = row.gated.points(results.environments)
            assert list(points) == [30, 300]
            assert points[300].worse == 0.0


def test_the_figure_and_the_page_are_written(store):
    spec = study_from_document(document())
    (figure,) = spec.figures_to_draw()
    drawn = draw(figure, Results(store), {})
    assert [ax.get_title() for ax in drawn.axes[:3]] == [
        "mean improvement", "10 %-CVaR", "logs that end worse",
    ]  # fmt: skip
    assert {t.get_text() for t in drawn.axes[0].get_yticklabels()} == {"soft", "basic", "robust"}
    files = write_report(store, spec)
    assert store.folder / "figures" / "family.svg" in files
    assert "auto: soft" in (store.folder / "index.html").read_text()


def test_a_list_of_names_is_a_grid_and_names_with_commas_are_one_setting():
    made = settings_from_document({"name": "auto", "candidates": ["soft", "robust,mbie"]}, "study")
    assert [s.title for s in made] == ["auto: soft", "auto: robust,mbie"]
    (plain,) = settings_from_document({"name": "auto"}, "study")
    assert "candidates" not in plain.options  # the old study is the old study
