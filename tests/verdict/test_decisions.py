"""Decisions: the shares sum to the gain, and every reason is the true one."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from facts import says
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.solver import improvement
from jumar.tally.replay import count
from jumar.verdict.decisions import decide
from results import HALF, one_step_log
from strategies import logs, names

Z, A = names("z", 2), names("a", 2)


@given(logs(Z, A, most_episodes=20), st.integers(0, 3), st.sampled_from([0.0, 0.5, 0.95]))
def test_the_shares_are_parts_of_all_that_is_won_or_there_are_none(log, n_wedge, discount):
    behavior = Controller.uniform(Z, A)
    if count(log, window(2)).visits.sum() == 0:
        return
    mdp = count(log, window(2)).mle(discount)
    for name in ("spibb", "spibb_leq"):
        better = jm.improve(
            log, behavior, discount=discount, memory=window(2), algorithm=name, n_wedge=n_wedge
        ).improvement
        made = decide(better)
        assert made.share.clip(0).sum() == pytest.approx(1.0) or not made.share.any()
        assert (made.share[~made.changed] == 0).all()
        assert len(made.visits) == len(mdp)


def test_moving_half_the_mass_to_what_pays_two_more_gains_one():
    made = decide(
        jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb").improvement
    )
    assert made.gain.tolist() == [1.0]
    assert made.met.tolist() == [1.0]
    assert made.share.tolist() == [1.0]
    says(made.why(0), "'repair'", "30 times", "this alone is better")
    assert made.share_text(0) == "100%"


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_neither_a_shift_of_all_rewards_nor_a_pair_never_tried_moves_what_a_decision_brings(shift):
    """Records that are cut after ten steps. 'b' pays 1 more on z0, and was never tried on z1."""
    rng = np.random.default_rng(1)
    z, a = rng.integers(2, size=2000), rng.integers(2, size=2000)
    a[z == 1] = 0
    log = Episodes(
        Z, A, z, a, shift + ((z == 0) & (a == 1)), np.arange(0, 2001, 10), [-1] * 200, [False] * 200
    )
    mdp, policy = count(log, window(1)).mle(0.99), np.array([[0.0, 1.0], [0.5, 0.5]])
    uniform = Controller.uniform(Z, A)
    better = improvement(mdp, uniform, policy, algorithm="by hand", parameters={})
    made = decide(better, stopping=0.1)
    assert made.gain[0] == pytest.approx(0.5, abs=0.05)  # nothing else follows from it
    assert made.q[1, 1] == pytest.approx(made.worth[1])  # of what nobody tried, nothing is made up
    assert made.share.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("keep", "repair", "reason"),
    [
        (30, 3, "only 'keep' was tried more than 20 times: nothing to compare it with"),
        (5, 3, "every action was tried 20 times or less here: too little to learn from"),
    ],
)
def test_a_history_state_that_stays_says_why(keep, repair, reason):
    made = decide(
        jm.improve(one_step_log(keep, repair), HALF, discount=0.9, algorithm="spibb").improvement
    )
    assert not made.changed.any()
    assert made.why(0) == reason


def test_a_rule_that_is_already_best_says_so():
    always = Controller.constant(("good",), ("keep", "repair"), [0.0, 1.0])
    log = one_step_log(0, 30)
    made = decide(jm.improve(log, always, discount=0.9, n_wedge=0).improvement)
    assert made.why(0) == "only 'repair' was ever tried: nothing to compare"


def test_what_to_log_next_names_the_promising_action_first():
    made = decide(
        jm.improve(one_step_log(30, 3), HALF, discount=0.9, algorithm="spibb").improvement
    )
    (thin,) = made.thin()
    assert (thin.a, thin.tried, thin.missing) == (1, 3, 18)
    assert thin.promise == pytest.approx(3 - 2)  # 3, against the half-and-half controller's 2


def test_the_table_for_spreadsheets_has_a_row_per_history_state_and_no_formulas():
    log = Episodes(
        ("=cmd()",), ("+keep", "@repair"), [0] * 60, [0, 1] * 30, [1.0, 3.0] * 30,
        np.arange(61), [-1] * 60, [True] * 60,
    )  # fmt: skip
    behavior = Controller.uniform(log.observations, log.actions)
    made = decide(jm.improve(log, behavior, discount=0.9, algorithm="spibb").improvement)
    header, row = csv.reader(io.StringIO(made.to_csv("safe")))
    assert header[0] == "seen now"
    assert row[0] == "'=cmd()"
    assert not any(cell.startswith(("=", "+", "@")) for cell in row)
    assert dict(zip(header, row, strict=True))["changed"] == "yes"
