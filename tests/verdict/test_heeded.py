"""A change that is made for the sake of a kept signal says so; its numbers are those of the log."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import jumar as jm
from facts import says
from jumar.log.episodes import Episodes
from jumar.verdict.decisions import decide
from jumar.verdict.kept import Heeded, heeded

NAMES = ("quiet", "noise"), ("wait", "rush", "care")
FAIR = jm.Controller.uniform(*NAMES)
PAYS = np.array([[0.0, 1.0, 0.5], [0.5, 0.6, 0.4]])  # in noise, care pays least
HARM = np.array([[0.0, 0.0, 0.0], [0.5, 1.0, 0.0]])  # and it alone does no harm
NOISE, CARE = 1, 2


def logged(pays: np.ndarray, episodes: int = 3000, harm: np.ndarray = HARM) -> Episodes:
    """Episodes of one step; what is paid and what is harmed is certain."""
    rng = np.random.default_rng(1)
    z, a = rng.integers(0, 2, episodes), rng.integers(0, 3, episodes)
    return Episodes(
        *NAMES, z, a, pays[z, a], np.arange(episodes + 1), [-1] * episodes, [True] * episodes,
        signals={"safety": 0.0 - harm[z, a], "calm": 1.0 * ((z == 0) & (a == 0))},
    )  # fmt: skip


def improved(log: Episodes, **keep: object) -> jm.Result:
    return jm.improve(log, FAIR, discount=0.9, memory=jm.window(1), **keep)


@pytest.fixture(scope="module")
def careful() -> jm.Result:
    return improved(logged(PAYS), keep=["safety"])


def at(result: jm.Result, observation: int) -> int:
    """The history state in which an observation is seen."""
    (h,) = np.flatnonzero(result.improvement.mdp.states[:, -1] == observation)
    return int(h)


def test_a_change_that_loses_on_the_objective_says_for_whose_sake_it_is(careful):
    made, h = careful.decisions, at(careful, NOISE)
    moved = careful.improvement.policy[h] - 1 / 3
    alone, safer = moved @ PAYS[NOISE], -moved @ HARM[NOISE]
    assert alone < 0 < safer
    assert made.gain[h] == pytest.approx(alone)
    why = made.why(h)
    says(why, "'care' was tried", "by reward alone the old way is better")
    says(why, "'care' is chosen for the sake of safety")
    assert "pays off" not in why
    # the page and the table for spreadsheets say the same
    rows = list(csv.DictReader(io.StringIO(made.to_csv("safe"))))
    assert why in [row["why"] for row in rows]


def test_what_the_objective_asks_for_has_no_other_reason(careful):
    says(careful.decisions.why(at(careful, 0)), "'rush'", "this alone is better")
    assert "sake" not in careful.decisions.why(at(careful, 0))


def test_an_action_that_was_passed_over_is_named():
    """Care pays more than the old way, and rushing still more."""
    pays = np.array([[0.0, 1.0, 0.5], [0.0, 1.0, 0.6]])
    result = improved(logged(pays), keep=["safety"])
    h = at(result, NOISE)
    assert result.decisions.gain[h] > 0
    says(
        result.decisions.why(h), "this alone is better", "by reward alone 'rush' would be better",
        "'care' is chosen for the sake of safety",
    )  # fmt: skip


def test_what_makes_no_difference_on_the_objective_is_not_called_a_loss():
    """In noise all pay the same, 0.1, which no sum of thirds hits exactly; and safety is to get
    better, which it does in noise alone."""
    pays = np.array([[0.0, 1.0, 0.5], [0.1, 0.1, 0.1]])
    result = improved(logged(pays), keep={"safety": 0.0})
    h = at(result, NOISE)
    why = result.decisions.why(h)
    says(why, "no difference in reward between", "by reward alone it makes no difference")
    says(why, "'care' is chosen for the sake of safety")


def test_of_several_signals_the_one_that_counted_most_is_named():
    """Calm counts, too, but not in noise."""
    result = improved(logged(PAYS), keep={"safety": None, "calm": 1.0})
    says(result.decisions.why(at(result, NOISE)), "for the sake of safety")


def test_a_signal_is_named_where_it_outweighs_what_is_lost():
    """Two actions, by hand: the move wins 2 · 0.25 of the mixed reward and loses 0.1."""
    q = np.array([[[-0.25, 0.0]]])
    kept = Heeded("money", ("misses",), np.array([2.0]), q)
    assert kept.sake(0, np.array([-1.0, 1.0]), -0.1) == "misses"
    assert kept.sake(0, np.array([-1.0, 1.0]), -0.5) is None  # not outweighed
    assert kept.sake(0, np.array([1.0, -1.0]), -0.1) is None  # the signal loses, too
    assert kept.sake(0, np.array([-1.0, 1.0]), 0.1) is None  # the objective wants it itself


def test_without_signals_that_counted_nothing_is_said_of_them():
    """The objective alone asks for what is safe as well, or no signal is kept."""
    safe = np.array([[0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    assert heeded(improved(logged(PAYS))) is None
    named = improved(logged(PAYS), n_wedge=20)
    assert heeded(named) is None
    result = improved(logged(safe), keep=["safety"])
    assert not any("sake" in result.decisions.why(h) for h in range(2))


def test_the_same_change_without_the_signals_pays_off_together_only(careful):
    """What `decide` knows of signals it was told: without them, it says what it said before."""
    made = decide(careful.improvement)
    says(made.why(at(careful, NOISE)), "it pays off together with the other changes")
