"""Compiled policy iteration: rows against a linear programme, elimination and the whole loop
against slow, obvious twins."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from facts import refuses
from jumar.core.errors import TooLarge
from jumar.memory import window
from jumar.solve import elimination, solver
from jumar.solve.iteration import best_rows
from jumar.solve.nouns import BOOTSTRAPPED, BOUNDED, GREEDY, Admitted
from jumar.tally.history import Counts

# ---- rows ---------------------------------------------------------------------------------------


@st.composite
def improvement_problems(draw):
    """Few distinct numbers, so that ties and the boundary visits == n_wedge are common."""
    H, A = draw(st.integers(1, 4)), draw(st.integers(1, 4))

    def grid(values):
        return np.reshape(draw(st.lists(values, min_size=H * A, max_size=H * A)), (H, A))

    q = grid(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]))
    visits = grid(st.sampled_from([0.0, 1.0, 4.0, 5.0, 6.0, math.inf]))
    weights = grid(st.integers(0, 3)).astype(float)
    weights[weights.sum(1) == 0] = 1.0
    behavior = weights / weights.sum(1, keepdims=True)
    return q, behavior, visits, draw(st.sampled_from([0.0, 4.5, 5.0, math.inf]))


@pytest.mark.parametrize("kind", [BOOTSTRAPPED, BOUNDED, GREEDY])
@settings(max_examples=40)
@given(improvement_problems())
def test_no_row_that_is_allowed_is_better(kind, problem):
    """The largest π·q over the set of admitted rows, found by a linear programme."""
    q, behavior, visits, n_wedge = problem
    before = [array.tobytes() for array in (q, behavior, visits)]
    found = best_rows(kind, *problem)
    assert [array.tobytes() for array in (q, behavior, visits)] == before
    for h in range(len(q)):
        if (visits[h] <= n_wedge).all():
            assert found[h].tobytes() == behavior[h].tobytes()
            continue
        unknown = visits[h] <= n_wedge
        low = unknown * behavior[h] * (kind == BOOTSTRAPPED)
        high = np.where(unknown, behavior[h] * (kind != GREEDY), 1.0)
        best = linprog(-q[h], A_eq=np.ones((1, q.shape[1])), b_eq=[1.0], bounds=np.c_[low, high])
        assert found[h] @ q[h] == pytest.approx(-best.fun, abs=1e-9)
        assert found[h].sum() == pytest.approx(1, abs=1e-12)
        assert ((low - 1e-12 <= found[h]) & (found[h] <= high + 1e-12)).all()


def test_values_that_differ_by_rounding_only_are_equal_and_the_first_action_wins():
    q = np.array([[1.0, 1.0 + 1e-15, 0.5]])
    behavior, visits = np.full((1, 3), 1 / 3), np.full((1, 3), 9.0)
    assert best_rows(BOOTSTRAPPED, q, behavior, visits, 5.0).tolist() == [[1.0, 0.0, 0.0]]


# ---- elimination --------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0, 0.999))
def test_planned_elimination_solves_what_a_dense_solver_solves(seed, n, γ):
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    P /= np.maximum(P.sum(1, keepdims=True), 1)
    source, target = np.nonzero(P)
    right = rng.normal(size=n)
    plan = elimination.analyse(n, source, target)
    slots = np.zeros(plan.n_slots)
    slots[plan.diagonal] = 1
    np.subtract.at(slots, plan.entry_slot, γ * P[source, target])
    found = right.copy()
    elimination.solve(plan, slots, found)
    np.testing.assert_allclose(found, np.linalg.solve(np.eye(n) - γ * P, right), atol=1e-9)


def obvious_order(filled: np.ndarray) -> list[int]:
    """Least row times column entries first, counted anew before every elimination."""
    left, order = list(range(len(filled))), []
    while left:
        costs = [(filled[left, i].sum() - 1) * (filled[i, left].sum() - 1) for i in left]
        p = left.pop(int(np.argmin(costs)))
        order.append(p)
        below = [i for i in left if filled[i, p]]
        right = [i for i in left if filled[p, i]]
        filled[np.ix_(below, right)] = 1
    return order


@given(st.integers(0, 10_000), st.integers(1, 25))
def test_the_order_of_elimination_is_the_obvious_one(seed, n):
    rng = np.random.default_rng(seed)
    source, target = np.nonzero(rng.random((n, n)) < 3 / n)
    filled = np.eye(n, dtype=np.int64)
    filled[source, target] = 1
    plan = elimination.analyse(n, source, target)
    assert plan.order.tolist() == obvious_order(filled)
    assert plan.n_slots == filled.sum()


def test_a_plan_for_thousands_of_unknowns_costs_what_it_has_updates():
    """Counting entries anew took n³: 100 s for a memory of 10 on Tiger, now less than one."""
    n = 4000
    source = np.repeat(np.arange(n), 2)
    target = np.minimum(source + np.tile([1, 2], n), n - 1)
    began = time.process_time()
    plan = elimination.analyse(n, source, target)
    assert time.process_time() - began < 10
    assert len(plan.update_to) < 10 * n


def test_more_fill_than_memory_is_refused(monkeypatch):
    monkeypatch.setattr(elimination, "MOST_UPDATES", 100)
    source, target = np.nonzero(np.ones((20, 20)))
    with refuses(TooLarge, "20 unknowns", "100 updates", "shorter memory"):
        elimination.analyse(20, source, target)


# ---- the whole loop -----------------------------------------------------------------------------


def random_problem(rng):
    """A model counted from random moves, some pairs rarely or never tried, and a behavior."""
    H, A = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    times = rng.integers(0, 5, (H, A, H + 1)) * (rng.random((H, A, 1)) < 0.8)
    h, a, to = np.nonzero(times[:, :, :H])
    visits = times.sum(2)
    counts = Counts(
        tuple(f"z{i}" for i in range(H)),
        tuple(f"a{i}" for i in range(A)),
        window(1),
        states=np.arange(H)[:, None],
        visits=visits,
        reward_sum=visits * rng.normal(size=(H, A)),
        ends=times[:, :, H],
        starts=np.ones(H, np.int64),
        pair=h * A + a,
        successor=to,
        times=times[h, a, to],
    )
    return counts.mle(0.9), rng.dirichlet(np.ones(A), H)


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from([BOOTSTRAPPED, BOUNDED, GREEDY]),
    st.sampled_from([-1.0, 0.0, 3.0, 8.0]),
    st.sampled_from([0.0, math.nan, -1.0]),
)
def test_the_compiled_loop_finds_what_the_plain_loop_finds(seed, kind, n_wedge, unseen):
    mdp, behavior = random_problem(np.random.default_rng(seed))
    rule = Admitted(kind, n_wedge, unseen)
    fast = solver.solve(mdp, behavior, rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "COMPILED", 0)
        slow = solver.solve(mdp, behavior, rule)
    np.testing.assert_allclose(fast.values, slow.values, atol=1e-9)
    np.testing.assert_allclose(fast.behavior_values, slow.behavior_values, atol=1e-9)
    np.testing.assert_allclose(fast.policy, slow.policy, atol=1e-12)
    assert fast.trace.gap < 1e-9
