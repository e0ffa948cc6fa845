"""Brackets of model files of others, against those of other programs.

The files are not part of the project. They are looked for beside it (../shared/data), or where
JUMAR_DATA says.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumar import models
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.optimality import optimum

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("JUMAR_DATA", ROOT.parent / "shared" / "data"), "pomdp")
KNOWN = {
    "cassandra/tiger.95.POMDP": (19.371, 19.372),
    "cassandra/4x3.95.POMDP": (1.889, 1.899),
    "cassandra/shuttle.95.POMDP": (32.88, 32.89),
    "conservation/SumatranTiger.pomdp": (1405.28, 1405.30),
}

pytestmark = [
    pytest.mark.skipif(not DATA.exists(), reason=f"no model files in {DATA}"),
]


@pytest.mark.parametrize("name", KNOWN)
def test_the_bracket_meets_the_one_of_another_program(name):
    pomdp = models.build(str(DATA / name))
    best = optimum(pomdp, gap=1e-3, seconds=60)
    low, high = KNOWN[name]
    assert best.stopped == "gap"
    assert best.lower <= high
    assert best.upper >= low
    assert best.lower <= evaluate(pomdp, best.controller()).value <= best.upper


@pytest.mark.parametrize(
    "name",
    ["paynt/hallway.pomdp", pytest.param("paynt/tag-avoid.pomdp", marks=pytest.mark.slow)],
)
def test_a_few_seconds_narrow_the_bracket_of_a_large_model(name):
    pomdp = models.build(str(DATA / name))
    before, after = (optimum(pomdp, seconds=seconds) for seconds in (1e-6, 3))
    assert after.stopped == "time"
    assert before.lower <= after.lower < after.upper <= before.upper
    assert after.width < 0.9 * before.width
