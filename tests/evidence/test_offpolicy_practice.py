"""Off-policy estimates of logs as they are: clusters, several behaviors, propensities."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from jumar import offpolicy
from jumar.core.errors import ControllerError, LogError
from jumar.core.randomness import random_stream
from jumar.evidence.offpolicy import ESTIMATORS, INTERVALS, crossfit, estimators
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.offpolicy.ranges import possible_of
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import Episodes, Labels
from jumar.memory import window
from jumar.policy.controller import Controller
from strategies import random_controller, random_pomdp

γ = 0.9
NAMES = ("z",), ("a", "b")
FAIR = Controller.uniform(*NAMES, name="fair")
BENT = Controller.constant(*NAMES, [0.75, 0.25], name="bent")


def one_step(reward, who=None, action=None, **more) -> Episodes:
    """Episodes of one step."""
    n = len(reward)
    action = np.arange(n) % 2 if action is None else action
    cluster = None if who is None else Labels.of([str(w) for w in who])
    return Episodes(
        *NAMES, np.zeros(n, int), action, reward, np.arange(n + 1), [-1] * n, [True] * n,
        cluster=cluster, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def small():
    """A model, a target and two behaviors of different memories, and 60 episodes of each."""
    rng = np.random.default_rng(5)
    pomdp = random_pomdp(rng, 2, 2, 2, γ)
    new, old, other = (random_controller(rng, pomdp, window(k)) for k in (2, 1, 2))
    old, other = replace(old, name="old"), replace(other, name="other")
    logs = [jm.simulate(pomdp, c, episodes=60, seed=random_stream(1, c.name)) for c in (old, other)]
    both = replace(logs[0] + logs[1], behavior=Labels.of(["old"] * 60 + ["other"] * 60))
    return pomdp, new, (old, other), both


# ---- clusters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [None, *INTERVALS])
@pytest.mark.parametrize("difference", [False, True])
def test_clusters_of_one_episode_change_nothing(small, interval, difference):
    _, new, (old, _), both = small
    log = replace(both.select(np.arange(60)), behavior=None)
    apart = replace(log, cluster=Labels.of([f"{e:03}" for e in range(60)]))
    settings = {"discount": γ, "interval": interval, "difference": difference}
    settings["sides"] = "lower" if interval == "truncated" else "two"
    plain = offpolicy.estimate_all(log, new, old, **settings)
    found = offpolicy.estimate_all(apart, new, old, **settings)
    for name, one in plain.items():
        numbers = [(e.value, e.lower, e.upper, e.standard_error) for e in (one, found[name])]
        np.testing.assert_allclose(*numbers, rtol=1e-9)
        assert (one.clusters, found[name].clusters) == (None, 60)
        assert found[name].effective_size == pytest.approx(one.effective_size)


def test_the_value_is_the_mean_over_episodes_and_its_error_that_of_a_ratio():
    log = one_step([1.0, 2.0, 3.0, 10.0], ["A", "A", "A", "B"])
    found = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator="pdis")
    assert found.value == 4
    # pulls 2/4 · (6 - 3·4) and 2/4 · (10 - 4): -3 and 3, so s/√2 = √(18/1/2)
    assert found.standard_error == pytest.approx(3)
    assert (found.episodes, found.clusters) == (4, 2)
    assert "each episode counts the same, so a large cluster counts more" in found.notes[0]
    assert any("The 2 clusters are independent" in text for text in found.assumptions)


def test_what_is_proved_is_proved_for_the_mean_over_clusters():
    log = one_step([1.0, 2.0, 3.0, 10.0], ["A", "A", "A", "B"])
    settings = {"discount": γ, "estimator": "pdis", "horizon": 1}
    rewards = RewardRange((0, 10), (0, 10))
    found = offpolicy.estimate(log, FAIR, FAIR, interval="hoeffding", rewards=rewards, **settings)
    assert found.value == (2 + 10) / 2
    assert found.upper - found.value == pytest.approx(10 * math.sqrt(math.log(40) / 4))
    assert "each cluster counts the same" in found.notes[-1]


@given(st.data())
def test_a_cluster_is_one_long_episode_of_a_ratio(data):
    """The value of a weighted estimator does not change when episodes are put together."""
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    E = data.draw(st.integers(1, 8))
    start = np.append(0, np.cumsum(rng.integers(1, 5, E)))
    of = np.unique(rng.integers(0, 3, E), return_inverse=True)[1]
    weight, x = rng.choice([0, 0.5, 2.0], start[-1]), rng.normal(size=start[-1])
    for sample in (Weighted(weight, x, start, rng.normal(size=E), γ), rng.normal(size=E)):
        together = estimators.by_cluster(sample, of)
        value = sample.value if isinstance(sample, Weighted) else sample.mean()
        found = together.value if isinstance(together, Weighted) else together.mean()
        assert found == pytest.approx(value, abs=1e-12)
        assert len(together) == of.max() + 1
        pulls = together.influence if isinstance(together, Weighted) else None
        assert pulls is None or pulls.sum() == pytest.approx(0, abs=1e-9)
        if isinstance(sample, Weighted):  # pulls add up over the episodes of a cluster
            K = of.max() + 1
            np.testing.assert_allclose(pulls, np.bincount(of, sample.influence) * K / E, atol=1e-9)


def test_intervals_by_cluster_cover_where_those_by_episode_do_not():
    """200 logs of 40 plants with effects of their own and 1 to 9 episodes; true mean 0. By plant,
    Student's interval misses 5 % of them or a little more: over 26 has a chance below 0.1 % at 7 %.
    By episode it misses a third."""
    rng = np.random.default_rng(3)
    missed = {"cluster": 0, "episode": 0}
    for _ in range(200):
        who = np.repeat(np.arange(40), rng.integers(1, 10, 40))
        log = one_step(rng.normal(size=40)[who] + rng.normal(size=len(who)), who)
        for unit, given_log in (("cluster", log), ("episode", replace(log, cluster=None))):
            found = offpolicy.estimate(given_log, FAIR, FAIR, discount=γ, estimator="pdis")
            missed[unit] += not found.lower <= 0 <= found.upper
    assert missed["cluster"] <= 26
    assert missed["episode"] >= 50


@pytest.mark.parametrize("interval", ["hoeffding", "bernstein"])
def test_proved_intervals_hold_for_clusters_that_are_all_alike(interval):
    """Every cluster has one value in all of its 50 episodes: an interval by episode would miss the
    mean 1/2 of coins nearly always; by cluster, at most 5 % of 200 logs: over 21 has a chance below
    0.1 %."""
    rng = np.random.default_rng(4)
    rewards = RewardRange((0, 1), (0, 1))
    missed = 0
    for _ in range(200):
        who = np.repeat(np.arange(20), 50)
        log = one_step(rng.integers(0, 2, 20)[who].astype(float), who)
        found = offpolicy.estimate(
            log, FAIR, FAIR, discount=γ, estimator="pdis", interval=interval, rewards=rewards,
            horizon=1,
        )  # fmt: skip
        missed += not found.lower <= 0.5 <= found.upper
    assert missed <= 21


def test_no_cluster_lies_in_two_folds(monkeypatch):
    monkeypatch.setattr(crossfit, "FOLDS", 3)
    who = np.arange(60) % 7
    log = one_step(np.arange(60.0), who)
    models = crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(1))
    assert all(len(set(models.fold[who == k])) == 1 for k in range(7))
    assert set(models.fold) == {0, 1, 2}


def test_one_cluster_has_no_error_and_no_folds():
    log = one_step([1.0, 2.0, 3.0], ["A"] * 3)
    found = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator="pdis")
    assert (found.value, found.standard_error, found.vacuous) == (2, math.inf, True)
    assert found.evidence.shown is None
    with pytest.raises(LogError, match="The log has 1 cluster; 2 folds need at least one each"):
        offpolicy.estimate(log, BENT, FAIR, discount=γ)


def test_warnings_speak_of_clusters():
    reward = np.ones(12)
    log = one_step(reward, np.repeat(np.arange(6), 2), action=[0] * 2 + [1] * 10)
    heavy = Controller.constant(*NAMES, [0.99, 0.01], name="heavy")
    found = offpolicy.estimate(log, heavy, FAIR, discount=γ, estimator="pdis")
    # one cluster weighs 1.98, five .02
    assert found.largest_share == pytest.approx(1.98 / 2.08)
    assert found.effective_size == pytest.approx(2.08**2 / (1.98**2 + 5 * 0.02**2))
    assert found.evidence.shown is None


# ---- several behaviors, and propensities --------------------------------------------------------


def test_the_mean_over_all_that_can_happen_is_exact_with_two_behaviors():
    """One step, two behaviors, each with its own dice: every pair of episodes, with its chance."""
    old, other = FAIR, Controller.constant(*NAMES, [0.1, 0.9], name="other")
    pays, target = np.array([3.0, -2.0]), BENT
    rows = {"fair": [0.5, 0.5], "other": [0.1, 0.9]}
    for estimator in ("pdis", "dr"):
        value = less = 0.0
        for a in range(2):
            for b in range(2):
                log = one_step(pays[[a, b]], action=[a, b], behavior=Labels.of(["fair", "other"]))
                sample = offpolicy.Sample(
                    practice_of(log, [old, other]), target, γ, random_stream(1, "x")
                )
                chance = rows["fair"][a] * rows["other"][b]
                value += chance * sample.contributions(estimator, False).mean()
                less += chance * sample.contributions(estimator, True).mean()
        assert value == pytest.approx(0.75 * 3 - 0.25 * 2)
        logged = (0.5 * 3 - 0.5 * 2 + 0.1 * 3 - 0.9 * 2) / 2
        assert less == pytest.approx(value - logged)


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exact_propensities_are_as_good_as_controllers(small, estimator, difference):
    """Two actions: the row is known, so that DR of the behavior is that of its own dice."""
    _, new, both_of_them, both = small
    told = replace(both, propensity=practice_of(both, both_of_them).taken)
    settings = {"discount": γ, "estimator": estimator, "difference": difference}
    one = offpolicy.estimate(both, new, both_of_them, **settings)
    two = offpolicy.estimate(told, new, None, **settings)
    assert (two.value, two.lower) == (pytest.approx(one.value), pytest.approx(one.lower))
    assert "with the probabilities that the log gives" in two.assumptions[0]
    assert "Each episode was made by the policy that the log names" in one.assumptions[0]


def test_propensities_do_not_limit_weights_but_truncated_needs_no_limit():
    rng = np.random.default_rng(1)
    action = rng.integers(0, 2, 2000)
    log = one_step(1.0 - action, action=action, propensity=np.full(2000, 0.5))
    settings = {"discount": γ, "estimator": "pdis", "rewards": RewardRange((0, 1), (0, 1))}
    tall = offpolicy.estimate(log, BENT, None, interval="hoeffding", **settings)
    assert tall.vacuous
    assert "Propensities do not tell how large a weight can get" in tall.notes[0]
    safe = offpolicy.estimate(log, BENT, None, interval="truncated", **settings)
    assert 0.6 < safe.lower < 0.75


def test_the_range_is_that_of_the_boldest_behavior(small):
    _, new, (old, other), both = small
    sample = offpolicy.Sample(practice_of(both, [old, other]), new, γ, random_stream(1, "x"))
    longest = int(both.lengths.max())
    each = [offpolicy.ranges.steps_of(new, c).largest_weights(longest) for c in (old, other)]
    found = possible_of(sample, None, None, False).largest_weights
    assert found.tolist() == np.max(each, axis=0).tolist()


def test_an_action_that_was_certain_covers_nothing_else():
    three = ("z",), ("a", "b", "c")
    log = Episodes(*three, [0, 0], [0, 1], [0, 0], [0, 1, 2], [-1, -1], [True, True],
                   propensity=[0.5, 1.0])  # fmt: skip
    target = Controller.constant(*three, [0.5, 0.5, 0])
    with pytest.raises(ControllerError, match="episode 1, step 0: here constant may do 'a', which"):
        offpolicy.estimate(log, target, None, discount=γ, estimator="pdis")
    only = Controller.constant(*three, [0.0, 1.0, 0])
    assert offpolicy.estimate(log, only, None, discount=γ, estimator="pdis").value == 0
