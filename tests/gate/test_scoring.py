"""Floored scores: the kernel's twin, unbiased by complete enumeration, never below the floor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jumar as jm
from enumeration import enumerate_all
from jumar.evidence.offpolicy.estimators import doubly_robust
from jumar.evidence.rewards import RewardRange
from jumar.gate import scoring
from jumar.gate.limits import Limits, limits_of
from jumar.gate.scoring import within_budget
from jumar.log.episodes import Episodes
from jumar.memory import NamedNodes, window
from jumar.memory.refinement import join
from jumar.tally.replay import Replay
from strategies import random_controller, random_pomdp

γ = 0.9

# ---- the twin -----------------------------------------------------------------------------------


def floored_differences(*case):
    """The scores for one floor, which stands before the discount."""
    *most, floor, discount = case
    return scoring.floored_differences(*most, np.array([floor]), discount)[0]


def obvious_within_budget(y, p, budget):
    """max(y - λ, -budget) for every action that can occur, its mean under p brought to 0."""
    some = p > 0

    def mean(λ):
        return float(p[some] @ np.maximum(y[some] - λ, -budget))

    low, high = y[some].min() - 1.0, y[some].max() + budget + 1.0
    for _ in range(200):
        λ = (low + high) / 2
        low, high = (λ, high) if mean(λ) > 0 else (low, λ)
    return np.where(some, np.maximum(y - high, -budget), 0.0)


def obvious_floored_differences(
    at, action, reward, start, episodes, rows, taken, behavior, row_of, above, below, low, high,
    floor, discount,
):  # fmt: skip
    """The docstring, line by line."""

    def until(table, t):
        return table[min(t, len(table) - 1)]

    scores = []
    for e in episodes:
        steps = range(start[e], start[e + 1])
        D, w = low[0] - high[0], 1.0
        for t, s in enumerate(steps):
            S, ψ = D + floor, 0.0
            if row_of[s] >= 0:
                p = behavior[row_of[s]]
                ratio = np.divide(rows[at[s]], p, where=p > 0, out=np.zeros(len(p)))
                f = w * ratio * until(above, t)[at[s]] + until(below, t)[at[s]]
                ψ = obvious_within_budget(p @ f - f, p, S / discount**t)[action[s]]
            w *= rows[at[s], action[s]] / taken[s]
            over = s == steps[-1]
            g = reward[s] + (0 if over else discount * until(low, t + 1)) - until(low, t)
            c = until(high, t) - reward[s] - (0 if over else discount * until(high, t + 1))
            D += discount**t * (w * g + c + ψ)
        scores.append(D)
    return np.array(scores)


def random_case(rng, n, *, clock, least=0.05):
    """A log of n steps over 3 history states and 3 actions, with limits it keeps."""
    H, A = 3, 3
    cuts = np.flatnonzero(rng.random(n - 1) < 0.3) + 1
    start = np.concatenate([[0], cuts, [n]]).astype(np.int64)
    T = int(np.diff(start).max())
    behavior = np.maximum(rng.dirichlet(np.ones(A), 4), least)
    behavior /= behavior.sum(1, keepdims=True)
    row_of = rng.integers(4, size=n)
    action = np.array([rng.choice(A, p=behavior[k]) for k in row_of])
    taken = behavior[row_of, action]
    row_of[rng.random(n) < 0.2] = -1  # the row is not known, only what was taken
    lo, hi = sorted(rng.normal(size=2))
    left = (1 - γ ** np.arange(T, -1, -1)) / (1 - γ)
    low, high = (lo * left, hi * left) if clock else (np.array([lo * 10]), np.array([hi * 10]))
    if not clock:
        low, high = np.minimum(low, lo), np.maximum(high, hi)
    reward = rng.uniform(lo, hi, n)
    if clock:  # stopping after any step must not undercut the limits: all stop at T, or 0 is within
        low, high = np.minimum(low, lo * (left > 0)), np.maximum(high, hi * (left > 0))
    tables = rng.exponential(3, (2, T if clock else 1, H, A))
    return (
        rng.integers(H, size=n), action, reward, start, rng.permutation(len(start) - 1),
        rng.dirichlet(np.ones(A), H), taken, behavior, row_of, *tables, low, high,
    )  # fmt: skip


@given(st.integers(0, 10**6), st.integers(1, 14), st.booleans(), st.floats(0, 10))
def test_the_kernel_is_the_mathematics_written_out(seed, n, clock, budget):
    case = random_case(np.random.default_rng(seed), n, clock=clock)
    floor = float(case[-1][0] - case[-2][0]) * (1 + budget)
    found = floored_differences(*case, floor, γ)
    expected = obvious_floored_differences(*case, floor, γ)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 14), st.booleans())
def test_several_floors_at_once_are_each_alone(seed, n, clock):
    case = random_case(np.random.default_rng(seed), n, clock=clock)
    floors = float(case[-1][0] - case[-2][0]) * np.array([1.0, 1.01, 1.5, 9.0, 1e300])
    found = scoring.floored_differences(*case, floors, γ)
    for scores, floor in zip(found, floors, strict=True):
        assert scores.tolist() == floored_differences(*case, float(floor), γ).tolist()


# ---- what ψ may be ------------------------------------------------------------------------------


def every_action(y, p, budget):
    cut = np.ones(len(p), np.bool_)  # what is left there does not matter
    return np.array([within_budget(y, p[None], 0, a, budget, cut) for a in range(len(p))])


def test_water_filling_by_hand():
    """y = (0, -4), even odds. Unbounded: ±2. With a budget of 1 the bad action may lose 1 only, so
    the good one gains 1."""
    y, even = np.array([0.0, -4.0]), np.array([0.5, 0.5])
    assert every_action(y, even, math.inf).tolist() == [2, -2]
    assert every_action(y, even, 2.0).tolist() == [2, -2]
    assert every_action(y, even, 1.0).tolist() == [1, -1]
    assert every_action(y, even, 0.0).tolist() == [0, 0]
    # odds of 1 to 3 of the bad action: it loses 1, the good one gains a third
    assert every_action(y, np.array([0.75, 0.25]), 1.0) == pytest.approx([1 / 3, -1])
    # what cannot occur has no part in it
    found = every_action(np.array([0.0, -4.0, -9.0]), np.array([0.5, 0.5, 0.0]), 5.0)
    assert found[:2].tolist() == [2, -2]


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0, 20))
def test_no_other_choice_is_closer_to_what_one_would_like(seed, A, budget):
    """Of the quadratic program min Σ p (x - y)² with Σ p x = 0 and x >= -budget it is the solution:
    bisection gives the same, and no feasible direction from there leads closer."""
    rng = np.random.default_rng(seed)
    y = np.round(rng.normal(0, 5, A), 1)
    y -= y.max()
    p = np.maximum(rng.dirichlet(np.ones(A)), 1e-3)
    p /= p.sum()
    x = every_action(y, p, budget)
    np.testing.assert_allclose(x, obvious_within_budget(y, p, budget), atol=1e-9)
    assert p @ x == pytest.approx(0, abs=1e-12 * (1 + budget))
    assert (x >= -budget).all()
    if budget == 0:
        return
    slope = x - y  # of the distance, per unit of probability
    for up in range(A):  # move mass·x from `down` to `up`
        for down in range(A):
            if x[down] > -budget + 1e-9:
                assert slope[up] - slope[down] >= -1e-8


@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-100, 1.0, 1e100]),
    st.sampled_from([0.5, 1e-6, 1e-12]),
)
def test_the_mean_is_zero_also_where_values_are_astronomical(seed, budget, least):
    rng = np.random.default_rng(seed)
    A = int(rng.integers(2, 6))
    p = np.maximum(rng.dirichlet(np.full(A, 0.2)), least)
    p /= p.sum()
    y = -(10.0 ** rng.uniform(-200, 200, A))
    y[rng.integers(A)] = -1e200
    y[rng.integers(A)] = 0.0
    x = every_action(y, p, budget)
    assert np.isfinite(x).all()
    assert abs(p @ x) <= 1e-12 * budget
    assert (x >= -budget * (1 + 1e-12)).all()


# ---- unbiased, to the last digit ----------------------------------------------------------------


TOGGLE = NamedNodes(("even", "odd"), [[[1, 0, 1]] * 2, [[0, 0, 1]] * 2])
MEMORIES = [(window(1), window(2)), (TOGGLE, window(1)), (window(2, actions=True), TOGGLE)]


@pytest.fixture(scope="module", params=range(3), ids=lambda i: " and ".join(map(str, MEMORIES[i])))
def world(request):
    """2 hidden states, 2 observations, 3 actions, horizon 3; all trajectories, laid out over a
    memory that tells what both controllers remember; and the exact gain."""
    rng = np.random.default_rng(request.param)
    pomdp = random_pomdp(rng, 2, 3, 2, γ)
    old, new = (random_controller(rng, pomdp, m) for m in MEMORIES[request.param])
    all_of_it = enumerate_all(pomdp, old, 3)
    both = join(old.memory, new.memory.on(2, 3))
    replay = Replay.of(all_of_it.log, both)
    rows = [c.lift(both).rows_at(replay.states) for c in (new, old)]
    gain = jm.evaluate(pomdp, new, horizon=3).value - jm.evaluate(pomdp, old, horizon=3).value
    return all_of_it, replay.at, *rows, gain


def all_limits(log: Episodes, rng: np.random.Generator) -> list[Limits]:
    """What the log shows, step by step; the same for every step; and wider ones that depend on the
    step in a way no rewards explain."""
    wide = RewardRange.constant(log.reward.min() - 1, log.reward.max() + 3)
    seen = limits_of(log, γ)
    assert seen.steps == 3
    slack = np.sort(rng.exponential(2, (2, 4)), axis=1)[:, ::-1] * [1, 1, 1, 0]
    odd = Limits(seen.low - slack[0], seen.high + slack[1], wide, 3)
    flat = Limits(*(np.array([x]) for x in wide.returns(γ)), wide, None)
    return [seen, odd, flat]


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_the_gain_whatever_is_believed(world, seed):
    """Q̂ arbitrary, by step or not; any budget; whole rows known, or of some steps only the
    probability of what was done."""
    all_of_it, at, new, old, gain = world
    log, rng = all_of_it.log, np.random.default_rng(seed)
    assert abs(gain) > 0.01
    unknown = np.where(log.observation == 0, -1, at)
    for i, limits in enumerate(all_limits(log, rng)):
        R = limits.range
        clock = 3 if i != 1 else 1
        above, below = rng.exponential(R, (2, clock, *new.shape))
        for budget in (0.0, 0.1, 1.0, 30.0, 1e9):
            row_of = unknown if budget == 1.0 else at
            scores = floored_differences(
                at, log.action, log.reward, log.start, np.arange(len(log)), new,
                old[at, log.action], old, row_of, above, below, limits.low, limits.high,
                R * (1 + budget), γ,
            )  # fmt: skip
            assert all_of_it.mean(scores) == pytest.approx(gain, abs=1e-12 * max(1, R))
            assert scores.min() >= -R * (1 + budget)


def test_without_a_floor_it_is_the_doubly_robust_difference(world):
    all_of_it, at, new, old, _ = world
    log, rng = all_of_it.log, np.random.default_rng(3)
    lo, hi = -6.0, 7.0
    q_new, q_old = np.clip(rng.normal(0, 5, (2, *new.shape)), lo, hi)
    found = floored_differences(
        at, log.action, log.reward, log.start, np.arange(len(log)), new, old[at, log.action], old,
        at, q_new[None] - lo, hi - q_old[None], np.array([-30.0]), np.array([30.0]), 1e300, γ,
    )  # fmt: skip
    ratio, ones = new[at, log.action] / old[at, log.action], np.ones(log.n_steps)

    def plain(ratio, rows, q):
        return doubly_robust(
            ratio, log.reward, q[at, log.action], (rows * q).sum(1)[at], log.start, γ
        )

    # Q̂ above -6, but returns counted from -30: the same as Q̂ - 24 for the new controller
    expected = plain(ratio, new, q_new - lo - 30) - plain(ones, old, q_old - hi + 30)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# ---- the floor ----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.booleans(),
    st.one_of(st.sampled_from([0.0, 1e-9, 10.0]), st.floats(0, 10)),
    st.sampled_from([1e-55, 1e-3, 1.0, 1e57]),
    st.sampled_from([0.2, 1e-3, 1e-12]),
    st.sampled_from([0.0, 0.5, 0.9, 0.999]),
)
def test_no_score_is_below_the_floor(seed, n, clock, budget, unit, least, discount):
    """Any Q̂, any rewards within the limits, any weights: behaviors that give what they did a
    probability of 1e-12, forty times in a row."""
    rng = np.random.default_rng(seed)
    H = A = 3
    lo, hi = sorted(rng.normal(size=2) * unit)
    ends = rng.random() < 0.5
    cuts = np.flatnonzero(rng.random(n - 1) < 0.1) + 1
    if clock and not ends:
        cuts = cuts[:0]  # one recording of exactly T steps
    start = np.concatenate([[0], cuts, [n]]).astype(np.int64)
    E, T = len(start) - 1, int(np.diff(start).max())
    behavior = np.maximum(rng.dirichlet(np.full(A, 0.3), 4), least)
    behavior /= behavior.sum(1, keepdims=True)
    row_of, action = rng.integers(4, size=n), rng.integers(A, size=n)
    taken = behavior[row_of, action]
    reward = rng.choice([lo, hi, (lo + hi) / 2], n)
    log = Episodes(
        ("z",), ("a", "b", "c"), [0] * n, action, reward, start, [-1] * E, [ends] * E
    )  # fmt: skip
    limits = limits_of(log, discount, None if clock else RewardRange.constant(lo, hi))
    above, below = rng.choice([0.0, 1.0, 1e3, 1e50], (2, T, H, A)) * unit * rng.random((2, T, H, A))
    floor = limits.range * (1 + budget)
    scores = floored_differences(
        rng.integers(H, size=n), action, reward, start, np.arange(E),
        rng.dirichlet(np.full(A, 0.3), H), taken, behavior, row_of, above, below, limits.low,
        limits.high, floor, discount,
    )  # fmt: skip
    assert np.isfinite(scores).all()
    assert (scores >= -floor).all()


def path(floor, discount, steps, taken=0.5, reward=0.5):
    """One episode in one situation; the candidate always does what was done."""
    at = np.zeros(steps, np.int64)
    return floored_differences(
        at, at, np.full(steps, reward), np.array([0, steps]), np.array([0]), np.array([[1.0, 0.0]]),
        np.full(steps, taken), np.array([[taken, 1 - taken]]), at, np.full((1, 1, 2), 0.7),
        np.full((1, 1, 2), 0.2), np.array([0.0]), np.array([1 / (1 - discount)]), floor, discount,
    )[0]  # fmt: skip


@pytest.mark.parametrize("floor", [20.0, 1e300])
@pytest.mark.parametrize(
    ("discount", "steps"), [(0.0, 3), (0.5, 1200), (0.9, 300), (0.99, 3000), (0.999, 5000)]
)
def test_long_episodes_and_small_discounts_give_numbers(discount, steps, floor):
    """γ^t underflows, weights overflow, and a budget over γ^t is infinite: still a number."""
    for taken in (1.0, 0.5, 1e-12):
        score = path(floor, discount, steps, taken)
        assert math.isfinite(score)
        assert score >= -floor
    # always the same action, which is what the behavior does: no difference
    assert path(floor, discount, steps, 1.0) == pytest.approx(0, abs=1e-9)


def test_one_step_by_hand():
    """Rewards from 0 to 1, even odds, the candidate always does a; it paid 1/2. R = 1, L = 2.

    g = 1/2 with weight 2, c = 1/2, so -1 + 1 + 1/2 + ψ. f = (2·.7 + .2, .2): f̄ - f(a) = -.7, and
    S = 1 allows that.
    """
    assert path(2.0, 0.0, 1) == pytest.approx(-1 + 1 + 0.5 - 0.7)
    # S = 1/4: the score may fall by a quarter only
    assert path(1.25, 0.0, 1) == pytest.approx(-1 + 1 + 0.5 - 0.25)
    assert path(1.0, 0.0, 1) == pytest.approx(-1 + 1 + 0.5)
