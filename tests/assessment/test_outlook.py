"""Where a log drifts, a forecast stands beside the averages; every rendering says the same."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import jumar as jm
from commands import run_command
from drifting_logs import OLD, drifting
from facts import says
from jumar.algorithms.auto.dealing import held_out_from
from jumar.assessment.outlook import Outlook, drifts, outlook
from jumar.assessment.result import Result
from jumar.core.errors import LogError
from jumar.evidence.validity import Validity
from results import page_of

RISES = 2000, lambda x: 1 + 3 * x
TEMPTS = 2000, lambda x: 4 - 6 * x  # better on average, worse at the end


@cache
def rising() -> Result:
    return jm.improve(drifting(*RISES), OLD, discount=0.9)


@cache
def tempting() -> Result:
    return jm.improve(drifting(*TEMPTS), OLD, discount=0.9)


def test_a_log_that_does_not_drift_has_no_forecast():
    found = jm.improve(drifting(500, lambda x: 1 + 0 * x), OLD, discount=0.9).assessment
    assert found.check.sections["drift"].verdict.status == "passed"
    assert found.outlook is None
    assert found.to_dict()["forecast"] is None
    assert found.certificates == found.result.certificates
    assert "What comes next" not in page_of(found.result).text
    assert {c["about"] for c in found.to_dict()["certificates"]} == {"the average over the log"}


def test_a_forecast_of_a_gain_does_not_make_a_drifting_log_safe():
    found = rising().assessment
    assert found.certificate.validity is Validity.PROVED_IF_SEEN  # the average alone is proved
    assert found.certificate.zeta < 0
    assert found.outlook.forecast.not_worse
    assert found.verdict.word == "unreliable"
    assert found.verdict.exit_code == 1
    says(found.verdict.headline, "Do not rely on this", "failed a check",
         "forecast finds the new controller not worse for the next 200 episodes")  # fmt: skip
    assert "safe" not in found.verdict.headline.lower()


def test_what_gets_worse_is_told_in_headline_risk_and_certificate():
    found = tempting().assessment
    ahead = found.outlook.forecast
    assert found.certificate.zeta < 0  # on average over the log it is proved to be better
    assert ahead.difference.upper < 0
    says(found.verdict.headline, "forecast finds the new controller worse")
    says(found.safety, "On average over the log", "But the log changes under way",
         "forecast finds the new controller worse")  # fmt: skip
    says(found.warnings[1].title, "averages over the log")
    *averaged, last = found.certificates
    assert last.bound == "forecast"
    assert last.validity is Validity.ASYMPTOTIC
    assert last.zeta == -ahead.difference.lower > 0
    assert {c.about for c in averaged} == {"the average over the log"}
    says(last.about, "forecast of the next 200 episodes, not an average over the log")


def test_the_new_controller_is_judged_by_episodes_it_was_not_learned_from():
    """The mean of their scores is the gain of the test, up to what a model takes away."""
    result = tempting()
    chosen, ahead = result.selection.chosen, result.assessment.outlook.forecast
    held = held_out_from(result.log, chosen.half, result.seed)
    assert ahead.difference.numbers == len(held) == chosen.units
    plain = jm.offpolicy.estimate(result.log.select(held), result.controller, OLD, discount=0.9,
                                  difference=True)  # fmt: skip
    assert ahead.difference.average == pytest.approx(plain.value, abs=0.02)
    assert abs(ahead.difference.average - chosen.gain) < 2 * chosen.error
    learned = np.setdiff1d(np.arange(2000), held)
    assert len(learned) + len(held) == 2000
    # what it was learned from has no part in it
    other = result.log.reward.copy()
    other[learned] += 100.0
    changed = replace(result.practice, replays=jm.Replays(replace(result.log, reward=other)))
    again = outlook(replace(result, practice=changed), result.assessment.check).forecast
    assert again.difference.to_dict() == ahead.difference.to_dict()
    assert again.behavior.value != ahead.behavior.value


def test_a_named_algorithm_has_no_episodes_to_be_judged_by():
    found = jm.improve(drifting(*RISES), OLD, discount=0.9, n_wedge=20).assessment
    ahead = found.outlook
    assert ahead.forecast.difference is None
    assert ahead.certificate is None
    assert found.certificates == found.result.certificates
    says(ahead.why, "learned from all episodes of the log")
    says(page_of(found.result).text, "return of the behavior in the next 200 episodes",
         "learned from all episodes")  # fmt: skip
    assert found.to_dict()["forecast"]["only_behavior_because"] == ahead.why


def test_where_nothing_changes_only_the_behavior_is_forecast():
    found = jm.improve(drifting(2000, lambda x: -1 - 3 * x), OLD, discount=0.9, n_wedge=10**6)
    assert found.improvement.changed == 0
    says(found.assessment.outlook.why, "nothing changes")
    assert "On average" not in found.assessment.safety


def test_a_wrong_policy_forecasts_nobody_but_itself():
    """The log was made with 30 % of the other action, the file says 5 %."""
    wrong = jm.Controller.constant(*(OLD.observations, OLD.actions), [0.95, 0.05], name="wrong")
    found = jm.improve(drifting(*RISES), wrong, discount=0.9).assessment
    assert found.check.sections["fit"].verdict.status == "failed"
    assert drifts(found.check)
    assert found.outlook.forecast.difference is None
    says(found.outlook.why, "another check failed (fit)")
    assert "forecast finds" not in found.verdict.headline


def test_a_sample_of_a_log_that_was_read_in_parts_is_not_forecast():
    result = rising()
    sample = replace(result, sampled=lambda: result.improvement)
    ahead = outlook(sample, result.assessment.check)
    assert ahead == Outlook(None, None, ahead.why)
    says(ahead.why, "Nothing is forecast", "read in parts")
    assert ahead.to_dict() == {"not_made_because": ahead.why}


def test_what_cannot_be_forecast_is_said_and_the_rest_is(monkeypatch):
    from jumar.assessment import outlook as module

    result = rising()
    checked, real = result.assessment.check, module.forecast_of  # others look at this result, too

    def refuse(practice, controller, **options):
        if controller is not None:
            raise LogError("weights too large")
        return real(practice, controller, **options)

    monkeypatch.setattr(module, "forecast_of", refuse)
    ahead = outlook(result, checked)
    says(ahead.why, "cannot be forecast", "weights too large")
    assert ahead.forecast.difference is None


@pytest.mark.parametrize("make", [rising, tempting])
def test_terminal_page_and_json_say_the_same(tmp_path, make):
    result = make()
    ahead = result.assessment.outlook.forecast
    page, text = page_of(result), " ".join(str(result).split())
    data = result.assessment.to_dict()
    assert data["forecast"]["verdict"] == ahead.verdict
    assert data["certificates"][-1]["bound"] == "forecast"
    for said in (page.text, text):
        assert ahead.verdict in " ".join(said.split())
    result.save(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert written["forecast"] == data["forecast"]
    assert written["certificates"] == json.loads(json.dumps(data["certificates"]))
    says(page.text, "What comes next", "On average over the log", "end of the log")


def test_the_picture_tells_those_who_cannot_see_it_and_follows_costs():
    from jumar.show.html.outlook import in_words, outlook_picture

    found = tempting().assessment.outlook.forecast
    says(in_words(found, False), "Trend of the return", "old controller from", "new controller")
    assert f"{-found.behavior.value:.4g}" in in_words(found, True)
    for costs in (False, True):
        picture = outlook_picture(found, costs)
        assert 'role="img"' in picture
        assert "var(--accent)" in picture
    endless = replace(found.behavior, lower=-math.inf, upper=math.inf,
                      low=np.full(61, -np.inf), high=np.full(61, np.inf))  # fmt: skip
    assert "<svg" in outlook_picture(replace(found, behavior=endless), False)


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    jm.write_logs(drifting(400, lambda x: 1 + 3 * x), tmp_path / "log.csv")
    OLD.save(tmp_path / "old.json")
    jm.Controller.constant(OLD.observations, OLD.actions, [0.1, 0.9], name="new").save(
        tmp_path / "new.json"
    )
    return tmp_path


def forecast(capsys, folder, *options):
    line = ["estimate", folder / "log.csv", "--policy", folder / "old.json", "--discount", 0.9]
    return run_command(capsys, *line, *options)


def test_the_command_forecasts_what_the_library_forecasts(capsys, folder):
    new = ("--controller", folder / "new.json")
    done = forecast(capsys, folder, "--forecast", "--ahead", 20, "--seed", 3, *new, "--json")
    log = jm.read_logs(folder / "log.csv")
    found = jm.forecast(log, folder / "old.json", folder / "new.json", discount=0.9, ahead=20,
                        seed=3)  # fmt: skip
    assert done.data["forecast"] == json.loads(json.dumps(found.to_dict()))
    person = forecast(capsys, folder, "--forecast", "--ahead", 20, "--seed", 3, *new)
    says(person.text, "forecast for the next 20 episodes", "average over the log", "assumes")
    assert person.code == 0


def test_the_behavior_alone(capsys, folder):
    done = forecast(capsys, folder, "--forecast", "--json")
    assert done.data["controller"] is None
    assert done.data["forecast"]["difference"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--controller"),
        (["--ahead", 5], "--ahead"),
        (["--forecast", "--interval", "bootstrap-t"], "--interval"),
        (["--forecast", "--difference"], "--difference"),
        (["--forecast", "--ahead", 300], "at most 200"),
    ],
)
def test_options_that_do_not_go_together_are_refused(capsys, folder, options, words):
    done = forecast(capsys, folder, *options)
    assert done.code != 0
    assert words in done.err
