"""Off-policy estimates: unbiased to the last digit by complete enumeration, and honest in words."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jumar as jm
from enumeration import enumerate_all
from jumar import offpolicy
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes, Labels
from jumar.core.errors import ControllerError, LogError, MemoryMismatch, ParameterError
from jumar.core.memory import NamedNodes, window
from jumar.evidence.offpolicy import crossfit, estimators, ranges, weights
from jumar.evidence.offpolicy.estimators import Weighted
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.truth.pomdp import from_arrays
from strategies import controllers, logs, names, random_controller, random_pomdp

NAMES = ("good", "worn"), ("keep", "repair")
γ = 0.9

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
    w = weights.cumulative(weights.ratios(log, new, old), log.start)
    for t in range(3):
        kept = np.minimum(log.start[:-1] + t, log.last)  # an episode that is over keeps its weight
        assert all_of_it.mean(w[kept]) == pytest.approx(1, abs=1e-12)


def test_is_and_pdis_are_unbiased(world):
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value
    data = weights.ratios(log, new, old), log.reward, log.start, γ
    assert abs(exact - jm.evaluate(pomdp, old, horizon=3).value) > 0.01  # there is a difference
    assert all_of_it.mean(estimators.importance(*data)) == pytest.approx(exact, abs=1e-12)
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
    ratio = weights.ratios(log, new, old)
    values = estimators.doubly_robust(ratio, log.reward, q, v, log.start, γ)
    assert all_of_it.mean(values) == pytest.approx(exact, abs=1e-12)
    plain = estimators.pdis(ratio, log.reward, log.start, γ)
    assert np.abs(values - plain).max() > 1  # it is not just PDIS


def test_differences_are_unbiased(world):
    """PDIS minus the return, and DR minus the behavior's own DR with another arbitrary Q̂."""
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value - jm.evaluate(pomdp, old, horizon=3).value
    ratio, ones = weights.ratios(log, new, old), np.ones(log.n_steps)
    plain = estimators.pdis(ratio, log.reward, log.start, γ) - log.returns(γ)
    assert all_of_it.mean(plain) == pytest.approx(exact, abs=1e-12)
    mine = estimators.doubly_robust(ratio, log.reward, *any_values(log, new, 1), log.start, γ)
    own = estimators.doubly_robust(ones, log.reward, *any_values(log, old, 2), log.start, γ)
    assert all_of_it.mean(mine - own) == pytest.approx(exact, abs=1e-12)


def test_floored_values_are_unbiased_and_reach_their_floor_at_most(world):
    pomdp, new, old, all_of_it = world
    log = all_of_it.log
    exact = jm.evaluate(pomdp, new, horizon=3).value
    rewards = RewardRange.constant(log.reward.min(), log.reward.max())
    least = ranges.least_returns(rewards, γ, 3)
    data = weights.ratios(log, new, old), log.reward, log.start, γ
    for values in (
        estimators.floored_pdis(*data, least),
        estimators.floored_importance(*data, least[0]),
    ):
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
    ratio = weights.ratios(log, new, old)
    largest = steps.largest_weights(3)
    w = weights.cumulative(ratio, log.start)
    t = np.arange(log.n_steps) - np.repeat(log.start[:-1], log.lengths)
    for i in range(3):
        assert w[t == i].max() == pytest.approx(largest[i], rel=1e-12)
    low, high = steps.pdis_range(RewardRange.constant(2, 2), γ, 3)
    values = estimators.pdis(ratio, np.full(log.n_steps, 2.0), log.start, γ)
    assert (values.min(), values.max()) == pytest.approx((low, high), rel=1e-12)
    rewards = RewardRange.constant(log.reward.min(), log.reward.max())
    for found, (low, high) in (
        (estimators.pdis(ratio, log.reward, log.start, γ), steps.pdis_range(rewards, γ, 3)),
        (
            estimators.importance(ratio, log.reward, log.start, γ),
            ranges.importance_range(largest, *ranges.return_ranges(rewards, γ, 3)),
        ),
    ):
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


@pytest.mark.parametrize("difference", [False, True])
def test_cross_fitted_dr_is_unbiased_over_all_logs_of_two_episodes(tiny, difference):
    """Each of the two episodes is judged by the model of the other: every pair, exactly."""
    pomdp, new, old, all_of_it = tiny
    exact = jm.evaluate(pomdp, new, horizon=2).value
    exact -= jm.evaluate(pomdp, old, horizon=2).value if difference else 0
    E, p = len(all_of_it.log), all_of_it.probability
    assert E == 4 + 16 + 32  # ended at once; ended at the second step; cut off there, seeing z
    mean = corrected = 0.0
    for i, j in itertools.combinations_with_replacement(range(E), 2):
        log = all_of_it.log.select(np.array([i, j]))
        sample = offpolicy.Sample(log, new, old, γ, 2, np.random.default_rng(1))
        values = sample.contributions("dr", difference)
        mean += (2 - (i == j)) * p[i] * p[j] * values.mean()
        corrected += p[i] * p[j] * np.abs(sample.values[0]).sum()
    assert mean == pytest.approx(exact, abs=1e-12)
    assert corrected > 0.1  # Q̂ was not 0 throughout


# ---- closed forms -------------------------------------------------------------------------------


def log_of(actions: list[list[int]], rewards: list[list[float]], ended: bool = True) -> Episodes:
    """Episodes in which 'good' is all that is ever seen."""
    n = [len(a) for a in actions]
    return Episodes(
        *NAMES,
        np.zeros(sum(n), int),
        np.concatenate(actions),
        np.concatenate(rewards),
        np.cumsum([0, *n]),
        np.full(len(n), -1),
        np.full(len(n), ended),
    )


FAIR = Controller.uniform(*NAMES)
KEEPS = Controller.constant(*NAMES, [0.75, 0.25], name="keeps")
ALWAYS = Controller.constant(*NAMES, [1, 0], name="always keep")


def test_ratios_are_those_of_the_memories_of_both():
    """The target repairs every second time; the behavior tosses a coin."""
    clock = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])
    states = [[0, 0], [0, 1], [1, 0], [1, 1]]
    rows = [[1, 0], [1, 0], [0, 1], [0, 1]]
    new = Controller(*NAMES, clock, np.array(states), np.array(rows, float), [0.5, 0.5])
    log = log_of([[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]])
    assert weights.ratios(log, new, FAIR).tolist() == [2, 2, 2, 2, 0, 2]
    assert weights.final(weights.ratios(log, new, FAIR), log.start).tolist() == [8, 0]


def test_ratios_do_not_depend_on_how_names_are_numbered():
    turned = Controller.constant(NAMES[0][::-1], NAMES[1][::-1], [0.25, 0.75], name="turned")
    log = log_of([[0, 1, 1]], [[0, 0, 0]])
    assert weights.ratios(log, turned, FAIR).tolist() == [1.5, 0.5, 0.5]


@given(st.data())
def test_the_behavior_itself_has_ratio_1_and_every_estimator_gives_its_mean_return(data):
    old = data.draw(controllers(*NAMES))
    log = data.draw(logs(*NAMES))
    try:
        ratio = weights.ratios(log, old, old)
    except LogError:
        return
    assert (ratio == 1).all()
    mean = log.returns(0.5).mean()
    args = ratio, log.reward, log.start, 0.5
    for found in (
        estimators.importance(*args).mean(),
        estimators.pdis(*args).mean(),
        estimators.wis(*args).value,
        estimators.cwpdis(*args).value,
    ):
        assert found == pytest.approx(mean, abs=1e-12)
    less = offpolicy.estimate(log, old, old, discount=0.5, difference=True, estimator="pdis")
    assert less.value == 0


def test_the_six_estimators_by_hand():
    """Weights 1.5 · 1.5 and 0.5; rewards 1, 2 and 4; discount 1/2."""
    log = log_of([[0, 0], [1]], [[1, 2], [4]])
    ratio = weights.ratios(log, KEEPS, FAIR)
    args = ratio, log.reward, log.start, 0.5
    assert estimators.importance(*args).tolist() == [2.25 * 2, 0.5 * 4]
    assert estimators.pdis(*args).tolist() == [1.5 * 1 + 0.5 * 2.25 * 2, 0.5 * 4]
    assert estimators.wis(*args).value == pytest.approx((2.25 * 2 + 0.5 * 4) / 2.75)
    # first step: weights 1.5 and 0.5; second: 2.25, and 0.5 kept by the episode that is over
    by_step = (1.5 * 1 + 0.5 * 4) / 2 + 0.5 * (2.25 * 2) / 2.75
    assert estimators.cwpdis(*args).value == pytest.approx(by_step)
    q, v = np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 7.0])
    given = ratio, log.reward, q, v, log.start, 0.5
    first = 1 + 1.5 * (1 + 0.5 * 5 - 3) + 0.5 * 2.25 * (2 - 1)
    second = 7 + 0.5 * (4 - 2)
    assert estimators.doubly_robust(*given).tolist() == [first, second]
    weighted = (1 + 7) / 2 + (1.5 * 0.5 + 0.5 * 2) / 2 + 0.5 * 2.25 * 1 / 2.75
    assert estimators.weighted_doubly_robust(*given).value == pytest.approx(weighted)


def test_dr_is_the_backward_recursion():
    """x_t = V̂ + ρ (r + γ x_{t+1} - Q̂), as it is usually written."""
    rng = np.random.default_rng(3)
    start = np.array([0, 4, 5, 9])
    ratio, reward, q, v = rng.exponential(size=9), *rng.normal(size=(3, 9))
    expected = []
    for first, last in itertools.pairwise(start):
        x = 0.0
        for t in range(last - 1, first - 1, -1):
            x = v[t] + ratio[t] * (reward[t] + γ * x - q[t])
        expected.append(x)
    found = estimators.doubly_robust(ratio, reward, q, v, start, γ)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_exact_values_make_dr_certain():
    """One state, one action, reward 1, then the end with probability 1/2: V = Q = 1/(1 - γ/2)."""
    Q = 1 / (1 - 0.5 * γ)
    rng = np.random.default_rng(5)
    lengths = rng.geometric(0.5, 400)
    start = np.append(0, np.cumsum(lengths))
    ones = np.ones(start[-1])
    follows = np.full(start[-1], Q)
    # replace the random continuation by its mean, as a deterministic reward would have it
    reward = Q - γ * np.append(follows[1:], 0.0)
    reward[start[1:] - 1] = Q
    found = estimators.doubly_robust(ones, reward, Q * ones, follows, start, γ)
    np.testing.assert_allclose(found, Q, rtol=1e-12)


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


def test_steps_that_no_weight_reaches_say_nothing():
    """The second step of the only two-step episode has weight 0, and so has its first end."""
    sample = Weighted(
        np.array([1.0, 0.0]), np.array([3.0, 100.0]), np.array([0, 2]), np.zeros(1), 1.0
    )
    assert sample.value == 3
    assert np.isfinite(sample.influence).all()


# ---- cross-fitting ------------------------------------------------------------------------------


def test_every_step_is_judged_by_the_model_of_the_other_folds():
    """Three episodes of one step that pay 1, 2 and 6; three folds: the mean of the other two."""
    log = log_of([[0], [0], [0]], [[1], [2], [6]])
    models = crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(0), folds=3)
    q, v = models.values(Controller.constant(*NAMES, [1, 0]))
    assert q.tolist() == v.tolist() == [4.0, 3.5, 1.5]
    assert models.unseen == 0


def test_what_the_others_never_saw_is_not_corrected():
    """'worn' is seen in one episode only; where it is judged, nobody knows it."""
    log = Episodes(*NAMES, [0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 2, 3], [-1, -1], [True, True])
    models = crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(0))
    q, v = models.values(FAIR)
    assert (q[1], v[1]) == (0, 0)
    assert models.unseen == pytest.approx(1 / 3)
    # a pair never tried has Q̂ = 0 too, so V̂ is half of Q̂ for a fair coin
    assert v[0] == q[0] / 2 == 0.5
    # after 'good' came 'worn', which paid 1 for keeping: 1 + γ/2
    assert (q[2], v[2]) == pytest.approx((1 + γ / 2, 0.5 + γ / 4))


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
        q, v = crossfit.CrossFit(
            models.models, models.fold, models.state, np.full(log.n_steps, a)
        ).values(controller)
        expected += rows[:, a] * q
    np.testing.assert_allclose(v, expected, rtol=1e-12, atol=1e-12)


def test_folds_are_dealt_by_the_generator_alone():
    log = log_of([[0]] * 20, [[float(i)] for i in range(20)])
    q = [
        crossfit.fit(log, window(1), discount=γ, seed=np.random.default_rng(s)).values(FAIR)[0]
        for s in (1, 1, 2)
    ]
    assert (q[0] == q[1]).all()
    assert (q[0] != q[2]).any()


def test_an_undiscounted_log_can_be_cross_fitted():
    """The model needs a discount below 1; the estimate does not, and has no bias either way."""
    log = log_of([[0, 0], [0, 0]], [[1, 1], [1, 1]])
    found = offpolicy.estimate(log, ALWAYS, ALWAYS, discount=1.0)
    assert found.value == pytest.approx(2)


@pytest.mark.parametrize(
    ("episodes", "folds", "error", "message"),
    [(1, 2, LogError, "2 folds need at least one each"), (3, 1, ParameterError, "from 2")],
)
def test_too_few_episodes_or_folds(episodes, folds, error, message):
    log = log_of([[0]] * episodes, [[1.0]] * episodes)
    with pytest.raises(error, match=message):
        offpolicy.estimate(log, FAIR, FAIR, discount=γ, folds=folds)


# ---- a real log ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def voicemail():
    """A behavior, a better controller made from other data, a log, and the truth."""
    model = jm.models.voicemail()
    old = jm.train_behavior(model, window(2), softmax=0.6, seed=jm.random_stream(1, "train"))
    other = jm.simulate(model, old, episodes=2000, seed=jm.random_stream(1, "other"))
    new = jm.spibb(jm.count(other, window(3)).mle(0.95), old, n_wedge=30).controller
    log = jm.simulate(model, old, episodes=4000, seed=jm.random_stream(1, "data"))
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


@pytest.mark.parametrize("estimator", ["wis", "cwpdis", "wdr"])
def test_weighted_estimators_are_consistent(voicemail, estimator):
    """Error over 20 logs of 200 and of 3,200 episodes: 16 times the data, about a quarter of it.
    The ratio of root mean squares strays from 1/4 by a factor of 2.4 with a chance below 0.1 %."""
    model, new, old, _ = voicemail
    exact = jm.evaluate(model, new).value

    def error(size: int) -> float:
        off = []
        for i in range(20):
            log = jm.simulate(
                model, old, episodes=size, seed=jm.random_stream(i, "consistent", size)
            )
            sample = offpolicy.Sample(log, new, old, 0.95, 2, jm.random_stream(i, "folds"))
            off.append(sample.contributions(estimator, False).value - exact)
        return float(np.sqrt(np.mean(np.square(off))))

    assert error(3200) < 0.6 * error(200)


def test_the_difference_is_steadier_than_two_values(voicemail):
    _, new, old, log = voicemail
    for name in ("pdis", "dr"):
        value = offpolicy.estimate(log, new, old, discount=0.95, estimator=name)
        less = offpolicy.estimate(log, new, old, discount=0.95, estimator=name, difference=True)
        assert less.standard_error < value.standard_error


def test_alone_or_together_an_estimator_says_the_same(voicemail):
    _, new, old, log = voicemail
    some = log.select(np.arange(300))
    together = offpolicy.estimate_all(some, new, old, discount=0.95, seed=jm.random_stream(3, "x"))
    assert list(together) == list(offpolicy.ESTIMATORS)
    for name, found in together.items():
        alone = offpolicy.estimate(
            some, new, old, discount=0.95, estimator=name, seed=jm.random_stream(3, "x")
        )
        assert alone == found


def test_the_parts_serve_many_controllers_on_one_log(voicemail):
    """What a selection does: the behavior and the models once, then every candidate."""
    _, new, old, log = voicemail
    p_old = weights.behavior_taken(log, old)
    models = crossfit.fit(
        log, new.memory, discount=0.95, seed=jm.random_stream(1, "offpolicy").spawn(1)[0], folds=2
    )
    q, v = models.values(new)
    ratio = weights.taken(log, new) / p_old
    mean = estimators.doubly_robust(ratio, log.reward, q, v, log.start, 0.95).mean()
    assert mean == offpolicy.estimate(log, new, old, discount=0.95).value


# ---- what it says -------------------------------------------------------------------------------


def test_effective_size_and_the_heaviest_episode():
    w = np.array([3.0, 1.0, 0.0, 0.0])
    assert weights.effective_size(w) == pytest.approx(16 / 10)
    assert weights.largest_share(w) == 0.75
    assert weights.effective_size(1e200 * w) == pytest.approx(1.6)  # squares would overflow
    assert weights.effective_size(0 * w) == weights.largest_share(0 * w) == 0


def test_little_evidence_is_said_plainly():
    """Nine steps kept with probability 1/2 each: one episode of 100 follows 'always keep'."""
    log = log_of([[0] * 9] + [[1] * 9] * 99, [[1] * 9] * 100)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="wis")
    assert found.effective_size == 1
    assert found.warnings[0].startswith(
        "Do not trust this interval: the 100 episodes say as much as 1 ordinary ones"
    )
    assert found.warnings[1] == "One episode carries 100% of all weight."
    plenty = offpolicy.estimate(log, FAIR, FAIR, discount=γ, estimator="pdis")
    assert plenty.effective_size == pytest.approx(100)
    assert plenty.warnings == ("All values are equal, so the interval has no width; "
                               "do not trust that.",)  # fmt: skip


@pytest.mark.parametrize("estimator", offpolicy.ESTIMATORS)
def test_a_log_that_the_target_never_follows_tells_nothing(estimator):
    log = log_of([[1, 0], [1]], [[1, 1], [1]])
    with pytest.raises(LogError, match="None of the 2 episodes is one that always keep could"):
        offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator=estimator)


BEGINNINGS = [[[0, 1], [1, 0]], [[3, 5], [7, 7]]]  # only one step is one of always keep


def test_beginnings_are_enough_for_pdis():
    """Its one kept step weighs 2 and pays 3, the other episode nothing: (6 + 0) / 2."""
    log = log_of(*BEGINNINGS)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="pdis")
    assert found.value == 3
    assert found.effective_size == 0
    assert found.warnings[0].startswith("No logged episode is one that this controller could")


def test_beginnings_are_enough_for_doubly_robust_estimates():
    """Each episode is judged by the other. The second says that keeping pays 7 and is the end: the
    first is worth 7 + 2 (3 + 7γ - 7). The first says that keeping pays 3 and goes on: the second,
    which begins with what is never done, is worth 3 / (1 - γ)."""
    log = log_of(*BEGINNINGS)
    found = offpolicy.estimate(log, ALWAYS, FAIR, discount=γ, estimator="dr")
    assert found.value == pytest.approx((7 + 2 * (7 * γ - 4) + 3 / (1 - γ)) / 2)
    assert found.effective_size == 0


@pytest.mark.parametrize("estimator", ["is", "wis", "cwpdis", "wdr"])
def test_beginnings_are_not_enough_for_what_needs_whole_episodes(estimator):
    message = f"always keep could have made from beginning to end: .* {estimator} needs at least"
    with pytest.raises(LogError, match=message):
        offpolicy.estimate(log_of(*BEGINNINGS), ALWAYS, FAIR, discount=γ, estimator=estimator)


def test_all_estimators_are_then_those_that_learn_from_beginnings():
    log = log_of(*BEGINNINGS)
    assert list(offpolicy.estimate_all(log, ALWAYS, FAIR, discount=γ)) == ["pdis", "dr"]


def test_one_cut_off_episode_of_one_step_is_counted_as_one():
    settings = {"discount": γ, "estimator": "pdis", "interval": "hoeffding"}
    two = log_of([[0]], [[1]], ended=False) + log_of([[0]], [[1]])
    found = offpolicy.estimate(two, FAIR, FAIR, **settings)
    assert any(text.startswith("1 of 2 episodes was cut off") for text in found.assumptions)
    assert any(text.endswith("none has more than 1 step.") for text in found.assumptions)
    assert found.notes[0].startswith("Over 1 step an episode's weight")


@pytest.mark.parametrize("estimator", ["is", "pdis"])
def test_one_episode_is_not_called_episodes(estimator):
    with pytest.raises(LogError, match="The only episode is not one that always keep could"):
        offpolicy.estimate(log_of([[1]], [[1]]), ALWAYS, FAIR, discount=γ, estimator=estimator)
    with pytest.raises(LogError, match="The log has 1 episode; 2 folds"):
        offpolicy.estimate(log_of([[0]], [[1]]), ALWAYS, FAIR, discount=γ, estimator="dr")


def test_an_impossible_action_names_its_place():
    log = log_of([[0, 0], [0, 1]], [[0, 0], [0, 0]])
    with pytest.raises(LogError, match=r"episode 1, step 1: action 'repair' was taken, but always"):
        weights.ratios(log, FAIR, ALWAYS)


def test_what_the_behavior_never_does_cannot_be_judged():
    log = log_of([[0, 0]], [[0, 0]])
    message = (
        r"Log, episode 0, step 0: here keeps may do 'repair', which always keep never does "
        r"\(2 such steps in all\)"
    )
    with pytest.raises(ControllerError, match=message):
        offpolicy.estimate(log, KEEPS, ALWAYS, discount=γ)


def test_an_action_only_the_target_knows_cannot_be_judged():
    more = Controller.constant(NAMES[0], (*NAMES[1], "sell"), [0.5, 0.25, 0.25], name="sells")
    with pytest.raises(ControllerError, match="here sells may do 'sell', which uniform never"):
        offpolicy.estimate(log_of([[0]], [[0]]), more, FAIR, discount=γ, estimator="is")


def test_what_happens_after_the_target_left_need_not_be_covered():
    """After 'repair' the behavior always keeps and the target may not; but the target never
    repairs, so it is never there."""
    memory = window(2, actions=True).on(2, 2)
    after = Controller.uniform(*NAMES, memory=memory).state([["good", "repair"]], "good")
    old = Controller(*NAMES, memory, after[None], [[1.0, 0.0]], [0.5, 0.5], name="old")
    new = Controller(*NAMES, memory, after[None], [[0.0, 1.0]], [1.0, 0.0], name="new")
    log = log_of([[1, 0], [0, 0]], [[0, 0], [1, 1]])
    found = offpolicy.estimate(log, new, old, discount=1.0, estimator="is")
    assert found.value == 0.5 * 4 * 2
    assert not any("Wherever" in text for text in found.assumptions)


def test_coverage_that_only_the_log_vouches_for_is_an_assumption():
    """On 'worn', never seen in the log, the target does what the behavior never does."""
    old = Controller(*NAMES, window(1), [[1]], [[1.0, 0.0]], [0.5, 0.5], name="old")
    found = offpolicy.estimate(log_of([[0]] * 3, [[1]] * 3), FAIR, old, discount=γ, estimator="is")
    assert "checked only where the log leads" in found.assumptions[3]


def test_names_in_another_order_are_refused_where_the_memories_must_be_joined():
    turned = Controller.constant(NAMES[0][::-1], NAMES[1], [0.25, 0.75], name="turned")
    log = log_of([[0], [1]], [[0], [1]])
    assert offpolicy.estimate(log, turned, FAIR, discount=γ, estimator="pdis").value == 0.75
    with pytest.raises(MemoryMismatch, match="turned and uniform do not list the same obs"):
        offpolicy.estimate(log, turned, FAIR, discount=γ)


def test_a_logged_node_that_replaying_does_not_come_to_is_refused():
    clock = NamedNodes(("even", "odd"), [[[1, 1]] * 2, [[0, 0]] * 2])
    old = Controller.uniform(*NAMES, memory=clock, name="clock")
    log = log_of([[0, 1]], [[0, 0]])
    for code, message in (([0, 1], None), ([0, 0], "the memory was 'even', but clock")):
        told = replace(log, node=Labels(("even", "odd"), code))
        if message is None:
            assert offpolicy.estimate(told, old, old, discount=γ, estimator="is").value == 0
        else:
            with pytest.raises(LogError, match=message):
                offpolicy.estimate(told, old, old, discount=γ, estimator="is")


def test_weights_beyond_all_numbers_are_refused():
    rare = Controller.constant(*NAMES, [1 - 1e-9, 1e-9], name="rare")
    log = log_of([[1] * 40], [[0.0] * 40])
    with pytest.raises(LogError, match=r"too large to compute with\. Did rare produce this log"):
        offpolicy.estimate(log, FAIR, rare, discount=γ, estimator="is")


def test_cut_off_episodes_count_up_to_the_cut_and_it_is_said():
    log = log_of([[0, 0]] * 3, [[1, 1]] * 3, ended=False)
    found = offpolicy.estimate(log, ALWAYS, ALWAYS, discount=0.5)
    assert found.value == 1.5
    assert any(text.startswith("3 of 3 episodes were cut off") for text in found.assumptions)


# ---- ranges and proved intervals ----------------------------------------------------------------


def test_a_proved_interval_by_hand():
    """Ratios up to 3/2 over at most 2 steps, rewards 0 to 1, no discount: PDIS lies in
    0 to 1.5 + 2.25 = 3.75, and Hoeffding's radius is 3.75 √(ln(2/δ) / 2n)."""
    log = log_of([[0, 1], [1]] * 50, [[0, 1], [1]] * 50)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=1.0, estimator="pdis", interval="hoeffding",
        rewards=RewardRange.constant(0, 1), horizon=2,
    )  # fmt: skip
    radius = 3.75 * math.sqrt(math.log(2 / 0.05) / 200)
    assert found.value == pytest.approx((0.75 + 0.5) / 2)
    assert (found.lower, found.upper) == pytest.approx((0.625 - radius, 0.625 + radius))
    assert found.validity is Validity.PROVED
    assert found.possible == (0, 2)
    assert found.notes == (
        "Over 2 steps an episode's weight could be as large as 2.25; proved intervals must allow "
        "for it.",
    )
    assert not any("read off" in text for text in found.assumptions)


def test_what_was_only_read_off_the_log_is_assumed_aloud():
    log = log_of([[0, 1], [1]] * 50, [[0, 1], [1]] * 50)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=1.0, estimator="pdis", interval="bernstein"
    )
    said = " ".join(found.assumptions)
    assert "The reward range was only read off the log" in said
    assert "none has more than 2 steps" in said
    asymptotic = offpolicy.estimate(log, KEEPS, FAIR, discount=1.0, estimator="pdis")
    assert not any("read off" in text for text in asymptotic.assumptions)


@pytest.mark.parametrize("estimator", ["is", "pdis"])
@pytest.mark.parametrize("difference", [False, True])
def test_an_astronomical_range_is_called_vacuous(estimator, difference):
    log = log_of([[0] * 30, [1] * 30] * 20, [[1] * 30, [0] * 30] * 20)
    for horizon, size in ((300, "6.72e+52"), (3000, "more than 1e308")):
        found = offpolicy.estimate(
            log, KEEPS, FAIR, discount=γ, estimator=estimator, interval="hoeffding",
            horizon=horizon, difference=difference,
        )  # fmt: skip
        assert found.vacuous
        assert found.verdict.startswith("vacuous: the interval ")
        assert size in found.notes[0]
        json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict()["lower"] is None
    assert "the interval anything excludes nothing" in found.verdict


def test_truncation_needs_no_upper_end():
    """The same log, whose upper end is astronomical: a lower bound above the least return 0."""
    log = log_of([[0] * 30, [1] * 30, [0, 1]] * 200, [[1] * 30, [0] * 30, [1, 0]] * 200)
    found = offpolicy.estimate(
        log, KEEPS, FAIR, discount=γ, estimator="pdis", interval="truncated", horizon=300
    )
    assert 0 < found.lower < found.value
    assert (found.upper, found.sides) == (math.inf, "lower")
    assert found.validity is Validity.PROVED_IF_SEEN  # the rewards are those of the log
    assert found.verdict.startswith("The expected return is at least ")


def test_memories_too_large_to_join_get_the_crude_range(monkeypatch):
    """The rarest thing the behavior does has probability 1/4, so a weight is at most 4^t."""
    monkeypatch.setattr(ranges, "MOST_NODES", 3)
    long = Controller.uniform(*NAMES, memory=window(3))
    steps = ranges.steps_of(long, KEEPS)
    assert steps.largest_weights(3).tolist() == [4, 16, 64]
    assert steps.covered  # whatever it does, the behavior does everything
    assert not ranges._crude(ALWAYS).covered
    assert steps.pdis_range(RewardRange((-1, 2)), 1.0, 2) == (-20, 40)


@given(st.data())
def test_no_log_of_the_behavior_leaves_the_ranges(data):
    new, old, log = (data.draw(thing(*NAMES)) for thing in (controllers, controllers, logs))
    try:
        ratio = weights.ratios(log, new, old)
    except LogError:
        return
    from jumar.evidence.consistency import rewards_seen

    seen, horizon = rewards_seen(log), int(log.lengths.max())
    steps = ranges.steps_of(new, old)
    low, high = ranges.return_ranges(seen, γ, horizon)
    largest = steps.largest_weights(horizon)
    least = ranges.least_returns(seen, γ, horizon)
    assert least[0] == pytest.approx(low.min(), rel=1e-12)
    args = ratio, log.reward, log.start, γ
    G = log.returns(γ)
    for values, (bottom, top) in (
        (G, (low.min(), high.max())),
        (estimators.pdis(*args), steps.pdis_range(seen, γ, horizon)),
        (estimators.importance(*args), ranges.importance_range(largest, low, high)),
        (estimators.importance(*args) - G, ranges.importance_range(largest, low, high, less=1)),
        (estimators.floored_pdis(*args, least), (least[0], math.inf)),
        (estimators.floored_importance(*args, least[0]), (least[0], math.inf)),
    ):
        slack = 1e-9 * (1 + np.abs(values).max())
        assert bottom - slack <= values.min()
        assert values.max() <= top + slack


def test_an_episode_beyond_the_declared_horizon_names_its_place():
    log = log_of([[0], [0, 0, 0]], [[1], [1, 1, 1]])
    with pytest.raises(LogError, match="episode 1, step 0: this episode has 3 steps, more than"):
        offpolicy.estimate(log, FAIR, FAIR, discount=γ, horizon=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"estimator": "drr"}, "estimator 'drr' is not one of is, pdis, .* Did you mean 'dr'"),
        ({"interval": "bcaa"}, "interval 'bcaa' is not one of .* Did you mean 'bca'"),
        ({"interval": "hoeffding"}, "not for dr, whose values have no range .* or estimator pdis"),
        ({"estimator": "wis", "interval": "t"}, "not for wis, which is no mean .* bca, boots"),
        ({"estimator": "is", "interval": "truncated", "sides": "two"}, "from below only"),
        ({"sides": "left"}, "sides 'left' is not one of two, lower, upper"),
        ({"delta": 1.0}, "not strictly between 0 and 1"),
        ({"discount": 1.5}, r"discount: 1.5 must lie in \[0, 1\]"),
        ({"horizon": 0}, "horizon 0 is less than 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    log = log_of([[0], [1]], [[1], [1]])
    with pytest.raises(ParameterError, match=message):
        offpolicy.estimate(log, FAIR, FAIR, **{"discount": γ, **wrong})


def test_rewards_outside_the_declared_range_are_refused():
    log = log_of([[0], [1]], [[1], [5]])
    with pytest.raises(LogError, match="reward 5 lies outside 0 to 1"):
        offpolicy.estimate(log, FAIR, FAIR, discount=γ, rewards=RewardRange.constant(0, 1))


# ---- the verdict --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "begins"),
    [([1.0, 0.0], "Better than the behavior by at least 0.2"),
     ([0.0, 1.0], "Worse than the behavior by at least 0.2"),
     ([1.0, 1.0], "Not decided: the difference to the behavior is in -0.")],
)  # fmt: skip
def test_the_verdict_says_which_is_better(rewards, begins):
    """Keeping pays rewards[0], repairing rewards[1]; the target keeps 3 times in 4."""
    pays = [[rewards[i % 2]] for i in range(100)]
    found = offpolicy.estimate(
        log_of([[i % 2] for i in range(100)], pays), KEEPS, FAIR, discount=γ,
        estimator="is", difference=True,
    )  # fmt: skip
    assert found.verdict.startswith(begins)
    assert "(asymptotic, nominally 5 % chance of error)" in found.verdict
    assert found.to_dict()["verdict"] == found.verdict
