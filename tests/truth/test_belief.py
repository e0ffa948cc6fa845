"""Beliefs by hand, and the two models built from them against slow, obvious twins."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from beliefs import predict, update
from facts import refuses
from jumar import models
from jumar.algorithms import run
from jumar.core.errors import ModelError
from jumar.lab.truth.belief import first_beliefs, limit_mdp
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.optimality import optimum
from jumar.lab.truth.pomdp import from_arrays
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from jumar.solve.solver import policy_value


def uniform(pomdp):
    return Controller.uniform(pomdp.observations, pomdp.actions)


def machine():
    """A machine that is good or worn: running pays 1 when good, may wear it, and sometimes stops
    for ever; looking shows the truth with 0.9."""
    return from_arrays(
        name="machine",
        states=["good", "worn"],
        actions=["run", "look"],
        observations=["hum", "rattle"],
        transition=[[[0.6, 0.3], [0.0, 0.7]], [[1, 0], [0, 1]]],
        ending=[[0.1, 0.3], [0, 0]],
        observation=[[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]],
        reward=[[1, -1], [-0.1, -0.1]],
        start=[0.8, 0.2],
        first_observation=[[0.5, 0.5], [0.5, 0.5]],
        discount=0.9,
    )


# ---- one step -----------------------------------------------------------------------------


# ---- what counting converges to -----------------------------------------------------------


@pytest.mark.parametrize("pomdp", [machine(), models.voicemail(), models.tiger()])
@pytest.mark.parametrize("k", [1, 2])
def test_the_limit_is_the_average_over_all_histories(pomdp, k):
    depth = 4
    behavior = softened(pomdp, k)
    mdp = limit_mdp(pomdp, behavior, window(k), horizon=depth)
    obvious = averages(pomdp, behavior, k, depth)
    A, O = len(pomdp.actions), len(pomdp.observations)
    seen = {tuple(row): h for h, row in enumerate(mdp.states.tolist())}
    follows = np.zeros((*mdp.shape, O))
    np.add.at(
        follows, (mdp.pair // A, mdp.pair % A, mdp.states[mdp.successor, -1]), mdp.probability
    )
    assert (mdp.visits > 0).sum() == len(obvious)
    for (state, a), (n, law, ending, reward) in obvious.items():
        h = seen[state]
        assert mdp.visits[h, a] == np.inf
        assert mdp.reward[h, a] == pytest.approx(reward / n)
        assert mdp.ending[h, a] == pytest.approx(ending / n)
        assert_allclose(follows[h, a], law / n, atol=1e-14)


def softened(pomdp, k):
    """Some controller of memory k that prefers another action in every history state."""
    base = Controller.uniform(pomdp.observations, pomdp.actions, window(k))
    nodes = base.memory.enumerate()
    states = np.array([[*n, z] for n in nodes for z in range(len(pomdp.observations))])
    A = len(pomdp.actions)
    rows = 0.4 / A + 0.6 * np.eye(A)[np.arange(len(states)) % A]
    return base.except_at(states, rows)


def averages(pomdp, behavior, k, depth):
    """Walks every history: expected visits and what follows, for each ⟨n, z⟩ and action."""
    memory = behavior.memory
    total = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])

    def walk(node, z, belief, mass, left):
        if left == 0:
            return
        law, ending, reward = predict(pomdp, belief)
        state = (*node.tolist(), z)
        row = behavior.rows_at(np.array([state]))[0]
        for a in range(len(row)):
            m = mass * row[a]
            for i, amount in enumerate((1.0, law[a], ending[a], reward[a])):
                total[state, a][i] = total[state, a][i] + m * amount
            after = memory.step(node[None, :], np.array([z]), np.array([a]))[0]
            for z2 in np.flatnonzero(law[a]):
                b2, p = update(pomdp, belief, a, int(z2))
                walk(after, int(z2), b2, m * p, left - 1)

    law, beliefs = first_beliefs(pomdp)
    for z in np.flatnonzero(law):
        walk(memory.initial(), int(z), beliefs[z], law[z], depth)
    return total


def test_a_hand_written_memory_is_joined_with_the_window():
    voicemail = models.voicemail()
    odd_even = NamedNodes(("even", "odd"), np.array([[[1] * 3] * 2, [[0] * 3] * 2]))
    behavior = Controller.uniform(voicemail.observations, voicemail.actions, odd_even)
    mdp = limit_mdp(voicemail, behavior, window(2))
    assert str(mdp.memory) == "table of 2 nodes × window of 2"
    value = mdp.start @ policy_value(mdp, mdp.policy_of(behavior))
    assert value == pytest.approx(evaluate(voicemail, behavior).value)


def test_a_behavior_that_never_ends_is_cut_off_where_the_model_says():
    tiger = models.tiger()
    listen = Controller.constant(tiger.observations, tiger.actions, [0, 0, 1])
    for_ever = limit_mdp(tiger, listen, window(2))
    cut = limit_mdp(tiger, listen, window(2), horizon=300)
    assert_allclose(for_ever.probability, cut.probability)
    with refuses(ModelError, "never end", "give a horizon"):
        limit_mdp(
            machine(),
            Controller.constant(machine().observations, ("run", "look"), [0, 1]),
            window(1),
        )


def test_the_last_step_of_a_horizon_still_shows_its_observation():
    tiger = models.tiger()
    mdp = limit_mdp(tiger, uniform(tiger), window(3), horizon=1)
    assert mdp.shape == (6, 3)  # (∅∅,z) and (∅z,z')
    assert (mdp.visits[:2] == np.inf).all()
    assert (mdp.visits[2:] == 0).all()
    assert_allclose(mdp.probability, [0.745, 0.255, 0.255, 0.745])


def test_the_promises_on_the_page_are_what_is_computed():
    page = (Path(__file__).parents[2] / "docs/sufficiency.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| window of (\d) \|((?: [-\d.]+ \|)+)$", page, re.M)
    assert len(rows) == 3 * 4
    for name, k, numbers in rows:
        pomdp = models.build(name)
        best = run("basic", limit_mdp(pomdp, uniform(pomdp), window(int(k))), uniform(pomdp))
        true, reachable = evaluate(pomdp, best.controller).value, optimum(pomdp).lower
        found = [f"{x:.4f}" for x in (best.performance, true, reachable)]
        assert numbers.strip("| ").split(" | ") == found, (name, k)
