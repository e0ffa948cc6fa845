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
from jumar.assessment.decisions import decide
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.memory import window
from jumar.core.replay import count
from jumar.evidence.resampling import resample
from strategies import logs, names

Z, A = names("z", 2), names("a", 2)


def one_step_log(good_keep: int, good_repair: int) -> Episodes:
    """Every episode is one step: keep pays 1, repair pays 3, and it is over."""
    n = good_keep + good_repair
    action = [0] * good_keep + [1] * good_repair
    return Episodes(
        ("good",), ("keep", "repair"), [0] * n, action, [1.0] * good_keep + [3.0] * good_repair,
        np.arange(n + 1), [-1] * n, [True] * n,
    )  # fmt: skip


HALF = Controller.uniform(("good",), ("keep", "repair"))


@given(logs(Z, A, most_episodes=20), st.integers(0, 3), st.sampled_from([0.0, 0.5, 0.95]))
def test_the_shares_sum_to_the_estimated_gain(log, n_wedge, discount):
    behavior = Controller.uniform(Z, A)
    if count(log, window(2)).visits.sum() == 0:
        return
    mdp = count(log, window(2)).mle(discount)
    for name in ("spibb", "spibb_leq"):
        better = jm.improve(
            log, behavior, discount=discount, memory=window(2), algorithm=name, n_wedge=n_wedge
        ).improvement
        made = decide(better)
        assert made.share.sum() == pytest.approx(better.gain, abs=1e-9)
        assert (made.share[~made.changed] == 0).all()
        assert len(made.visits) == len(mdp)


def test_moving_half_the_mass_to_what_pays_two_more_gains_one():
    made = decide(
        jm.improve(one_step_log(30, 30), HALF, discount=0.9, algorithm="spibb").improvement
    )
    assert made.gain.tolist() == [1.0]
    assert made.met.tolist() == [1.0]
    assert made.share.tolist() == [1.0]
    says(made.why(0), "'repair'", "30 times", "worth 1 more")


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


def test_drawing_every_episode_alike_gives_back_the_estimate():
    log = one_step_log(30, 30)
    better = jm.improve(log, HALF, discount=0.9, algorithm="spibb").improvement
    again = resample(log, better, seed=jm.random_stream(1, "bootstrap"), draws=400)
    # behaviour 2, improved 3 in every draw: rewards are certain, so the gain is exactly 1
    np.testing.assert_allclose(again.gains, 1.0)
    assert again.worse == 0.0


def test_the_spread_of_the_bootstrap_is_that_of_a_mean():
    """Rewards 0 or 2 by a fair coin after repair, 0 after keep. The new controller always repairs,
    so the gain is half the mean of n coins: standard deviation 1/2 / sqrt(n) (10 % at 1,000 draws
    is more than four standard errors of a standard deviation)."""
    rng = np.random.default_rng(3)
    n = 400
    reward = np.where(np.arange(2 * n) % 2 == 1, 2.0 * (rng.permutation(2 * n) % 2), 0.0)
    log = Episodes(
        ("good",), ("keep", "repair"), [0] * 2 * n, [0, 1] * n, reward,
        np.arange(2 * n + 1), [-1] * 2 * n, [True] * 2 * n,
    )  # fmt: skip
    better = jm.improve(log, HALF, discount=0.9, algorithm="spibb").improvement
    again = resample(log, better, seed=jm.random_stream(1, "bootstrap"), draws=1000)
    coins = reward[1::2]
    assert again.gains.std() == pytest.approx(coins.std() / 2 / np.sqrt(n), rel=0.1)
    low, high = again.interval(0.9)
    assert low < better.gain < high
