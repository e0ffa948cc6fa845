"""Selection where the behavior is not one controller: what candidates start from is learned from
one half of the log alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import LogError, ParameterError
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import NOT_CONFOUNDED, Validity
from jumar.gate import select
from jumar.log.episodes import Episodes, Labels
from jumar.policy.controller import Controller
from selection_logs import halves_of, one_step

UNIT = RewardRange.constant(0, 1)


def rare_observations(n: int, kinds: int, rng: np.random.Generator) -> np.ndarray:
    """Every other episode shows the usual, number 0; the others something that is hardly ever
    seen."""
    return np.where(rng.random(n) < 0.5, 0, 1 + rng.integers(kinds, size=n))


def test_an_estimated_behavior_does_not_copy_what_was_done_in_held_out_episodes():
    """No action matters but one, hardly. An estimate from the whole log would take in rare
    situations what was taken there, at three times the weight, and seem to gain."""
    rng, n, kinds = np.random.default_rng(1), 600, 1000
    observation, action = rare_observations(n, kinds, rng), rng.integers(3, size=n)
    usual = observation == 0
    reward = (rng.random(n) < 0.5 + 0.05 * (usual & (action == 0))).astype(float)
    names = tuple(f"z{i}" for i in range(kinds + 1)), ("a", "b", "c")
    log = one_step(names, observation, action, reward, propensity=np.full(n, 1 / 3))
    result = jm.improve(log, None, discount=0.9, rewards=UNIT)
    assert result.selection.trials == () or result.selection.best.gain < 0.1
    assert result.selection.chosen is None


def test_a_mix_of_behaviors_is_tested_as_it_is_handed_over():
    """In situations that the log does not show, the first of several behaviors is followed, the
    bad one. A mix made from the whole log would follow, in held-out episodes, whoever was there."""
    rng, n, kinds = np.random.default_rng(1), 1500, 1000
    names = tuple(f"z{i}" for i in range(kinds + 1)), ("a", "b")
    bad = Controller.constant(*names, [0.9, 0.1], name="bad")
    good = Controller.constant(*names, [0.1, 0.9], name="good")
    by, observation = rng.integers(2, size=n), rare_observations(n, kinds, rng)
    action = (rng.random(n) < np.where(by == 1, 0.9, 0.1)).astype(int)
    reward = np.where(observation == 0, rng.random(n) < 0.3 + 0.3 * action, action).astype(float)
    by_name = Labels.of([("bad", "good")[k] for k in by])
    log = one_step(names, observation, action, reward, behavior=by_name)
    result = jm.improve(log, [bad, good], discount=0.9, rewards=UNIT)
    rows = result.controller.rows_at(np.arange(kinds + 1)[:, None])
    worth = 0.5 * (0.3 + 0.3 * rows[0, 1]) + 0.5 * rows[1:, 1].mean()
    assert result.selection.chosen is None or worth > 0.475
    half = [t for t in result.selection.trials if t.passed]
    assert not half  # what is handed over elsewhere is worse than the mix


# ---- what is held out has no part in what is tried ----------------------------------------------


@pytest.mark.parametrize(
    ("where", "limit"), [("bench.MOST_STATES", 8), ("candidates.MOST_VALUES", 260)]
)
def test_neither_memories_nor_tables_depend_on_held_out_episodes(monkeypatch, where, limit):
    """The same half to learn from, and two others, of which one shows much more."""
    monkeypatch.setattr(f"jumar.gate.{where}", limit)
    names = tuple(f"z{i}" for i in range(12)), ("a", "b")
    uniform, found = Controller.uniform(*names), []
    rng, n, steps = np.random.default_rng(1), 300, 3
    N = n * steps
    action, seen = rng.integers(2, size=N), rng.integers(2, size=N)
    reward = np.round(0.3 * action + 0.7 * rng.random(N), 1)
    start, codes = np.arange(0, N + 1, steps), [f"e{i}" for i in range(n)]
    plain = Episodes(*names, seen, action, reward, start, [0] * n, [False] * n)
    plain = replace(plain, cluster=Labels.of(codes))
    held_out = np.repeat(halves_of(plain) == 1, steps)
    for kinds in (2, 12):
        observation = np.where(held_out, rng.integers(kinds, size=N), seen)
        log = replace(plain, observation=observation)
        selection = jm.pipeline.select(
            log, uniform, discount=0.5, rewards=RewardRange((0, 1)), horizon=steps
        )
        mine = [t for t in selection.trials if t.half == 0]
        found.append(sorted((str(t.setting), round(t.promised, 9), t.bet.floor) for t in mine))
    assert found[0]
    assert found[0] == found[1]


# ---- what is said -------------------------------------------------------------------------------

NAMES = ("z",), ("a", "b")
UNIFORM = Controller.uniform(*NAMES)


def coins(n: int, steps: int = 1, ended: bool = True, **more: object) -> Episodes:
    """Action b pays more."""
    rng, N = np.random.default_rng(1), n * steps
    action = rng.integers(2, size=N)
    reward = (rng.random(N) < 0.2 + 0.6 * action).astype(float)
    start = np.arange(0, N + 1, steps)
    last = [-1 if ended else 0] * n
    return Episodes(*NAMES, [0] * N, action, reward, start, last, [ended] * n, **more)


def test_a_kept_mix_is_not_called_an_estimate():
    log = coins(30, behavior=Labels.of(["x", "y"] * 15))
    said = jm.improve(log, {"x": UNIFORM, "y": UNIFORM}, discount=0.9).certificate
    assert said.claim.endswith("is only a copy of that, mixed of those that made the log.")
    assert not any("estimated" in text for text in said.assumptions)
    alone = jm.improve(coins(30, propensity=np.full(30, 0.5)), None, discount=0.9).certificate
    assert alone.claim.endswith("is only a copy of that, estimated from the log.")


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("rewards", [None, RewardRange((0, 1)), RewardRange((0, 1), (0, 1))])
def test_a_length_that_was_read_off_is_said(horizon, rewards):
    """And lowers the class; nothing else is taken from the log where rewards were declared."""
    log = coins(2000, 3, ended=False)
    result = jm.improve(log, UNIFORM, discount=0.5, rewards=rewards, horizon=horizon)
    assert result.selection.chosen is not None
    said = " ".join(result.certificate.assumptions)
    assert ("Every episode has 3 steps and ends as those in the log do." in said) == (not rewards)
    read_off = rewards is not None and horizon is None
    assert ("No recording goes on for more than 3 steps, as none in the log does." in said) == (
        read_off
    )
    proved = rewards is not None and horizon is not None
    assert (result.certificate.validity.value == "proved") == proved
    claim = result.certificate.claim
    assert ("provided no recording goes on" in claim) == read_off
    assert ("provided no step and no return" in claim) == (rewards is None)
    assert (", and every episode has 3 steps." in claim) == (rewards is None)


def test_a_gain_over_clusters_is_not_called_one_over_episodes():
    log = coins(2000, cluster=Labels.of([f"p{i % 500}" for i in range(2000)]))
    said = jm.improve(log, UNIFORM, discount=0.9).certificate.claim
    assert "per episode, each cluster counting the same. The chance" in said


# ---- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rewards": (0, 1)}, "rewards: (0, 1) is not a range of rewards"),
        ({"rewards": "0,1"}, "is not a range of rewards"),
        ({"memory": 3}, "memory: 3 is no memory"),
        ({"algorithm": 5}, "algorithm: 5 is no name"),
    ],
)
def test_a_wrong_type_is_told(wrong, said):
    with pytest.raises(ParameterError) as error:
        jm.improve(coins(30), UNIFORM, discount=0.9, **wrong)
    assert said in str(error.value)


def test_something_else_than_a_log_is_told():
    with pytest.raises(ParameterError, match="log: None is no log"):
        jm.improve(None, UNIFORM, discount=0.9)


def test_a_horizon_may_be_anything_whole():
    log = coins(300)
    least = jm.pipeline.select(log, UNIFORM, discount=0.9, horizon=True)
    assert least.limits.steps == 1
    endless = jm.pipeline.select(log, UNIFORM, discount=0.9, horizon=10**12)
    assert endless.limits.steps is None
    long = jm.pipeline.select(log, UNIFORM, discount=0.9, horizon=10**4)
    assert endless.range == pytest.approx(long.range, rel=1e-9)


def test_rewards_declared_too_narrow_are_told_wherever_a_test_is_made():
    """Scores cut off at what is said to be possible would be too high."""
    with pytest.raises(LogError, match="Declare a wider range"):
        select(coins(30), UNIFORM, discount=0.9, rewards=RewardRange.constant(0.5, 1))


# ---- what is assumed of who acted ---------------------------------------------------------------


@pytest.mark.parametrize("known", ["a policy", "several", "propensities", "an estimate"])
@pytest.mark.parametrize("algorithm", [None, "spibb"])
def test_that_nothing_else_was_acted_on_stands_in_every_list_of_assumptions(known, algorithm):
    log, who = coins(2000), UNIFORM
    if known == "several":
        log, who = replace(log, behavior=Labels.of(["x", "y"] * 1000)), {"x": UNIFORM, "y": UNIFORM}
    elif known == "propensities":
        log, who = replace(log, propensity=np.full(2000, 0.5)), None
    elif known == "an estimate":
        who = "estimate"
    result = jm.improve(log, who, discount=0.9, algorithm=algorithm, rewards=UNIT)
    assert result.improvement.changed > 0
    certificates = [c for c in result.certificates if c.validity is not Validity.NOTHING]
    assert certificates
    assert all(NOT_CONFOUNDED in c.assumptions for c in certificates)
    found = jm.offpolicy.estimate(log, result.controller, who, discount=0.9)
    assert NOT_CONFOUNDED in found.assumptions


@pytest.mark.parametrize("algorithm", [None, "spibb", "strict", "basic"])
def test_an_estimated_policy_never_promises_a_least_gain(algorithm):
    result = jm.improve(coins(4000), "estimate", discount=0.9, algorithm=algorithm, rewards=UNIT)
    assert result.improvement.changed > 0
    for certificate in result.certificates:
        assert certificate.validity.strength <= Validity.CLAIMED.strength
        assert certificate.odds is None
        assert "at least" not in certificate.claim
    if algorithm is None:
        assert result.certificate.claim.startswith(
            "We could not prove this: your policy was estimated from the log"
        )


@pytest.mark.parametrize("noisy", [False, True])
def test_propensities_that_are_too_small_on_average_prove_nothing(noisy):
    """Five actions that all pay 1 half of the time; four are taken in one of 20 episodes each, with
    propensities that are the mean of four exponential draws around that: 1 over them is 4/3 of what
    it should be. No policy is better, and held-out weights tell."""
    rng, n = np.random.default_rng(5), 6000
    p = np.array([0.8, *[0.05] * 4])
    action = rng.choice(5, size=n, p=p)
    logged = p[action] * np.where(action > 0, rng.gamma(4, 1 / 4, size=n) if noisy else 1.0, 1.0)
    paid = (rng.random(n) < 0.5).astype(float)
    log = one_step((("z",), tuple("abcde")), 0, action, paid, propensity=logged)
    result = jm.improve(log, None, discount=0.9, rewards=UNIT)
    assert (result.selection.chosen is not None) == noisy
    assert result.certificate.validity is Validity.CLAIMED
    assert result.assessment.verdict.word.value == ("do-not-rely" if noisy else "keep")
    if noisy:
        assert "the probabilities in the log are too small" in result.certificate.claim
        assert "at most 5 %" not in result.certificate.claim
        assert "propensities" in result.assessment.verdict.lead.lower()


def test_weights_tell_what_the_sum_of_propensities_hides():
    """The same with one such action, which pays more; of three others the propensities are too
    large, so that by all of them no more than five actions were possible."""
    rng, n = np.random.default_rng(5), 20_000
    p = np.array([0.8, *[0.05] * 4])
    action = rng.choice(5, size=n, p=p)
    off = np.where(action == 1, rng.gamma(4, 1 / 4, size=n), np.where(action > 1, 1.25, 1.0))
    paid = (rng.random(n) < 0.8 + 0.1 * (action == 1)).astype(float)
    log = one_step((("z",), tuple("abcde")), 0, action, paid, propensity=p[action] * off)
    result = jm.improve(log, None, discount=0.9, rewards=UNIT)
    assert result.selection.chosen is not None
    assert result.certificate.validity is Validity.CLAIMED
    assert "weigh more than 1" in result.certificate.claim
