"""The bounds against numbers worked out independently, and against their slow, obvious twins."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import binom

from jumar.core.errors import ParameterError
from jumar.evidence.bounds import BOUNDS, Scale, _clopper_pearson, _symmetric_beta, bound
from jumar.evidence.validity import Validity

TIGER = Scale(states=6, actions=3, outcomes=2, discount=0.95, v_max=2000.0, value_range=2200.0)


def window(states: int, actions: int, outcomes: int) -> Scale:
    return Scale(states, actions, outcomes, discount=0.95, v_max=1.0, value_range=2.0)


def test_epsilon_and_zeta_of_the_corollary_at_fifty_visits():
    corollary = bound("corollary")
    assert corollary.epsilon(TIGER, 50, 0.05) == pytest.approx(0.5644659626, abs=5e-11)
    assert corollary.zeta(TIGER, 50, 0.05) == pytest.approx(90314.554, abs=5e-4)
    assert corollary.zeta(TIGER, 50, 0.05, gain=14.554) == pytest.approx(90300, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "events", "nearest", "smallest"),
    [
        ("spibb", 2 * 6 * 3 * 2**6 * 20, 13_744_812, 13_744_812),
        ("corollary", 2 * 6 * 3 * 2**2 * 20, 10_195_898, 10_195_899),
    ],
)
def test_visits_needed_to_the_last_digit(name, events, nearest, smallest):
    # ζ = 4·20·V_max·√(2/N·log(events)) = V_max/10  <=>  N = 1 280 000·log(events)
    exact = 1_280_000 * Decimal(events).ln()
    assert round(exact) == nearest
    assert bound(name).n_needed(TIGER, zeta=200.0, delta=0.05) == math.ceil(exact) == smallest


def test_the_corollary_says_something_only_from_tens_of_thousands_of_visits():
    corollary = bound("corollary")
    # 3200·log(2880) and 3200·log(2·224·128·20): ζ = 2·V_max
    assert corollary.n_needed(window(6, 3, 2), zeta=2.0, delta=0.05) == 25_490
    assert corollary.n_needed(window(56, 4, 7), zeta=2.0, delta=0.05) == 44_649


def test_validity_of_every_bound():
    of = {name: b.validity for name, b in BOUNDS.items()}
    assert of.pop("spibb") is Validity.PUBLISHED
    assert of.pop("plug-in") is Validity.PROVED_IF_SUFFICIENT
    assert set(of.values()) == {Validity.CLAIMED}
    assert all(v.meaning.endswith(".") and v.meaning.count(".") == 1 for v in Validity)


@pytest.mark.parametrize("b", BOUNDS.values(), ids=BOUNDS)
class TestEveryBound:
    def test_has_a_title_and_assumptions_in_sentences(self, b):
        assert b.title
        assert any("sufficiency" in text for text in b.assumptions)
        assert all(text.endswith(".") for text in b.assumptions)

    def test_without_visits_allows_any_loss(self, b):
        assert b.epsilon(TIGER, 0, 0.05) == math.inf
        assert b.zeta(TIGER, 0, 0.05, gain=1.0) == math.inf

    def test_survives_a_number_of_states_with_many_digits(self, b):
        size = window(7**200, 4, 8)
        needed = b.n_needed(size, zeta=0.1, delta=0.05)
        assert b.zeta(size, needed, 0.05) <= 0.1 < b.zeta(size, needed - 1, 0.05)

    def test_of_a_problem_where_every_return_is_zero_one_visit_is_enough(self, b):
        nothing = Scale(6, 3, 2, discount=0.95, v_max=0.0, value_range=0.0)
        assert b.n_needed(nothing, zeta=0.0, delta=0.05) == 1

    def test_accepts_a_single_outcome(self, b):
        assert 0.0 < b.epsilon(window(6, 3, 1), 50, 0.05) <= b.epsilon(window(6, 3, 2), 50, 0.05)

    def test_never_reaches_a_loss_of_zero_without_gain(self, b):
        assert b.n_needed(TIGER, zeta=0.0, delta=0.05) is None

    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
    def test_takes_the_numbers_of_numpy(self, b, kind):
        half = b.zeta(TIGER, 100, kind(0.5))
        assert half == b.zeta(TIGER, 100, 0.5)

    @pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2, math.nan, np.float32(1), "0.05", None])
    def test_refuses_a_delta_that_is_no_chance(self, b, delta):
        with pytest.raises(ParameterError, match=r"delta .* not strictly between 0 and 1.*0\.05"):
            b.epsilon(TIGER, 5, delta)

    @pytest.mark.parametrize("n", [-1, 2.5])
    def test_refuses_what_is_no_number_of_visits(self, b, n):
        with pytest.raises(ParameterError, match=f"n {n} is .*; pass a number of visits"):
            b.epsilon(TIGER, n, 0.05)


def test_when_two_to_the_states_is_beyond_a_double_spibb_allows_any_loss():
    endless = window(10**400, 4, 8)
    assert bound("spibb").zeta(endless, 10**9, 0.05) == math.inf
    assert bound("spibb").n_needed(endless, 0.1, 0.05) is None
    assert bound("corollary").n_needed(endless, 0.1, 0.05) < 10**10


scales = st.builds(
    Scale,
    states=st.integers(1, 10**40),
    actions=st.integers(1, 50),
    outcomes=st.integers(1, 200),
    discount=st.floats(0.0, 0.999),
    v_max=st.floats(1e-3, 1e6),
    value_range=st.just(0.0),
)
bounds = st.sampled_from(list(BOUNDS.values()))
deltas = st.floats(1e-9, 0.999)


@given(bounds, scales, deltas, st.integers(1, 10**9), st.integers(1, 10**9))
def test_more_visits_never_leave_a_larger_error(b, scale, delta, n, more):
    assert b.epsilon(scale, n + more, delta) <= b.epsilon(scale, n, delta) * (1 + 1e-12)


@given(bounds, scales, st.integers(1, 10**6), deltas, deltas)
def test_more_certainty_never_costs_less(b, scale, n, delta, other):
    strict, lax = sorted((delta, other))
    assert b.epsilon(scale, n, strict) >= b.epsilon(scale, n, lax) * (1 - 1e-12)


@settings(deadline=None)
@given(bounds, scales, deltas, st.floats(1e-3, 10.0))
def test_visits_needed_is_the_inverse_of_zeta(b, scale, delta, share):
    zeta = share * scale.v_max
    n = b.n_needed(scale, zeta, delta)
    assert b.zeta(scale, n, delta) <= zeta
    assert n == 1 or b.zeta(scale, n - 1, delta) > zeta


def worst_clopper_pearson(n: int, δ: float) -> float:
    """Twice the largest distance of a Clopper-Pearson limit from k/n, over every k."""
    k = np.arange(n + 1)
    upper = np.append(betaincinv(k[:-1] + 1, n - k[:-1], 1 - δ / 2), 1.0)
    lower = np.append(0.0, betaincinv(k[1:], n - k[1:] + 1, δ / 2))
    return 2 * max((upper - k / n).max(), (k / n - lower).max())


@given(st.integers(1, 3000), st.floats(1e-9, 0.9))
def test_worst_outcome_is_found_without_looking_at_all(n, δ):
    assert _clopper_pearson(-math.log(δ), n) == pytest.approx(worst_clopper_pearson(n, δ), rel=1e-7)


@given(st.integers(1, 3000), st.floats(1e-9, 0.9))
def test_symmetric_beta_is_the_published_quantile(n, δ):
    published = 1 - 2 * betaincinv(n / 2 + 1, n / 2 + 1, δ / 2)
    assert _symmetric_beta(-math.log(δ), n) == pytest.approx(published, rel=1e-9)


def miss(n: int, p: float, half_width: float) -> float:
    """P(|K/n - p| > half_width), K ~ Binomial(n, p), summed exactly."""
    k = np.arange(n + 1)
    return binom.pmf(k, n, p)[np.abs(k / n - p) > half_width + 1e-12].sum()


def test_the_symmetric_interval_misses_too_often_and_clopper_pearson_never():
    c = -math.log(1e-4)
    # p = 0.1 and ten visits: six or more successes happen with probability 1.469e-4 > 1e-4
    assert miss(10, 0.1, _symmetric_beta(c, 10) / 2) == pytest.approx(1.469e-4, rel=1e-3)
    for n in (1, 2, 5, 10, 50, 400):
        half_width = _clopper_pearson(c, n) / 2
        assert max(miss(n, p, half_width) for p in np.linspace(0, 1, 201)) <= 1e-4


@pytest.mark.parametrize("radius", [_symmetric_beta, _clopper_pearson])
@pytest.mark.parametrize("n", [10, 10**4, 10**12, 10**14])
def test_closed_form_for_unthinkable_confidence_only_rounds_up(radius, n):
    below, above = radius(689.9999, n), radius(690.0001, n)
    assert below <= above <= min(below * 4, below * (1 + 1000 / n + 0.004))


def test_clopper_pearson_goes_on_smoothly_where_doubles_run_out():
    for c in (0.1, 5.0, 100.0, 600.0):
        exact, continued = _clopper_pearson(c, 10**12), _clopper_pearson(c, 10**12 + 1)
        assert exact <= continued <= exact * (1 + 2e-7)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("states", 0, "states 0 is less than 1"),
        ("states", 6.0, "states 6.0 is not a whole number"),
        ("actions", -2, "actions -2 is less than 1"),
        ("outcomes", 0, "outcomes 0 is less than 1"),
        ("discount", 1.0, r"discount 1.0 is not in \[0, 1\)"),
        ("discount", math.nan, "discount nan is not a finite number"),
        ("v_max", math.inf, "v_max inf is not a finite number"),
        ("v_max", -1.0, "v_max -1 is negative"),
        ("value_range", -1.0, "value_range -1 is negative"),
    ],
)
def test_a_scale_that_cannot_be_is_refused(field, value, words):
    good = {"states": 6, "actions": 3, "outcomes": 2, "discount": 0.9}
    good |= {"v_max": 100.0, "value_range": 110.0}
    with pytest.raises(ParameterError, match=words):
        Scale(**(good | {field: value}))
