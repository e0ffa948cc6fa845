"""Improving by itself: what the certificate says in each case, and that it is true."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from jumar.certificate import Validity
from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.errors import LogError, ParameterError
from jumar.memory import window

NAMES = ("good",), ("keep", "repair")
HALF = Controller.uniform(*NAMES)


def one_step(n: int, better: float, *, cut: bool = False, seed: int = 1) -> Episodes:
    """One step each, actions in turn; repair pays `better` more, with unit noise."""
    action = np.arange(n) % 2
    reward = np.random.default_rng(seed).standard_normal(n) + better * action
    return Episodes(
        *NAMES, [0] * n, action, reward, np.arange(n + 1), [0 if cut else -1] * n, [not cut] * n
    )


def test_a_passed_test_is_a_sentence_with_its_chance():
    result = jm.improve(one_step(2000, 1.0), HALF, discount=0.9)
    best = result.certificate
    assert (best.bound, best.validity) == ("held-out", Validity.ASYMPTOTIC)
    assert best.zeta == -result.selection.chosen.lower < 0
    assert best.claim.startswith(
        "On 1,000 episodes it had not learned from, the new controller did"
    )
    assert "The chance that this is wrong is at most 5 %, provided that nothing far" in best.claim
    assert "proved" not in best.claim


def test_declared_rewards_leave_out_the_proviso_and_widen_what_may_be_hidden():
    log = one_step(2000, 1.0)
    seen = jm.improve(log, HALF, discount=0.9)
    declared = jm.improve(log, HALF, discount=0.9, rewards=jm.RewardRange.constant(-50, 50))
    assert "provided" not in declared.certificate.claim
    assert declared.selection.range == pytest.approx(100)
    assert declared.selection.range > seen.selection.range
    assert declared.selection.trials[0].lower < seen.selection.trials[0].lower


def test_a_rare_disaster_that_was_declared_is_not_overlooked():
    """Repair pays 1, but once in a hundred costs 119: worth -0.2. Half of the logs of 1,000
    episodes with 10 % repairs show too few of them; with the range declared none is fooled."""
    behavior = Controller.constant(*NAMES, [0.9, 0.1])
    fooled = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        action = (rng.random(1000) < 0.1).astype(int)
        reward = np.where(action == 1, np.where(rng.random(1000) < 0.01, -119.0, 1.0), 0.0)
        log = Episodes(
            *NAMES, [0] * 1000, action, reward, np.arange(1001), [-1] * 1000, [True] * 1000
        )
        rewards = jm.RewardRange.constant(-119, 1)
        result = jm.improve(log, behavior, discount=0.95, rewards=rewards, seed=seed)
        fooled += result.improvement.changed > 0
    assert fooled == 0


def test_recordings_that_were_cut_off_are_only_claimed():
    result = jm.improve(one_step(2000, 1.0, cut=True), HALF, discount=0.9)
    best = result.certificate
    assert (best.bound, best.validity) == ("held-out", Validity.CLAIMED)
    assert "up to where recordings stop" in best.claim
    assert any("right only if the memory suffices" in text for text in best.assumptions)


def test_an_episode_so_long_that_its_end_does_not_matter_is_not_cut():
    from jumar.selection.board import lay_out

    n = 400
    log = Episodes(*NAMES, [0] * n, [0, 1] * 200, [1.0] * n, [0, 200, 400], [0, 0], [False, False])
    assert not lay_out(log, HALF, 0.9, [HALF.memory]).cut  # 0.9^200 = 7e-10
    assert lay_out(log, HALF, 0.99, [HALF.memory]).cut  # 0.99^200 = 0.13


def test_what_happens_late_does_not_weigh():
    """Episodes of 400 steps, one situation: the candidate's weights explode, those of the first
    steps, which are all that matters at γ = 0.5, do not."""
    rng = np.random.default_rng(1)
    E, T = 300, 400
    action = rng.integers(0, 2, E * T)
    log = Episodes(
        *NAMES, [0] * E * T, action, action + rng.normal(size=E * T) / 10,
        np.arange(0, E * T + 1, T), [0] * E, [False] * E,
    )  # fmt: skip
    result = jm.improve(log, HALF, discount=0.5)
    assert result.improvement.changed == 1
    assert result.selection.chosen.effective > 20


def test_a_kept_estimate_is_not_called_proved():
    log = one_step(60, 0.0)
    behavior = jm.estimate_behavior(log)
    result = jm.improve(log, behavior, discount=0.9, estimated=True)
    assert result.improvement.changed == 0
    (only,) = result.certificates
    assert only.validity is Validity.CLAIMED
    assert "only a copy" in only.claim
    assert any("depended on nothing but what the log shows" in text for text in only.assumptions)


def test_an_estimated_behavior_makes_the_test_a_claim():
    log = one_step(2000, 1.0)
    result = jm.improve(log, jm.estimate_behavior(log), discount=0.9, estimated=True)
    assert result.certificate.bound == "held-out"
    assert result.certificate.validity is Validity.CLAIMED
    assert "the old rule was estimated from all of them" in result.certificate.claim


def test_where_no_held_out_episode_fits_nothing_is_planned():
    """Twenty steps of uniform actions: few episodes look like what a candidate would do."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        E, T = 60, 20
        log = Episodes(
            *NAMES, [0] * E * T, rng.integers(0, 2, E * T), rng.normal(size=E * T),
            np.arange(0, E * T + 1, T), [-1] * E, [True] * E,
        )  # fmt: skip
        result = jm.improve(log, HALF, discount=0.95, seed=seed)
        assert result.certificate.claim  # says something in words, whatever the weights are


def test_the_seed_is_kept_for_the_record(tmp_path):
    import json

    result = jm.improve(one_step(200, 1.0), HALF, discount=0.9, seed=7)
    result.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["seed"] == 7


def test_auto_in_any_case_and_without_parameters():
    log = one_step(200, 1.0)
    assert jm.improve(log, HALF, discount=0.9, algorithm="Auto").improvement.algorithm == "auto"
    with pytest.raises(ParameterError, match="auto: chooses n_wedge itself"):
        jm.improve(log, HALF, discount=0.9, algorithm="auto", n_wedge=5)


def test_choosing_checks_the_log_like_improving_does():
    keeps = Controller.constant(*NAMES, [1.0, 0.0])
    for job in (jm.improve, jm.choose):
        with pytest.raises(LogError, match="gives it probability 0"):
            job(one_step(10, 1.0), keeps, discount=0.9)


def test_memory_asked_for_is_the_only_other_one_tried():
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, behavior, episodes=400, rng=jm.stream(1, "data"))
    own = jm.choose(log, behavior, discount=0.95, memory=window(1))
    assert {str(t.setting.memory) for t in own.trials} == {"window of 1"}
    wide = jm.choose(log, behavior, discount=0.95)
    assert [str(m) for m in wide.memories] == ["window of 1", "window of 2", "window of 3"]
