"""Models: every row sums to one with its endings, or an error names the row."""

from __future__ import annotations

import numpy as np
import pytest

from facts import refuses
from jumar.core.errors import ModelError
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.pomdp import END, Pomdp, from_arrays
from jumar.policy.controller import Controller

MACHINE = {
    "name": "machine",
    "states": ["fine", "broken"],
    "actions": ["run", "mend"],
    "observations": ["hum", "rattle"],
    # (A, S, S): running breaks the machine in 1 of 4 cases; a broken one is scrapped half the time
    "transition": [[[0.75, 0.25], [0.0, 0.5]], [[1.0, 0.0], [1.0, 0.0]]],
    "ending": [[0.0, 0.5], [0.0, 0.0]],
    "observation": [[[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]],
    "reward": [[10, -5], [-2, -2]],
    "start": [1.0, 0.0],
    "first_observation": [[0.5, 0.5], [0.0, 1.0]],
    "discount": 0.9,
}
COIN = {  # one state, one action, two outcomes: it goes on or it ends
    "name": "coin",
    "states": ["s"],
    "actions": ["toss"],
    "observations": ["z"],
    "start": [1.0],
    "first_observation": [[1.0]],
    "pointer": [0, 2],
    "probability": [0.5, 0.5],
    "next_state": [0, END],
    "next_observation": [0, END],
    "reward": [1.0, 3.0],
    "discount": 0.9,
}


def machine(**changes) -> Pomdp:
    return from_arrays(**{**MACHINE, **changes})


def coin(**changes) -> Pomdp:
    return Pomdp(**{**COIN, **changes})


# ---- outcomes -----------------------------------------------------------------------------------


def test_dense_arrays_become_one_outcome_per_next_state_and_observation():
    """Running a broken machine: it stays broken (.5, heard as hum .2 or rattle .8) or ends (.5)."""
    model = machine()
    outcomes = slice(model.pointer[2], model.pointer[3])  # s = 1, a = 0
    assert model.probability[outcomes].tolist() == [0.1, 0.4, 0.5]
    assert model.next_state[outcomes].tolist() == [1, 1, END]
    assert model.next_observation[outcomes].tolist() == [0, 1, END]
    assert model.reward[outcomes].tolist() == [-5.0] * 3


def test_expected_rewards_weigh_outcomes_by_their_probability():
    assert coin().expected_reward.tolist() == [[2.0]]
    assert machine().expected_reward.tolist() == [[10.0, -2.0], [-5.0, -2.0]]


def test_reward_extremes_tell_steps_that_end_from_those_that_do_not():
    assert coin().reward_extremes(ending=True) == (3.0, 3.0)
    assert coin().reward_extremes(ending=False) == (1.0, 1.0)
    assert machine().reward_extremes(ending=False) == (-5.0, 10.0)
    endless = machine(transition=[[[0.75, 0.25], [0, 1]], [[1, 0], [1, 0]]], ending=0.0)
    assert endless.reward_extremes(ending=True) is None


def test_a_model_is_read_only_and_keeps_its_own_copies():
    start = np.array([1.0, 0.0])
    model = machine(start=start)
    start[:] = 0.5
    assert model.start.tolist() == [1.0, 0.0]
    for name in ("start", "first_observation", "pointer", "probability", "next_state", "reward"):
        assert not getattr(model, name).flags.writeable


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        (
            {"ending": 0.0},
            "state 'broken', action 'run': outcomes have probability 0.5 in all, not 1. If the "
            "episode can end here, declare the missing mass as an ending",
        ),
        ({"ending": [[0.0, 0.5], [0.0, 0.1]]}, "state 'broken', action 'mend': .* probability 1.1"),
        (
            {"observation": [[[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.2], [0.2, 0.8]]]},
            "action 'mend' into state 'fine': observations have probability 1.1",
        ),
        (
            {"observation": [[[1.5, -0.5], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]]},
            "negative or undefined probability",
        ),
        ({"ending": [[0.0, 0.5], [-0.5, 0.0]]}, "negative or undefined probability"),
        ({"start": [0.5, 0.4]}, "the law of the first state: probabilities sum to 0.9"),
        ({"start": [1.0]}, r"start has shape \(1,\)"),
        (
            {"first_observation": [[0.5, 0.4], [0, 1]]},
            "the first observation in state 'fine': probabilities sum to 0.9",
        ),
        ({"first_observation": [[0.5, 0.5]]}, r"first_observation \(1, 2\); expected"),
        ({"transition": [[[1.0, 0.0], [0.0, 1.0]]]}, r"transition has shape \(1, 2, 2\), not"),
        ({"reward": [10, -5]}, r"reward has shape \(2,\), not \(2, 2\)"),
        ({"reward": [[np.nan, 0], [0, 0]]}, "rewards must be finite"),
        ({"discount": -0.1}, r"discount -0.1 must lie in \[0, 1\]"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"states": ["fine", "fine"]}, "'fine' is also name 1"),
        ({"actions": ["run", 2]}, "2 is not text"),
    ],
)
def test_a_model_that_loses_probability_or_names_is_refused_with_the_place(changes, fact):
    with pytest.raises(ModelError, match=fact):
        machine(**changes)


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"reward": [1.0]}, "1 entries in reward, but 2 outcomes"),
        ({"pointer": [0, 1]}, "pointer does not cut 2 outcomes into 1x1 groups"),
        ({"next_state": [1, END]}, "out of range"),
        ({"next_observation": [1, END]}, "out of range"),
        ({"next_observation": [0, 0]}, "out of range"),  # an ending shows nothing
        ({"next_observation": [END, END]}, "out of range"),  # going on shows something
        ({"probability": [0.5, np.nan]}, "negative or undefined"),
    ],
)
def test_outcomes_that_lead_nowhere_are_refused(changes, fact):
    with pytest.raises(ModelError, match=fact):
        coin(**changes)


def test_an_ending_that_cannot_happen_does_not_make_a_value_for_ever():
    model = coin(probability=[1.0, 0.0], discount=1.0)
    with refuses(ModelError, "discount 1", "may never end"):
        evaluate(model, Controller.uniform(model.observations, model.actions))
