"""Constrained policy iteration: against value iteration, with the gap it promises."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.errors import NotConverged, ParameterError
from jumar.memory import window
from jumar.solve import solver
from jumar.solve.iteration import best_rows
from jumar.solve.nouns import BOOTSTRAPPED, GREEDY, Admitted
from jumar.solve.solver import COMPILED, action_values, policy_value, solve
from jumar.tally.history import HistoryMdp
from strategies import dense, random_mdp


def anything(q, behavior, visits):
    return best_rows(GREEDY, q, behavior, np.ones_like(visits), 0.0)


def nothing(q, behavior, visits):
    return behavior


def uniform(mdp: HistoryMdp) -> np.ndarray:
    return np.full(mdp.shape, 1 / mdp.shape[1])


def one_state(reward, ending, discount=0.5) -> HistoryMdp:
    """Every action pays, then repeats or ends."""
    A = len(reward)
    go = [a for a in range(A) if ending[a] < 1]
    return HistoryMdp(
        ("z",), tuple(f"a{i}" for i in range(A)), window(1).on(1, A), [[0]],
        visits=np.ones((1, A)), reward=[reward], ending=[ending], start=[1.0], pair=go,
        successor=[0] * len(go), probability=[1 - ending[a] for a in go], discount=discount,
    )  # fmt: skip


def obvious_optimum(mdp: HistoryMdp, sweeps: int = 400) -> np.ndarray:
    P = dense(mdp)
    v = np.zeros(len(mdp))
    for _ in range(sweeps):
        v = (mdp.reward + mdp.discount * P @ v).max(1)
    return v


def obvious_value(mdp: HistoryMdp, policy: np.ndarray) -> np.ndarray:
    P = np.einsum("ha,hat->ht", policy, dense(mdp))
    return np.linalg.solve(np.eye(len(mdp)) - mdp.discount * P, (policy * mdp.reward).sum(1))


# ---- values -------------------------------------------------------------------------------------


def test_an_action_that_ends_is_worth_its_reward_and_one_that_repeats_a_geometric_sum():
    mdp = one_state(reward=[1.0, 3.0], ending=[0.0, 1.0])
    assert policy_value(mdp, np.array([[1.0, 0.0]])).tolist() == [2.0]
    assert policy_value(mdp, np.array([[0.0, 1.0]])).tolist() == [3.0]
    assert action_values(mdp, np.array([3.0])).tolist() == [[2.5, 3.0]]


def test_an_ending_is_not_discounted_twice():
    """Pays 1, ends with 1/2, else repeats: v = 1 + γ/2·v = 4/3 at γ = 1/2."""
    mdp = one_state(reward=[1.0], ending=[0.5])
    assert policy_value(mdp, np.ones((1, 1))) == pytest.approx(4 / 3, abs=1e-15)


def test_a_pair_never_tried_has_the_value_it_is_given():
    mdp = replace(one_state([1.0, 0.0], [1.0, 1.0]), visits=[[1.0, 0.0]], ending=[[1.0, 0.0]])
    assert action_values(mdp, np.zeros(1), unseen=-7.0).tolist() == [[1.0, -7.0]]
    assert policy_value(mdp, np.array([[0.5, 0.5]]), unseen=-7.0).tolist() == [-3.0]


@given(st.integers(0, 10_000))
def test_the_value_of_a_policy_is_the_fixed_point_of_its_equation(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 6)), int(rng.integers(1, 4)))
    policy = rng.dirichlet(np.ones(mdp.shape[1]), mdp.shape[0])
    v = policy_value(mdp, policy)
    np.testing.assert_allclose(v, obvious_value(mdp, policy), rtol=1e-11, atol=1e-12)
    q = action_values(mdp, v)
    np.testing.assert_allclose(q, mdp.reward + mdp.discount * dense(mdp) @ v, atol=1e-12)


# ---- solving ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_free_to_do_anything_it_finds_the_optimum(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, 3)
    solution = solve(mdp, uniform(mdp), anything)
    np.testing.assert_allclose(solution.values, obvious_optimum(mdp), rtol=0, atol=1e-10)
    assert solution.trace.gap < 1e-9
    assert (obvious_optimum(mdp, 1000) <= solution.values + solution.trace.gap + 1e-12).all()
    np.testing.assert_allclose(solution.values, obvious_value(mdp, solution.policy), atol=1e-11)


def test_allowed_nothing_it_returns_the_behavior_bit_for_bit():
    mdp = random_mdp(np.random.default_rng(3), 5, 3)
    behavior = np.random.default_rng(4).dirichlet(np.ones(3), 5)
    solution = solve(mdp, behavior, nothing)
    assert solution.policy.tobytes() == behavior.tobytes()
    assert solution.values.tobytes() == solution.behavior_values.tobytes()
    assert solution.trace.iterations == 1


def test_a_tie_is_no_reason_to_leave_the_behavior():
    mdp = one_state(reward=[2.0, 2.0, 1.0], ending=[1.0, 1.0, 1.0])
    behavior = np.array([[0.3, 0.7, 0.0]])
    assert solve(mdp, behavior, anything).policy.tobytes() == behavior.tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_covers_the_distance_to_the_optimum(seed, monkeypatch):
    """Stopped after one round, the policy is far off; the gap in the error must say how far."""
    mdp = random_mdp(np.random.default_rng(seed), 6, 3)
    monkeypatch.setattr(solver, "MAX_ITERATIONS", 1)
    with pytest.raises(NotConverged, match="still improving after 1 rounds"):
        solve(mdp, uniform(mdp), Admitted(GREEDY, 0.0))
    with pytest.raises(NotConverged, match=r"gap .*, still improving after 1 rounds") as caught:
        solve(mdp, uniform(mdp), anything)
    promised = float(str(caught.value).split("gap ")[1].split(",")[0])
    behind = (obvious_optimum(mdp) - obvious_value(mdp, uniform(mdp))).max()
    assert behind > 0.01
    assert promised * (1 + 5e-3) >= behind  # three digits are printed


def test_a_gap_that_is_asked_for_and_not_reached_is_an_error(monkeypatch):
    monkeypatch.setattr(solver, "TOLERANCE", 0.0)
    mdp = random_mdp(np.random.default_rng(0), 6, 3)
    for admitted in (anything, Admitted(GREEDY, 0.0)):
        with pytest.raises(NotConverged, match=r"gap .* after \d rounds; asked for 0"):
            solve(mdp, uniform(mdp), admitted)


def timid(q, behavior, visits):
    """Half a step towards the best action, and a bad row in state 0."""
    rows = behavior / 2 + np.eye(q.shape[1])[q.argmax(1)] / 2
    rows[0] = np.eye(q.shape[1])[q[0].argmin()]
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_a_projection_that_does_not_find_the_best_row_is_rejected(seed):
    mdp = random_mdp(np.random.default_rng(seed), 6, 3)
    with pytest.raises(ParameterError, match="the best row of the set must be returned"):
        solve(mdp, uniform(mdp), timid)


@pytest.mark.parametrize("unseen", [0.0, -3.0, math.nan])
@pytest.mark.parametrize("H", [2, COMPILED + 1])
def test_a_rule_says_what_a_pair_never_tried_is_worth(H, unseen):
    """NaN stands for the worst that rewards allow, min(0, r_min)/(1-γ)."""
    mdp = random_mdp(np.random.default_rng(1), H, 2)
    untried = np.arange(H) == 0
    go = ~untried[mdp.pair // 2]
    mdp = replace(
        mdp,
        visits=np.where(untried[:, None], 0.0, mdp.visits),
        ending=np.where(untried[:, None], 0.0, mdp.ending),
        pair=mdp.pair[go],
        successor=mdp.successor[go],
        probability=mdp.probability[go],
    )
    worst = min(0.0, mdp.reward.min()) / (1 - mdp.discount)
    solution = solve(mdp, uniform(mdp), Admitted(BOOTSTRAPPED, 0.0, unseen))
    expected = worst if math.isnan(unseen) else unseen
    assert solution.q[0].tolist() == pytest.approx([expected] * 2)
    assert solution.values[0] == pytest.approx(expected)


def test_the_gap_covers_what_a_tie_leaves_behind():
    """Pays 1 or 1 + 9e-11 for ever, γ = .99: worth 100 or 100 + 9e-9. The two count as a tie."""
    mdp = one_state(reward=[1.0, 1.0 + 9e-11], ending=[0.0, 0.0], discount=0.99)
    solution = solve(mdp, np.array([[1.0, 0.0]]), Admitted(GREEDY, 0.0))
    assert solution.values[0] + solution.trace.gap >= 100 + 9e-9
