"""Numbers computed independently of this library, to the digits they were written down with.

γ = .95, returns from t = 0. Tiger: 0 and 1 open left and right, 2 listens. Voicemail: 0 asks,
1 saves, 2 deletes. A window of 2 has six history states (∅,0) (∅,1) (0,0) (0,1) (1,0) (1,1).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jumar import models
from jumar.algorithms import run
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.pomdp import Pomdp
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.solver import action_values, policy_value
from jumar.tally.history import Counts, HistoryMdp

TIGER, VOICEMAIL = models.tiger(), models.voicemail()
PRINTED = 5e-11  # ten digits after the point


def deterministic(model: Pomdp, k: int, choice: tuple[int, ...]) -> Controller:
    """One action per history state of a window of k, in the order of the table above."""
    nodes = window(k).on(2, 3).enumerate().tolist()
    states = [[*node, z] for node in nodes for z in range(2)]
    rows = np.eye(3)[list(choice)]
    return Controller(model.observations, model.actions, window(k), states, rows, [1, 0, 0])


def value(model: Pomdp, controller: Controller, **how) -> float:
    return evaluate(model, controller, **how).value


def uniform(model: Pomdp) -> Controller:
    return Controller.uniform(model.observations, model.actions)


# ---- exact values -------------------------------------------------------------------------------


AGREE = {"tiger": (2, 2, 1, 2, 2, 0), "voicemail": (0, 0, 1, 0, 0, 2)}
BEST = {"tiger": AGREE["tiger"], "voicemail": (1, 0, 1, 0, 0, 2)}


@pytest.mark.parametrize(("model", "expected"), [(TIGER, 3.0918256362), (VOICEMAIL, 1.5151547336)])
def test_the_best_deterministic_controller_of_a_window_of_two_is_unique(model, expected):
    """All 3^6 of them."""
    values = {
        choice: value(model, deterministic(model, 2, choice))
        for choice in itertools.product(range(3), repeat=6)
    }
    first, second = sorted(values, key=values.get, reverse=True)[:2]
    assert first == BEST[model.name]
    assert values[first] == pytest.approx(expected, abs=PRINTED)
    assert values[second] < values[first] - 1e-4


@pytest.mark.parametrize(("step_reward", "expected"), [(0.0, 0.2036400524), (-0.01, 0.0443680628)])
def test_wandering_about_the_maze(step_reward, expected):
    maze = models.cheese_maze(step_reward=step_reward)
    assert value(maze, uniform(maze)) == pytest.approx(expected, abs=PRINTED)


@pytest.mark.parametrize(("step_reward", "expected"), [(0.0, 0.8460830625), (-0.01, 0.8152996750)])
def test_the_best_way_through_the_maze_is_one_for_a_window_of_two(step_reward, expected):
    """Steps from cells 0 to 9: 4, 3, 2, 5, 4, 5, 3, 5, 6, 6 (a corridor may be the wrong one, and a
    shaft is left northwards to see where one is). Without step reward (γ+2γ²+2γ³+3γ⁴+2γ⁵)/10."""
    maze = models.cheese_maze(step_reward=step_reward)
    found = evaluate(maze, _through_the_maze(maze))
    assert found.value == pytest.approx(expected, abs=PRINTED)
    assert found.length == pytest.approx((2 + 2 * 3 + 2 * 4 + 3 * 5 + 2 * 6) / 10, abs=1e-12)


def _through_the_maze(maze: Pomdp) -> Controller:
    north, south, east, west = range(4)
    by_look = {
        "corner-nw": east,
        "corridor": east,
        "junction": south,
        "corner-ne": west,
        "shaft": north,
        "dead-end": north,
    }
    after = {("corner-ne", "corridor"): west, ("junction", "shaft"): south}
    blank = Controller.uniform(maze.observations, maze.actions, memory=window(2))
    way = {
        (before, look): after.get((before, look), by_look[look])
        for before in ("", *maze.observations)
        for look in by_look
    }
    states = np.array([blank.state([before], look) for before, look in way])
    return blank.except_at(states, np.eye(4)[list(way.values())])


# ---- SPIBB on one state -------------------------------------------------------------------------


def one_state(q: list[float], visits: list[int]) -> HistoryMdp:
    """Every action pays q(a) and ends, so that Q is q."""
    return HistoryMdp(
        ("z",), ("a0", "a1", "a2"), window(1).on(1, 3), [[0]], visits=[visits], reward=[q],
        ending=[[1.0] * 3], start=[1.0], pair=[], successor=[], probability=[], discount=0.95,
    )  # fmt: skip


B = [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    ("visits", "strict", "loose"),
    [
        ((10, 10, 2), [0, 0.5, 0.5], [0, 0.5, 0.5]),
        ((2, 10, 10), [0.2, 0, 0.8], [0, 0, 1]),
        ((10, 2, 2), B, B),
        ((2, 2, 2), B, B),
    ],
)
def test_spibb_on_one_state(visits, strict, loose):
    behavior = Controller.constant(("z",), ("a0", "a1", "a2"), B)
    mdp = one_state([1, 2, 3], list(visits))
    for name, expected in (("spibb", strict), ("spibb_leq", loose)):
        row = run(name, mdp, behavior, n_wedge=5).policy[0]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-15)
        if expected is B:
            assert row.tolist() == B  # untouched, to the last bit


# ---- the two-state table ------------------------------------------------------------------------


def two_states() -> tuple[HistoryMdp, Controller]:
    to_x0_x1 = np.array([[[6, 4], [8, 0], [1, 0]], [[0, 10], [5, 5], [0, 2]]])
    ends = np.array([[0, 2, 1], [0, 0, 2]])
    visits = to_x0_x1.sum(2) + ends
    mean = np.array([[0, 1, 5], [0.5, 0, 3]])
    x, a, successor = np.nonzero(to_x0_x1)
    names = ("x0", "x1"), ("a0", "a1", "a2")
    counts = Counts(
        *names,
        window(1),
        states=[[0], [1]],
        visits=visits,
        reward_sum=mean * visits,
        ends=ends,
        starts=[1, 1],
        pair=x * 3 + a,
        successor=successor,
        times=to_x0_x1[x, a, successor],
    )
    rows = [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]
    behavior = Controller(*names, window(1), [[0], [1]], rows, [1.0, 0.0, 0.0])
    return counts.mle(0.95), behavior


def test_the_behavior_in_the_two_state_table():
    mdp, behavior = two_states()
    v = policy_value(mdp, mdp.policy_of(behavior))
    assert v == pytest.approx([6.1699222852, 5.8874186095], abs=PRINTED)
    q = action_values(mdp, v)
    assert q[0] == pytest.approx([5.7540747742, 5.6891409368, 7.9307130855], abs=PRINTED)


def test_spibb_in_the_two_state_table():
    result = run("spibb", *two_states(), n_wedge=5)
    np.testing.assert_allclose(result.policy, [[0.8, 0, 0.2]] * 2, rtol=0, atol=1e-15)
    assert result.values == pytest.approx([6.8965517241, 6.8965517241], abs=PRINTED)
    start = (6.1699222852 + 5.8874186095) / 2
    assert result.behavior_performance == pytest.approx(start, abs=PRINTED)
    assert result.performance == pytest.approx(6.8965517241, abs=PRINTED)


@pytest.mark.parametrize("unseen", ["exclude", "zero", "pessimistic"])
def test_basic_in_the_two_state_table(unseen):
    """Every pair was tried, so what is done about the others does not matter."""
    result = run("basic", *two_states(), unseen=unseen)
    assert result.policy.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert result.values == pytest.approx([9.5238095238, 10], abs=PRINTED)
