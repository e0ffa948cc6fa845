"""Discounted linear systems: closed forms, and the dense and sparse solver against each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg

from jumar.solve import linear
from jumar.solve.linear import DENSE, ELIMINATED, solve_discounted


def chain(n: int, weight: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """0 -> 1 -> … -> n-1 -> end."""
    return np.arange(n), np.append(np.arange(1, n), -1), np.full(n, weight)


@pytest.mark.parametrize("n", [1, 5, DENSE, DENSE + 1, 1000])
def test_a_chain_of_n_steps_is_a_geometric_sum(n):
    """v_i = 1 + γ + … + γ^(n-1-i); 2^-k is exact, so is the sum."""
    values = solve_discounted(*chain(n, 0.5), np.ones(n))
    assert values.tolist() == [2 - 0.5 ** (n - 1 - i) for i in range(n)]


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("n", [1, 17, DENSE, DENSE + 1, 300])
def test_both_solvers_agree_with_numpy(n, transpose):
    rng = np.random.default_rng(n)
    links = 5 * n
    source = rng.integers(0, n, links)
    target = rng.integers(-1, n, links)
    weight = 0.95 * rng.random(links) / np.maximum(np.bincount(source, minlength=n), 1)[source]
    right = rng.normal(size=n)
    for array in (source, target, weight, right):  # what is handed in stays as it was
        array.setflags(write=False)
    P, on = np.zeros((n, n)), target >= 0  # an ending does not continue
    np.add.at(P, (source[on], target[on]), weight[on])
    expected = np.linalg.solve(np.eye(n) - (P.T if transpose else P), right)
    found = solve_discounted(source, target, weight, right, transpose=transpose)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


# ---- large systems ----------------------------------------------------------------------------


def anything_follows(n: int, γ: float, seed: int = 1):
    """Six successors at random: elimination would fill in almost everything."""
    rng = np.random.default_rng(seed)
    source, target = np.repeat(np.arange(n), 6), rng.integers(0, n, 6 * n)
    p = rng.random(6 * n)
    return source, target, γ * p / np.bincount(source, p, n)[source], rng.normal(size=n)


def eliminated(monkeypatch, *system, **how):
    with monkeypatch.context() as only:
        only.setattr(linear, "ELIMINATED", 10**9)
        return solve_discounted(*system, **how)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("γ", [0.5, 0.95, 0.999])
def test_iterating_and_eliminating_agree_up_to_rounding(monkeypatch, γ, transpose):
    system = anything_follows(ELIMINATED + 1, γ)
    found = solve_discounted(*system, transpose=transpose)
    wanted = eliminated(monkeypatch, *system, transpose=transpose)
    np.testing.assert_allclose(found, wanted, atol=1e-13 / (1 - γ) * np.abs(wanted).max())


def eliminations(monkeypatch, *system) -> int:
    """How often a sparse factorisation is made to solve a system."""
    made = []
    real = scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda A: made.append(1) or real(A))
    solve_discounted(*system)
    return len(made)


@pytest.mark.parametrize(("n", "made"), [(500, 1), (1400, 1), (2000, 0), (ELIMINATED, 0)])
def test_where_anything_follows_a_system_is_eliminated_only_if_that_is_quick(n, made, monkeypatch):
    assert eliminations(monkeypatch, *anything_follows(n, 0.95)) == made


def test_a_full_matrix_is_not_eliminated(monkeypatch):
    n = 1500
    source, target = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    assert eliminations(monkeypatch, source, target, np.full(n * n, 0.9 / n), np.ones(n)) == 0


@pytest.mark.parametrize("width", [1, 30])
def test_what_stays_nearby_is_eliminated_as_ever(width, monkeypatch):
    """However the states are numbered: a band is found."""
    rng = np.random.default_rng(width)
    number = rng.permutation(ELIMINATED)
    source = np.repeat(np.arange(ELIMINATED), 4)
    target = np.clip(source + rng.integers(-width, width + 1, len(source)), 0, ELIMINATED - 1)
    system = number[source], number[target], np.full(len(source), 0.9 / 4), np.ones(ELIMINATED)
    assert eliminations(monkeypatch, *system) == 1


def test_a_system_that_does_not_settle_is_eliminated():
    """A walk on a line that ends at its ends takes n² steps: too many for any iteration."""
    n = ELIMINATED + 1
    inner = np.arange(1, n - 1)
    source = np.concatenate([inner, inner])
    target = np.concatenate([inner - 1, inner + 1])
    found = solve_discounted(source, target, np.full(len(source), 0.5), np.ones(n))
    i = np.arange(n)
    np.testing.assert_allclose(found, 1 + (i * (n - 1 - i)), rtol=1e-6)
