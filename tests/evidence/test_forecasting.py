"""Forecasts: the fit and its interval against obvious twins, what is refused, and what is said.

Coverage: an interval of 95 % on 300 series misses more than 27 with probability 0.001, as the
binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from commands import run_command
from drifting_logs import NEW, OLD, drifting
from facts import says
from jumar.core.errors import LogError, ParameterError
from jumar.evidence import forecast, forecasting
from jumar.evidence.forecasting import trend
from jumar.evidence.validity import Validity
from jumar.log.episodes import Labels


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- one series ---------------------------------------------------------------------------------


def test_a_parabola_goes_on():
    """0, 1, 4, ..., 99²: the next three are 100², 101² and 102², on average 10,201.67."""
    found = trend(np.arange(100.0) ** 2, 3, delta=0.05)
    assert found.value == pytest.approx((100**2 + 101**2 + 102**2) / 3)


@pytest.mark.parametrize("beside", [False, True])
def test_the_error_is_the_jackknife(beside):
    """Every episode left out in turn, and the forecast made anew."""
    m, y = 40, rng().normal(size=40)
    x = np.random.default_rng(7).normal(size=40) if beside else np.zeros(40)
    place = 2 * np.arange(m + 4) / (m - 1) - 1
    design = np.polynomial.legendre.legvander(place, 2)
    if beside:
        design = np.column_stack([design, np.append(x, np.zeros(4))])

    def forecast(kept: np.ndarray) -> float:
        known = np.linalg.lstsq(design[:m][kept], y[kept], rcond=None)[0]
        return float(design[m:].mean(0) @ known)

    number = np.arange(m)
    whole = forecast(number >= 0)
    error = math.sqrt(sum((forecast(number != left_out) - whole) ** 2 for left_out in number))
    fit = forecasting._fit(y, 4, 2, x)
    assert fit.value == pytest.approx(whole)
    assert forecasting._error(fit.pull, fit.residual, fit.basis) == pytest.approx(error)


def test_where_a_cubic_says_something_else_the_interval_spans_both():
    x = np.linspace(-1, 1, 200)
    straight, bent = (trend(c * x**3 + rng().normal(size=200), 10, delta=0.05) for c in (0, 3))
    assert straight.high - straight.low < bent.high - bent.low
    assert bent.low < 3 * 1.05**3 < bent.high


def test_a_late_jump_that_makes_the_parabola_overshoot_is_spanned():
    """From 0 to 3 at 90 % of a log of 1,000: 3 goes on, and the parabola says 4.1."""
    jump = 3.0 * (np.arange(334) >= 234)
    found = trend(jump + rng().normal(size=334), 50, delta=0.05)
    assert found.value > 4
    assert found.low < 3 < found.high


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e150])
def test_the_unit_of_the_rewards_does_not_matter(scale):
    y = rng().normal(size=80)
    np.testing.assert_allclose(
        np.array(trend(scale * y, 8, delta=0.05)) / scale, trend(y, 8, delta=0.05)
    )


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(80), "All but 0 of the last 80 episodes bring exactly the same"),
        ((np.arange(200) % 25 == 0) * 5.0, "All but 8 of the last 200"),
        (np.cumsum(rng(3).normal(size=2000)), "so much like the one before"),
    ],
    ids=["constant", "rare", "walk"],
)
def test_what_no_interval_holds_for_is_refused(y, words):
    with pytest.raises(LogError, match=words):
        trend(y, 10, delta=0.05)


SERIES = {
    "straight": lambda x, noise: 3 * x + noise,
    "jump": lambda x, noise: 2.0 * (x >= 0.7) + noise,
    "heavy tails": lambda x, noise: 3 * x + rng(round(1e6 * abs(noise[0]))).standard_t(3, len(x)),
}


@pytest.mark.parametrize("name", SERIES)
def test_intervals_miss_about_as_often_as_they_say(name):
    """The last third of 300 logs of 200 episodes, the next 10 forecast."""
    missed = 0
    for i in range(300):
        y = SERIES[name](np.arange(67) / 67, rng(i).normal(size=67))
        following = np.arange(67, 77) / 67
        came = 3 * following if name == "heavy tails" else SERIES[name](following, np.zeros(10))
        found = trend(y, 10, delta=0.05)
        missed += not found.low < came.mean() < found.high
    assert missed <= 27


# ---- a log --------------------------------------------------------------------------------------


def test_a_policy_and_what_another_brings_more():
    """`other` pays from 1 to 3: the difference is 0.6 times that, 1.83 in the middle of what comes;
    on average over the log it is 1.2."""
    found = forecast(drifting(2000, lambda x: 1 + 2 * x), OLD, NEW, discount=0.9)
    assert (found.ahead, found.episodes, found.fitted) == (100, 2000, 667)
    low, high = found.difference.interval
    assert low < 1.83 < high
    low, high = found.behavior.interval
    assert low < 0.915 < high
    assert found.average == pytest.approx(0.6, abs=0.1)
    assert found.validity is Validity.ASYMPTOTIC
    says(found.verdict, "If the trend goes on, your policy brings about", "next 100 episodes",
         "forecast to be better", "not proved (asymptotic)")  # fmt: skip
    assert "at least" not in found.verdict
    says(" ".join(found.assumptions), "The trend of the last 667 episodes goes on", "neighbours",
         "order", "does not change where the process is going", "without looking")  # fmt: skip


def test_a_forecast_outside_what_is_possible_is_not_shown():
    """Returns fall from 1 to 0.02 without noise that could hide it, and no reward is below 0."""
    log = drifting(300, lambda x: x, noise=0.001)
    falling = replace(log, reward=np.maximum(0, 1 - np.arange(300) / 299) + 0.01 * log.reward)
    found = forecast(falling, OLD, discount=0.9)
    assert found.behavior.shown is None
    says(found.verdict, "Nothing is forecast for your policy", "not possible")
    assert found.to_dict()["behavior"]["value"] is None


def test_few_weights_show_no_number():
    """The new policy does what was done in 2 % of the episodes."""
    rarely = jm.Controller.constant(OLD.observations, OLD.actions, [0.98, 0.02])
    often = jm.Controller.constant(OLD.observations, OLD.actions, [0.0, 1.0])
    log = drifting(300, lambda x: x)
    action = (np.arange(300) % 50 == 0).astype(np.int64)
    found = forecast(replace(log, action=action), rarely, often, discount=0.9)
    assert found.difference.shown is None
    says(found.verdict, "Nothing is forecast for the new policy", "ordinary episodes")


def test_records_of_unequal_length_are_refused():
    """Machines bought at different times and all cut off today: later records are shorter, and
    what they add up to falls although nothing changes."""
    n = 300
    lengths = np.linspace(60, 11, n).astype(int)
    start, cut = np.append(0, np.cumsum(lengths)), np.zeros(n, bool)
    steps = start[-1]
    log = jm.Episodes(("seen",), ("keep", "other"), np.zeros(steps, int), np.zeros(steps, int),
                      -rng().random(steps), start, [-1] * n, cut)  # fmt: skip
    with pytest.raises(LogError, match="records are cut off after 11 to 60 steps"):
        forecast(log, OLD, discount=0.99)
    ended = replace(log, terminated=np.ones(n, bool))
    assert forecast(ended, OLD, discount=0.99).behavior.shown < 0


def test_what_was_better_and_gets_worse_is_not_called_better():
    """Better by 0.6 · 1 on average, worse by 0.6 · 2 after the end."""
    log = drifting(2000, lambda x: 4 - 6 * x)
    average = jm.offpolicy.estimate(log, NEW, OLD, discount=0.9, difference=True)
    found = forecast(log, OLD, NEW, discount=0.9)
    assert average.lower > 0
    assert found.difference.interval[1] < 0
    says(found.verdict, "forecast to be worse")
    assert forecast(log, "estimate", NEW, discount=0.9).validity is Validity.CLAIMED


def test_without_a_controller_only_the_behavior_is_forecast():
    """Records that stop at one step are forecast up to there."""
    log = replace(drifting(300, lambda x: x), terminated=[False] * 300)
    found = forecast(log, OLD, discount=0.9, ahead=10)
    assert found.difference is None
    says(found.verdict, "your policy brings", "next 10 episodes", "on average over the log")
    says(found.assumptions[-1], "stops after 1 step at the latest")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["difference"] is None


def test_propensities_stand_for_a_controller():
    log = drifting(300, lambda x: 1 + x)
    told = replace(log, propensity=np.where(log.action == 1, 0.3, 0.7))
    known, logged = (forecast(*given, NEW, discount=0.9) for given in ((log, OLD), (told, None)))
    assert logged.difference.value == pytest.approx(known.difference.value)
    says(logged.assumptions[0], "probabilities that the log gives")


def test_short_logs_and_clusters_are_refused():
    with pytest.raises(LogError, match="199 episodes cannot be forecast from"):
        forecast(drifting(199, lambda x: x), OLD, discount=0.9)
    log = drifting(200, lambda x: x)
    assert forecast(log, OLD, discount=0.9).ahead == 10
    machines = replace(log, cluster=Labels.of([str(e % 40) for e in range(200)]))
    with pytest.raises(LogError, match="episodes of one cluster are alike"):
        forecast(machines, OLD, discount=0.9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ahead": 0}, "ahead 0"),
        ({"ahead": 1.5}, "whole number"),
        ({"ahead": 31}, "at most 30"),
        ({"delta": 0}, "delta"),
        ({"discount": 1.1}, "discount"),
        ({"seed": "1"}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        forecast(drifting(300, lambda x: x), OLD, NEW, **{"discount": 0.9, **options})


def test_the_name_of_a_file_is_shown_without_its_marks(tmp_path):
    path = tmp_path / "lo\x1bg.csv"
    path.write_text("episode,observation,action,reward,terminated\n1,z,a,0,1\n")
    behavior = jm.Controller.uniform(("z",), ("a",))
    with pytest.raises(LogError) as refused:
        forecast(path, behavior, behavior, discount=0.9)
    assert "\x1b" not in str(refused.value)


# ---- the command, and a log that drifts ---------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    jm.write_logs(drifting(400, lambda x: 1 + 3 * x, seed=2), tmp_path / "log.csv")
    OLD.save(tmp_path / "old.json")
    NEW.save(tmp_path / "new.json")
    return tmp_path


def estimate(capsys, folder, *options):
    line = ["estimate", folder / "log.csv", "--policy", folder / "old.json", "--discount", 0.9]
    return run_command(capsys, *line, *options)


def test_the_command_forecasts_what_the_library_forecasts(capsys, folder):
    asked = ("--forecast", "--ahead", 20, "--seed", 3, "--controller", folder / "new.json")
    done = estimate(capsys, folder, *asked, "--json")
    log = jm.read_logs(folder / "log.csv")
    found = forecast(log, folder / "old.json", folder / "new.json", discount=0.9, ahead=20,
                        seed=3)  # fmt: skip
    assert done.data["forecast"] == json.loads(json.dumps(found.to_dict()))
    person = estimate(capsys, folder, *asked)
    says(person.text, "forecast for the next 20 episodes", "your policy", "the new one brings more",
         "assumes")  # fmt: skip
    assert person.code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--controller"),
        (["--ahead", 5], "--ahead"),
        (["--forecast", "--interval", "bootstrap-t"], "--interval"),
        (["--forecast", "--difference"], "--difference"),
        (["--forecast", "--ahead", 300], "at most 40"),
    ],
)
def test_options_that_do_not_go_together_are_refused(capsys, folder, options, words):
    done = estimate(capsys, folder, *options)
    assert done.code != 0
    assert words in done.err


def test_improving_on_a_log_that_drifts_promises_nothing_and_names_the_forecast():
    found = jm.improve(drifting(2000, lambda x: 1 + 3 * x), OLD, discount=0.9).assessment
    assert found.check.sections["drift"].verdict.status == "failed"
    assert found.verdict.exit_code == 1
    assert "forecast" not in {c.bound for c in found.certificates}
    says(found.check.sections["drift"].verdict.sentence, "jumar estimate --forecast")
