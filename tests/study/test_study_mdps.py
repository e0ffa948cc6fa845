"""The published order on random MDPs that are seen whole, on a part of the shipped study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jumar.study.runner import run_study
from jumar.study.settings import StudySetting
from jumar.study.spec import load_study
from jumar.study.summary import Results, cvar

OPTIONS = (("epsilon", 0.5), ("rule", "approx"), ("steps", "many"), ("error", "hoeffding"))
BASIC = StudySetting("basic", (("unseen", "zero"),))
RAMDP = StudySetting("ramdp", (("kappa", 0.05),))
SPIBB = StudySetting("spibb", (("n_wedge", 5),))
SOFT = StudySetting("soft", OPTIONS)


def test_the_study_is_that_of_the_papers():
    spec = load_study("mdps")
    assert (spec.sizes[0], spec.sizes[-1]) == (10, 2000)
    assert {BASIC, RAMDP, SPIBB, SOFT} <= set(spec.settings)
    assert len({b.model for b in spec.behaviors}) == 10
    assert all(b.memories == (1,) and b.window == 1 for b in spec.behaviors)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    """Three models, 12 logs each."""
    spec = load_study("mdps").only(("garnet:1", "garnet:2", "garnet:3"))
    small = replace(
        spec, datasets=12, sizes=(50, 200), settings=(BASIC, RAMDP, SPIBB, SOFT), figures=()
    )
    return Results(run_study(small, tmp_path_factory.mktemp("mdps")))


@pytest.mark.parametrize("size", [50, 200])
def test_in_the_worst_case_basic_is_below_ramdp_below_spibb_below_soft(results, size):
    """1 %-CVaR of 36 logs is the worst one; the seed is fixed."""
    worst = [
        cvar(results.pooled(1, setting, size), 0.01) for setting in (BASIC, RAMDP, SPIBB, SOFT)
    ]
    assert worst == sorted(worst)
    assert worst[0] < -1 < worst[2] < 0.2


def test_pooled_values_are_those_of_all_cells(results):
    pooled = results.pooled(1, SPIBB, 200)
    assert len(pooled) == 36
    means = [
        cell.normalised(cell.mean)
        for e in results.environments
        for cell in results.across(e, 1, SPIBB)
        if cell.size == 200
    ]
    assert pooled.mean() == pytest.approx(np.mean(means))
    assert len(results.pooled(1, SPIBB, 77)) == 0
