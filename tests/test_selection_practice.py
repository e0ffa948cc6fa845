"""Selection where the behavior is not one controller: what candidates start from is learned from
one half of the log alone."""

from __future__ import annotations

import numpy as np

import jumar as jm
from jumar.controller import Controller
from jumar.episodes import Episodes, Labels
from jumar.rewards import RewardRange

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
    log = Episodes(
        tuple(f"z{i}" for i in range(kinds + 1)),
        ("a", "b", "c"),
        observation,
        action,
        reward,
        np.arange(n + 1),
        [-1] * n,
        [True] * n,
        propensity=np.full(n, 1 / 3),
    )
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
    log = Episodes(
        *names,
        observation,
        action,
        reward,
        np.arange(n + 1),
        [-1] * n,
        [True] * n,
        behavior=Labels.of([("bad", "good")[k] for k in by]),
    )
    result = jm.improve(log, [bad, good], discount=0.9, rewards=UNIT)
    rows = result.controller.rows_at(np.arange(kinds + 1)[:, None])
    worth = 0.5 * (0.3 + 0.3 * rows[0, 1]) + 0.5 * rows[1:, 1].mean()
    assert result.selection.chosen is None or worth > 0.475
    half = [t for t in result.selection.trials if t.passed]
    assert not half  # what is handed over elsewhere is worse than the mix


def test_what_is_handed_over_is_what_was_tested():
    """Also at history states that the log does not show."""
    tiger = jm.models.tiger()
    uniform = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, uniform, episodes=2000, rng=jm.stream(1, "data"))
    propensity = np.full(log.n_steps, 1 / 3)
    log = Episodes(
        log.observations,
        log.actions,
        log.observation,
        log.action,
        log.reward,
        log.start,
        log.final_observation,
        log.terminated,
        propensity=propensity,
    )
    result = jm.improve(log, None, discount=0.95)
    assert result.selection.chosen is not None
    assert result.controller is result.selection.controller
