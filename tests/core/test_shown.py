"""What Python shows of a value is short, true and harmless."""

from __future__ import annotations

from dataclasses import replace

import pytest

import jumar as jm
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Origin
from jumar.verdict.decisions import decide
from results import HALF, HOSTILE, Page, named, one_step_log, tiger_log

LINE = 400  # letters that nobody minds


@pytest.fixture(scope="module")
def values() -> dict[str, object]:
    """One of every public noun."""
    log, behavior = tiger_log(500)
    result = jm.improve(log, behavior, discount=0.95)
    counts = jm.count(log, jm.window(2))
    rewards = jm.RewardRange.constant(-100, 10)
    return {
        "log": replace(log, origin=Origin("log.csv", range(log.n_steps), range(len(log)))),
        "controller": behavior,
        "memory": jm.window(3),
        "counts": counts,
        "replays": result.replays,
        "replay": result.replays.over(jm.window(1)),
        "model": counts.mle(0.95),
        "improvement": result.improvement,
        "result": result,
        "assessment": result.assessment,
        "certificate": result.certificate,
        "selection": result.selection,
        "trial": result.selection.trials[0],
        "check": result.assessment.check,
        "decisions": decide(result.improvement),
        "practice": practice_of(log, behavior),
        "returns": jm.evidence.first_returns(log, jm.window(1), discount=0.95, rewards=rewards),
        "pomdp": jm.models.tiger(),
        "reward range": rewards,
    }


def test_everything_public_has_a_short_repr(values):
    for name, value in values.items():
        said = repr(value)
        assert "\n" not in said, name
        assert 5 < len(said) < LINE, (name, len(said))
        assert "array(" not in said, name


def test_notebooks_show_html(values):
    for name, value in values.items():
        if hasattr(value, "_repr_html_"):
            assert Page(value._repr_html_()).text.strip(), name
    assert {"log", "controller", "memory", "result", "certificate"} <= {
        name for name, value in values.items() if hasattr(value, "_repr_html_")
    }


def test_a_log_of_five_thousand_labelled_episodes_prints_a_line():
    log = one_step_log(2500, 2500)
    labels = [f"episode number {i}" for i in range(5000)]
    log = replace(log, origin=Origin("machines.csv", range(5000), labels))
    assert repr(log) == (
        "<Episodes: 5,000 episodes, 5,000 steps, 1 observations, 2 actions, from machines.csv>"
    )


def test_printing_a_result_gives_the_summary_of_the_terminal():
    result = jm.improve(one_step_log(100, 100), HALF, discount=0.9, n_wedge=20)
    said = str(result)
    assert result.assessment.verdict.headline in said
    assert "What changes" in said
    assert max(map(len, said.splitlines())) <= 100


def test_names_are_only_text_in_a_notebook():
    result = named(HOSTILE, HOSTILE[0])
    for value in (result, result.log, result.controller, result.certificate):
        page = Page(value._repr_html_())
        known = {"div", "p", "b", "ul", "li", "code", "details", "summary"}
        assert {tag for tag, _ in page.tags} <= known
