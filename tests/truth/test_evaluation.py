"""Exact values: closed forms, complete enumeration, and the duality of values and visits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar import models
from jumar.core.errors import ModelError, ParameterError
from jumar.lab.truth.chain import unroll
from jumar.lab.truth.evaluation import evaluate, occupancy, values
from jumar.lab.truth.pomdp import END, Pomdp, from_arrays
from jumar.memory import window
from jumar.policy.controller import Controller
from strategies import controllers, pomdps

TIGER = models.tiger()


def geometric(p_end: float, discount: float, reward: float = 1.0) -> Pomdp:
    """One state; every step pays and ends the episode with probability p_end."""
    return from_arrays(
        name="geometric",
        states=["s"],
        actions=["wait"],
        observations=["z"],
        transition=[[[1 - p_end]]],
        ending=[[p_end]],
        observation=[[[1.0]]],
        reward=[[reward]],
        start=[1.0],
        first_observation=[[1.0]],
        discount=discount,
    )


WAIT = Controller.uniform(("z",), ("wait",))


def enumerated(pomdp: Pomdp, controller: Controller, horizon: int) -> tuple[float, float]:
    """Value and mean length over `horizon` steps, by summing over every possible episode."""
    A = len(pomdp.actions)

    def follow(s, node, z, left):
        if left == 0:
            return np.zeros(2)
        total = np.zeros(2)
        row = controller.rows_at(np.array([[*node[0], z]], np.int64))[0]
        for a in range(A):
            after = controller.memory.step(node, np.array([z]), np.array([a]))
            for k in range(pomdp.pointer[s * A + a], pomdp.pointer[s * A + a + 1]):
                p = row[a] * pomdp.probability[k]
                if p == 0:
                    continue
                total += p * np.array([pomdp.reward[k], 1.0])
                if pomdp.next_state[k] != END:
                    s2, z2 = int(pomdp.next_state[k]), int(pomdp.next_observation[k])
                    total += p * np.array([pomdp.discount, 1.0]) * follow(s2, after, z2, left - 1)
        return total

    total = np.zeros(2)
    for s, z in np.ndindex(pomdp.first_observation.shape):
        p = pomdp.start[s] * pomdp.first_observation[s, z]
        if p > 0:
            total += p * follow(s, controller.memory.initial()[None, :], z, horizon)
    return float(total[0]), float(total[1])


# ---- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("p_end", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("γ", [0.0, 0.5, 0.95, 1.0])
def test_a_geometric_episode_is_worth_r_over_one_minus_gamma_times_survival(p_end, γ):
    found = evaluate(geometric(p_end, γ, reward=3.0), WAIT)
    assert found.value == pytest.approx(3 / (1 - γ * (1 - p_end)), rel=1e-14)
    assert found.length == pytest.approx(1 / p_end, rel=1e-14)
    assert found.n_triples == 1


@pytest.mark.parametrize("horizon", [1, 2, 7])
def test_over_a_horizon_the_sum_has_that_many_terms(horizon):
    found = evaluate(geometric(0.5, 0.5), WAIT, horizon=horizon)
    assert found.value == sum(0.25**t for t in range(horizon))
    assert found.length == sum(0.5**t for t in range(horizon))
    assert found.horizon == horizon


def test_without_discount_and_without_end_there_is_no_value_but_over_a_horizon():
    patient = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1], name="patient")
    undiscounted = Pomdp(**{**vars(TIGER), "discount": 1.0})
    with refuses(ModelError, "discount 1", "patient", "never end"):
        evaluate(undiscounted, patient)
    assert evaluate(undiscounted, patient, horizon=30).value == pytest.approx(-30, abs=1e-12)
    assert evaluate(undiscounted, patient, horizon=30).length == pytest.approx(30, abs=1e-12)


@pytest.mark.parametrize("horizon", [0, -1])
def test_a_horizon_is_at_least_one_step(horizon):
    with refuses(ParameterError, "whole number", "1"):
        evaluate(TIGER, Controller.uniform(TIGER.observations, TIGER.actions), horizon=horizon)


# ---- against complete enumeration ---------------------------------------------------------------


@given(st.data())
def test_three_steps_are_worth_what_summing_over_all_episodes_says(data):
    pomdp = data.draw(pomdps(most=2, discounts=(0.5, 0.95)))
    controller = data.draw(controllers(pomdp.observations, pomdp.actions))
    value, length = enumerated(pomdp, controller, 3)
    found = evaluate(pomdp, controller, horizon=3)
    assert found.value == pytest.approx(value, abs=1e-11)
    assert found.length == pytest.approx(length, abs=1e-11)


# ---- visits -------------------------------------------------------------------------------------


@given(st.data())
def test_values_and_visits_give_the_same_answer(data):
    """Σ_k start(k)·v(k) = Σ_k visits(k)·paid(k), for ever and over a horizon."""
    pomdp = data.draw(pomdps())
    chain = unroll(pomdp, data.draw(controllers(pomdp.observations, pomdp.actions)))
    γ = pomdp.discount
    paid = np.bincount(chain.source, chain.probability * chain.reward, len(chain))
    by_value = chain.start @ values(chain, γ)
    assert occupancy(chain, γ) @ paid == pytest.approx(by_value, rel=1e-10, abs=1e-10)
    endless = occupancy(chain, γ, horizon=900)
    np.testing.assert_allclose(endless, occupancy(chain, γ), rtol=1e-10, atol=1e-10)


def test_infinite_visits_are_an_error():
    listen = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1])
    with pytest.raises(ModelError, match="visits are infinite"):
        occupancy(unroll(TIGER, listen), 1.0)
    assert occupancy(unroll(TIGER, listen), 1.0, horizon=7).sum() == pytest.approx(7)
    with refuses(ParameterError, "whole number", "1"):
        occupancy(unroll(TIGER, listen), 1.0, horizon=0)


@pytest.mark.parametrize("k", [1, 5, 7])
def test_small_and_large_chains_are_solved_alike(k):
    """A window of 7 has 508 triples and goes to the sparse solver; the value is that of k = 1."""
    uniform = Controller.uniform(TIGER.observations, TIGER.actions).lift(window(k))
    found = evaluate(TIGER, uniform)
    assert found.n_triples == 4 * (2**k - 1)
    assert found.value == pytest.approx(-44.390243902439024, abs=1e-10)
    assert found.length == pytest.approx(1.5, abs=1e-12)


# ---- numbers at the edge ------------------------------------------------------------------------


def test_steps_that_change_nothing_are_not_taken():
    """10²⁰ of them would take longer than the sun will shine."""
    ends = geometric(0.5, 0.9)
    rule = Controller.uniform(ends.observations, ends.actions)
    assert evaluate(ends, rule, 10**20).value == pytest.approx(1 / (1 - 0.45))
    assert evaluate(ends, rule, 10**20).length == pytest.approx(2.0)


@pytest.mark.parametrize("reward", [1e308, -1e61, 1e-61, 5e-324])
def test_a_reward_that_cannot_be_computed_with_is_refused(reward):
    with refuses(ModelError, "'s'", "'wait'", f"{reward:g}", "unit"):
        geometric(0.5, 0.9, reward)


@pytest.mark.parametrize("p_end", [1e-300, 1e-17])
@pytest.mark.parametrize("n", [1, 200])
def test_an_end_that_rounding_swallows_is_none(p_end, n):
    """1 - 1e-300 is 1: the chain ends as seldom as one that never does."""
    states = [f"s{i}" for i in range(n)]
    pomdp = from_arrays(
        name="almost endless",
        states=states,
        actions=["wait"],
        observations=["z"],
        transition=[np.eye(n)[np.arange(1, n + 1) % n] * (1 - p_end)],
        ending=[np.full(n, p_end)],
        observation=[np.ones((n, 1))],
        reward=[np.ones(n)],
        start=np.eye(n)[0],
        first_observation=np.ones((n, 1)),
        discount=0.5,
    )
    found = evaluate(pomdp, Controller.uniform(("z",), ("wait",)))
    assert (found.value, found.length) == (2.0, math.inf)
