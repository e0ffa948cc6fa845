"""The tilt: rows by hand, its limits, and the values it goes by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.algorithms import run
from jumar.algorithms.tilt import ROUNDS, tilt_rows, tilts
from jumar.core.errors import ParameterError
from jumar.log.episodes import Episodes
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.iteration import model_of
from jumar.solve.solver import action_values, policy_value
from jumar.solve.sweeps import value_by_sweeps
from jumar.tally.history import HistoryMdp
from jumar.tally.replay import count
from strategies import names, random_mdp


def tilted(x, old, visits=None, n_wedge=0.0):
    """One row; x is what actions are worth in units of the range, times the strength."""
    x, old = np.array([x], float), np.array([old], float)
    visits = np.full_like(x, 100.0) if visits is None else np.array([visits], float)
    rows = np.empty_like(x)
    tilt_rows(x, old, visits, n_wedge, rows)
    return rows[0]


# ---- rows by hand -------------------------------------------------------------------------------


ALL = [100, 100, 100]


@pytest.mark.parametrize(
    ("worth", "old", "visits", "new"),
    [
        # even odds, worth 0 and 1, strength 1: ν = 1/2 is the mean, factors 1/2 and 3/2
        ([0, 1], [1 / 2, 1 / 2], [9, 9], [1 / 4, 3 / 4]),
        # odds of 3 to 1: the mean is 1/4, factors 3/4 and 7/4
        ([0, 1], [3 / 4, 1 / 4], [9, 9], [9 / 16, 7 / 16]),
        # strength 4: the bad one would have factor 1 - 2 < 0; it is dropped
        ([0, 4], [1 / 2, 1 / 2], [9, 9], [0, 1]),
        # without the first, factors of 3/2 each; mean 1, factors 0, 1, 2
        ([0, 3, 3], [1 / 3] * 3, ALL, [0, 1 / 2, 1 / 2]),
        ([0, 1, 2], [1 / 3] * 3, ALL, [0, 1 / 3, 2 / 3]),
        # the best was seen only 5 times = N∧: it keeps its third, the others change as if alone
        ([0, 2, 1], [1 / 3] * 3, [100, 5, 100], [1 / 6, 1 / 3, 1 / 2]),
        # worth least, it becomes rarer: as if all were known
        ([0, 1, 2], [1 / 3] * 3, [5, 100, 100], [0, 1 / 3, 2 / 3]),
        # what was never seen keeps its probability
        ([0, 1, 9], [1 / 4, 1 / 4, 1 / 2], [10, 10, 0], [1 / 8, 3 / 8, 1 / 2]),
    ],
)
def test_rows_by_hand(worth, old, visits, new):
    assert tilted(worth, old, visits, 5) == pytest.approx(new, abs=1e-9)


def test_a_tie_is_no_reason_to_change():
    old = np.array([0.1, 0.2, 0.7])
    assert tilted([5, 5, 5], old).tobytes() == old.tobytes()
    assert tilted([5, 5, 9], old, [9, 9, 0]).tobytes() == old.tobytes()
    # nothing is known well enough to become more frequent
    assert tilted([0, 0, 9], old, [3, 3, 3], 5).tobytes() == old.tobytes()


@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from([1e-3, 1.0, 40.0, 1e3, 1e6]),
    st.integers(0, 6),
)
def test_rows_are_distributions_that_keep_the_rules(seed, A, strength, n_wedge):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, A) * strength / 3
    old = rng.integers(0, 4, A) + (np.arange(A) == rng.integers(A))
    old = old / old.sum()
    visits = rng.integers(0, 10, A)
    new = tilted(x, old, visits, n_wedge)
    assert new.sum() == pytest.approx(1, abs=1e-12)
    assert (new >= 0).all()
    assert (new[old == 0] == 0).all()
    np.testing.assert_allclose(new[visits == 0], old[visits == 0], atol=1e-9)
    unknown = visits <= n_wedge
    assert (new[unknown] <= old[unknown] + 1e-9).all()
    seen = visits > 0
    assert new[seen] @ x[seen] >= old[seen] @ x[seen] - 1e-9 * strength  # never for less


@given(st.integers(0, 10**6), st.floats(0.1, 20))
def test_no_row_gains_more_for_its_mean_squared_weight(seed, strength):
    """It maximises Σπx - ½ Σ π_b (π/π_b - 1)²: moving mass between two actions does not help."""
    rng = np.random.default_rng(seed)
    old = np.maximum(rng.dirichlet(np.ones(4)), 0.02)
    old /= old.sum()
    x = rng.random(4) * strength

    def worth(rows):
        return rows @ x - 0.5 * (old * (rows / old - 1) ** 2).sum()

    new = tilted(x, old)
    for up in range(4):
        for down in range(4):
            move = min(1e-4, new[down])
            moved = new.copy()
            moved[up] += move
            moved[down] -= move
            assert worth(moved) <= worth(new) + 1e-9


# ---- policies -----------------------------------------------------------------------------------


def bandit(n: int, seed: int = 1) -> tuple[HistoryMdp, Controller]:
    """One step, three actions, two observations; counts differ, some pairs rare."""
    rng = np.random.default_rng(seed)
    behavior = Controller.constant(names("z", 2), names("a", 3), [0.6, 0.3, 0.1])
    action = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    z = rng.integers(0, 2, n)
    reward = np.where(z == 0, action, -action) + rng.normal(size=n) / 10
    log = Episodes(
        names("z", 2), names("a", 3), z, action, reward, np.arange(n + 1), [-1] * n, [True] * n,
    )  # fmt: skip
    return count(log, window(1)).mle(0.9), behavior


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_wedge", [0, 4, 8, 30])
def test_as_the_strength_grows_it_does_what_spibb_leq_does(seed, n_wedge):
    """One step, so that values do not depend on what is done later."""
    mdp, behavior = bandit(60, seed)
    strong = run("tilt", mdp, behavior, strength=1e7, n_wedge=n_wedge)
    bound = run("spibb_leq", mdp, behavior, n_wedge=n_wedge)
    if (mdp.visits > 0).all():
        np.testing.assert_allclose(strong.policy, bound.policy, atol=1e-5)


def test_no_strength_changes_nothing_and_a_little_changes_little():
    mdp, behavior = bandit(200)
    none = run("tilt", mdp, behavior, strength=0.0)
    assert none.policy.tobytes() == none.behavior_policy.tobytes()
    gains = [run("tilt", mdp, behavior, strength=s).gain for s in (0.1, 1, 3, 10, 100)]
    assert gains == sorted(gains)
    assert 0 < gains[0] < 0.1 * gains[-1]


@pytest.mark.parametrize("strength", [-1, np.inf, np.nan, "much"])
def test_a_strength_that_is_none_is_an_error(strength):
    with pytest.raises(ParameterError, match="strength"):
        run("tilt", *bandit(20), strength=strength)


def test_several_strengths_are_what_each_is_alone():
    """The behavior first. Values of one strength are where the next begins, so up to a thousandth
    of the range the same as alone."""
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 5, 3, visits=50)
    old = rng.dirichlet(np.ones(3), 5)
    rows, q = tilts(mdp, old, [2.0, 10.0, 50.0], 5)
    assert rows.shape == q.shape == (4, 5, 3)
    assert rows[0].tobytes() == old.tobytes()
    for i, strength in enumerate([2.0, 10.0, 50.0], 1):
        alone, _ = tilts(mdp, old, [strength], 5)
        values = [mdp.start @ policy_value(mdp, p) for p in (rows[i], alone[1])]
        assert values[0] == pytest.approx(values[1], abs=0.02 * np.ptp(q))
    assert ROUNDS >= 1


@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_values_by_sweeps_are_those_of_the_model(seed, discount):
    """Where every pair was tried: within a thousandth of the range over what is left, from any
    start."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, 3, visits=50)
    mdp = replace(mdp, discount=discount)
    policy = rng.dirichlet(np.ones(3), 6)
    exact = policy_value(mdp, policy)
    q, v = np.zeros((6, 3)), rng.normal(size=6)
    for _ in range(20):  # 200 sweeps each, from where the last ended
        value_by_sweeps(model_of(mdp), policy, discount, q, v)
    spread = np.ptp(action_values(mdp, exact))
    np.testing.assert_allclose(v, exact, atol=1e-3 * spread + 1e-12)
    np.testing.assert_allclose(q, action_values(mdp, exact), atol=2e-3 * spread + 1e-12)


def test_a_pair_that_was_never_tried_is_worth_what_its_state_is_worth_otherwise():
    """One step each: z0 a0 pays 1, z0 a1 pays 3, z0 a2 and z1 were never tried. At odds 1:1:2, z0
    is worth 2 among what is known, so a2 is; z1 does not occur."""
    behavior = Controller.constant(("z0",), names("a", 3), [0.25, 0.25, 0.5])
    log = Episodes(
        ("z0",), names("a", 3), [0, 0], [0, 1], [1, 3], [0, 1, 2], [-1, -1], [True, True]
    )
    mdp = count(log, window(1)).mle(0.9)
    _, q = tilts(mdp, mdp.policy_of(behavior), [1.0], 0)
    assert q[0].tolist() == [[1, 3, 2]]
