"""Q-learning behaviors: closed forms on models that leave nothing to chance."""

from __future__ import annotations

import numpy as np
import pytest

from jumar import models
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.randomness import random_stream
from jumar.lab.truth.pomdp import Pomdp, from_arrays
from jumar.lab.truth.training import train_behavior
from jumar.memory import NamedNodes, window

TIGER = models.tiger()


def bandit(*rewards: float) -> Pomdp:
    """One state, every action pays its reward and ends."""
    A = len(rewards)
    return from_arrays(
        name="bandit",
        states=["s"],
        actions=[f"a{i}" for i in range(A)],
        observations=["z"],
        transition=np.zeros((A, 1, 1)),
        ending=np.ones((A, 1)),
        observation=np.ones((A, 1, 1)),
        reward=np.reshape(rewards, (A, 1)),
        start=[1.0],
        first_observation=[[1.0]],
        discount=0.9,
    )


def test_a_bandit_is_learned_and_played_by_softmax():
    """With learning rate 1, Q is the reward: ψ(a0)/ψ(a1) = exp(τ·(2-1))."""
    c = train_behavior(
        bandit(2.0, 1.0), window(1), softmax=0.5, seed=random_stream(1), exploration=1.0
    )
    row = c.row([], "z")
    assert row[0] / row[1] == pytest.approx(np.exp(0.5), rel=1e-12)


def test_a_corridor_is_worth_the_discounted_end():
    """s0 -> s1 -> end pays 0, then 1. At γ = .9: Q(z0) = .9, Q(z1) = 1; waiting loses a step."""
    corridor = from_arrays(
        name="corridor",
        states=["s0", "s1"],
        actions=["go", "wait"],
        observations=["z0", "z1"],
        transition=[[[0, 1], [0, 0]], [[1, 0], [0, 1]]],
        ending=[[0, 1], [0, 0]],
        observation=[np.eye(2), np.eye(2)],
        reward=[[0, 1], [0, 0]],
        start=[1, 0],
        first_observation=np.eye(2),
        discount=0.9,
        max_steps=50,
    )
    c = train_behavior(
        corridor, window(1), softmax=1.0, seed=random_stream(1), episodes=500, exploration=1.0
    )
    q = np.array([[0.9, 0.81], [1.0, 0.9]])  # waiting in s: γ·max Q(s)
    expected = np.exp(q) / np.exp(q).sum(1, keepdims=True)
    np.testing.assert_allclose([c.row([], "z0"), c.row([], "z1")], expected, rtol=1e-5)


def test_training_is_a_function_of_its_generator():
    one, two = (
        train_behavior(TIGER, window(2), softmax=0.05, seed=random_stream(4, "train"))
        for _ in range(2)
    )
    other = train_behavior(TIGER, window(2), softmax=0.05, seed=random_stream(5, "train"))
    assert one.same_as(two)
    assert not one.same_as(other)


def test_a_behavior_can_be_trained_on_a_table():
    toggle = NamedNodes(("even", "odd"), np.array([[[1] * 3] * 2, [[0] * 3] * 2]), start=1)
    c = train_behavior(
        TIGER, toggle, softmax=0.05, seed=random_stream(1), episodes=100, name="odd one"
    )
    assert c.name == "odd one"
    assert len(c.rows) == 4


@pytest.mark.parametrize(
    ("parameters", "fact"),
    [
        ({"softmax": -1.0}, "softmax: -1.0 is out of range"),
        ({"softmax": float("nan")}, "softmax: nan"),
        ({"softmax": float("inf")}, "softmax: inf"),
        ({"episodes": 0}, "episodes: 0 is out of range; use a whole number from 1"),
        ({"learning_rate": 0.0}, r"learning_rate: 0.0 .* use a number in \(0, 1\]"),
        ({"exploration": -0.1}, "exploration: -0.1"),
        ({"decay": -0.1}, "decay: -0.1"),
    ],
)
def test_a_parameter_out_of_range_is_told(parameters, fact):
    with pytest.raises(ParameterError, match=fact):
        train_behavior(TIGER, window(1), seed=random_stream(1), **{"softmax": 0.05, **parameters})


def test_a_table_of_values_must_be_listed_and_says_so_if_it_cannot():
    with pytest.raises(TooLarge, match="Nodes of a window of 30"):
        train_behavior(TIGER, window(30), softmax=0.05, seed=random_stream(1))
