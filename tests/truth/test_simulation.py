"""Simulation: only what can happen, drawn from the generator that is handed in.

Seeds are fixed, so no test here is random; each says how often it would fail for a fresh seed.
"""

from __future__ import annotations

import math

import pytest

from facts import refuses
from jumar import models
from jumar.core import resources
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.randomness import random_stream
from jumar.lab.truth import loops
from jumar.lab.truth.chain import unroll
from jumar.lab.truth.simulation import (
    controller_tables,
    model_tables,
    simulate,
    simulated_value,
)
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller

TIGER = models.tiger()
UNIFORM = Controller.uniform(TIGER.observations, TIGER.actions)
LISTEN = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1])


def test_a_generator_goes_on_where_it_was():
    """50 episodes and then 50 more are the same as 100 at once."""
    rng = random_stream(1, "data")
    parts = [simulate(TIGER, UNIFORM, episodes=50, seed=rng) for _ in range(2)]
    whole = simulate(TIGER, UNIFORM, episodes=100, seed=random_stream(1, "data"))
    assert (parts[0] + parts[1]).action.tobytes() == whole.action.tobytes()


def test_an_episode_that_is_cut_off_did_not_end_and_shows_one_more_observation():
    log = simulate(TIGER, LISTEN, episodes=4, seed=random_stream(1), max_steps=3)
    assert log.lengths.tolist() == [3, 3, 3, 3]
    assert not log.terminated.any()
    assert (log.final_observation >= 0).all()


def test_an_episode_that_ends_on_the_last_step_allowed_did_end():
    log = simulate(TIGER, UNIFORM, episodes=200, seed=random_stream(1), max_steps=1)
    opened = log.action < 2
    assert log.terminated.tolist() == opened.tolist()
    assert (log.final_observation[opened] == -1).all()
    assert 0 < opened.sum() < 200


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        ({"episodes": 0}, "episodes: 0 is not a whole number from 1"),
        ({"episodes": -1}, "episodes: -1"),
        ({"episodes": 1, "max_steps": 0}, "max_steps: 0 is not a whole number from 1"),
    ],
)
def test_nothing_to_simulate_is_an_error(call, fact):
    with pytest.raises(ParameterError, match=fact):
        simulate(TIGER, UNIFORM, seed=random_stream(1), **call)


def test_a_simulated_value_is_the_mean_return_with_its_standard_error():
    log = simulate(TIGER, UNIFORM, episodes=500, seed=random_stream(7))
    found = simulated_value(TIGER, UNIFORM, episodes=500, seed=random_stream(7))
    returns = log.returns(0.95)
    assert found.mean == pytest.approx(returns.mean(), abs=1e-12)
    expected = math.sqrt(((returns - returns.mean()) ** 2).sum() / 499 / 500)
    assert found.standard_error == pytest.approx(expected, rel=1e-12)
    assert found.episodes == 500


def test_a_memory_too_long_to_list_can_be_run_if_few_nodes_are_reached():
    opens = Controller.constant(TIGER.observations, TIGER.actions, [1, 0, 0]).lift(window(500))
    log = simulate(TIGER, opens, episodes=10, seed=random_stream(1))
    assert log.lengths.tolist() == [1] * 10


@pytest.mark.parametrize("episodes", [1, 2, 3, 100, 128, 129, 1000])
def test_a_log_is_the_same_in_parts_and_in_one_go(episodes):
    tables = *model_tables(TIGER), *controller_tables(unroll(TIGER, UNIFORM), UNIFORM)
    rng = random_stream(1, "data")
    z, a, r, start, final, terminated = loops.simulate_episodes(episodes, 10_000, rng, *tables)
    log = simulate(TIGER, UNIFORM, episodes=episodes, seed=1)
    assert log == Episodes(TIGER.observations, TIGER.actions, z, a, r, start, final, terminated)


def test_more_than_fits_into_memory_is_refused_before_it_is_simulated(monkeypatch):
    monkeypatch.setattr(resources, "memory", lambda: 10**8)
    with refuses(TooLarge, "1,000,000 episodes", "500 MB", "100 MB", "Simulate fewer"):
        simulate(TIGER, UNIFORM, episodes=1_000_000)
    simulate(TIGER, UNIFORM, episodes=1000)


def test_a_few_episodes_tell_how_long_the_others_will_be(monkeypatch):
    monkeypatch.setattr(resources, "memory", lambda: 10**8)
    with refuses(TooLarge, "10,000 episodes", "500 steps", "504 MB", "max_steps"):
        simulate(TIGER, LISTEN, episodes=10_000, max_steps=500)
