"""`auto` with a memory that is learned: on each half anew, tested on the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import jumar as jm
from jumar.core.errors import ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.remembering import memory_of, splitting
from jumar.gate import bench
from jumar.gate.dealing import HALVES, codes_of, half_of, salt_of
from jumar.gate.selecting import select
from jumar.memory import NamedNodes
from memory_logs import corridor, noise, upkeep
from selection_logs import halves_of


@pytest.fixture(scope="module")
def improved():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=6000, seed=1)
    return jm.improve(log, behavior, discount=0.95, memory="learn")


def test_it_passes_and_is_better_than_any_window_tried(improved):
    pomdp, behavior = upkeep()
    value = jm.evaluate(pomdp, improved.controller).value
    assert isinstance(improved.controller.memory, NamedNodes)
    assert improved.controller.memory.count_nodes() <= 8
    log = jm.simulate(pomdp, behavior, episodes=6000, seed=1)
    usual = jm.improve(log, behavior, discount=0.95)
    assert value > jm.evaluate(pomdp, usual.controller).value + 0.3
    assert improved.certificate.bound == "held-out"
    # bounds hold for memories that were there before the log
    assert [c.bound for c in improved.certificates] == ["held-out"]


def test_a_sign_is_remembered_through_a_corridor():
    pomdp, behavior = corridor()
    log = jm.simulate(pomdp, behavior, episodes=2000, seed=1)
    found = jm.pipeline.select(log, behavior, discount=0.95, memory="learn")
    best = jm.optimum(pomdp).lower
    assert jm.evaluate(pomdp, found.controller).value == pytest.approx(best, abs=0.05)
    usual = jm.pipeline.select(log, behavior, discount=0.95)
    assert jm.evaluate(pomdp, usual.controller).value < 0.5 * best


def test_a_memory_is_learned_from_the_half_that_is_not_tested_on(monkeypatch):
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=300, seed=1)
    given, learn = [], bench.memory_of

    def seen(replays, known, **asked):
        given.append(replays.log)
        return learn(replays, known, **asked)

    monkeypatch.setattr(bench, "memory_of", seen)
    select(log, behavior, discount=0.95, memory="learn")
    code = codes_of(log, salt_of(random_stream(1, "selection")))
    order = np.argsort(code)
    for half in range(HALVES):
        own = log.select(order[half_of(code[order]) == half])
        assert np.array_equal(given[half].observation, own.observation)
        assert np.array_equal(given[half].reward, own.reward)


def test_what_is_held_out_changes_nothing_in_what_is_learned():
    """Rewards of the other half are turned round: the same memories are learned from this one."""
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=2000, seed=1)
    found = []
    for turned in (False, True):
        other = np.repeat(halves_of(log) == 1, log.lengths)
        reward = np.where(other & turned, -log.reward, log.reward)
        chosen = select(replace(log, reward=reward), behavior, discount=0.95, memory="learn")
        found.append({str(t.setting.memory.summary) for t in chosen.trials if t.half == 0})
    assert found[0] == found[1]


@pytest.mark.parametrize("gate", ["proved", "asymptotic"])
@pytest.mark.slow
def test_no_more_is_deployed_for_nothing_than_the_level_says(monkeypatch, gate):
    """All policies are worth the same, and every half learns a memory of pure noise that it likes.
    At δ = 0.2 no more than that may pass; more than 17 of 40 do once in a thousand runs."""
    monkeypatch.setattr(splitting, "CLEAR", -1e9)
    monkeypatch.setattr(splitting, "ENOUGH", 0)
    monkeypatch.setattr(bench, "memory_of", partial(memory_of, most_nodes=4))
    chosen = nodes = 0
    for seed in range(40):
        log = noise(seed, 80, n_observations=2)
        fair = jm.Controller.uniform(log.observations, log.actions)
        rewards = jm.RewardRange.constant(0, 1)
        found = select(
            log, fair, discount=0.9, memory="learn", delta=0.2, gate=gate, rewards=rewards,
            horizon=int(log.lengths.max()),
        )  # fmt: skip
        chosen += found.chosen is not None
        nodes = max(nodes, *(m.count_nodes() for m in found.memories))
    assert nodes >= 3
    assert chosen <= 17


@pytest.mark.parametrize("episodes", [1, 2, 5, 20])
def test_tiny_logs_are_no_trouble(episodes):
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=episodes, seed=1)
    found = jm.pipeline.select(log, behavior, discount=0.95, memory="learn")
    assert found.chosen is None
    assert found.controller.same_as(behavior)


def test_a_behavior_that_is_estimated_or_remembers_itself():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=1500, seed=1)
    estimated = jm.improve(log, "estimate", discount=0.95, memory="learn")
    assert jm.evaluate(pomdp, estimated.controller).value > 1
    longer = behavior.lift(jm.window(2))
    found = jm.pipeline.select(log, longer, discount=0.95, memory="learn")
    assert all(longer.lift(t.setting.memory) for t in found.trials)


def test_without_it_nothing_is_learned(monkeypatch):
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=200, seed=1)
    monkeypatch.setattr(bench, "memory_of", None)
    jm.pipeline.select(log, behavior, discount=0.95)
    jm.pipeline.select(log, behavior, discount=0.95, memory=jm.window(2))


def test_what_makes_no_sense_is_refused():
    pomdp, behavior = upkeep()
    log = jm.simulate(pomdp, behavior, episodes=50, seed=1)
    with pytest.raises(ParameterError, match='algorithm="auto"'):
        jm.improve(log, behavior, discount=0.95, memory="learn", algorithm="spibb")
    for ask in (jm.improve, jm.pipeline.select, select):
        with pytest.raises(ParameterError, match="learn"):
            ask(log, behavior, discount=0.95, memory="lern")
