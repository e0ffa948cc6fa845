"""The best value of all: published numbers, closed forms, and a slow, obvious twin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar import models
from jumar.core.errors import ModelError, ParameterError
from jumar.lab.truth import optimality
from jumar.lab.truth.evaluation import evaluate
from jumar.lab.truth.hsvi.bounds import simple_bounds
from jumar.lab.truth.optimality import Optimum, Search, optimum, yardstick
from jumar.lab.truth.pomdp import END, Pomdp, from_arrays
from strategies import pomdps, random_pomdp


@pytest.mark.parametrize("name", models.MODELS)
def test_the_registry_tells_the_optimum_and_the_controller_earns_the_lower_bound(name):
    best = optimum(models.build(name))
    assert (best.stopped, best.gap <= 1e-9) == ("gap", True)
    assert best.lower - 1e-10 <= models.MODELS[name].optimum <= best.upper + 1e-10
    assert best.lower <= evaluate(models.build(name), best.controller()).value <= best.upper
    assert yardstick(models.build(name)) == pytest.approx(best.lower, rel=1e-7)


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


def test_impossible_wishes_are_told():
    with pytest.raises(ParameterError, match="seconds: 0"):
        optimum(models.tiger(), seconds=0)
    with pytest.raises(ParameterError, match="gap: -1"):
        optimum(models.tiger(), gap=-1)
    with pytest.raises(ModelError, match="discount 1"):
        optimum(coin(0.5, 0.1, discount=1.0))
    with pytest.raises(ModelError, match="so close to 1"):
        optimum(coin(0.5, 0.1, discount=1 - 1e-15))


def test_a_gap_below_rounding_ends_with_what_can_be_proved():
    best = optimum(models.tiger(), gap=0)
    assert best.stopped == "rounding"
    assert best.gap < 1e-10
    assert best.lower < 5.0212519209293 < best.upper


def test_without_time_there_is_a_bracket_and_a_controller():
    best = optimum(models.voicemail(), seconds=1e-9)
    assert best.stopped == "time"
    assert best.lower <= 1.5164184503 <= best.upper
    assert evaluate(models.voicemail(), best.controller()).value >= best.lower


# ---- a slow, obvious twin ------------------------------------------------------------------------


def what_follows(pomdp: Pomdp) -> np.ndarray:
    """(A, O, S, S) probability to see z and be in s' after a in s, outcome by outcome."""
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    joint = np.zeros((A, O, S, S))
    for pair in range(S * A):
        for k in range(pomdp.pointer[pair], pomdp.pointer[pair + 1]):
            if pomdp.next_state[k] != END:
                place = pair % A, pomdp.next_observation[k], pair // A, pomdp.next_state[k]
                joint[place] += pomdp.probability[k]
    return joint


def obvious_values(pomdp: Pomdp, joint: np.ndarray, beliefs: np.ndarray, left: int) -> np.ndarray:
    """Best expected return of `left` more steps, by trying everything; masses are probabilities."""
    if left == 0:
        return np.zeros(len(beliefs))
    values = []
    for a, after in enumerate(joint):
        value = beliefs @ pomdp.expected_reward[:, a]
        for matrix in after:
            value = value + pomdp.discount * obvious_values(
                pomdp, joint, beliefs @ matrix, left - 1
            )
        values.append(value)
    return np.max(values, axis=0)


def obvious_optimum(pomdp: Pomdp, steps: int) -> tuple[float, float]:
    """A bracket: what `steps` steps can earn, and what may come after them."""
    first = (pomdp.start[:, None] * pomdp.first_observation).T
    value = float(obvious_values(pomdp, what_follows(pomdp), first, steps).sum())
    rest = pomdp.discount**steps / (1 - pomdp.discount) * np.abs(pomdp.reward).max()
    return value - rest - 1e-9, value + rest + 1e-9


def changed(pomdp: Pomdp, factor: float, shift: float) -> Pomdp:
    return replace(pomdp, reward=pomdp.reward * factor + shift)


@pytest.mark.parametrize("discount", [0.1, 0.3, 0.5])
@pytest.mark.parametrize(("factor", "shift"), [(1, 0), (-1, 0), (1, 50), (1e-6, -1e-6), (1e6, 3)])
def test_the_bracket_holds_what_trying_everything_finds(discount, factor, shift):
    for seed in range(3):  # 45 models in all
        rng = np.random.default_rng([seed, int(100 * discount)])
        S, A, O = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
        pomdp = changed(random_pomdp(rng, S, A, O, discount), factor, shift)
        steps = int(np.log(20_000) / np.log(max(2, A * O)))  # so many that it takes no time
        low, high = obvious_optimum(pomdp, min(steps, 12))
        for gap in (0.3, 1e-3, 1e-6):
            best = optimum(pomdp, gap=gap)
            assert best.stopped in ("gap", "rounding")
            assert best.lower <= high
            assert best.upper >= low


@settings(max_examples=100, deadline=None)
@given(pomdps(), st.sampled_from([(1.0, 0.0), (-1.0, 0.0), (1e3, -7.0)]))
def test_models_with_zeros_and_ties(pomdp, change):
    pomdp = changed(pomdp, *change)
    best = optimum(pomdp, gap=1e-6, seconds=5)
    low, high = obvious_optimum(pomdp, 3)
    assert best.lower <= min(best.upper, high)
    assert best.upper >= low
    earned = evaluate(pomdp, best.controller()).value
    assert best.lower - 1e-12 * abs(best.lower) <= earned <= best.upper + 1e-12 * abs(best.upper)


def without_end(rng, S, A, O, discount) -> Pomdp:
    return from_arrays(
        name="random",
        states=[f"s{i}" for i in range(S)],
        actions=[f"a{i}" for i in range(A)],
        observations=[f"z{i}" for i in range(O)],
        transition=rng.dirichlet(np.full(S, 0.3), (A, S)),
        observation=rng.dirichlet(np.full(O, 0.5), (A, S)),
        reward=rng.uniform(-1, 1, (A, S)),
        start=rng.dirichlet(np.ones(S)),
        first_observation=rng.dirichlet(np.ones(O), S),
        discount=discount,
    )


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 0.9999), st.lists(st.floats(-1e6, 1e6).filter(lambda r: r == 0 or abs(r) > 1e-3),
                                   min_size=1, max_size=3)
)  # fmt: skip
def test_rounding_never_moves_a_bound_across_the_value(discount, rewards):
    """One state: the value is max r / (1 - γ), compared as fractions."""
    pomdp = from_arrays(
        name="one",
        states=["s"],
        actions=[f"a{i}" for i in range(len(rewards))],
        observations=["z"],
        transition=np.ones((len(rewards), 1, 1)),
        observation=np.ones((len(rewards), 1, 1)),
        reward=np.reshape(rewards, (-1, 1)),
        start=[1.0],
        first_observation=[[1.0]],
        discount=discount,
    )
    best = optimum(pomdp, gap=0)
    exact = max(map(Fraction, rewards)) / (1 - Fraction(discount))
    assert Fraction(best.lower) <= exact <= Fraction(best.upper)
    assert best.width <= 1e-9 * max(map(abs, rewards)) / (1 - discount) ** 2


# ---- how it is searched --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_bounds_only_ever_come_closer(seed):
    pomdp = without_end(np.random.default_rng(seed), 6, 3, 3, 0.95)
    search, found = Search(pomdp, simple_bounds(pomdp), 1e-9), []
    for _ in range(400):
        if search.go_on(20_000) is not None:
            break
        found.append((search.lower, search.upper))
    lower, upper = np.transpose([bracket for bracket in found if np.isfinite(bracket).all()])
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert upper[-1] - lower[-1] < 0.7 * (upper[0] - lower[0])


def test_the_same_work_finds_the_same_bracket_however_it_is_cut_up():
    pomdp = without_end(np.random.default_rng(3), 5, 3, 2, 0.95)
    ends = []
    for work in (1000, 77_777, 10**9):
        search = Search(pomdp, simple_bounds(pomdp), 2e-2)
        while search.go_on(work) is None:
            pass
        ends.append((search.lower, search.upper, search.backups))
    assert ends[0] == ends[1] == ends[2]


def test_the_time_given_is_kept_and_progress_is_told(monkeypatch):
    """On a clock that moves by 2 ms whenever it is looked at: no machine is too slow for this."""
    optimum(models.tiger())  # compile
    clock = count(0, 0.002)
    monkeypatch.setattr(optimality, "perf_counter", lambda: next(clock))
    pomdp = without_end(np.random.default_rng(1), 80, 4, 12, 0.99)
    told: list[Optimum] = []
    best = optimum(pomdp, seconds=3, progress=told.append)
    assert best.stopped == "time"
    assert 3 <= best.seconds < 3.5
    assert len(told) >= 3
    widths = [bracket.width for bracket in (*told, best)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0]


def test_ctrl_c_returns_the_bracket_so_far():
    def impatient(so_far: Optimum) -> None:
        if so_far.backups:
            raise KeyboardInterrupt

    pomdp = without_end(np.random.default_rng(1), 80, 4, 12, 0.99)
    best = optimum(pomdp, seconds=20, progress=impatient)
    assert best.stopped == "interrupted"
    assert best.seconds < 15
    assert best.lower < best.upper


DATA = Path("/work/shared/data/pomdp")
KNOWN = {
    "cassandra/tiger.95.POMDP": (19.371, 19.372),
    "cassandra/4x3.95.POMDP": (1.889, 1.899),
    "cassandra/shuttle.95.POMDP": (32.88, 32.89),
    "conservation/SumatranTiger.pomdp": (1405.28, 1405.30),
}


@pytest.mark.skipif(not DATA.is_dir(), reason="files of others are not here")
@pytest.mark.parametrize("name", KNOWN)
def test_the_bracket_of_a_file_meets_the_one_of_another_program(name):
    pomdp = models.build(str(DATA / name))
    best = optimum(pomdp, gap=1e-3)
    low, high = KNOWN[name]
    assert best.stopped == "gap"
    assert best.lower <= high
    assert best.upper >= low
    assert best.lower <= evaluate(pomdp, best.controller()).value <= best.upper
