"""Forecasts: the trend and its interval against an obvious twin, and what is said of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from drifting_logs import NEW, OLD, drifting
from facts import says
from jumar.core.episodes import LARGEST_REWARD, Labels
from jumar.core.errors import LogError, ParameterError
from jumar.evidence.forecasting import trends
from jumar.evidence.forecasting.trends import FittedTrend, design, trend
from jumar.evidence.validity import Validity


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def forecast_of(
    y, *, length=None, time=None, ahead=3, delta=0.05, seed=2, unit=None
) -> FittedTrend:
    time = np.arange(len(y)) if time is None else time
    length = len(y) if length is None else length
    return trend(np.asarray(y, float), time, length, ahead, delta=delta, rng=rng(seed), unit=unit)


# ---- the trend ----------------------------------------------------------------------------------


def test_what_is_straight_goes_on_straight():
    """0, 2, ..., 58: the next three are 60, 62, 64."""
    found = forecast_of(2.0 * np.arange(30))
    assert found.value == pytest.approx(62)
    assert found.flat
    assert found.average == pytest.approx(29)


def test_places_in_the_log_count_and_not_the_order_of_what_is_known():
    """Only every third of 90 episodes is known; the slope is per episode of the log."""
    time = np.arange(0, 90, 3)
    found = forecast_of(0.5 * time, time=time, length=90, ahead=1)
    assert found.value == pytest.approx(45)


def obvious(y, time, length, ahead, terms, unit, signs):
    """θ, its error and t* with whole matrices, one draw after the other."""
    X = design(time, length, ahead, terms)
    c = design(np.arange(length, length + ahead), length, ahead, terms).mean(0)
    P = np.linalg.pinv(X)
    H, h = X @ P, c @ P
    left = 1 - np.diag(H)

    def error(residuals):
        parts = h * residuals / left
        return math.sqrt(sum(parts[unit == u].sum() ** 2 for u in np.unique(unit)))

    e = y - H @ y
    t = []
    for sign in signs:
        again = H @ y + sign[unit] * e / left
        t.append((h @ again - h @ y) / error(again - H @ again))
    return h @ y, error(e), np.array(t)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("terms", [1, 4])
def test_sums_of_signs_give_what_fitting_every_draw_gives(clustered, terms):
    y, n = rng().normal(size=40) + 1e3, 40
    unit = np.sort(rng(3).integers(0, 12, n)) if clustered else np.arange(n)
    unit = np.unique(unit, return_inverse=True)[1]
    fit = trends._fit(y / 1e3, np.arange(n), n, 4, terms, unit)
    signs = trends._signs(rng(5), 50, int(unit.max()) + 1)
    value, error, t = obvious(y, np.arange(n), n, 4, terms, unit, signs)
    assert 1e3 * fit.value == pytest.approx(value)
    assert 1e3 * fit.error == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(fit._studentised(rng(5), 50), t, rtol=1e-6)


def test_the_normal_law_stands_for_many_signs(monkeypatch):
    """Heavy tails, 3,000 numbers: signs of all, or of the 500 that count most."""
    y = rng().standard_t(3, 3000)
    found = []
    for heavy in (3000, 500):
        monkeypatch.setattr(trends, "HEAVY", heavy)
        fit = trends._fit(y, np.arange(3000), 3000, 300, 3, np.arange(3000))
        found.append([fit.quantile(δ, rng(7), 20_000) for δ in (0.01, 0.05, 0.2)])
    np.testing.assert_allclose(found[0], found[1], rtol=0.04)


def test_forecasts_with_fewer_terms_are_those_of_shorter_fits():
    y, n, place = rng().normal(size=60), 60, 40
    tried = trends._try(y[:place], np.arange(place), y[place:46], place, 6, 5)
    for terms in range(1, 6):
        X = design(np.arange(place), place, 6, terms)
        c = design(np.arange(place, 46), place, 6, terms).mean(0)
        miss = c @ np.linalg.lstsq(X, y[:place], rcond=None)[0] - y[place:46].mean()
        assert tried.miss[terms - 1] == pytest.approx(miss)
    assert n == 60


def test_two_terms_more_are_used_than_forecast_best():
    """A straight line and little noise: one term forecasts best, most often."""
    used = [forecast_of(np.arange(200) / 50 + rng(i).normal(size=200)).terms for i in range(40)]
    assert min(used) == 3
    assert np.median(used) <= 4


def test_a_trend_that_broke_makes_the_interval_wide():
    noise = rng().normal(size=400)
    broke = noise + 3 * (np.arange(400) >= 280)
    calm, wide = (forecast_of(y, ahead=40) for y in (noise, broke))
    assert calm.widened < 1.5 < 2 < wide.widened


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e150])
def test_the_unit_of_the_rewards_does_not_matter(scale):
    y = rng().normal(size=80)
    one, other = forecast_of(y, ahead=8), forecast_of(scale * y, ahead=8)
    np.testing.assert_allclose(
        [other.value / scale, other.lower / scale, other.upper / scale],
        [one.value, one.lower, one.upper],
    )
    np.testing.assert_allclose(other.high / scale, one.high)


def test_the_ends_are_symmetric_and_narrow_as_more_error_is_accepted():
    y = rng().normal(size=100)
    ends = [forecast_of(y, delta=δ) for δ in (1e-5, 0.01, 0.2, 0.5, 0.7)]
    assert math.isinf(ends[0].lower)  # 2,000 draws do not tell
    assert ends[1].lower < ends[2].lower < ends[3].lower < ends[4].lower
    for end in ends[1:]:
        assert end.value - end.lower == pytest.approx(end.upper - end.value)


@pytest.mark.parametrize("y", [
    np.zeros(10), np.full(12, 3.0), np.full(30, -1e150), np.append(np.zeros(29), 1.0),
    np.insert(np.zeros(40), 33, 1e150), np.repeat([0.0, 1.0], 25), np.tile([1.0, -1.0], 30),
])  # fmt: skip
def test_odd_series_have_a_forecast_or_say_that_nothing_is_known(y):
    found = forecast_of(y, ahead=max(1, len(y) // 10))
    assert found.lower <= found.value <= found.upper
    assert np.isfinite(found.value)
    if np.ptp(y) == 0:
        assert found.flat
        assert found.value == pytest.approx(y[0])
    json.dumps(found.to_dict(), allow_nan=False)


# ---- how often it is right ----------------------------------------------------------------------

TRENDS = {
    "none": lambda x: 0 * x,
    "straight": lambda x: 2 * x,
    "one slow season": lambda x: np.sin(2 * np.pi * x),
}


@pytest.mark.parametrize("name", TRENDS)
def test_each_end_is_wrong_about_as_often_as_is_said(name):
    """300 series of 200, δ = 10 %: a sound end fails more than 48 times in one run of 1,000."""
    n, ahead, wrong = 200, 20, np.zeros(2)
    truth = TRENDS[name](np.arange(n, n + ahead) / n).mean()
    for i in range(300):
        y = TRENDS[name](np.arange(n) / n) + rng(i).normal(size=n)
        found = forecast_of(y, ahead=ahead, delta=0.1, seed=i)
        wrong += found.lower > truth, found.upper < truth
    assert wrong.max() <= 48


# ---- a log --------------------------------------------------------------------------------------


def test_both_controllers_and_their_difference():
    """`other` pays from 1 to 3: the difference is 0.6 times that, 1.86 in the middle of what comes;
    on average over the log it is 1.2."""
    log = drifting(2000, lambda x: 1 + 2 * x)
    found = jm.forecast(log, OLD, NEW, discount=0.9)
    assert (found.ahead, found.episodes) == (200, 2000)
    assert found.difference.lower < 1.86 < found.difference.upper
    assert found.difference.average == pytest.approx(1.2, abs=0.15)
    assert found.difference.lower > 1.2
    assert found.behavior.lower < 0.93 < found.behavior.upper
    assert found.controller.lower < 2.79 < found.controller.upper
    assert found.not_worse
    says(found.verdict, "not worse for the next 200 episodes", "nominally 5 %", "trend")
    assert found.validity is Validity.ASYMPTOTIC
    certificate = found.certificate(20.0)
    assert certificate.bound == "forecast"
    assert certificate.zeta == -found.difference.lower
    says(certificate.claim, "forecast of the next 200 episodes, not an average over the log")
    says(certificate.about, "forecast", "not an average")
    says(" ".join(found.assumptions), "straight line and 2 cosines", "independent", "order",
         "does not change where the process is going", "without looking")  # fmt: skip


def test_what_was_better_and_gets_worse_is_not_called_better():
    """Better by 0.6 · 1 on average, worse by 0.6 · 2 after the end."""
    log = drifting(2000, lambda x: 4 - 6 * x)
    average = jm.offpolicy.estimate(log, NEW, OLD, discount=0.9, difference=True)
    found = jm.forecast(log, OLD, NEW, discount=0.9)
    assert average.lower > 0
    assert not found.not_worse
    assert found.difference.upper < 0
    says(found.verdict, "worse for the next 200 episodes")
    says(found.certificate(20.0).claim, "worse than the old one")


def test_without_a_controller_only_the_behavior_is_forecast():
    found = jm.forecast(drifting(300, lambda x: x), OLD, discount=0.9, ahead=10)
    assert found.controller is None
    assert found.difference is None
    assert found.certificate(1.0) is None
    says(found.verdict, "return of the behavior in the next 10 episodes", "average over the log is")
    told = found.to_dict()
    assert told["difference"] is None
    json.dumps(told, allow_nan=False)


def test_the_forecast_does_not_depend_on_who_is_forecast_beside():
    log = drifting(300, lambda x: x)
    alone, both = (jm.forecast(log, OLD, c, discount=0.9) for c in (None, NEW))
    assert alone.behavior.to_dict() == both.behavior.to_dict()


def test_an_estimated_behavior_makes_the_difference_only_claimed():
    log = drifting(300, lambda x: 1 + x)
    found = jm.forecast(log, "estimate", NEW, discount=0.9)
    assert found.validity is Validity.CLAIMED
    assert "chance" not in found.verdict
    assert "chance" not in found.certificate(20.0).claim


def test_propensities_stand_for_a_controller():
    log = drifting(300, lambda x: 1 + x)
    told = replace(log, propensity=np.where(log.action == 1, 0.3, 0.7))
    known, logged = (jm.forecast(*given, NEW, discount=0.9) for given in ((log, OLD), (told, None)))
    assert logged.difference.value == pytest.approx(known.difference.value)
    says(logged.assumptions[1], "propensities")


def test_clusters_share_a_sign_and_have_wider_intervals():
    log = drifting(400, lambda x: 0 * x, noise=0.1)
    luck = rng(4).normal(size=40)[np.arange(400) % 40]
    log = replace(log, reward=log.reward + luck)
    machines = replace(log, cluster=Labels.of([f"machine {e % 40}" for e in range(400)]))
    alone, together = (jm.forecast(x, OLD, discount=0.9).behavior for x in (log, machines))
    assert alone.value == pytest.approx(together.value)
    assert together.standard_error != alone.standard_error
    says(" ".join(jm.forecast(machines, OLD, discount=0.9).assumptions), "40 clusters")


def test_few_episodes_are_refused_and_ten_are_not():
    one, nine, ten = (drifting(n, lambda x: x) for n in (1, 9, 10))
    for log, words in ((one, "1 episode cannot"), (nine, "9 episodes cannot")):
        with pytest.raises(LogError, match=words):
            jm.forecast(log, OLD, discount=0.9)
    assert jm.forecast(ten, OLD, discount=0.9).ahead == 1
    few = replace(drifting(90, lambda x: x), cluster=Labels.of([str(e % 9) for e in range(90)]))
    with pytest.raises(LogError, match="9 clusters cannot"):
        jm.forecast(few, OLD, discount=0.9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ahead": 0}, "ahead 0"),
        ({"ahead": 1.5}, "whole number"),
        ({"ahead": 31}, "at most 30"),
        ({"ahead": 600}, "at most 30"),
        ({"delta": 0}, "delta"),
        ({"discount": 1.1}, "discount"),
        ({"seed": "1"}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        jm.forecast(drifting(60, lambda x: x), OLD, **{"discount": 0.9, **options})


def test_half_as_many_as_the_log_can_be_forecast():
    assert jm.forecast(drifting(60, lambda x: x), OLD, discount=0.9, ahead=30).ahead == 30


def test_rewards_of_any_size_that_a_log_may_have():
    log = drifting(20, lambda x: x)
    large = replace(log, reward=LARGEST_REWARD / np.abs(log.reward).max() * log.reward)
    found = jm.forecast(large, OLD, NEW, discount=0.9)
    assert np.isfinite([found.difference.value, found.behavior.lower, found.behavior.upper]).all()


def test_records_that_were_cut_off_are_named():
    log = replace(drifting(60, lambda x: x), terminated=[False] + [True] * 59)
    says(" ".join(jm.forecast(log, OLD, discount=0.9).assumptions), "1 of 60 episodes was cut off")


def test_the_name_of_a_file_is_shown_without_its_marks(tmp_path):
    """What cannot be forecast is told on the page, with the name of the log."""
    path = tmp_path / "lo\x1bg.csv"
    path.write_text("episode,observation,action,reward,terminated\n1,z,a,0,1\n")
    behavior = jm.Controller.uniform(("z",), ("a",))
    with pytest.raises(LogError) as refused:
        jm.forecast(path, behavior, behavior, discount=0.9)
    assert "\x1b" not in str(refused.value)
