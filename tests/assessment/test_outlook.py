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
from jumar.assessment.outlook import Outlook, outlook
from jumar.assessment.result import Result
from jumar.core.errors import LogError
from jumar.evidence.validity import Validity
from results import page_of

RISES = 2000, lambda x: 1 + 3 * x


@cache
def rising() -> Result:
    return jm.improve(drifting(*RISES), OLD, discount=0.9)


def test_a_log_that_does_not_drift_has_no_forecast():
    found = jm.improve(drifting(500, lambda x: 1 + 0 * x), OLD, discount=0.9).assessment
    assert found.check.sections["drift"].verdict.status == "passed"
    assert found.outlook is None
    assert found.to_dict()["forecast"] is None
    assert found.certificates == found.result.certificates
    assert "What comes next" not in page_of(found.result).text
    assert {c["about"] for c in found.to_dict()["certificates"]} == {"the average over the log"}


def test_where_the_log_drifts_only_the_old_policy_is_forecast():
    """On average the change is proved to be better; nothing is said of what it will gain."""
    found = rising().assessment
    assert found.certificate.validity is Validity.PROVED_IF_SEEN
    assert found.certificate.zeta < 0
    assert (found.verdict.word, found.verdict.exit_code) == ("do-not-rely", 1)
    says(found.verdict.lead, "rises")
    says(found.outlook.text, "in the next 200 episodes")
    assert found.outlook.forecast.difference is None
    assert found.certificates == found.result.certificates


def test_a_sample_of_a_log_that_was_read_in_parts_is_not_forecast():
    result = rising()
    sample = replace(result, sampled=lambda: result.improvement)
    ahead = outlook(sample, result.assessment.check)
    assert ahead == Outlook(None, ahead.why)
    says(ahead.why, "Nothing is forecast", "read in parts")
    assert ahead.to_dict() == {"not_made_because": ahead.why}


def test_what_cannot_be_forecast_is_said(monkeypatch):
    from jumar.assessment import outlook as module

    def refuse(practice, controller, **options):
        raise LogError("returns too large")

    checked = rising().assessment.check  # others look at this result, too
    monkeypatch.setattr(module, "forecast_of", refuse)
    says(outlook(rising(), checked).why, "Nothing can be forecast", "returns too large")


def test_terminal_page_and_json_say_the_same(tmp_path):
    result = rising()
    ahead = result.assessment.outlook.forecast
    page, text = page_of(result), " ".join(str(result).split())
    data = result.assessment.to_dict()
    assert data["forecast"]["verdict"] == ahead.verdict
    for said in (page.text, text):
        assert ahead.verdict in " ".join(said.split())
    result.save(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert written["forecast"] == json.loads(json.dumps(data["forecast"]))
    says(page.text, "What comes next under your policy", "end of the log")


def test_the_picture_tells_those_who_cannot_see_it_and_follows_costs():
    from jumar.show.html.outlook import in_words, outlook_picture

    found = rising().assessment.outlook.forecast
    says(in_words(found, False), "Trend of the return", "from")
    assert f"{-found.behavior.value:.4g}" in in_words(found, True)
    for costs in (False, True):
        assert 'role="img"' in outlook_picture(found, costs)
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
        (["--forecast", "--interval", "bca"], "--interval"),
        (["--forecast", "--difference"], "--difference"),
        (["--forecast", "--ahead", 300], "at most 200"),
    ],
)
def test_options_that_do_not_go_together_are_refused(capsys, folder, options, words):
    done = forecast(capsys, folder, *options)
    assert done.code != 0
    assert words in done.err
