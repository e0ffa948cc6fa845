"""Robust improvement, RaMDP and MBIE: worst cases by hand, by sampled models, and in any unit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms import run
from jumar.algorithms.mbie import kappa_of
from jumar.algorithms.robust import _Ball, best_case, worst_case
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.rewards import RewardRange, rewards_in
from jumar.evidence.robust import radius
from jumar.evidence.validity import Validity
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.tally.history import HistoryMdp
from jumar.tally.replay import count
from strategies import (
    dense,
    memoryless,
    names,
    random_controller,
    random_mdp,
    random_pomdp,
    seen_whole,
)

ANY = RewardRange.constant(-4, 4)


def table() -> tuple[HistoryMdp, Controller]:
    """The two-state table of the notes: x0, x1, three actions."""
    follows = np.array([[[6, 4], [8, 0], [1, 0]], [[0, 10], [5, 5], [0, 2]]])
    ends = np.array([[0, 2, 1], [0, 0, 2]])
    n = follows.sum(2) + ends
    h, a, to = np.nonzero(follows)
    mdp = HistoryMdp(
        names("z", 2), names("a", 3), window(1).on(2, 3), np.arange(2)[:, None], n,
        [[0, 1, 5], [0.5, 0, 3]], ends / n, [0.5, 0.5], h * 3 + a, to,
        follows[h, a, to] / n[h, a], 0.95,
    )  # fmt: skip
    rows = [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]
    old = Controller(mdp.observations, mdp.actions, window(1), [[0], [1]], rows, [1, 0, 0])
    return mdp, old


# ---- RaMDP and MBIE -----------------------------------------------------------------------------


def test_ramdp_by_hand():
    """κ = 0.5 in units of reward. The range of returns is 100: from 0/(1-γ) to 5/(1-γ)."""
    mdp, old = table()
    found = run("ramdp", mdp, old, kappa=0.5 / 100)
    assert found.policy.argmax(1).tolist() == [2, 1]
    basic = run("ramdp", mdp, old, kappa=0)
    assert basic.policy.tolist() == run("basic", mdp, old).policy.tolist()
    assert basic.policy.argmax(1).tolist() == [2, 0]
    np.testing.assert_allclose(basic.values, [9.5238095238, 10], atol=1e-9)


def obvious_ramdp(mdp: HistoryMdp, kappa: float, width: float) -> list[int]:
    """Value iteration on the penalised model; every pair was tried."""
    r, P, v = mdp.reward - kappa * width / np.sqrt(mdp.visits), dense(mdp), np.zeros(len(mdp))
    for _ in range(3000):
        v = (r + mdp.discount * P @ v).max(1)
    return (r + mdp.discount * P @ v).argmax(1).tolist()


def some(seed: int, H: int = 5, A: int = 3, most: int = 60) -> tuple[HistoryMdp, Controller]:
    """A model with counts of its own for every pair."""
    rng = np.random.default_rng(seed)
    mdp = replace(random_mdp(rng, H, A), visits=rng.integers(1, most, (H, A)))
    return mdp, memoryless(rng, mdp)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kappa", [0.001, 0.05, 0.5])
def test_ramdp_is_the_greedy_policy_of_the_penalised_model(seed, kappa):
    mdp, old = some(seed)
    low, high = rewards_in(mdp).returns(0.9)
    found = run("ramdp", mdp, old, kappa=kappa)
    assert found.policy.argmax(1).tolist() == obvious_ramdp(mdp, kappa, high - low)


@pytest.mark.parametrize("name", ["ramdp", "mbie", "robust", "soft", "decision_points", "tilt"])
@pytest.mark.parametrize("unit", [0.001, 1 / 3, 1e6])
@pytest.mark.parametrize("seed", range(2))
def test_the_unit_of_rewards_does_not_matter(name, unit, seed):
    mdp, old = some(seed)
    more = {"rewards": ANY} if name in ("ramdp", "mbie", "robust") else {}
    here = run(name, mdp, old, **more)
    if more:
        more = {"rewards": RewardRange.constant(-4 * unit, 4 * unit)}
    there = run(name, replace(mdp, reward=mdp.reward * unit), old, **more)
    close = 1e-6 if name == "tilt" else 1e-12  # its values are found by sweeps
    np.testing.assert_allclose(there.policy, here.policy, rtol=0, atol=close)


def without_ends(mdp: HistoryMdp) -> HistoryMdp:
    on = 1 - mdp.ending.ravel()[mdp.pair]
    return replace(mdp, ending=np.zeros(mdp.shape), probability=mdp.probability / on)


@pytest.mark.parametrize("name", ["ramdp", "mbie", "robust"])
@pytest.mark.parametrize("more_each_step", [-100.0, 0.5, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_what_every_step_pays_more_does_not_matter_where_none_ends(name, more_each_step, seed):
    mdp, old = some(seed)
    mdp = without_ends(mdp)
    here = run(name, mdp, old, rewards=RewardRange((-4, 4)))
    there = run(
        name, replace(mdp, reward=mdp.reward + more_each_step), old,
        rewards=RewardRange((-4 + more_each_step, 4 + more_each_step)),
    )  # fmt: skip
    assert here.policy.tolist() == there.policy.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_mbie_is_ramdp_with_the_penalty_of_hoeffding(seed):
    """15 pairs: κ = √(ln(2·15/0.05)/2)."""
    mdp, old = some(seed)
    assert kappa_of(mdp, 0.05) == pytest.approx(math.sqrt(math.log(600) / 2))
    mbie = run("mbie", mdp, old, rewards=ANY)
    ramdp = run("ramdp", mdp, old, kappa=kappa_of(mdp, 0.05), rewards=ANY)
    assert mbie.policy.tobytes() == ramdp.policy.tobytes()


def one_choice(tries: int) -> tuple[HistoryMdp, Controller]:
    """One step: a0 pays 1 and was tried 100 times, a1 pays 2 and was tried `tries` times; a2
    never."""
    n = 100 + tries
    action = [0] * 100 + [1] * tries
    log = Episodes(("z",), names("a", 3), [0] * n, action, [1.0 + a for a in action],
                   range(n + 1), [-1] * n, [True] * n)  # fmt: skip
    return count(log, window(1)).mle(0.5), Controller.uniform(("z",), names("a", 3))


def test_a_penalty_prefers_what_was_tried_often_and_never_what_was_not():
    """Returns lie in [1, 4]: κ·3/√1 - κ·3/√100 > 1 from κ = 0.37 on."""
    mdp, old = one_choice(1)
    assert run("ramdp", mdp, old, kappa=0.3).policy.tolist() == [[0, 1, 0]]
    assert run("ramdp", mdp, old, kappa=0.4).policy.tolist() == [[1, 0, 0]]
    assert run("ramdp", mdp, old, kappa=1e6).policy.tolist() == [[1, 0, 0]]
    assert run("ramdp", one_choice(100)[0], old, kappa=1e6).policy.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("kappa", [-1, math.nan, math.inf, "x"])
def test_a_kappa_that_is_no_penalty_is_an_error(kappa):
    with pytest.raises(ParameterError, match=r"kappa: .*0 is Basic RL"):
        run("ramdp", *one_choice(1), kappa=kappa)


# ---- the worst case -----------------------------------------------------------------------------


def test_the_worst_law_by_hand():
    """p = (.5, .3, .2) on values (1, 2, 3) with an L1 radius of .4: (.7, .3, 0), worth 1.3."""
    mdp = HistoryMdp(
        names("z", 3), ("a",), window(1).on(3, 1), np.arange(3)[:, None], [[9], [9], [9]],
        [[0.0], [0.0], [0.0]], [[0.0], [1.0], [1.0]], [1, 0, 0], [0, 0, 0], [0, 1, 2],
        [0.5, 0.3, 0.2], 0.9,
    )  # fmt: skip
    ball = _Ball(mdp, RewardRange((0, 4)), 0.05)
    ball.half[:], ball.reward[:] = 0.2, 0.0
    kept, given, target, q = ball.answer(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(kept, [0.5, 0.3, 0.0], atol=1e-15)
    assert (given[0], target[0]) == (pytest.approx(0.2), 0)
    assert q[0] == pytest.approx(0.9 * 1.3)


def test_the_radius_counts_outcomes_and_not_history_states():
    """Tiger over windows of 2: all its pairs, and 3 outcomes: two observations and the end."""
    tiger = jm.models.tiger()
    fair = Controller.uniform(tiger.observations, tiger.actions)
    mdp = jm.count(jm.simulate(tiger, fair, episodes=50), window(2)).mle(0.95)
    ball = _Ball(mdp, RewardRange((-1, -1), (-100, 10)), 0.05)
    pairs = mdp.memory.count_nodes() * 2 * 3
    events = math.log((pairs + 1) * 4 / 0.05)
    assert ball.log_events == pytest.approx(events)
    expected = radius(mdp.visits, events) / 2
    np.testing.assert_allclose(ball.half.reshape(mdp.shape), expected, rtol=1e-12)


def obvious_worst_case(mdp: HistoryMdp, ball: _Ball, policy: np.ndarray) -> np.ndarray:
    """Value iteration with a linear program for every law, over window(1) with all states seen."""
    from scipy.optimize import linprog

    H, A = mdp.shape
    P = dense(mdp).reshape(H * A, H)
    v = np.full(H, ball.lowest)
    for _ in range(400):
        q, values = np.empty(H * A), np.append(v, 0.0)
        for p in range(H * A):
            law = np.append(P[p], mdp.ending.ravel()[p])
            eye, m = np.eye(H + 1), H + 1
            found = linprog(
                np.append(values, np.zeros(m)),
                A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros(m), np.ones(m)]]),
                b_ub=np.concatenate([law, -law, [2 * ball.half[p]]]),
                A_eq=np.append(np.ones(m), np.zeros(m))[None], b_eq=[1.0], bounds=(0, None),
            )  # fmt: skip
            q[p] = max(ball.lowest, ball.reward[p] + mdp.discount * found.fun)
        new = (policy * q.reshape(H, A)).sum(1)
        if np.abs(new - v).max() < 1e-9:
            return new
        v = new
    return v


@pytest.mark.parametrize("seed", range(2))
def test_the_worst_case_is_that_of_value_iteration_with_linear_programs(seed):
    mdp, old = some(seed, H=3, A=2, most=4000)
    mdp = replace(mdp, discount=0.6)
    policy = mdp.policy_of(old)
    ball = _Ball(mdp, ANY, 0.05)
    found = worst_case(mdp, policy, rewards=ANY, delta=0.05)
    np.testing.assert_allclose(found.values, obvious_worst_case(mdp, ball, policy), atol=1e-7)
    # the best case is the worst case of the losses; ANY is the same range for both
    losses = replace(mdp, reward=-mdp.reward)
    worst = obvious_worst_case(losses, _Ball(losses, ANY, 0.05), policy)
    best = best_case(mdp, policy, rewards=ANY, delta=0.05)
    np.testing.assert_allclose(best.values, -worst, atol=1e-7)


def test_the_robust_policy_has_the_best_worst_case_of_all():
    import itertools

    for seed in range(4):
        mdp, old = some(seed, H=3, most=5000)
        found = run("robust", mdp, old, rewards=ANY).policy
        best = worst_case(mdp, found, rewards=ANY, delta=0.05).values
        for choice in itertools.product(range(3), repeat=3):
            other = worst_case(mdp, np.eye(3)[list(choice)], rewards=ANY, delta=0.05).values
            assert (other <= best + 1e-6).all()


def test_what_was_never_seen_is_as_bad_as_rewards_allow():
    """z0 was left twice for itself; z1 was never seen. With so few visits everything may lead
    there: the worst case is the least of all returns, and there is no reason to change."""
    old = Controller.uniform(names("z", 2), names("a", 2))
    log = Episodes(old.observations, old.actions, [0, 0], [0, 1], [1, 2], [0, 2], [0], [False])
    mdp = count(log, window(1)).mle(0.5)
    rewards = RewardRange((0, 4))
    found = run("robust", mdp, old, rewards=rewards)
    assert found.changed == 0
    assert worst_case(mdp, found.policy, rewards=rewards, delta=0.05).values.tolist() == [0.0]
    assert best_case(mdp, found.policy, rewards=rewards, delta=0.05).values.tolist() == [8.0]


def test_first_observations_are_uncertain_too():
    mdp, old = some(1, most=10**6)
    policy = mdp.policy_of(old)
    few, many, all_ = (
        worst_case(mdp, policy, rewards=ANY, delta=0.05, episodes=n).start for n in (3, 10**5, None)
    )
    values = worst_case(mdp, policy, rewards=ANY, delta=0.05).values
    assert few == pytest.approx(values.min())
    assert few < many < all_ == pytest.approx(mdp.start @ values)


# ---- its certificate ----------------------------------------------------------------------------


def test_the_worst_case_holds_for_the_truth_on_tiger():
    """Listening alone needs no memory, so over window(1) the behavior's own value is bounded."""
    tiger = jm.models.tiger()
    fair = Controller.uniform(tiger.observations, tiger.actions)
    rewards = RewardRange((-1, -1), (-100, 10))
    truth = jm.evaluate(tiger, fair).value
    for episodes in (100, 5000, 100_000):
        log = jm.simulate(tiger, fair, episodes=episodes, seed=random_stream(1, "robust"))
        mdp = jm.count(log, window(1)).mle(0.95)
        seen = {"rewards": rewards, "delta": 0.05, "episodes": episodes}
        low = worst_case(mdp, mdp.policy_of(fair), **seen).start
        high = best_case(mdp, mdp.policy_of(fair), **seen).start
        assert -100 <= low <= truth <= high <= 10


@pytest.mark.parametrize("seed", range(3))
def test_its_certificate_is_worst_against_best(seed):
    rng = np.random.default_rng(seed)
    model = random_pomdp(rng, 1, 2, 1, 0.5)
    old = random_controller(rng, model, window(1))
    log = jm.simulate(model, old, episodes=20_000, seed=random_stream(seed, "robust"))
    low, high = float(log.reward.min()), float(log.reward.max())
    rewards = RewardRange.constant(low, high)
    found = jm.improve(log, old, discount=0.5, algorithm="robust", rewards=rewards)
    if found.improvement.changed == 0:
        pytest.skip("the behavior has the best worst case")
    (own,) = (c for c in found.certificates if c.bound == "robust")
    assert own.validity is Validity.PROVED_IF_SUFFICIENT
    mdp, seen = found.improvement.mdp, {"rewards": rewards, "delta": 0.05, "episodes": 20_000}
    new = worst_case(mdp, found.improvement.policy, **seen).start
    before = best_case(mdp, found.improvement.behavior_policy, **seen).start
    assert own.zeta == pytest.approx(before - new, abs=1e-12)
    gain = jm.evaluate(model, found.controller).value - jm.evaluate(model, old).value
    assert gain >= -own.zeta


def test_no_more_is_promised_than_could_be_gained():
    """What could be gained at all is known to the certificate, and it does not say more."""
    tiger = jm.models.tiger()
    fair = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, fair, episodes=5000, seed=random_stream(2, "robust"))
    found = jm.improve(
        log, fair, discount=0.95, algorithm="robust", rewards=RewardRange((-1, -1), (-100, 10))
    )
    (own,) = (c for c in found.certificates if c.bound == "robust")
    assert own.most is not None
    assert -own.zeta <= own.most


def test_the_worst_case_holds_for_the_truth_where_observations_are_states():
    """40 logs at δ = 0.2: the truth is in every interval. If each failed with a chance of 0.2, more
    than 15 would with a chance of 0.3 %. With 20,000 episodes the bounds are worth something."""
    failures, widths = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = seen_whole(rng, 3, 2)
        old = random_controller(rng, model, window(1))
        episodes = 100 if seed % 2 else 20_000
        log = jm.simulate(model, old, episodes=episodes, seed=random_stream(seed, "ball"))
        mdp = jm.count(log, window(1)).mle(0.8)
        seen = {"rewards": RewardRange.constant(-1, 1), "delta": 0.2}
        found = run("robust", mdp, old, **seen)
        low, high = (
            case(mdp, found.policy, **seen, episodes=episodes).start
            for case in (worst_case, best_case)
        )
        failures += not low <= jm.evaluate(model, found.controller).value <= high
        widths.append((episodes, high - low))
    assert failures <= 15
    assert np.mean([w for n, w in widths if n == 20_000]) < 2  # of 10
