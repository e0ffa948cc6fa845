"""The memory order test: size, power and effects.

False alarms: a test at level 0.05 on 200 sound logs rejects more than 20 of them with probability
0.0007, as the binomial law says; the seeds are fixed, so a test that is green stays green.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumar import models, order_test, simulate
from jumar.core.randomness import random_stream
from jumar.lab.truth.training import train_behavior
from jumar.memory import window
from order_logs import finite_history, fork, forks, only
from small_logs import MOST


def rejections(k: int, episodes: int, max_steps: int, end: float, runs: int = 200) -> int:
    """Of so many logs of processes for which a window of k is enough; rewards 0 or 1 by chance."""
    rejected = 0
    for run in range(runs):
        rng = random_stream(run, "size", k, episodes, max_steps)
        pomdp, behavior = finite_history(rng, k, O=3, A=2, end=end)
        log_ = simulate(pomdp, behavior, episodes=episodes, seed=rng, max_steps=max_steps)
        log_ = replace(log_, reward=(rng.random(log_.n_steps) < 0.4).astype(float))
        # 19 draws: rejected when the log is the most telling of 20
        rejected += order_test(log_, behavior, seed=rng, resamples=19).rejected
    return rejected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "episodes", "max_steps", "end"),
    [(1, 50, 40, 0.2), (2, 50, 40, 0.2), (2, 40, 6, 0.0)],
    ids=["window of 1", "window of 2", "all cut off after 6 steps"],
)
def test_a_memory_that_is_enough_is_rejected_as_often_as_promised(k, episodes, max_steps, end):
    assert rejections(k, episodes, max_steps, end) <= MOST


def test_tiger_with_one_observation_is_seen_through_in_200_episodes():
    """With power 0.9 fewer than 23 of 30 have probability 0.008."""
    tiger = models.tiger()
    seeds = (1, 2, 3)
    behaviors = [
        train_behavior(tiger, window(1), softmax=models.training("tiger", tiger).softmax, seed=seed)
        for seed in seeds
    ]
    found = [
        order_test(
            simulate(tiger, behavior, episodes=200, seed=random_stream(run, "data")),
            behavior,
            seed=random_stream(run, "order"),
            resamples=39,
        ).rejected
        for behavior in behaviors
        for run in range(10)
    ]
    assert sum(found) >= 23


def test_the_effect_is_the_mean_distance_of_laws():
    """Of half of the steps, 0.9 against one half: 0.2 on average."""
    log_ = forks(1, 4000, 0.9)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"), resamples=99)
    assert found.effect == pytest.approx(0.2, abs=0.015)
    assert found.interval[0] < found.effect < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.03
    assert found.reward_effect == 0


@pytest.mark.parametrize(("share", "effect"), [(0.75, 0.125), (0.5, 0.0)])
def test_the_interval_holds_the_effect_in_19_of_20_logs(share, effect):
    """Fewer than 87 of 100 have probability 0.0015 if it holds it in 95 of 100."""
    held = 0
    for seed in range(100):
        log_ = forks(seed, 200, share)
        found = order_test(log_, only(log_), seed=random_stream(seed, "order"), resamples=49)
        held += found.interval[0] <= effect <= found.interval[1]
    assert held >= 87


def test_a_gap_that_happens_to_be_0_is_not_certain_to_be():
    """15 of 30 both times, by luck."""
    log_ = fork(30, 30, flips=15)
    found = order_test(log_, only(log_), seed=random_stream(1, "order"))
    low, high = found.interval
    assert found.effect == low == 0 < high
    few = fork(4, 4)
    found = order_test(few, only(few), seed=random_stream(1, "order"))
    assert (found.interval, found.reward_interval) == (None, None)
