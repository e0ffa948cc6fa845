"""Improving by itself: what the certificate says in each case, and that it is true."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jumar as jm
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Origin
from jumar.core.errors import LogError, ParameterError
from jumar.core.memory import window
from jumar.evidence.validity import Validity

NAMES = ("good",), ("keep", "repair")
HALF = Controller.uniform(*NAMES)
both_gates = pytest.mark.parametrize("gate", ["proved", "asymptotic"])


def one_step(n: int, better: float, *, cut: bool = False, seed: int = 1) -> Episodes:
    """One step each, actions in turn; repair pays `better` more, with unit noise."""
    action = np.arange(n) % 2
    reward = np.random.default_rng(seed).standard_normal(n) + better * action
    return Episodes(
        *NAMES, [0] * n, action, reward, np.arange(n + 1), [0 if cut else -1] * n, [not cut] * n
    )


def many_steps(E: int, T: int, *, ended: bool = False, seed: int = 1) -> Episodes:
    """Repairing pays 1 at the first step; after that nothing is decided, and noise is paid."""
    rng = np.random.default_rng(seed)
    action = rng.integers(0, 2, (E, T))
    reward = rng.random((E, T)) / 10
    reward[:, 0] += action[:, 0]
    return Episodes(
        *NAMES, [0] * E * T, action.ravel(), reward.ravel(), np.arange(0, E * T + 1, T),
        [-1 if ended else 0] * E, [ended] * E,
    )  # fmt: skip


# ---- what is said -------------------------------------------------------------------------------


@both_gates
def test_a_passed_test_is_a_sentence_with_its_chance(gate):
    result = jm.improve(one_step(2000, 1.0), HALF, discount=0.9, gate=gate, seed=3)
    best, chosen = result.certificate, result.selection.chosen
    assert best.bound == "held-out"
    assert best.zeta == -chosen.lower < 0
    assert best.reason.startswith(
        f"On {chosen.units:,} held-out episodes, the new controller did better than "
        f"the old one, by at least {chosen.lower:.4g} per episode."
    )
    assert "The chance that this is wrong is at most 5 %" in best.reason
    # both directions: a loss that did not show, and a gain of the old rule that did not show
    assert "neither a hidden loss nor a hidden gain" in best.reason
    assert any("with seed 3" in text and "void" in text for text in best.assumptions)
    low, high = result.log.reward.min(), result.log.reward.max()
    assert any(f"{low:.6g} or more than {high:.6g}" in text for text in best.assumptions)
    assert any("independent" in text for text in best.assumptions)


def test_only_the_proved_gate_is_called_proved():
    log = one_step(2000, 1.0)
    proved = jm.improve(log, HALF, discount=0.9).certificate
    assert proved.validity is Validity.PROVED_IF_SEEN
    assert "Proved" in proved.title
    assert "if there are enough episodes" not in proved.reason
    assert "pass the approximate test" in proved.reason
    other = jm.improve(log, HALF, discount=0.9, gate="asymptotic").certificate
    assert other.validity is Validity.ASYMPTOTIC
    assert "roved" not in other.title + other.reason
    assert "if there are enough episodes" in other.reason
    assert any("nearly normal" in text for text in other.assumptions)


@both_gates
def test_declared_rewards_leave_out_the_proviso_and_widen_what_may_be_hidden(gate):
    log = one_step(4000, 1.0)
    seen = jm.improve(log, HALF, discount=0.9, gate=gate)
    declared = jm.improve(
        log, HALF, discount=0.9, gate=gate, rewards=jm.RewardRange((-5, 7), (-5, 7))
    )
    assert "provided" in seen.certificate.reason
    assert "provided" not in declared.certificate.reason
    assert "the log shows" not in declared.certificate.reason
    assert declared.selection.range == pytest.approx(120)  # -5 to 7 for ever, though all end at 1
    assert declared.selection.range > seen.selection.range
    best = [max(t.lower for t in x.selection.trials) for x in (declared, seen)]
    assert best[0] < best[1]
    if gate == "proved":
        assert declared.certificate.validity is Validity.PROVED


def test_what_is_gained_is_not_said_where_it_is_not_proved():
    """Passing takes four fifths of the level; where only that is met, the sentence gives no
    number."""
    said = []
    for seed in range(14):
        result = jm.improve(one_step(240, 1.2, seed=seed), HALF, discount=0.9, seed=seed)
        chosen = result.selection.chosen
        if chosen is not None:
            said.append(chosen.lower > 0)
            assert ("by at least" in result.certificate.reason) == (chosen.lower > 0)
            assert ("by how much is not proved" in result.certificate.reason) == (chosen.lower == 0)
            assert "-0" not in f"{result.certificate.zeta:g}" or chosen.lower > 0
    assert len(said) > 3


def test_clusters_are_called_clusters():
    log = one_step(1200, 2.0)
    people = [f"p{i // 3}" for i in range(1200)]
    log = Episodes(
        *NAMES, log.observation, log.action, log.reward, log.start, log.final_observation,
        log.terminated, origin=Origin("log.csv", np.arange(1200), people),
    )  # fmt: skip
    result = jm.improve(log, HALF, discount=0.9)
    assert result.selection.units == 400
    assert f"On {result.selection.chosen.units} held-out clusters" in result.certificate.reason
    assert any("Clusters are independent" in text for text in result.certificate.assumptions)


def test_a_kept_behavior_says_why_and_how_much_longer_the_log_must_be():
    result = jm.improve(one_step(120, 0.6), HALF, discount=0.9)
    assert result.improvement.changed == 0
    reason = result.certificate.reason
    assert "So the behavior stays" in reason or "so the behavior stays" in reason
    assert "the log has 120" in reason or "more of the same log" in reason
    # promising by the other test: said, not done
    for seed in range(20):
        result = jm.improve(one_step(120, 1.0, seed=seed), HALF, discount=0.9, seed=seed)
        if result.selection.only_approximate:
            assert "Only the approximate test passes" in result.certificate.reason
            assert result.selection.to_dict()["only_the_approximate_test_passes"] is True
            break
    else:
        pytest.fail("no log that only the approximate test decides")


# ---- records that were cut off ------------------------------------------------------------------


@both_gates
def test_recordings_that_were_cut_off_speak_up_to_the_cut(gate):
    """Two steps at γ = 0.3: 9 % of the weight lies beyond."""
    result = jm.improve(many_steps(2000, 2), HALF, discount=0.3, gate=gate)
    best = result.certificate
    assert result.selection.chosen is not None
    assert result.selection.beyond == pytest.approx(0.09)
    assert "counting up to where recordings stop (9 % of the discounted weight" in best.reason
    assert any("9 % of the discounted weight lies beyond" in text for text in best.assumptions)
    assert any("more than 2 steps" in text for text in best.assumptions)
    ended = jm.improve(many_steps(2000, 2, ended=True), HALF, discount=0.3, gate=gate)
    assert "recordings stop" not in ended.certificate.reason
    assert any("Every episode has 2 steps" in text for text in ended.certificate.assumptions)


@both_gates
def test_where_more_than_a_quarter_lies_beyond_the_behavior_stays(gate):
    """Two steps: γ² = .24 passes, .26 does not."""
    log = many_steps(2000, 2)
    passes = jm.improve(log, HALF, discount=np.sqrt(0.24), gate=gate)
    stays = jm.improve(log, HALF, discount=np.sqrt(0.26), gate=gate)
    assert passes.improvement.changed > 0
    assert stays.improvement.changed == 0
    assert stays.selection.too_short
    assert any(trial.passed for trial in stays.selection.trials)
    assert "26 % of the discounted weight lies beyond" in stays.certificate.reason
    assert stays.selection.to_dict()["kept_because_records_are_short"] is True


def test_what_lies_beyond_is_what_the_log_says():
    n = 400
    log = Episodes(*NAMES, [0] * n, [0, 1] * 200, [1.0] * n, [0, 200, 400], [0, 0], [False, False])
    assert log.beyond_cut(0.9) == pytest.approx(0.9**200)
    assert log.beyond_cut(0.99) == pytest.approx(0.134, abs=1e-3)


@both_gates
def test_what_happens_late_does_not_weigh(gate):
    """Episodes of 400 steps, one situation: the candidate's weights explode, those of the first
    steps, which are all that matters at γ = 0.5, do not; and γ^400 is no number to divide by."""
    rng = np.random.default_rng(1)
    E, T = 400, 400
    action = rng.integers(0, 2, E * T)
    log = Episodes(
        *NAMES, [0] * E * T, action, action + rng.normal(size=E * T) / 10,
        np.arange(0, E * T + 1, T), [0] * E, [False] * E,
    )  # fmt: skip
    result = jm.improve(log, HALF, discount=0.5, gate=gate, memory=window(1))
    assert result.improvement.changed == 1
    assert result.selection.chosen.effective > 20


def test_a_discount_of_0_counts_the_first_step():
    """Steps after the first pay nothing at all: 1 for repairing first is all there is."""
    result = jm.improve(many_steps(600, 3, ended=True), HALF, discount=0.0)
    assert result.improvement.changed > 0
    assert result.selection.most == pytest.approx(0.5, abs=0.15)


# ---- what it is worth ---------------------------------------------------------------------------


@both_gates
def test_a_rare_disaster_that_was_declared_is_not_overlooked(gate):
    """Repair pays 1, but once in a hundred costs 119: worth -0.2. Half of the logs of 1,000
    episodes with 10 % repairs show too few of them; with the range declared none is fooled."""
    behavior = Controller.constant(*NAMES, [0.9, 0.1])
    fooled = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        action = (rng.random(1000) < 0.1).astype(int)
        reward = np.where(action == 1, np.where(rng.random(1000) < 0.01, -119.0, 1.0), 0.0)
        log = Episodes(
            *NAMES, [0] * 1000, action, reward, np.arange(1001), [-1] * 1000, [True] * 1000
        )
        rewards = jm.RewardRange.constant(-119, 1)
        found = jm.select(log, behavior, discount=0.95, rewards=rewards, seed=seed, gate=gate)
        fooled += found.chosen is not None
    assert fooled == 0


def test_a_kept_estimate_is_not_called_proved():
    log = one_step(60, 0.0)
    behavior = jm.estimate_behavior(log)
    result = jm.improve(log, behavior, discount=0.9)
    assert result.improvement.changed == 0
    (only,) = result.certificates
    assert only.validity is Validity.CLAIMED
    assert "only a copy" in only.claim
    assert any("depended on nothing but what the log shows" in text for text in only.assumptions)


@both_gates
def test_an_estimated_behavior_makes_the_test_a_claim(gate):
    log = one_step(2000, 1.0)
    behavior = jm.estimate_behavior(log)
    best = jm.improve(log, behavior, discount=0.9, gate=gate).certificate
    assert (best.bound, best.validity) == ("held-out", Validity.CLAIMED)
    assert "estimated from all of them" in best.claim
    assert "at most 5 %" not in best.reason


@both_gates
def test_where_no_held_out_episode_fits_nothing_is_planned(gate):
    """Twenty steps of uniform actions: few episodes look like what a candidate would do."""
    rng = np.random.default_rng(0)
    for seed in range(4):
        E, T = 60, 20
        log = Episodes(
            *NAMES, [0] * E * T, rng.integers(0, 2, E * T), rng.normal(size=E * T),
            np.arange(0, E * T + 1, T), [-1] * E, [True] * E,
        )  # fmt: skip
        result = jm.improve(log, HALF, discount=0.95, seed=seed, gate=gate)
        assert result.certificate.claim  # says something in words, whatever the weights are


# ---- how it is asked ----------------------------------------------------------------------------


def test_the_seed_is_kept_for_the_record(tmp_path):
    result = jm.improve(one_step(200, 1.0), HALF, discount=0.9, seed=7)
    result.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["seed"] == 7


@both_gates
def test_what_was_tried_goes_into_plain_json(gate):
    result = jm.improve(one_step(400, 1.0), HALF, discount=0.9, gate=gate)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["selection"]["gate"] == gate
    assert len(plain["selection"]["tested"]) == len(result.selection.trials)
    for told, trial in zip(plain["selection"]["tested"], result.selection.trials, strict=True):
        assert told["passed"] == trial.passed
        assert told["level"] == trial.level


def test_auto_in_any_case_and_without_parameters():
    log = one_step(200, 1.0)
    assert jm.improve(log, HALF, discount=0.9, algorithm="Auto").improvement.algorithm == "auto"
    with pytest.raises(ParameterError, match="auto: chooses n_wedge itself"):
        jm.improve(log, HALF, discount=0.9, algorithm="auto", n_wedge=5)
    with pytest.raises(ParameterError, match="gate"):
        jm.improve(log, HALF, discount=0.9, gate="none")


def test_choosing_checks_the_log_like_improving_does():
    keeps = Controller.constant(*NAMES, [1.0, 0.0])
    for job in (jm.improve, jm.select):
        with pytest.raises(LogError, match="gives it probability 0"):
            job(one_step(10, 1.0), keeps, discount=0.9)
        with pytest.raises(LogError):
            job(one_step(10, 1.0), HALF, discount=0.9, rewards=jm.RewardRange.constant(0, 0.1))


@both_gates
def test_memory_asked_for_is_the_only_other_one_tried(gate):
    tiger = jm.models.tiger()
    behavior = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, behavior, episodes=400, seed=jm.random_stream(1, "data"))
    own = jm.select(log, behavior, discount=0.95, memory=window(1), gate=gate)
    assert {str(t.setting.memory) for t in own.trials} == {"window of 1"}
    wide = jm.select(log, behavior, discount=0.95, gate=gate)
    assert [str(m) for m in wide.memories] == ["window of 1", "window of 2", "window of 3"]


def two_steps(n: int = 600, *, cut: bool) -> Episodes:
    """Two steps each; repair pays 1 more than keep, with a little noise."""
    rng = np.random.default_rng(3)
    action = rng.integers(0, 2, 2 * n)
    return Episodes(
        *NAMES, [0] * 2 * n, action, np.clip(action + rng.normal(0, 0.1, 2 * n), -1, 2),
        np.arange(0, 2 * n + 1, 2), [0 if cut else -1] * n, [not cut] * n,
    )  # fmt: skip


def test_a_length_that_was_only_read_off_the_log_lowers_the_class_and_is_named():
    """Rewards are declared, but not that recordings stop after two steps."""
    declared = jm.RewardRange((-1, 2))
    log = two_steps(cut=True)
    read_off = jm.improve(log, HALF, discount=0.3, rewards=declared)
    assert read_off.certificate.validity is Validity.PROVED_IF_SEEN
    assert "provided no recording goes on for more than 2 steps" in read_off.certificate.claim
    told = jm.improve(log, HALF, discount=0.3, rewards=declared, horizon=2)
    assert told.certificate.validity is Validity.PROVED
    assert "provided" not in told.certificate.claim


def test_a_horizon_narrows_what_returns_are_possible_and_must_not_be_too_short():
    declared = jm.RewardRange.constant(-1, 2)
    log = two_steps(cut=False)
    any_length = jm.select(log, HALF, discount=0.99, rewards=declared)
    two = jm.select(log, HALF, discount=0.99, rewards=declared, horizon=2)
    assert any_length.range == pytest.approx(300)
    assert two.range == pytest.approx(3 * 1.99)
    assert two.chosen is not None
    with pytest.raises(LogError, match=r"2 steps, more than the declared horizon of 1"):
        jm.select(log, HALF, discount=0.99, rewards=declared, horizon=1)
