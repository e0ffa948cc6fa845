"""A model run by a controller: only what can happen, and all of it."""

from __future__ import annotations

import pytest

from facts import refuses
from jumar import models
from jumar.core.errors import ModelError, TooLarge
from jumar.lab.truth.chain import check_names_agree, unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.memory import window
from jumar.policy.controller import Controller

TIGER = models.tiger()
UNIFORM = Controller.uniform(TIGER.observations, TIGER.actions)
LISTEN = Controller.constant(TIGER.observations, TIGER.actions, [0, 0, 1])
OPEN = Controller.constant(TIGER.observations, TIGER.actions, [1, 0, 0])


def test_tiger_without_memory_has_four_triples():
    """Two places and two sounds; from each, two doors that end and two sounds to listen to."""
    chain = unroll(TIGER, UNIFORM)
    assert len(chain) == 4
    assert len(chain.states) == 2
    assert len(chain.source) == 4 * (2 + 2)
    assert chain.start.tolist() == [0.425, 0.075, 0.075, 0.425]
    assert (chain.target == END).sum() == 8


def test_memory_that_is_never_reached_costs_nothing():
    """Opening at once ends the episode, so a window of 50 has one node, ∅, and two sounds."""
    chain = unroll(TIGER, OPEN.lift(window(50)))
    assert len(chain.states) == 2
    assert len(chain) == 4


def test_outcomes_of_probability_zero_are_not_in_the_chain():
    """One state is left for another, or (never) for a third, or (never) the episode ends."""
    model = Pomdp(
        name="m",
        states=("s", "t", "never"),
        actions=("a",),
        observations=("z",),
        start=[1.0, 0.0, 0.0],
        first_observation=[[1.0]] * 3,
        pointer=[0, 3, 4, 5],
        probability=[1.0, 0.0, 0.0, 1.0, 1.0],
        next_state=[1, 2, END, 1, 2],
        next_observation=[0, 0, END, 0, 0],
        reward=[0.0, 9.0, 9.0, 0.0, 0.0],
        discount=0.9,
    )
    chain = unroll(model, Controller.uniform(("z",), ("a",)))
    assert chain.hidden.tolist() == [0, 1]
    assert chain.target.tolist() == [1, 1]


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_a_window_on_tiger_reaches_every_history_of_sounds(k):
    """1 + 2 + … + 2^(k-1) nodes, each with 2 sounds and 2 places."""
    chain = unroll(TIGER, UNIFORM.lift(window(k)))
    assert len(chain) == (2**k - 1) * 4


def test_a_controller_with_other_names_does_not_fit():
    other = Controller.uniform(("hear-right", "hear-left"), TIGER.actions, name="mirror")
    with refuses(ModelError, "mirror", "'tiger'", "observations", "order"):
        unroll(TIGER, other)
    with refuses(ModelError, "actions", "open-left"):
        check_names_agree(TIGER, Controller.uniform(TIGER.observations, ("a",)))


def test_a_chain_too_long_to_list_says_whose():
    with refuses(TooLarge, "tiger x uniform", "more than 100"):
        unroll(TIGER, UNIFORM.lift(window(9)), most=100)
