"""How far memories are from sufficient: by hand, against a slow twin, and as the page tells it."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from beliefs import update
from facts import refuses
from jumar import models
from jumar.algorithms import run
from jumar.core.errors import MemoryMismatch, ModelError, ParameterError, TooLarge
from jumar.lab.truth.belief import first_beliefs, limit_mdp, predict
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.optimality import optimum
from jumar.lab.truth.pomdp import from_arrays
from jumar.lab.truth.sufficiency import sufficiency_gap
from jumar.memory import NamedNodes, window
from jumar.policy.controller import Controller
from jumar.solve.solver import policy_value

# every history is walked here; a model with twelve actions or fifty observations has too many
SMALL = [
    name
    for name, model in ((name, models.build(name)) for name in models.MODELS)
    if len(model.actions) <= 4 and len(model.observations) <= 10
]


PAGE = Path(__file__).parents[2] / "docs" / "sufficiency.md"


def uniform(pomdp):
    return Controller.uniform(pomdp.observations, pomdp.actions)


def echo(noise=0.0):
    """What is seen comes back two steps later; the state holds the last two observations.
    With `noise` it is tossed anew instead."""
    T = np.zeros((1, 4, 4))
    for x, y in itertools.product(range(2), range(2)):  # last but one, last
        T[0, 2 * x + y, 2 * y + x] += 1 - noise / 2
        T[0, 2 * x + y, 2 * y + 1 - x] += noise / 2
    look = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    return from_arrays(
        name="echo",
        states=["00", "01", "10", "11"],
        actions=["wait"],
        observations=["0", "1"],
        transition=T,
        observation=[look],
        reward=[[0, 0, 1, 1]],
        start=[0.25] * 4,
        first_observation=look,
        discount=0.9,
    )


# ---- by hand ------------------------------------------------------------------------------


def test_one_sound_of_two_is_forgotten_by_a_memoryless_listener():
    # P(tiger left) is .85²/.745 after left, left and .5 after right, left
    gap = sufficiency_gap(models.tiger(), window(1), depth=1)
    apart = 0.85**2 / 0.745 - 0.5
    assert gap.tv == pytest.approx(0.7 * apart)
    assert gap.reward == pytest.approx(110 * apart)
    assert gap.n_beliefs == 6  # for each last sound: heard once, confirmed, or contradicted
    witness = gap.tv_witness
    assert witness.state == "node [], observation 'hear-left'"
    assert witness.action == "listen"
    assert_allclose(witness.beliefs[:, 0], [0.85**2 / 0.745, 0.5])


def test_a_window_that_holds_everything_is_sufficient_so_far():
    gap = sufficiency_gap(models.tiger(), window(3, actions=True), depth=2)
    assert gap.tv == gap.reward == 0
    assert gap.tv_witness is None
    assert gap.mean_tv == pytest.approx(0, abs=1e-15)


def test_an_echo_needs_exactly_two_observations():
    one, two = (sufficiency_gap(echo(), window(k), depth=6) for k in (1, 2))
    assert (one.tv, one.reward) == (1, 1)
    assert (two.tv, two.reward) == (0, 0)
    # of 7 histories the first knows as little as the average; the other six are ½ away from it
    assert one.mean_tv == pytest.approx(6 / 7 * 0.5)
    assert one.mean_reward == pytest.approx(6 / 7 * 0.5)


@pytest.mark.parametrize("noise", [0.9, 0.99])
def test_a_nearly_sufficient_memory_is_wrong_by_at_most_the_loss(noise):
    pomdp = echo(noise)
    gap = sufficiency_gap(pomdp, window(1), depth=6)
    assert gap.tv == pytest.approx(1 - noise)
    truth = evaluate(pomdp, uniform(pomdp)).value
    mdp = limit_mdp(pomdp, uniform(pomdp), window(1), horizon=6)
    values = policy_value(mdp, mdp.policy_of(uniform(pomdp)))
    γ = pomdp.discount
    loss = (gap.reward + γ * np.ptp(values) * gap.tv) / (1 - γ)
    assert abs(mdp.start @ values - truth) <= loss


# ---- against a slow twin ------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("memory", [window(1), window(2), window(2, actions=True)], ids=str)
def test_gaps_agree_with_walking_every_history(name, memory):
    pomdp = models.build(name)
    compare_with_twin(pomdp, memory, behavior=uniform(pomdp), depth=3)


def test_a_behavior_that_remembers_more_than_the_memory_is_followed_with_its_own_memory():
    # on even steps it asks, on odd ones it may do anything
    voicemail = models.voicemail()
    flip = NamedNodes(("even", "odd"), np.array([[[1] * 3] * 2, [[0] * 3] * 2]))
    base = Controller.uniform(voicemail.observations, voicemail.actions, flip)
    behavior = base.except_at(np.array([[0, 0], [0, 1]]), np.array([[1.0, 0, 0]] * 2))
    compare_with_twin(voicemail, window(1), behavior, depth=4)


def compare_with_twin(pomdp, memory, behavior, depth):
    gap = sufficiency_gap(pomdp, memory, depth, behavior)
    groups = every_history(pomdp, memory, behavior, depth)
    total = off_law = off_reward = tv = reward = 0.0
    for members in groups.values():
        weights, laws, rewards = (np.array(x) for x in zip(*members, strict=True))
        tv = max(tv, np.abs(laws[:, None] - laws[None, :]).sum(2).max() / 2)
        reward = max(reward, np.ptp(rewards))
        total += weights.sum()
        off_law += weights @ np.abs(laws - np.average(laws, 0, weights)).sum(1) / 2
        off_reward += weights @ np.abs(rewards - np.average(rewards, 0, weights))
    assert gap.tv == pytest.approx(tv, abs=1e-11)
    assert gap.reward == pytest.approx(reward, abs=1e-9)
    assert gap.mean_tv == pytest.approx(off_law / total)
    assert gap.mean_reward == pytest.approx(off_reward / total)


def every_history(pomdp, memory, behavior, depth):
    """(weight, law, reward) of every history, by ⟨n, z⟩ and action."""
    memory = memory.on(len(pomdp.observations), len(pomdp.actions))
    groups = defaultdict(list)

    def walk(nodes, z, belief, mass, left):
        law, ending, reward = (x[0] for x in predict(pomdp, [belief]))
        row = behavior.rows_at(np.array([[*nodes[1], z]]))[0]
        for a in np.flatnonzero(row):
            m = mass * row[a]
            outcome = np.append(law[a], ending[a])
            groups[(*nodes[0].tolist(), z), a].append((m, outcome, reward[a]))
            after = [
                part.step(n[None, :], np.array([z]), np.array([a]))[0]
                for part, n in zip((memory, behavior.memory), nodes, strict=True)
            ]
            for z2 in np.flatnonzero(law[a]) if left else ():
                b2, p = update(pomdp, belief, int(a), int(z2))
                walk(after, int(z2), b2, m * p, left - 1)

    law, beliefs = first_beliefs(pomdp)
    for z in np.flatnonzero(law):
        walk([memory.initial(), behavior.memory.initial()], int(z), beliefs[z], law[z], depth)
    return groups


# ---- what we claim of the benchmarks ------------------------------------------------------


@pytest.mark.parametrize(("name", "worst"), [("tiger", 0.7), ("voicemail", 0.5)])
@pytest.mark.parametrize("k", [1, 4])
def test_no_window_is_sufficient_for_sounds_that_count_for_ever(name, worst, k):
    # the law of the next sound moves by at most worst · |Δb|, and Δb comes close to 1
    gap = sufficiency_gap(models.build(name), window(k))
    assert worst - 1e-4 < gap.tv <= worst


def test_two_observations_are_exactly_enough_along_the_best_way_through_the_maze():
    maze = models.cheese_maze()
    best = run("basic", limit_mdp(maze, uniform(maze), window(2)), uniform(maze)).controller
    assert evaluate(maze, best).value == pytest.approx(optimum(maze).lower)
    assert sufficiency_gap(maze, window(2), behavior=best).tv == 0


def test_what_the_behavior_never_does_is_not_compared():
    tiger = models.tiger()
    listens = Controller.constant(tiger.observations, tiger.actions, [0, 0, 1])
    gap = sufficiency_gap(tiger, window(1), depth=3, behavior=listens)
    assert gap.reward == 0 < gap.tv  # listening pays -1 whatever was heard


def test_a_witness_is_two_histories_that_end_alike():
    witness = sufficiency_gap(models.voicemail(), window(2), depth=5).tv_witness
    assert witness.histories[0][-3::2] == witness.histories[1][-3::2]  # what was seen last
    for history, belief in zip(witness.histories, witness.beliefs, strict=True):
        assert_allclose(believed(models.voicemail(), history), belief, atol=1e-12)


def believed(pomdp, history):
    belief = first_beliefs(pomdp)[1][pomdp.observations.index(history[0])]
    for action, observation in zip(history[1::2], history[2::2], strict=True):
        belief, _ = update(pomdp, belief, action, observation)
    return belief


def test_misfits_are_told():
    tiger, voicemail = models.tiger(), models.voicemail()
    with pytest.raises(ModelError, match="do not fit together"):
        sufficiency_gap(tiger, window(1), behavior=uniform(voicemail))
    with pytest.raises(MemoryMismatch):
        sufficiency_gap(tiger, window(1).on(7, 4))
    with pytest.raises(ParameterError, match="depth: 0"):
        sufficiency_gap(tiger, window(1), depth=0)
    # n sounds have n + 1 beliefs, by how many of them were "save": 2 + 3 + … + 10 = 54
    with refuses(TooLarge, "voicemail", "more than 50", "8 actions"):
        sufficiency_gap(voicemail, window(1), most=50)


# ---- the page -----------------------------------------------------------------------------


def table():
    """The rows of the page's table."""
    line = re.compile(r"^\| (\w+) \| window of (\d) \|((?: [-\d.]+ \|)+)$", re.M)
    for name, k, numbers in line.findall(PAGE.read_text(encoding="utf-8")):
        yield name, window(int(k)), [cell.strip() for cell in numbers.split("|")[:-1]]


def test_the_gaps_and_promises_on_the_page_are_what_is_computed():
    rows = list(table())
    assert len(rows) == 3 * 4
    for name, memory, cells in rows:
        pomdp = models.build(name)
        gap = sufficiency_gap(pomdp, memory)
        best = run("basic", limit_mdp(pomdp, uniform(pomdp), memory), uniform(pomdp))
        true, reachable = evaluate(pomdp, best.controller).value, optimum(pomdp).lower
        promises = [f"{x:.4f}" for x in (best.performance, true, reachable)]
        assert cells == [f"{gap.tv:.4f}", f"{gap.mean_tv:.5f}", *promises], (name, memory)


def test_the_gaps_in_the_text_of_the_page_are_what_is_computed():
    maze, tiger = models.build("cheese_maze"), models.build("tiger")
    means = [f"{sufficiency_gap(maze, window(k, True)).mean_tv:.5f}" for k in (2, 3, 4)]
    patient = Controller.constant(tiger.observations, tiger.actions, [0.1, 0.1, 0.8])
    means.append(f"{sufficiency_gap(tiger, window(2), behavior=patient).mean_tv:.4f}")
    assert all(mean in PAGE.read_text(encoding="utf-8") for mean in means), means
