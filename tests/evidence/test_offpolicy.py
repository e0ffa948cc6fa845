"""Off-policy estimates: unbiased by complete enumeration, closed forms, cross-fitting."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from enumeration import enumerate_all
from jumar import offpolicy
from jumar.core.arrays import RowIndex
from jumar.core.randomness import random_stream
from jumar.evidence.offpolicy import crossfit, estimators, ranges, weights
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.practice import practice_of
from jumar.evidence.rewards import RewardRange
from jumar.lab.truth.pomdp import from_arrays
from jumar.log.episodes import Episodes
from jumar.memory import NamedNodes, window
from jumar.memory.refinement import join
from jumar.policy.controller import Controller
from jumar.tally.replay import Replays
from offpolicy_logs import FAIR, KEEPS, NAMES, log_of, ratios, weighted_pdis, γ
from strategies import controllers, logs, names, random_controller, random_pomdp

TOGGLE = NamedNodes(("even", "odd"), [[[1, 0, 1]] * 2, [[0, 0, 1]] * 2])
MEMORIES = [(window(1), window(2)), (TOGGLE, window(1)), (window(2, actions=True), TOGGLE)]


@pytest.fixture(scope="module", params=range(3), ids=lambda i: " and ".join(map(str, MEMORIES[i])))
def world(request):
    """2 hidden states, 2 observations, 3 actions, horizon 3; two controllers that remember
    different things; every trajectory."""
    rng = np.random.default_rng(request.param)
    pomdp = random_pomdp(rng, 2, 3, 2, γ)
    old, new = (random_controller(rng, pomdp, m) for m in MEMORIES[request.param])
    return pomdp, new, old, enumerate_all(pomdp, old, 3)


def test_the_enumeration_is_complete_and_exact(world):
    pomdp, _, old, all_of_it = world
    log = all_of_it.log
    assert all_of_it.probability.sum() == pytest.approx(1, abs=1e-13)
    assert len(log) > 1000
    assert log.terminated.any()
    assert not log.terminated.all()
    exact = jm.evaluate(pomdp, old, horizon=3).value
    assert all_of_it.mean(log.returns(γ)) == pytest.approx(exact, abs=1e-12)


def test_weights_have_mean_1_after_every_step(world):
    _, new, old, all_of_it = world
    log = all_of_it.log
    w = weights.cumulative(ratios(log, new, old), log.start)
    for t in range(3):
        kept = np.minimum(log.start[:-1] + t, log.last)  # an episode that is over keeps its weight
        assert all_of_it.mean(w[kept]) == pytest.approx(1, abs=1e-12)


def test_pdis_is_unbiased(world):
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value
    data = ratios(log, new, old), log.reward, log.start, γ
    assert abs(exact - jm.evaluate(pomdp, old, horizon=3).value) > 0.01  # there is a difference
    assert all_of_it.mean(estimators.pdis(*data)) == pytest.approx(exact, abs=1e-12)


def any_values(log: Episodes, controller: Controller, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An arbitrary Q̂ on the controller's own history states, far from the truth, and its V̂."""
    nodes = controller.memory.replay(log.observation, log.action, log.start)
    states = np.column_stack([nodes, log.observation])
    distinct, number = np.unique(states, axis=0, return_inverse=True)
    q = np.random.default_rng(seed).normal(5, 20, (len(distinct), len(log.actions)))
    v = (controller.rows_at(distinct) * q).sum(1)
    return q[number.ravel(), log.action], v[number.ravel()]


@pytest.mark.parametrize("seed", range(3))
def test_dr_is_unbiased_whatever_it_believes(world, seed):
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value
    q, v = any_values(log, new, seed)
    ratio = ratios(log, new, old)
    values = estimators.doubly_robust(ratio, log.reward, q, v, log.start, γ)
    assert all_of_it.mean(values) == pytest.approx(exact, abs=1e-12)
    plain = estimators.pdis(ratio, log.reward, log.start, γ)
    assert np.abs(values - plain).max() > 1  # it is not just PDIS


def test_floored_values_are_unbiased_and_reach_their_floor_at_most(world):
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value
    rewards = RewardRange.constant(log.reward.min(), log.reward.max())
    least = ranges.least_returns(rewards, γ, 3)
    data = ratios(log, new, old), log.reward, log.start, γ
    values = estimators.floored_pdis(*data, least)
    assert all_of_it.mean(values) == pytest.approx(exact, abs=1e-12)
    assert values.min() >= least[0] - 1e-12
    assert estimators.pdis(*data).min() < least[0]  # which plain PDIS undercuts


def test_no_value_leaves_its_range_and_the_range_is_reached(world):
    """Every reward is one of two numbers per action here, so the ends need not be reached exactly;
    with rewards of one number they are."""
    _, new, old, all_of_it = world
    log = all_of_it.log
    steps = ranges.steps_of(new, old)
    assert steps.covered
    ratio = ratios(log, new, old)
    largest = steps.largest_weights(3)
    w = weights.cumulative(ratio, log.start)
    t = np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths)
    for i in range(3):
        assert w[t == i].max() == pytest.approx(largest[i], rel=1e-12)
    low, high = steps.pdis_range(RewardRange.constant(2, 2), γ, 3)
    values = estimators.pdis(ratio, np.full(log.n_steps, 2.0), log.start, γ)
    assert (values.min(), values.max()) == pytest.approx((low, high), rel=1e-12)
    rewards = RewardRange.constant(log.reward.min(), log.reward.max())
    found = estimators.pdis(ratio, log.reward, log.start, γ)
    low, high = steps.pdis_range(rewards, γ, 3)
    assert low <= found.min() < found.max() <= high


@pytest.fixture(scope="module")
def tiny():
    """So few trajectories that all pairs of them can be tried: rewards tell only the action."""
    rng = np.random.default_rng(7)
    moves = rng.dirichlet(np.ones(3), (2, 2))
    pomdp = from_arrays(
        name="tiny",
        states=names("s", 2),
        actions=names("a", 2),
        observations=names("z", 2),
        transition=moves[:, :, :2],
        ending=moves[:, :, 2],
        observation=np.tile(np.eye(2)[None], (2, 1, 1)) * 0.5 + 0.25,
        reward=[[1.0, 1.0], [-2.0, -2.0]],
        start=[0.25, 0.75],
        first_observation=[[0.75, 0.25], [0.25, 0.75]],
        discount=γ,
    )
    old = random_controller(rng, pomdp, window(1))
    new = random_controller(rng, pomdp, window(2))
    return pomdp, new, old, enumerate_all(pomdp, old, 2)


@pytest.mark.slow
def test_cross_fitted_dr_is_unbiased_over_all_logs_of_two_episodes(tiny):
    """Each of the two episodes is judged by the model of the other: every pair, exactly."""
    pomdp, new, old, all_of_it = tiny
    value, before = (jm.evaluate(pomdp, who, horizon=2).value for who in (new, old))
    E, p = len(all_of_it.log), all_of_it.probability
    assert E == 4 + 16 + 32  # ended at once; ended at the second step; cut off there, seeing z
    mean = gain = corrected = 0.0
    for i, j in itertools.combinations_with_replacement(range(E), 2):
        log = all_of_it.log.select(np.array([i, j]))
        sample = offpolicy.Sample(practice_of(log, old), new, γ, np.random.default_rng(1))
        chance = (2 - (i == j)) * p[i] * p[j]
        mean += chance * sample.contributions("dr", difference=False).mean()
        gain += chance * sample.contributions("dr", difference=True).mean()
        corrected += p[i] * p[j] * np.abs(sample.values[0]).sum()
    assert mean == pytest.approx(value, abs=1e-12)
    assert gain == pytest.approx(value - before, abs=1e-12)
    assert corrected > 0.1  # Q̂ was not 0 throughout


def test_the_estimators_by_hand():
    """Weights 1.5 · 1.5 and 0.5; rewards 1, 2 and 4; discount 1/2."""
    log = log_of([[0, 0], [1]], [[1, 2], [4]])
    ratio = ratios(log, KEEPS, FAIR)
    args = ratio, log.reward, log.start, 0.5
    assert estimators.pdis(*args).tolist() == [1.5 * 1 + 0.5 * 2.25 * 2, 0.5 * 4]
    # first step: weights 1.5 and 0.5; second: 2.25, and 0.5 kept by the episode that is over
    by_step = (1.5 * 1 + 0.5 * 4) / 2 + 0.5 * (2.25 * 2) / 2.75
    assert weighted_pdis(*args).value == pytest.approx(by_step)
    q, v = np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 7.0])
    given = ratio, log.reward, q, v, log.start, 0.5
    first = 1 + 1.5 * (1 + 0.5 * 5 - 3) + 0.5 * 2.25 * (2 - 1)
    second = 7 + 0.5 * (4 - 2)
    assert estimators.doubly_robust(*given).tolist() == [first, second]
    weighted = (1 + 7) / 2 + (1.5 * 0.5 + 0.5 * 2) / 2 + 0.5 * 2.25 * 1 / 2.75
    assert estimators.weighted_doubly_robust(*given).value == pytest.approx(weighted)


def test_how_each_episode_pulls_is_the_derivative_of_the_weighted_estimate():
    """Doubling an episode moves the estimate by 1/E of its pull, up to what is quadratic in 1/E."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 5, 40)
    start = np.append(0, np.cumsum(lengths))
    n = start[-1]
    sample = Weighted(rng.exponential(size=n), rng.normal(size=n), start, rng.normal(size=40), γ)
    assert sample.influence.mean() == pytest.approx(0, abs=1e-12)

    def value_with(e: int, extra: float) -> float:
        """The estimate when episode e counts 1 + extra times."""
        share = np.ones(40)
        share[e] += extra
        total = share @ sample.offset / share.sum()
        for t in range(lengths.max()):
            top = bottom = 0.0
            for i in range(40):
                at = start[i] + min(t, lengths[i] - 1)
                bottom += share[i] * sample.weight[at]
                top += share[i] * sample.weight[at] * sample.x[at] * (t < lengths[i])
            total += γ**t * top / bottom
        return total

    assert sample.value == pytest.approx(value_with(0, 0.0), rel=1e-12)
    for e in range(0, 40, 7):
        slope = (value_with(e, 1e-6) - value_with(e, -1e-6)) / 2e-6
        assert 40 * slope == pytest.approx(sample.influence[e], abs=1e-6)


@pytest.mark.filterwarnings("error")
def test_tiny_weights_and_huge_rewards_pull_as_usual_ones_do():
    """Weights in another scale change nothing, and rewards only the scale of the pull."""
    rng = np.random.default_rng(12)
    start = np.append(0, np.cumsum(rng.integers(1, 5, 40)))
    weight, x = rng.exponential(size=start[-1]), rng.normal(size=start[-1])
    usual = Weighted(weight, x, start, np.zeros(40), γ)
    odd = Weighted(weight * 1e-300, x * 1e40, start, np.zeros(40), γ)
    np.testing.assert_allclose(odd.influence / 1e40, usual.influence, rtol=1e-9, atol=1e-9)
    assert odd.value / 1e40 == pytest.approx(usual.value)


# ---- cross-fitting ------------------------------------------------------------------------------


def test_every_step_is_judged_by_the_model_of_the_other_folds(monkeypatch):
    """Three episodes of one step that pay 1, 2 and 6; three folds: the mean of the other two."""
    monkeypatch.setattr(crossfit, "FOLDS", 3)
    log = log_of([[0], [0], [0]], [[1], [2], [6]])
    models = crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(0))
    q, v = models.values(Controller.constant(*NAMES, [1, 0]))
    assert q.tolist() == v.tolist() == [4.0, 3.5, 1.5]
    assert (models.state >= 0).all()


def test_what_the_others_never_saw_is_what_is_usual_there():
    """Two steps that pay 2 and 4, in 'good' and in 'worn', and one of 'good' alone that pays 1;
    nobody ever repairs."""
    log = Episodes(*NAMES, [0, 1, 0], [0, 0, 0], [2, 4, 1], [0, 2, 3], [-1, -1], [True, True])
    models = crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(0))
    q, v = models.values(FAIR)
    # the first is judged by the other, in which all is over after one step that pays 1
    assert (q[:2].tolist(), v[:2].tolist()) == ([1, 1], [1, 1])
    assert models.state[1] == -1
    # the second by the first: two steps, so 'good' pays 2 and then, as 'worn' follows, 4γ. To
    # repair counts as what was done there
    assert q[2] == v[2] == pytest.approx(2 + 4 * γ)


def test_recordings_that_stop_anywhere_are_valued_by_the_hazard_that_was_seen():
    """Judged by recordings of one and of two steps, cut off: half go on after the first."""
    lengths = [1, 2, 1, 2]
    log = log_of([[0] * n for n in lengths], [[1.0] * n for n in lengths], ended=False)
    for seed in range(20):
        models = crossfit.fit(log, window(1), discount=γ, seed=seed)
        of = models.fold
        for e, n in enumerate(lengths):
            others = [lengths[i] for i in range(4) if of[i] != of[e]]
            on = np.mean([m == 2 for m in others])
            expected = [1 + γ * on, 1][:n]
            q, _ = models.values(KEEPS)
            assert q[log.start[e] : log.start[e + 1]].tolist() == pytest.approx(expected)


def test_a_clock_that_ends_all_episodes_is_a_clock_that_stops_them():
    """Three steps, whether they end then or are cut off."""
    actions, rewards = [[0, 1, 0], [1, 0, 0]] * 3, [[1, 2, 3], [4, 5, 6]] * 3
    found = [
        crossfit.fit(log_of(actions, rewards, ended), window(1), discount=γ, seed=1).values(KEEPS)
        for ended in (True, False)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


def test_dr_with_values_that_know_the_clock_is_unbiased_where_records_are_cut(world):
    """Q̂ of a model of other episodes, half of them cut earlier; every trajectory of 3 steps."""
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    others = jm.simulate(pomdp, old, episodes=30, max_steps=3, seed=1)
    others += jm.simulate(pomdp, old, episodes=30, max_steps=2, seed=2)
    fold = np.repeat([0, 1], [len(log), len(others)])
    both = Replays(log + others).over(join(new.memory, old.memory))
    model = crossfit.ClockModel.of(both, np.arange(len(both.log)) >= len(log))
    state = RowIndex(model.states).find(both.states)[both.at]
    judged = crossfit.CrossFit(both.log, (model,), fold, state, γ)  # fold 1 is nobody's
    q, v = (x[: log.n_steps] for x in judged.values(new))
    ratio = ratios(log, new, old)
    values = estimators.doubly_robust(ratio, log.reward, q, v, log.start, γ)
    exact = jm.evaluate(pomdp, new, horizon=3).value
    assert all_of_it.mean(values) == pytest.approx(exact, abs=1e-12)
    assert np.abs(q).max() > 0.1


@pytest.mark.parametrize("estimator", ["dr", "wdr"])
@pytest.mark.parametrize("ended", [True, False])
def test_a_constant_reward_more_changes_no_difference_where_all_episodes_have_one_length(
    estimator, ended
):
    rng = np.random.default_rng(4)
    actions, rewards = rng.integers(0, 2, (60, 5)).tolist(), rng.normal(size=(60, 5))
    found = [
        offpolicy.estimate(
            log_of(actions, (rewards + more).tolist(), ended), KEEPS, FAIR, discount=γ,
            estimator=estimator, difference=True,
        )
        for more in (0.0, 1000.0)
    ]  # fmt: skip
    assert found[1].value == pytest.approx(found[0].value, abs=1e-9)
    assert found[1].standard_error == pytest.approx(found[0].standard_error, abs=1e-9)
    assert abs(found[0].value) > 0.01


@pytest.mark.parametrize("estimator", offpolicy.ESTIMATORS)
def test_the_policy_that_made_the_log_is_worth_the_logged_mean_return(estimator):
    rng = np.random.default_rng(5)
    log = log_of(rng.integers(0, 2, (40, 3)).tolist(), rng.normal(size=(40, 3)).tolist(), False)
    found = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator=estimator)
    assert found.value == pytest.approx(found.logged, rel=1e-12)
    assert any(text.startswith("40 of 40 episodes were cut off") for text in found.assumptions)


@given(st.data())
def test_v_is_the_mean_of_q_under_the_controller(data):
    """What unbiasedness needs, checked at random: all actions at the same history state."""
    log, controller = data.draw(logs(*NAMES, most_episodes=8)), data.draw(controllers(*NAMES))
    if len(log) < 2:
        return
    models = crossfit.fit(log, controller.memory, discount=γ, seed=np.random.default_rng(1))
    nodes = controller.memory.replay(log.observation, log.action, log.start)
    rows = controller.rows_at(np.column_stack([nodes, log.observation]))
    expected = np.zeros(log.n_steps)
    for a in range(2):
        acted = replace(log, action=np.full(log.n_steps, a))
        q, v = replace(models, log=acted).values(controller)
        expected += rows[:, a] * q
    np.testing.assert_allclose(v, expected, rtol=1e-12, atol=1e-12)


# ---- a real log ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def voicemail():
    """A behavior, a better controller made from other data, a log, and the truth."""
    model = jm.models.voicemail()
    old = jm.train_behavior(model, window(2), softmax=0.6, seed=random_stream(1, "train"))
    other = jm.simulate(model, old, episodes=2000, seed=random_stream(1, "other"))
    new = jm.spibb(jm.count(other, window(3)).mle(0.95), old, n_wedge=30).controller
    log = jm.simulate(model, old, episodes=4000, seed=random_stream(1, "data"))
    return model, new, old, log


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("estimator", offpolicy.ESTIMATORS)
def test_every_estimator_comes_close_to_the_truth(voicemail, estimator, difference):
    """Within 4 standard errors: a false alarm in 16,000 for each of the 12, were the seed new."""
    model, new, old, log = voicemail
    found = offpolicy.estimate(
        log, new, old, discount=0.95, estimator=estimator, difference=difference
    )
    exact = jm.evaluate(model, new).value - difference * jm.evaluate(model, old).value
    assert 0.001 < found.standard_error < 1
    assert abs(found.value - exact) < 4 * found.standard_error


def test_alone_or_together_an_estimator_says_the_same(voicemail):
    _, new, old, log = voicemail
    some = log.select(np.arange(300))
    together = offpolicy.estimate_all(some, new, old, discount=0.95, seed=random_stream(3, "x"))
    assert list(together) == list(offpolicy.ESTIMATORS)
    for name, found in together.items():
        alone = offpolicy.estimate(
            some, new, old, discount=0.95, estimator=name, seed=random_stream(3, "x")
        )
        assert alone == found
