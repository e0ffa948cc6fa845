"""The best value of all: published numbers, closed forms, and a slow, obvious twin."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from beliefs import update
from jumar import models
from jumar.core.controller import Controller
from jumar.core.errors import ModelError, NotConverged, ParameterError, TooLarge
from jumar.truth.belief import first_beliefs, predict
from jumar.truth.evaluation import evaluate
from jumar.truth.optimality import Optimum, optimum
from jumar.truth.pomdp import from_arrays


@cache  # seconds for a model that never ends
def best_of(name: str) -> Optimum:
    return optimum(models.build(name))


@pytest.mark.parametrize(
    ("pomdp", "expected"),
    [
        (models.tiger(), 5.0212519209),
        (models.voicemail(), 1.5164184503),
        (models.cheese_maze(), 0.8152996750),
        (models.cheese_maze(step_reward=0.0), 0.8460830625),
    ],
    ids=["tiger", "voicemail", "cheese_maze", "cheese_maze without step reward"],
)
def test_the_benchmarks_have_their_known_optima(pomdp, expected):
    best = optimum(pomdp)
    assert best.upper - best.lower <= 1e-9
    assert best.lower - 1e-10 <= expected <= best.upper + 1e-10  # expected has ten digits


@pytest.mark.parametrize("name", [n for n, e in models.MODELS.items() if e.optimum is not None])
def test_the_registry_tells_the_optimum(name):
    best = best_of(name)
    assert models.entry(name).optimum == pytest.approx(best.lower, abs=2e-9)


def test_tiger_needs_seven_beliefs_and_is_then_exact():
    # net agreement -3 .. 3: beyond, opening is best whatever could still be heard
    best = optimum(models.tiger())
    assert best.n_beliefs == 7
    assert best.exact
    assert not optimum(models.voicemail()).exact


def coin(bias, cost, honesty=1.0, discount=0.9):
    """A hidden coin shows heads with `bias`. Guessing right ends with 1, wrong with -1; peeking
    costs and tells the truth with probability `honesty`."""
    peek = [[honesty, 1 - honesty], [1 - honesty, honesty]]
    stay, gone = np.eye(2), np.zeros((2, 2))
    return from_arrays(
        name="coin",
        states=["heads", "tails"],
        actions=["say-heads", "say-tails", "peek"],
        observations=["h", "t"],
        transition=[gone, gone, stay],
        ending=[[1, 1], [1, 1], [0, 0]],
        observation=[peek] * 3,
        reward=[[1, -1], [-1, 1], [-cost, -cost]],
        start=[bias, 1 - bias],
        first_observation=[[0.5, 0.5]] * 2,
        discount=discount,
    )


@pytest.mark.parametrize(("bias", "cost"), [(0.5, 0.1), (0.7, 0.2), (0.9, 0.2), (0.6, 1.5)])
def test_a_coin_is_guessed_at_once_or_after_one_peek(bias, cost):
    best = optimum(coin(bias, cost))
    expected = max(2 * bias - 1, -cost + 0.9)
    assert best.lower - 1e-12 <= expected <= best.upper + 1e-12


def test_a_coin_tossed_anew_every_step_is_worth_its_mean():
    # seen only after it was bet on: every bet is even, 0.6 for the better side, and never ends
    toss = [[0.8, 0.2], [0.8, 0.2]]
    pomdp = from_arrays(
        name="roulette",
        states=["red", "black"],
        actions=["bet-red", "bet-black"],
        observations=["nothing"],
        transition=[toss, toss],
        observation=[[[1], [1]]] * 2,
        reward=[[1, -1], [-1, 1]],
        start=[0.8, 0.2],
        first_observation=[[1], [1]],
        discount=0.95,
    )
    best = optimum(pomdp)
    assert best.lower == pytest.approx(0.6 / 0.05, abs=1e-9)
    assert best.exact
    assert best.n_beliefs == 1


def test_a_decision_seen_through_is_the_optimum_of_the_mdp():
    # fully observable: from "low", waiting for 0.9·10 beats taking 5 now
    pomdp = from_arrays(
        name="ladder",
        states=["low", "high"],
        actions=["take", "climb"],
        observations=["low", "high"],
        transition=[[[0, 0], [0, 0]], [[0, 1], [0, 1]]],
        ending=[[1, 1], [0, 0]],
        observation=[np.eye(2)] * 2,
        reward=[[5, 10], [0, 0]],
        start=[1, 0],
        first_observation=np.eye(2),
        discount=0.9,
    )
    assert optimum(pomdp).lower == pytest.approx(9)


def random_pomdp(seed, discount=0.3):
    rng = np.random.default_rng(seed)
    S, A, O = 3, 2, 2
    T = rng.dirichlet(np.ones(S + 1), (A, S))
    return from_arrays(
        name=f"random {seed}",
        states=[f"s{i}" for i in range(S)],
        actions=["a", "b"],
        observations=["y", "z"],
        transition=T[:, :, :S],
        ending=T[:, :, S],
        observation=rng.dirichlet(np.ones(O), (A, S)),
        reward=rng.uniform(-1, 1, (A, S)),
        start=rng.dirichlet(np.ones(S)),
        first_observation=rng.dirichlet(np.ones(O), S),
        discount=discount,
    )


def obvious_value(pomdp, belief, left):
    """Best expected return of `left` more steps, by trying everything."""
    if left == 0:
        return 0.0
    law, _, reward = (x[0] for x in predict(pomdp, [belief]))
    values = list(reward)
    for a in range(len(values)):
        for z in np.flatnonzero(law[a]):
            after, p = update(pomdp, belief, a, int(z))
            values[a] += pomdp.discount * p * obvious_value(pomdp, after, left - 1)
    return max(values)


@pytest.mark.parametrize("seed", range(5))
def test_the_bracket_holds_the_value_found_by_trying_everything(seed):
    pomdp, steps = random_pomdp(seed), 6
    law, beliefs = first_beliefs(pomdp)
    value = sum(p * obvious_value(pomdp, b, steps) for p, b in zip(law, beliefs, strict=True))
    cut = 0.3**steps / 0.7  # rewards lie in [-1, 1]
    best = optimum(pomdp, tolerance=1e-4)
    assert best.upper - best.lower <= 1e-4
    assert best.lower - cut <= value <= best.upper + cut
    narrow = optimum(pomdp, tolerance=1e-6)
    assert best.lower - 1e-12 <= narrow.lower <= narrow.upper <= best.upper + 1e-12


@pytest.mark.parametrize("name", [n for n, e in models.MODELS.items() if e.optimum is not None])
def test_no_controller_is_better_than_the_optimum(name):
    pomdp, best = models.build(name), best_of(name)
    for row in np.random.default_rng(1).dirichlet(np.ones(len(pomdp.actions)), 5):
        anyone = Controller.constant(pomdp.observations, pomdp.actions, row)
        assert evaluate(pomdp, anyone).value <= best.upper


def test_too_many_beliefs_is_an_error_that_tells_the_bracket_reached():
    with pytest.raises(TooLarge, match=r"Optimum of voicemail: between 1\.\d+ and 1\.\d+ after"):
        optimum(models.voicemail(), most=40)


def test_impossible_wishes_are_told():
    with pytest.raises(ParameterError, match="tolerance: 0"):
        optimum(models.tiger(), tolerance=0)
    with pytest.raises(ModelError, match="discount 1"):
        optimum(coin(0.5, 0.1, discount=1.0))


def test_a_tolerance_below_rounding_is_refused_and_not_pretended():
    with pytest.raises(NotConverged, match="Rounding keeps the bounds apart"):
        optimum(models.tiger(), tolerance=1e-16)


@pytest.mark.parametrize(
    ("pomdp", "expected"),
    [
        (models.tiger(), 3.770189),
        (models.voicemail(), 0.440598),
        (models.cheese_maze(), 0.789009),
        (models.cheese_maze(step_reward=0.0), 0.824174),
    ],
    ids=["tiger", "voicemail", "cheese_maze", "cheese_maze without step reward"],
)
def test_without_a_first_observation_less_can_be_reached(pomdp, expected):
    silent = np.eye(1, len(pomdp.observations)).repeat(len(pomdp.states), 0)
    best = optimum(replace(pomdp, first_observation=silent))
    assert best.lower == pytest.approx(expected, abs=1e-6)


def test_a_model_that_never_ends_and_is_hardly_ever_seen():
    # managing the Sumatran tiger (Chadès et al. 2008); the optimum lies in [1405.287, 1405.290]
    best = best_of("sumatran_tiger")
    assert best.upper - best.lower <= 1e-9
    assert best.lower <= 1405.290
    assert best.upper >= 1405.287


def test_a_coarse_bracket_holds_the_optimum_too():
    best = optimum(models.voicemail(), tolerance=0.05)
    assert best.lower <= 1.5164184503 <= best.upper
    assert 1e-9 < best.upper - best.lower <= 0.05
