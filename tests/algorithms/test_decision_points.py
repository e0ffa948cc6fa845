"""Decision points: which actions are admitted, by hand and by an obvious twin, and the bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import jumar as jm
from jumar.algorithms import run
from jumar.evidence.first_visits import first_returns
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.solver import action_values, policy_value
from strategies import memoryless, names, random_mdp

THREE = Controller.uniform(("z",), names("a", 3))


def one_step(tries: tuple[int, int, int], pays: tuple[float, float, float]) -> Episodes:
    """Episodes of one step: each action so often, paying so much."""
    action = [a for a, n in enumerate(tries) for _ in range(n)]
    n = len(action)
    paid = [pays[a] for a in action]
    return Episodes(
        ("z",), names("a", 3), [0] * n, action, paid, range(n + 1), [-1] * n, [True] * n
    )


def chosen(log: Episodes, n_wedge: int, old: Controller = THREE) -> list[float]:
    found = jm.improve(log, old, discount=0.9, algorithm="decision_points", n_wedge=n_wedge)
    return found.improvement.policy[0].tolist()


def test_only_what_was_taken_in_more_than_n_wedge_episodes_is_chosen():
    """a2 pays most and was tried 5 times; a1 pays more than the mean and was tried 30 times."""
    log, row = one_step((30, 30, 5), (0, 2, 9)), [0.45, 0.45, 0.1]
    old = Controller.constant(("z",), names("a", 3), row)
    assert chosen(log, 4, old) == [0, 0, 1]
    assert chosen(log, 5, old) == [0, 1, 0]  # five is not more than five
    assert chosen(log, 30, old) == row


def test_what_did_worse_than_usual_is_not_chosen_however_often_it_was_tried():
    """The mean is (0 + 2·30 + 9·25)/56: a1 is below it, a2 not known; nothing is left."""
    log = one_step((1, 30, 25), (0, 2, 9))
    assert chosen(log, 26) == [1 / 3, 1 / 3, 1 / 3]
    assert chosen(log, 20) == [0, 0, 1]


def test_visits_are_counted_once_per_episode():
    """One episode of 50 steps is one visit."""
    n = 50
    log = Episodes(("z",), names("a", 3), [0] * n, [2] * n, [1.0] * n, [0, n], [-1], [True])
    assert chosen(log, 1) == [1 / 3, 1 / 3, 1 / 3]


@pytest.mark.parametrize("seed", range(5))
def test_it_plans_the_best_of_all_admitted_policies(seed):
    """The obvious twin: all choices between the behavior's row and one advantageous action."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, visits=50)
    old = memoryless(rng, mdp)
    rows = mdp.policy_of(old)
    v_b = policy_value(mdp, rows)
    q_b = action_values(mdp, v_b)
    options = [[rows[h], *(np.eye(3)[a] for a in range(3) if q_b[h, a] > v_b[h])] for h in range(4)]
    best = max(mdp.start @ policy_value(mdp, np.array(c)) for c in itertools.product(*options))
    assert run("decision_points", mdp, old).performance == pytest.approx(best, abs=1e-10)


def test_the_bound_by_hand():
    """a1 and a2 each 100 times, a0 never; returns in [0, 4]; one pair and one state change.
    X = 1, A = 3: c = ln(2·1·4/0.05); a2 has 100 visits, the state 200."""
    log = one_step((0, 100, 100), (0, 1, 3))
    rewards = RewardRange((0, 0), (0, 4))
    result = jm.improve(
        log, THREE, discount=0.9, algorithm="decision_points", n_wedge=20, rewards=rewards
    )
    (own,) = (c for c in result.certificates if c.bound == "decision-points")
    c = math.log(8 / 0.05)
    off = 4 * math.sqrt(c / 200) + 4 * math.sqrt(c / 400)
    assert own.zeta == pytest.approx(off / (1 - 0.9), rel=1e-12)
    assert own.validity is Validity.PROVED_IF_SUFFICIENT
    assert own.delta == 0.05


def test_what_follows_a_history_state_is_the_mix_of_what_follows_its_actions():
    """Where every episode visits once, V̂ is the mean of Q̂ weighed by visits."""
    log = one_step((3, 5, 2), (1, 2, 7))
    pays = {"discount": 0.9, "rewards": RewardRange.constant(0, 9)}
    pairs, states = (
        first_returns(log, window(1), **pays, by_action=by_action) for by_action in (True, False)
    )
    assert states.count.tolist() == [[10]]
    assert states.mean[0, 0] == pytest.approx((pairs.mean * pairs.count).sum() / 10)
    assert (states.pairs, pairs.pairs) == (1, 3)
