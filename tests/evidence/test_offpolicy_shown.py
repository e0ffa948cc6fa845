"""Off-policy estimates: no number that is shown lies outside what is possible, whatever the log."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar import offpolicy
from jumar.core.errors import JumarError
from jumar.evidence.offpolicy import weights
from jumar.evidence.plausible import Evidenced
from jumar.log.episodes import Labels
from jumar.policy.controller import Controller
from offpolicy_logs import ALWAYS, FAIR, KEEPS, NAMES, log_of, γ

NEVER = Controller.constant(*NAMES, [0.001, 0.999], name="hardly keeps")


def test_a_number_at_the_edge_is_the_edge_and_one_beyond_it_is_none():
    """Within two errors and a twentieth of the range."""
    near = Evidenced(10.3, 9.0, 11.6, error=0.6, possible=(0.0, 10.0), effective=400.0)
    assert (near.shown, near.interval) == (10.0, (9.0, 10.0))
    far = replace(near, value=10.6, error=100.0)
    exact = replace(near, error=0.1)
    assert far.shown is exact.shown is None


def test_dead_weights_show_nothing_and_the_model_is_not_taken_for_the_log():
    """300 steps, cut off; the target always keeps, the behavior half of the time: weights reach 8
    steps or so. Each step pays 1 or 0."""
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 2, (200, 300))
    log = log_of(actions.tolist(), (1.0 - actions).tolist(), ended=False)
    for difference in (False, True):
        found = offpolicy.estimate(log, ALWAYS, FAIR, discount=0.99, difference=difference)
        assert found.evidence.shown is None
        assert not re.search(r"\d{3}", found.verdict + str(found) + repr(found))
        assert found._repr_html_().count("not shown") == 1
        assert found.to_dict()["value"] is None


def numbers_in(found: offpolicy.Estimate) -> list[float]:
    """That a person reads as the value and its interval."""
    told = found.to_dict()
    text = str(found).split("(")[0] + found.verdict.split("(")[0].split("No number")[0]
    text = text.replace(told["caution"] or "no caution", "")
    said = [] if told["value"] is None else re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return [
        *(abs(float(x)) for x in said),
        *(abs(told[x]) for x in ("value", "lower", "upper") if told[x] is not None),
    ]


@pytest.mark.parametrize("ended", [True, False])
@given(data=st.data())
def test_no_number_that_is_shown_lies_outside_what_is_possible(ended, data):
    """Rewards from 1e-9 to 1e9, all alike or not, weights that are dead or huge, clusters,
    propensities and estimated behaviors. What is possible is worked out from the log alone."""
    E, T = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    lengths = np.full(E, T) if data.draw(st.booleans()) else rng.integers(1, T + 1, E)
    unit = data.draw(st.sampled_from([1e-9, 1.0, 1e9]))
    pays = data.draw(st.sampled_from([[1.0, 1.0], [0.0, 1.0], [-3.0, 2.0], [7.0, 8.0]]))
    actions = [rng.integers(0, 2, n).tolist() for n in lengths]
    rewards = [[unit * pays[a] for a in some] for some in actions]
    log, behavior = log_of(actions, rewards, ended), data.draw(st.sampled_from([FAIR, "estimate"]))
    if data.draw(st.booleans()):
        log = replace(log, cluster=Labels.of([str(i % 7) for i in range(E)]))
    if data.draw(st.booleans()):
        log, behavior = replace(log, propensity=weights.taken(log, FAIR)), None
    target = data.draw(st.sampled_from([KEEPS, ALWAYS, NEVER, FAIR]))
    difference = data.draw(st.booleans())
    try:
        found = offpolicy.estimate_all(log, target, behavior, discount=γ, difference=difference)
    except JumarError:
        return
    lowest, highest = (sum(γ**t for t in range(T)) * unit * x for x in (min(pays), max(pays)))
    low, high = min(lowest, unit * pays[0]), max(highest, unit * max(pays), 0.0)
    most = (high - low) if difference else max(abs(low), abs(high))
    for estimate in found.values():
        json.dumps(estimate.to_dict(), allow_nan=False)
        shown = numbers_in(estimate)
        assert max(shown, default=0.0) <= most * (1 + 1e-5), (str(estimate), estimate.verdict)


def test_returns_that_are_all_alike_decide_nothing():
    log = log_of([[0, 1], [1, 0]] * 30, [[1e9, 1e9]] * 60)
    for found in offpolicy.estimate_all(log, KEEPS, FAIR, discount=γ, difference=True).values():
        told = found.evidence
        assert told.shown in (0, None)
        assert told.hidden or found.verdict.startswith("Not decided: nothing in this log")


def test_the_estimate_that_counts_is_one_that_may_be_shown():
    """Whole episodes say nothing of what always keeps, their beginnings do."""
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 2, (400, 12))
    log = log_of(actions.tolist(), (1.0 - actions).tolist(), ended=False)
    found = offpolicy.estimate_all(log, ALWAYS, FAIR, discount=0.1)
    best = offpolicy.best_of(found.values())
    assert (best.estimator, best.evidence.hidden) == ("dr", "")
    low, high = best.evidence.interval
    assert low <= (1 - 0.1**12) / 0.9 <= high + 1e-9


@pytest.mark.parametrize("estimator", ["pdis", "dr", "wdr"])
def test_what_differs_by_rounding_alone_differs_by_nothing(estimator):
    """The policy of the log against itself: 0, and no interval of 3e-15 that lies beside it."""
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 2, (60, 9))
    log = log_of(actions.tolist(), rng.normal(100, 1, (60, 9)).tolist(), ended=False)
    found = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator=estimator, difference=True)
    assert (found.value, found.lower, found.upper) == (0, 0, 0)


@pytest.mark.parametrize("difference", [False, True])
def test_an_interval_that_is_not_to_be_trusted_decides_nothing(difference):
    """One of 400 episodes pays 1,000, the others about 1: n / skew² is 1 or 2, below 10."""
    rng = np.random.default_rng(1)
    actions, paid = rng.integers(0, 2, (400, 1)), rng.normal(1, 0.1, (400, 1))
    paid[0] = 1000.0
    log = log_of(actions.tolist(), paid.tolist())
    found = offpolicy.estimate(log, KEEPS, FAIR, discount=γ, difference=difference)
    assert found.trust.size < 10 < 30 < found.effective_size
    assert found.verdict == "Not decided: the interval is not to be trusted."
    assert "Do not trust this interval" in " ".join(found.warnings)
