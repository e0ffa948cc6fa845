"""Random MDPs: what they are made of, by the published recipe."""

from __future__ import annotations

import numpy as np
import pytest

import jumar as jm
from facts import refuses
from jumar.core.errors import ParameterError
from jumar.lab.truth.pomdp import END, Pomdp

ONE = jm.models.garnet()


def law_of(model: Pomdp) -> np.ndarray:
    """(S, A, S+1) the law of the next state, the goal last."""
    S, A = len(model.states), len(model.actions)
    law = np.zeros((S * A, S + 1))
    to = np.where(model.next_state == END, S, model.next_state)
    np.add.at(law, (model.pair_of_outcome, to), model.probability)
    return law.reshape(S, A, S + 1)


def test_fifty_states_with_the_goal_four_actions_four_successors():
    law = law_of(ONE)
    assert law.shape == (49, 4, 50)
    assert ((law > 0).sum(2) == 4).all()
    assert (law[np.arange(49), :, np.arange(49)] == 0).all()  # no action stays
    assert ONE.observations == ONE.states
    assert ONE.start.tolist() == [1.0] + [0.0] * 48


def best_value(model: Pomdp) -> float:
    law, v = law_of(model), np.zeros(len(model.states))
    for _ in range(800):
        v = (law[:, :, -1] + 0.95 * law[:, :, :-1] @ v).max(1)
    return float(v[0])


def test_the_optimum_is_that_of_value_iteration():
    found = jm.optimum(ONE, gap=1e-9)
    assert found.lower - 1e-9 <= best_value(ONE) <= found.upper + 1e-9


def test_no_other_goal_is_harder():
    """With 6 states: every other state as the goal is worth more at the beginning."""
    from jumar.lab.truth.models.made import _hardest

    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(6), (6, 2))

    def worth(goal: int) -> float:
        v = np.zeros(6)
        for _ in range(800):
            after = np.where(np.arange(6) == goal, 1.0, 0.95 * v)
            v = np.where(np.arange(6) == goal, 0.0, (law @ after).max(1))
        return float(v[0])

    assert _hardest(law) == min(range(1, 6), key=worth)


def test_a_seed_is_a_model_and_another_seed_another_one():
    same, other = jm.models.build("garnet:seed=1"), jm.models.build("garnet:seed=2")
    assert same.probability.tobytes() == ONE.probability.tobytes()
    assert other.probability.tobytes() != ONE.probability.tobytes()
    small = jm.models.build("garnet:seed=1,states=5,actions=2,successors=3")
    assert (len(small.states), len(small.actions)) == (4, 2)


@pytest.mark.parametrize("spec", ["seed=1.5", "states=0", "seed=-1", "states=4,successors=4"])
def test_what_cannot_be_drawn_is_an_error(spec):
    option = spec.rpartition(",")[2].partition("=")[0]
    with refuses(ParameterError, "garnet", option):
        jm.models.build(f"garnet:{spec}")
