"""How the answer changes with δ: the same controllers, tested at another level."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms.auto.dealing import HALVES
from jumar.algorithms.auto.other_deltas import OTHER_DELTAS, retested
from jumar.algorithms.auto.proved import PASSING, SHARES, least_deltas
from results import HALF, chosen_by_test, improved, one_step_log, page_of

TIGER = jm.models.tiger()
UNIFORM = jm.Controller.uniform(TIGER.observations, TIGER.actions)
LOG = jm.simulate(TIGER, UNIFORM, episodes=100, seed=1)  # so short that the level matters


def pass_one_after_the_other(log_wealths, shares, delta):
    """The fallback procedure as it is written in the books."""
    found, handed_on = [], 0.0
    for grown, share in zip(log_wealths, shares, strict=False):
        level = (share + handed_on) * PASSING * delta / HALVES
        found.append(grown >= -math.log(level))
        handed_on = share + handed_on if found[-1] else 0.0
    return found


def test_the_least_delta_is_where_a_candidate_begins_to_pass():
    rng = np.random.default_rng(1)
    for _ in range(200):
        grown = rng.exponential(5.0, rng.integers(1, len(SHARES) + 1))
        least = least_deltas(grown, SHARES)
        for delta in 10 ** rng.uniform(-6, 0, 20):
            passed = pass_one_after_the_other(grown, SHARES, delta)
            assert passed == [x <= delta for x in least]


def test_a_bet_that_grew_to_a_hundred_passes_alone_from_a_delta_of_one_in_45():
    """1/100 <= δ · .9 / 2."""
    assert least_deltas([math.log(100)], (1.0,)) == pytest.approx([1 / 45])


def test_a_bet_that_grew_beyond_every_float_passes_with_every_delta():
    """5,000 episodes in which repair is always better: the wealth is larger than e^800."""
    result = improved(one_step_log(2500, 2500), HALF, discount=0.9)
    assert result.selection.chosen.reached == 0
    assert "every δ from 1e-09 on" in result.assessment.deltas.note
    assert result.selection.chosen.to_dict((-1e300, 1e300))["passes_from_delta"] == 0


@pytest.mark.parametrize("gate", ["proved", "asymptotic"])
def test_at_its_own_delta_a_test_says_what_it_said(gate):
    found = jm.select(LOG, UNIFORM, discount=0.95, gate=gate)
    again = retested(found, found.delta)
    assert again.passed == sum(trial.passed for trial in found.trials)
    assert again.chosen is found.chosen
    assert again.lower == found.chosen.lower
    for trial in found.trials:  # ... and not only because it was remembered
        assert trial.again.passes(found.delta) == trial.passed
        if trial.passed:
            assert trial.again.lower(found.delta) == pytest.approx(trial.lower, abs=1e-9)


@pytest.mark.parametrize("gate", ["proved", "asymptotic"])
def test_a_test_repeated_with_another_delta_is_that_test(gate):
    """One candidate per half, so that the shortlist does not depend on δ; the same draws."""
    from jumar.algorithms.auto import held_out_test

    def test_at(delta):
        return held_out_test(
            LOG, UNIFORM, algorithm="spibb", parameters={"n_wedge": 5},
            discount=0.95, delta=delta, gate=gate, seed=1,
        )  # fmt: skip

    first = test_at(0.05)
    for delta in OTHER_DELTAS:
        fresh, again = test_at(delta), retested(first, delta)
        assert again.passed == sum(trial.passed for trial in fresh.trials)
        assert (again.chosen is None) == (fresh.chosen is None)
        if fresh.chosen:
            assert again.chosen.half == fresh.chosen.half
            assert again.lower == pytest.approx(fresh.chosen.lower, abs=1e-9)


def test_more_accepted_error_passes_more_and_promises_more():
    rows = improved(LOG, UNIFORM, discount=0.95).assessment.deltas.rows
    assert [row.delta for row in rows] == list(OTHER_DELTAS)
    assert [row.used for row in rows] == [False, True, False, False]
    for less, more in pairwise(rows):
        assert less.passed <= more.passed
        assert less.least_gain <= more.least_gain
    assert rows[0].says != rows[-1].says


def test_the_row_of_the_delta_that_was_fixed_is_the_certificate():
    for options in ({}, {"n_wedge": 5}, {"delta": 0.03}):
        result = improved(LOG, UNIFORM, discount=0.95, **options)
        (row,) = [row for row in result.assessment.deltas.rows if row.used]
        best = result.certificate
        assert row.delta == result.delta
        assert row.least_gain == (None if best.vacuous else -best.zeta)


def test_the_table_says_that_no_delta_may_be_picked_from_it():
    result = improved(LOG, UNIFORM, discount=0.95)
    told = result.assessment.to_dict()["sensitivity"]["delta"]
    assert "δ has to be fixed before the log is looked at; here it is 0.05." in told["note"]
    assert "voids the promise" in told["note"]
    assert 0 < told["passes_from"] < 0.01
    page = page_of(result).text
    assert told["note"] in page
    for row in told["rows"]:
        assert row["says"] in page


def test_settings_are_in_json_too():
    result = improved(LOG, UNIFORM, discount=0.95, n_wedge=5)
    told = result.assessment.to_dict()["sensitivity"]["settings"]
    rows = result.assessment.sensitivity
    assert [row["memory"] for row in told] == [row.memory for row in rows]
    assert told[0]["cells"][0]["gain"] == rows[0].cells[0].gain


def test_where_the_behavior_was_estimated_no_delta_is_called_a_chance():
    estimated = jm.improve(LOG, "estimate", discount=0.95).assessment.deltas
    assert "no δ is a chance of error here" in estimated.note


def test_there_is_no_table_where_nothing_was_tested_or_the_test_is_not_at_hand():
    kept = jm.improve(one_step_log(30, 3), HALF, discount=0.9, n_wedge=20)
    assert kept.assessment.deltas is None
    assert chosen_by_test(one_step_log(50, 50)).assessment.deltas is None
    assert kept.assessment.to_dict()["sensitivity"]["delta"] is None
