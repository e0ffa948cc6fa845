"""Off-policy estimates: ranges of values and proved intervals."""

from __future__ import annotations

import json
import math

import pytest

from jumar import offpolicy
from jumar.core.errors import LogError, ParameterError
from jumar.evidence.offpolicy import estimators, ranges
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.memory import window
from jumar.policy.controller import Controller
from offpolicy_logs import ALWAYS, FAIR, KEEPS, NAMES, log_of, γ

# ---- ranges and proved intervals ----------------------------------------------------------------


def test_a_proved_interval_by_hand():
    """Ratios up to 3/2 over at most 2 steps, rewards 0 to 1, no discount: PDIS lies in
    0 to 1.5 + 2.25 = 3.75, and Hoeffding's radius is 3.75 √(ln(2/δ) / 2n)."""
    log = log_of([[0, 1], [1]] * 50, [[0, 1], [1]] * 50)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=1.0, estimator="pdis", interval="hoeffding",
        rewards=RewardRange.constant(0, 1), horizon=2,
    )  # fmt: skip
    radius = 3.75 * math.sqrt(math.log(2 / 0.05) / 200)
    assert found.value == pytest.approx((0.75 + 0.5) / 2)
    assert (found.lower, found.upper) == pytest.approx((0.625 - radius, 0.625 + radius))
    assert found.validity is Validity.PROVED
    assert found.possible == (0, 2)
    assert found.notes == (
        "Over 2 steps an episode's weight could be as large as 2.25; proved intervals must allow "
        "for it.",
    )
    assert not any("read off" in text for text in found.assumptions)


@pytest.mark.parametrize("difference", [False, True])
def test_an_astronomical_range_is_called_vacuous(difference):
    log = log_of([[0] * 2, [1] * 2] * 20, [[1] * 2, [0] * 2] * 20)
    for horizon, size in ((300, "6.72e+52"), (3000, "more than 1e308")):
        found = offpolicy.estimate(
            log, KEEPS, FAIR, discount=γ, estimator="pdis", interval="hoeffding",
            horizon=horizon, difference=difference,
        )  # fmt: skip
        assert found.vacuous
        assert found.verdict.startswith("vacuous: the interval excludes nothing")
        assert size in found.notes[0]
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict()["lower"] is None


def test_truncation_needs_no_upper_end():
    """The same log, whose upper end is astronomical: a lower bound above the least return 0."""
    log = log_of([[0] * 30, [1] * 30, [0, 1]] * 200, [[1] * 30, [0] * 30, [1, 0]] * 200)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=γ, estimator="pdis", interval="truncated", horizon=300
    )
    assert 0 < found.lower < found.value
    assert (found.upper, found.sides) == (math.inf, "lower")
    assert found.validity is Validity.PROVED_IF_SEEN  # the rewards are those of the log


def test_memories_too_large_to_join_get_the_crude_range(monkeypatch):
    """The rarest thing the behavior does has probability 1/4, so a weight is at most 4^t."""
    monkeypatch.setattr(ranges, "MOST_NODES", 3)
    long = Controller.uniform(*NAMES, memory=window(3))
    steps = ranges.steps_of(long, KEEPS)
    assert steps.largest_weights(3).tolist() == [4, 16, 64]
    assert steps.covered  # whatever it does, the behavior does everything
    assert not ranges._crude(ALWAYS).covered
    assert steps.pdis_range(RewardRange((-1, 2)), 1.0, 2) == (-20, 40)


def test_an_episode_beyond_the_declared_horizon_names_its_place():
    log = log_of([[0], [0, 0, 0]], [[1], [1, 1, 1]])
    with pytest.raises(LogError, match="episode 1, step 0: this episode has 3 steps, more than"):
        offpolicy.estimate(log, FAIR, FAIR, discount=γ, horizon=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"estimator": "drr"}, "estimator 'drr' is not one of pdis, .* Did you mean 'dr'"),
        ({"interval": "bootstrapt"}, "interval 'bootstrapt' is not one of .* mean 'bootstrap-t'"),
        ({"interval": "hoeffding"}, "not for dr, whose values have no range .* or estimator pdis"),
        ({"estimator": "wdr", "interval": "t"}, "not for wdr, which is no mean .* bootstrap-t"),
        ({"estimator": "pdis", "interval": "truncated", "sides": "two"}, "from below only"),
        ({"sides": "left"}, "sides 'left' is not one of two, lower, upper"),
        ({"delta": 1.0}, "not strictly between 0 and 1"),
        ({"discount": 1.5}, r"discount: 1.5 must lie in \[0, 1\]"),
        ({"horizon": 0}, "horizon 0 is less than 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    log = log_of([[0], [1]], [[1], [1]])
    with pytest.raises(ParameterError, match=message):
        offpolicy.estimate(log, FAIR, FAIR, **{"discount": γ, **wrong})


@pytest.mark.parametrize("estimator", list(estimators.ESTIMATORS))
@pytest.mark.parametrize("chance", [1e-300, 1e-160])
def test_weights_beyond_all_numbers_are_refused(estimator, chance):
    """Not an interval from nan to nan, nor a warning on the way to it."""
    hardly = Controller.constant(*NAMES, [1 - chance, chance])
    log = log_of([[0], [1]] * 20, [[0], [1], [2], [3]] * 10)
    with pytest.raises(LogError, match=f"estimator '{estimator}': weights are too large"):
        offpolicy.estimate(log, FAIR, hardly, discount=γ, estimator=estimator)
