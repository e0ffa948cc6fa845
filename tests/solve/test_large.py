"""Large models: the gap that is promised against dense, exact twins; ways that must agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumar.core.errors import NotConverged
from jumar.core.history import HistoryMdp
from jumar.core.memory import window
from jumar.solve import large, solver
from jumar.solve.admitted import BOOTSTRAPPED, BOUNDED, GREEDY, WORST, Admitted
from jumar.solve.large import solve_large
from jumar.solve.progress import Stage, solving_tells
from jumar.solve.solver import solve, unseen_value
from strategies import dense, names

KINDS = (BOOTSTRAPPED, BOUNDED, GREEDY)
DISCOUNTS = (0.0, 0.5, 0.95, 0.999, 0.99999)


def any_mdp(rng: np.random.Generator, H: int, A: int, discount: float) -> HistoryMdp:
    """Some pairs never tried, some that end at times or always, some states without a way out."""
    visits = rng.integers(0, 4, (H, A)).astype(float) * (rng.random((H, 1)) < 0.9)
    P = rng.dirichlet(np.full(H + 1, 0.3), (H, A))
    ends = rng.random((H, A)) * (rng.random() < 0.8)
    sometimes, always = rng.random((H, A)) < 0.5, rng.random((H, A)) < 0.1
    ends = np.where(visits > 0, np.where(always, 1.0, np.where(sometimes, ends, 0.0)), 0.0)
    to = P[:, :, :H] / P[:, :, :H].sum(2, keepdims=True)
    to = to * np.where(visits > 0, 1 - ends, 0.0)[:, :, None]
    h, a, j = np.nonzero(to)
    reward = rng.choice([1e-6, 1.0, 1e4]) * (rng.normal(size=(H, A)) + rng.choice([-30, 0, 30]))
    return HistoryMdp(
        names("z", H), names("a", A), window(1).on(H, A), np.arange(H)[:, None], visits,
        np.where(visits > 0, reward, 0.0), ends, np.full(H, 1 / H), h * A + a, j, to[h, a, j],
        discount,
    )  # fmt: skip


def any_problem(seed: int, H: int = 6):
    rng = np.random.default_rng(seed)
    mdp = any_mdp(rng, int(rng.integers(1, H + 1)), int(rng.integers(1, 4)), rng.choice(DISCOUNTS))
    behavior = rng.dirichlet(np.full(mdp.shape[1], 0.7), len(mdp))
    behavior[rng.random(len(mdp)) < 0.3] = np.eye(mdp.shape[1])[0]
    unseen = rng.choice([0.0, -3.0, WORST])
    return mdp, behavior, Admitted(int(rng.choice(KINDS)), float(rng.integers(-1, 4)), unseen)


# ---- the obvious twin ---------------------------------------------------------------------------


def obvious_q(mdp: HistoryMdp, v: np.ndarray, unseen: float) -> np.ndarray:
    return np.where(mdp.visits > 0, mdp.reward + mdp.discount * dense(mdp) @ v, unseen)


def obvious_row(admitted: Admitted, q: np.ndarray, b: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """The best admitted row, written down from the definition of the three sets."""
    known = visits > admitted.n_wedge
    if not known.any():
        return b
    best = int(np.flatnonzero(known)[q[known].argmax()])
    if admitted.kind == GREEDY:
        return np.eye(len(q))[best]
    keep = ~known
    if admitted.kind == BOUNDED:
        keep = keep & (q > q[best])
    return np.where(keep, b, 0.0) + np.eye(len(q))[best] * b[~keep].sum()


def obvious_value(mdp: HistoryMdp, policy: np.ndarray, unseen: float) -> np.ndarray:
    P = np.einsum("ha,hat->ht", policy, dense(mdp))
    paid = (policy * np.where(mdp.visits > 0, mdp.reward, unseen)).sum(1)
    return np.linalg.solve(np.eye(len(mdp)) - mdp.discount * P, paid)


def obvious_best(mdp: HistoryMdp, behavior: np.ndarray, admitted: Admitted, unseen: float):
    """The best admitted value, by policy iteration with dense solves until nothing gets better."""

    def best_rows(v):
        q = obvious_q(mdp, v, unseen)
        rows = zip(q, behavior, mdp.visits, strict=True)
        return np.array([obvious_row(admitted, *three) for three in rows])

    # admitted rows to begin with: GREEDY does not admit those of the behavior
    v = obvious_value(mdp, best_rows(obvious_value(mdp, behavior, unseen)), unseen)
    for _ in range(200):
        before, v = v, obvious_value(mdp, best_rows(v), unseen)
        if not (v > before + 1e-13 * np.abs(v).max()).any():
            return np.maximum(before, v)
    raise AssertionError("the twin does not settle")


def in_set(admitted: Admitted, row: np.ndarray, b: np.ndarray, visits: np.ndarray) -> bool:
    unknown = ~(visits > admitted.n_wedge)
    if unknown.all() or (row == b).all():
        return bool((row == b).all())
    if admitted.kind == GREEDY:
        return bool((row[unknown] == 0).all()) and math.isclose(row.sum(), 1)
    if admitted.kind == BOUNDED:
        return bool((row[unknown] <= b[unknown]).all()) and math.isclose(row.sum(), 1)
    return bool((row[unknown] == b[unknown]).all()) and math.isclose(row.sum(), 1)


def test_the_twin_is_a_fixed_point():
    for seed in range(60):
        mdp, behavior, admitted = any_problem(seed)
        unseen = unseen_value(admitted, mdp)
        v = obvious_best(mdp, behavior, admitted, unseen)
        q = obvious_q(mdp, v, unseen)
        rows = [
            obvious_row(admitted, *three) for three in zip(q, behavior, mdp.visits, strict=True)
        ]
        left = np.abs((np.array(rows) * q).sum(1) - v).max()
        assert left <= 1e-9 * max(1e-300, np.abs(q).max())


# ---- what is promised ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**6), st.sampled_from([1e-1, 1e-3, None]))
def test_the_bracket_holds_the_truth(seed, gap):
    mdp, behavior, admitted = any_problem(seed)
    unseen = unseen_value(admitted, mdp)
    found = solve_large(mdp, behavior, admitted, unseen, gap=gap, max_iterations=1000)
    own = obvious_value(mdp, found.policy, unseen)
    best = obvious_best(mdp, behavior, admitted, unseen)
    scale = max(np.abs(found.q).max(), np.abs(best).max())
    rounding = 1e-15 * scale / (1 - mdp.discount)  # of the twin
    assert (np.abs(found.values - own) <= found.trace.error + rounding).all()
    assert (best <= found.values + found.trace.gap + rounding).all()
    assert (own <= best + 10 * rounding).all()
    asked = 1e-6 if gap is None else gap
    assert found.trace.gap <= max(asked, 1e-10 / (1 - mdp.discount)) * scale
    np.testing.assert_allclose(
        found.behavior_values,
        obvious_value(mdp, behavior, unseen),
        atol=found.trace.error + rounding,
    )
    for rows in zip(found.policy, behavior, mdp.visits, strict=True):
        assert in_set(admitted, *rows)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**6))
def test_from_any_values_the_bounds_hold(seed):
    """The proof does not ask where v comes from."""
    mdp, behavior, admitted = any_problem(seed)
    rng = np.random.default_rng(seed)
    unseen = unseen_value(admitted, mdp)
    best = obvious_best(mdp, behavior, admitted, unseen)
    size = max(1e-9, np.abs(best).max())
    v = best + size * (rng.choice([0.0, 1e-3, 1.0]) * rng.normal(size=len(mdp)) + rng.normal())
    with large.ThreadPoolExecutor(1) as pool:
        model = large._Model(mdp, admitted, unseen, pool)
        policy = np.array(behavior)
        if admitted.kind == GREEDY:  # an admitted policy to begin with
            policy = solve_large(
                mdp, behavior, admitted, unseen, gap=10.0, max_iterations=1000
            ).policy.copy()
        look = model.look(v, behavior, policy, 0.0, np.abs(v).max(), replace=True)
    slack = 1e-14 * size / (1 - mdp.discount)
    assert (best <= v + model.above(look.best, look.hidden) + slack).all()
    own = obvious_value(mdp, policy, unseen)
    assert (own >= v + model.below(look.low, look.hidden) - slack).all()
    assert (best - own).max() <= model.gap(look) + 2 * slack


def cycle(reward, discount: float) -> HistoryMdp:
    """0 -> 1 -> ... -> 0 for ever, one action."""
    H = len(reward)
    return HistoryMdp(
        names("z", H), ("a",), window(1).on(H, 1), np.arange(H)[:, None], np.ones((H, 1)),
        np.array(reward, float)[:, None], np.zeros((H, 1)), np.eye(H)[0], np.arange(H),
        np.roll(np.arange(H), -1), np.ones(H), discount,
    )  # fmt: skip


def test_without_endings_a_constant_error_is_seen_through():
    """v is 5 too low everywhere: each bound alone finds that out, since no row ends."""
    mdp = cycle([1.0, 1.0, 1.0], 0.9)
    with large.ThreadPoolExecutor(1) as pool:
        model = large._Model(mdp, Admitted(GREEDY, 0.0), 0.0, pool)
        look = model.look(np.full(3, 5.0), np.ones((3, 1)), np.ones((3, 1)), 0.0, 10.0)
    assert model.above(look.best, look.hidden) == pytest.approx(5.0)
    assert model.below(look.low, look.hidden) == pytest.approx(5.0)


# ---- ways that must agree -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["krylov", "sweeps"])
def test_the_large_way_agrees_with_the_exact_one(kind, way, monkeypatch):
    monkeypatch.setattr(large, "FEW", 0 if way == "krylov" else 10**9)
    rng = np.random.default_rng(kind)
    for discount in (0.5, 0.95, 0.999):
        mdp = any_mdp(rng, 150, 3, discount)
        behavior = rng.dirichlet(np.ones(3), 150)
        admitted = Admitted(kind, 1.0)
        exact = solve(mdp, behavior, admitted)
        for gap in (1e-3, 1e-6):
            found = solve_large(mdp, behavior, admitted, 0.0, gap=gap, max_iterations=100)
            assert np.abs(found.values - exact.values).max() <= found.trace.gap + exact.trace.gap
            assert found.trace.gap <= gap * np.abs(exact.q).max() * 1.01
            assert np.abs(found.behavior_values - exact.behavior_values).max() <= max(
                found.trace.error, 1e-9 * np.abs(exact.q).max()
            )


def test_a_model_with_many_transitions_takes_the_large_way(monkeypatch):
    mdp, behavior = any_mdp(np.random.default_rng(1), 40, 3, 0.95), np.full((40, 3), 1 / 3)
    exact = solve(mdp, behavior, Admitted(BOOTSTRAPPED, 1.0))
    monkeypatch.setattr(solver, "LARGE", 10)
    found = solve(mdp, behavior, Admitted(BOOTSTRAPPED, 1.0))
    assert found.trace.error > 0 == exact.trace.error
    assert found.policy.tobytes() == exact.policy.tobytes()
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-9)
    roughly = solve(mdp, behavior, Admitted(BOOTSTRAPPED, 1.0), tolerance=0.1 * (1 - 0.95))
    assert roughly.trace.iterations < found.trace.iterations


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("few", [0, 10**9])
def test_the_number_of_threads_moves_no_bit(threads, few, monkeypatch):
    monkeypatch.setattr(large, "BLOCK", 500)
    monkeypatch.setattr(large, "FEW", few)
    rng = np.random.default_rng(5)
    mdp, behavior = any_mdp(rng, 200, 3, 0.95), rng.dirichlet(np.ones(3), 200)

    def found(n):
        monkeypatch.setattr(large, "_cores", lambda: n)
        return solve_large(mdp, behavior, Admitted(BOUNDED, 1.0), 0.0, gap=None, max_iterations=100)

    one, many = found(1), found(threads)
    assert one.trace == many.trace
    for mine, theirs in zip(one[:3], many[:3], strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_a_tie_is_no_reason_to_leave_the_behavior():
    """Both actions do the same everywhere; noise in the values must not make one look better."""
    rng = np.random.default_rng(2)
    one = any_mdp(rng, 150, 1, 0.95)
    go = np.concatenate([one.pair * 2, one.pair * 2 + 1])
    order = np.argsort(go, kind="stable")
    mdp = HistoryMdp(
        one.observations, ("a", "b"), window(1).on(150, 2), one.states, one.visits.repeat(2, 1),
        one.reward.repeat(2, 1), one.ending.repeat(2, 1), one.start, go[order],
        np.tile(one.successor, 2)[order], np.tile(one.probability, 2)[order], 0.95,
    )  # fmt: skip
    behavior = rng.dirichlet(np.ones(2), 150)
    found = solve_large(mdp, behavior, Admitted(BOUNDED, 0.0), 0.0, gap=None, max_iterations=9)
    assert found.policy.tobytes() == behavior.tobytes()


@pytest.mark.parametrize("gap", [1e-2, 1e-5])
def test_where_rounding_is_too_far_away_values_are_still_within_the_gap(gap, monkeypatch):
    """A slow walk, γ = .999, and hardly any passes to be exact in: it says how far off it is."""
    monkeypatch.setattr(large, "MOST_PASSES", 4)
    mdp = cycle(np.arange(200) % 7, 0.999)
    found = solve_large(
        mdp, np.ones((200, 1)), Admitted(GREEDY, 0.0), 0.0, gap=gap, max_iterations=9
    )
    exact = obvious_value(mdp, np.ones((200, 1)), 0.0)
    assert 1e-9 < found.trace.error <= gap * exact.max()
    assert np.abs(found.values - exact).max() <= found.trace.error
    assert np.abs(found.behavior_values - exact).max() <= found.trace.error


# ---- how far it is ------------------------------------------------------------------------------


def test_progress_tells_rounds_passes_and_a_gap_that_closes(monkeypatch):
    monkeypatch.setattr(large, "EVERY", 0.0)
    mdp, behavior = any_mdp(np.random.default_rng(1), 60, 3, 0.95), np.full((60, 3), 1 / 3)
    stages: list[Stage] = []
    monkeypatch.setattr(solver, "LARGE", 10)
    with solving_tells(stages.append):
        solution = solve(mdp, behavior, Admitted(GREEDY, 0.0))
    assert [s.passes for s in stages] == sorted(s.passes for s in stages)
    assert stages[0].gap == math.inf
    assert stages[-1].rounds == solution.trace.iterations
    assert stages[-1].gap <= stages[-1].asked
    assert str(stages[-1]).startswith("60 history states: round ")
    heard = len(stages)
    solve(mdp, behavior, Admitted(GREEDY, 0.0))
    assert len(stages) == heard  # nobody listens any more
    solve(mdp, behavior, Admitted(GREEDY, 0.0), progress=stages.append)
    assert len(stages) == 2 * heard


def test_a_gap_that_rounding_forbids_is_an_error_and_takes_no_thousand_rounds():
    mdp, behavior = any_mdp(np.random.default_rng(1), 60, 3, 0.95), np.full((60, 3), 1 / 3)
    with pytest.raises(NotConverged, match=r"gap .* after \d\d? rounds; asked for 0"):
        solve_large(mdp, behavior, Admitted(GREEDY, 0.0), 0.0, gap=0.0, max_iterations=1000)


def test_a_limit_on_rounds_holds():
    mdp, behavior = any_mdp(np.random.default_rng(1), 60, 3, 0.95), np.full((60, 3), 1 / 3)
    for most in (0, 1):
        with pytest.raises(NotConverged, match=f"after {most} rounds"):
            solve_large(mdp, behavior, Admitted(GREEDY, 0.0), 0.0, gap=None, max_iterations=most)
