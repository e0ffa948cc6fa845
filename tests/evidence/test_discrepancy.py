"""The λ-discrepancy: TD(0) against returns, with shuffled logs as its law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.replay import Replay
from jumar.evidence.checking import check
from memory_logs import corridor, noise, upkeep
from order_logs import finite_history


def test_both_values_are_what_their_definitions_say():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=300, seed=1)
    found = jm.lambda_discrepancy(log, behavior, discount=0.9, resamples=19, level=0.05)
    replay = Replay.of(log, behavior.memory)
    # the obvious way: sweep V until it stands still, and add up rewards episode by episode
    v = np.zeros(len(replay.states))
    follows = np.where(replay.follows >= 0, replay.follows, 0)
    for _ in range(400):
        target = log.reward + 0.9 * np.where(replay.follows >= 0, v[follows], 0)
        v = np.bincount(replay.at, target, len(v)) / np.bincount(replay.at, minlength=len(v))
    g = np.zeros(log.n_steps)
    for start, end in zip(log.start[:-1], log.start[1:], strict=True):
        back = 0.0
        for t in range(end - 1, start - 1, -1):
            back = g[t] = log.reward[t] + 0.9 * back
    for i in range(len(found.action)):
        here = (replay.states[replay.at] == found.states[i]).all(1) & (
            log.action == found.action[i]
        )
        assert found.visits[i] == here.sum()
        assert found.step_by_step[i] == pytest.approx(target[here].mean())
        assert found.to_the_end[i] == pytest.approx(g[here].mean())
    off = found.to_the_end - found.step_by_step
    assert found.as_logged == pytest.approx(np.sqrt((found.visits * off**2).sum() / log.n_steps))


def test_it_sees_what_one_observation_more_does_not_tell():
    """The sign at the entrance: the order test is blind, whatever the log's size."""
    pomdp, behavior = corridor()
    logs = [jm.simulate(pomdp, behavior, episodes=200, seed=s) for s in range(12)]
    seen = [jm.lambda_discrepancy(x, behavior, discount=0.95, level=0.01).rejected for x in logs]
    told = [jm.order_test(x, behavior, level=0.01).rejected for x in logs]
    assert sum(seen) >= 11
    assert sum(told) <= 2


def test_it_is_blind_where_the_order_test_is_not():
    """Values of a behavior for which left and right are alike do not hang on the sounds."""
    tiger = jm.models.tiger()
    fair = jm.Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, fair, episodes=1000, seed=1)
    assert jm.order_test(log, fair).rejected
    assert not jm.lambda_discrepancy(log, fair, discount=0.95, level=0.01).rejected


def _null(seed: int, episodes: int, k: int, most_steps: int | None):
    rng = jm.random_stream(seed, "discrepancy of nothing", episodes, k)
    O, A = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    pomdp, behavior = finite_history(rng, k, O, A, 0.0 if most_steps else 0.15)
    pomdp = replace(pomdp, max_steps=most_steps)
    log = jm.simulate(pomdp, behavior, episodes=episodes, seed=seed)
    paid = rng.normal(size=(O, A))[log.observation, log.action]
    return replace(log, reward=paid + (rng.random(log.n_steps) < 0.3)), behavior


@pytest.mark.parametrize(("k", "most_steps"), [(1, None), (2, None), (1, 6)])
def test_a_memory_that_is_enough_is_rejected_as_often_as_the_level_says(k, most_steps):
    logs = [_null(seed, 50, k, most_steps) for seed in range(60)]
    rejected = sum(
        jm.lambda_discrepancy(log, who, discount=0.95, resamples=19, level=0.1).rejected
        for log, who in logs
    )
    assert rejected <= 13  # of 60 at 0.1: more in 1 of 200 runs


@pytest.mark.parametrize("unit", [1e-8, 1e-5, 1e6])
def test_the_unit_of_the_rewards_changes_nothing(unit):
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=200, seed=1)
    same = replace(log, reward=log.reward * unit)
    found, other = (jm.lambda_discrepancy(x, behavior, discount=0.95) for x in (log, same))
    assert found.rejected
    assert other.p == found.p
    assert other.size == pytest.approx(unit * found.size)


def test_where_every_episode_has_one_step_both_are_the_same():
    log = noise(1, 50)
    first = log.start[:-1]
    bandit = replace(
        log,
        observation=log.observation[first],
        action=log.action[first],
        reward=log.reward[first],
        start=np.arange(len(log) + 1),
    )
    found = jm.lambda_discrepancy(
        bandit, jm.Controller.uniform(log.observations, log.actions), discount=1.0
    )
    assert (found.as_logged, found.p) == (0.0, 1.0)


def test_beyond_a_cut_both_take_the_value_of_the_model():
    """One state that pays 1 for ever, recorded for some steps: nothing is missing."""
    log = jm.Episodes(
        ("z",), ("a",), [0] * 12, [0] * 12, [1.0] * 12, [0, 2, 5, 12], [0] * 3, [False] * 3
    )
    found = jm.lambda_discrepancy(log, jm.Controller.uniform(("z",), ("a",)), discount=0.9)
    assert found.step_by_step.tolist() == pytest.approx([10.0])
    assert found.to_the_end.tolist() == pytest.approx([10.0])
    assert (found.p, found.cut) == (1.0, 1.0)


def test_what_cannot_be_asked_is_refused():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=20, seed=1)
    with pytest.raises(ParameterError, match="discount"):
        jm.lambda_discrepancy(log, behavior, discount=1.5)
    with pytest.raises(MemoryMismatch, match="join"):
        jm.lambda_discrepancy(log, behavior.lift(jm.window(2)), discount=0.9, memory=jm.window(1))
    endless = jm.Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 1.0], [0, 2], [0], [False])
    with pytest.raises(ParameterError, match="infinite"):
        jm.lambda_discrepancy(endless, jm.Controller.uniform(("z",), ("a",)), discount=1.0)


def test_a_check_shows_it_where_there_is_a_discount():
    pomdp, behavior = corridor()
    log = jm.simulate(pomdp, behavior, episodes=300, seed=1)
    found = check(log, behavior, discount=0.95)
    section = found.sections["discrepancy"]
    assert section.verdict.status == "look"
    assert "--learn-memory" in section.verdict.sentence
    assert section.apart[0].history_state in ("sign up", "sign down")
    assert found.to_dict()["sections"]["discrepancy"]["apart"][0]["visits"] > 0
    assert list(section.details())
    assert "discrepancy" not in check(log, behavior).sections
    assert found.sections["order"].verdict.status == "passed"
