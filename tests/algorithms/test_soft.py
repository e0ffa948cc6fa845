"""Soft-SPIBB: rows by hand and by linear programming, errors, and its theorem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import jumar as jm
from jumar.algorithms import run
from jumar.algorithms.soft import ADV, APPROX, EXACT, LOWER, RULES, errors_of, soft_rows
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.randomness import random_stream
from jumar.evidence.first_visits import first_returns
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.memory import window
from jumar.policy.controller import Controller
from jumar.solve.solver import action_values, policy_value
from strategies import first_visits, memoryless, random_mdp

OLD = [0.2, 0.3, 0.5]
TIGER_PAYS = RewardRange((-1, -1), (-100, 10))


def row(rule, e, epsilon=0.3, q=(1, 2, 3), old=OLD, q_b=(1, 3, 0)):
    arrays = (np.array([x], float) for x in (q, old, e))
    return soft_rows(rule, *arrays, epsilon, np.array([q_b], float))[0]


# ---- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "e", "expected"),
    [
        (EXACT, (0.5, 0.5, 0.8), (0, 0.26923077, 0.73076923)),
        (APPROX, (0.5, 0.5, 0.8), (0, 0.28515625, 0.71484375)),
        (LOWER, (0.5, 0.5, 0.8), (0, 0.125, 0.875)),
        (ADV, (0.5, 0.5, 0.8), (0, 0.4375, 0.5625)),
        (EXACT, (0.2, math.inf, 1), (0, 0.3, 0.7)),
        (APPROX, (0.2, math.inf, 1), (0.05, 0.3, 0.65)),
    ],
)
def test_rows_by_hand(rule, e, expected):
    np.testing.assert_allclose(row(rule, e), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rule", range(len(RULES)))
@pytest.mark.parametrize(
    ("e", "given", "expected"),
    [
        ((0.5, 0.7, 0.8), {"epsilon": 0.0}, OLD),  # no budget, no change, bit for bit
        ((0, 0, 0), {"q_b": (1, 2, 3)}, [0, 0, 1]),  # what is certain may all be moved
        ((0.1, 0.1, 0.1), {"epsilon": 9, "q": (2, 2, 2)}, OLD),  # equal values are no reason
    ],
)
def test_rows_at_the_ends(rule, e, given, expected):
    assert row(rule, e, **given).tolist() == expected


def by_linear_program(q, old, e, epsilon):
    """The obvious twin: variables π and u >= |π - old|, where e is finite."""
    A, free = len(q), e < np.inf
    cost = np.where(free, e, 0.0)
    eye = np.eye(A)
    found = linprog(
        np.concatenate([-q, np.zeros(A)]),
        A_ub=np.block([[eye, -eye], [-eye, -eye], [np.zeros(A), cost]]),
        b_ub=np.concatenate([old, -old, [epsilon]]),
        A_eq=np.concatenate([np.ones(A), np.zeros(A)])[None],
        b_eq=[1.0],
        bounds=[(0, 1) if f else (p, p) for f, p in zip(free, old, strict=True)] + [(0, 1)] * A,
        method="highs",
    )
    return found.x[:A]


def by_the_book(rule, q, old, e, epsilon, q_b, within_budget=True):
    """The obvious twin of the approximate rules, as the papers write them; `within_budget` what
    is taken from an action is bounded again before every move, which they do not."""
    π, left, earned = old.copy(), epsilon, 0.0
    known = [a for a in range(len(q)) if e[a] < np.inf]
    for worse in sorted(known, key=lambda a: q[a]):
        mass = π[worse] if rule == LOWER else min(π[worse], left / (2 * e[worse]))
        better = [a for a in known if q[a] > q[worse]]
        for a in sorted(better, key=lambda a: -(q[a] - q[worse]) / e[a]):
            moved = min(mass, left / (e[a] * (1 if rule == LOWER else 2)))
            if within_budget and rule != LOWER:
                moved = min(moved, left / (2 * e[worse]))
            if rule == ADV and q_b[a] < q_b[worse]:
                moved = min(moved, earned / (q_b[worse] - q_b[a]))
            earned += moved * (q_b[a] - q_b[worse])
            π[a] += moved
            π[worse] -= moved
            mass -= moved
            left -= moved * (e[a] if rule == LOWER else e[a] + e[worse])
    return π


def test_as_published_the_approximate_rule_can_overspend_and_here_it_does_not():
    q, old, e, epsilon, q_b = drawn(0)
    rows = [by_the_book(APPROX, q, old, e, epsilon, q_b, x) for x in (False, True)]
    rows.append(row(APPROX, e, epsilon, q, old, q_b))
    cost = np.where(e < np.inf, e, 0.0)
    published, bounded, here = ((np.abs(r - old) * cost).sum() for r in rows)
    assert published > epsilon * 1.00001
    assert bounded <= epsilon * (1 + 1e-12)
    assert here == pytest.approx(bounded, abs=1e-12)


def drawn(seed):
    rng = np.random.default_rng(seed)
    A = int(rng.integers(2, 7))
    q, q_b, old = rng.normal(size=A), rng.normal(size=A), rng.dirichlet(np.ones(A))
    e = np.where(rng.random(A) < 0.15, np.inf, rng.uniform(0.01, 3, A))
    return q, old, e, float(rng.choice([0.01, 0.1, 0.3, 1, 3])), q_b


@given(st.integers(0, 10**9))
def test_the_exact_row_is_that_of_the_linear_program(seed):
    q, old, e, epsilon, q_b = drawn(seed)
    found = row(EXACT, e, epsilon, q, old, q_b)
    assert found @ q == pytest.approx(by_linear_program(q, old, e, epsilon) @ q, abs=1e-8)


@given(st.integers(0, 10**9), st.sampled_from([APPROX, ADV, LOWER]))
def test_approximate_rows_are_those_of_the_papers(seed, rule):
    q, old, e, epsilon, q_b = drawn(seed)
    np.testing.assert_allclose(
        row(rule, e, epsilon, q, old, q_b),
        by_the_book(rule, q, old, e, epsilon, q_b),
        rtol=0,
        atol=1e-12,
    )


@given(st.integers(0, 10**9), st.sampled_from(range(4)))
def test_every_row_is_a_law_within_its_budget_and_exact_is_worth_most(seed, rule):
    q, old, e, epsilon, q_b = drawn(seed)
    found = row(rule, e, epsilon, q, old, q_b)
    assert (found >= -1e-15).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert (found[e == np.inf] == old[e == np.inf]).all()
    moved = np.where(e < np.inf, found - old, 0.0)
    charged = np.maximum(moved, 0) if rule == LOWER else np.abs(moved)
    assert (charged * np.where(e < np.inf, e, 0)).sum() <= epsilon * (1 + 1e-9)
    if rule == ADV:
        assert moved @ q_b >= -1e-12
    if rule != LOWER:  # which may move more
        assert found @ q <= row(EXACT, e, epsilon, q, old, q_b) @ q + 1e-12


# ---- on models ----------------------------------------------------------------------------------


def some(seed: int, visits: float = 30.0) -> tuple[jm.HistoryMdp, Controller]:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, 4, visits=visits)
    return mdp, memoryless(rng, mdp)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2])
def test_exact_is_at_least_approximate_is_at_least_advantageous(seed, epsilon):
    """In the model, where both improve in many steps; adv is approx with one more bound."""
    mdp, old = some(seed)
    exact, approx = (
        run("soft", mdp, old, epsilon=epsilon, rule=rule).performance
        for rule in ("exact", "approx")
    )
    one = run("soft", mdp, old, epsilon=epsilon, steps="one").performance
    assert exact >= approx - 1e-11
    assert exact >= one - 1e-11
    assert approx > mdp.start @ policy_value(mdp, mdp.policy_of(old))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", ["one", "many"])
@pytest.mark.parametrize("error", ["hoeffding", "maurer_pontil"])
def test_epsilon_0_gives_the_behavior_bit_for_bit(rule, steps, error):
    mdp, old = some(1)
    more = {"visits": first_visits(mdp, old)}
    found = run("soft", mdp, old, epsilon=0, rule=rule, steps=steps, error=error, **more)
    assert found.policy.tobytes() == mdp.policy_of(old).tobytes()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("steps", ["one", "many"])
def test_adv_is_advantageous_by_construction(seed, steps):
    """Σ_a (new - old) Q̂_b >= 0 in every history state; approx in many steps is not always."""
    mdp, old = some(seed)
    before = mdp.policy_of(old)
    q_b = action_values(mdp, policy_value(mdp, before))
    found = run("soft", mdp, old, epsilon=1.5, rule="adv", steps=steps)
    assert ((found.policy - before) * q_b).sum(1).min() >= -1e-12
    assert found.changed > 0


# ---- errors -------------------------------------------------------------------------------------


def test_the_error_of_hoeffding_by_hand():
    """12 pairs, 30 visits, δ = 0.05: √(2 ln(2·24/0.05)/30)."""
    mdp, old = some(0)
    by_model = errors_of(mdp, "hoeffding", None, 0.05)
    assert by_model[0, 0] == pytest.approx(math.sqrt(2 * math.log(48 / 0.05) / 30))
    by_log = errors_of(mdp, "hoeffding", first_visits(mdp, old), 0.05)
    np.testing.assert_allclose(by_log, by_model, rtol=1e-12)


def test_the_error_of_maurer_and_pontil_by_hand():
    """No deviation: 2·7 ln(4·24/0.05)/(3·29)."""
    mdp, old = some(0)
    e = errors_of(mdp, "maurer_pontil", first_visits(mdp, old), 0.05)
    assert e[0, 0] == pytest.approx(14 * math.log(96 / 0.05) / 87)


def tiger_log(episodes: int, seed: int = 1):
    tiger = jm.models.tiger()
    fair = Controller.uniform(tiger.observations, tiger.actions)
    log = jm.simulate(tiger, fair, episodes=episodes, seed=random_stream(seed, "soft"))
    return log, fair, jm.count(log, window(2)).mle(0.95)


def test_errors_count_first_visits_only_and_what_cuts_hide():
    log, _, mdp = tiger_log(200)
    visits = first_returns(log, window(2), discount=0.95, rewards=TIGER_PAYS)
    assert (visits.count < mdp.visits).any()
    e = errors_of(mdp, "hoeffding", visits, 0.05)
    seen = mdp.visits > 0
    assert (e[~seen] == np.inf).all()
    k = np.where(seen, visits.count, 1)
    expected = np.sqrt(2 * math.log(2 * visits.pairs / 0.05) / k) + 2 * visits.slack / 110
    np.testing.assert_allclose(e[seen], expected[seen], rtol=1e-12)


def test_what_is_wrong_is_said():
    mdp, old = some(0)
    for epsilon in (-1, math.nan, math.inf, "much", True):
        with pytest.raises(ParameterError, match=r"epsilon: .* is not a finite number from 0"):
            run("soft", mdp, old, epsilon=epsilon)
    with pytest.raises(ParameterError, match=r"error: maurer_pontil needs .* visits=first_returns"):
        run("soft", mdp, old, error="maurer_pontil")
    log, fair, tiger = tiger_log(50)
    other = first_returns(log, window(1), discount=0.95, rewards=TIGER_PAYS)
    with pytest.raises(MemoryMismatch, match="visits: of 2 history states"):
        run("soft", tiger, fair, visits=other)
    half = first_returns(log, window(2), discount=0.5, rewards=TIGER_PAYS)
    with pytest.raises(ParameterError, match=r"visits: discounted by 0\.5"):
        run("soft", tiger, fair, visits=half)


# ---- its theorem --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("steps", ["one", "many"])
@pytest.mark.parametrize("error", ["hoeffding", "maurer_pontil"])
def test_its_certificate_is_what_was_spent_less_what_the_returns_say_it_brings(rule, steps, error):
    log, fair, mdp = tiger_log(2000)
    found = jm.improve(
        log, fair, discount=0.95, algorithm="soft", rule=rule, steps=steps, epsilon=0.05,
        error=error, rewards=TIGER_PAYS, memory=window(2),
    )  # fmt: skip
    (own,) = (c for c in found.certificates if c.bound == "soft")
    assert own.validity is Validity.PROVED_IF_SUFFICIENT
    assert own.delta == 0.05
    visits = first_returns(log, window(2), discount=0.95, rewards=TIGER_PAYS)
    e = errors_of(mdp, error, visits, 0.05)
    moved = found.improvement.policy - found.improvement.behavior_policy
    losses = [
        sum(e[h, a] * abs(moved[h, a]) * 55 - moved[h, a] * visits.mean[h, a]
            for a in range(3) if moved[h, a] != 0)
        for h in range(len(mdp))
    ]  # fmt: skip
    assert own.zeta == pytest.approx(max(0, *losses) / 0.05, rel=1e-9, abs=1e-9)
    if rule == "adv":  # Theorem 1: ε/(1-γ) · (hi-lo)/2
        assert own.zeta <= 0.05 / 0.05 * 55 * (1 + 1e-9)
        assert (moved * visits.mean).sum(1).min() >= -1e-9
