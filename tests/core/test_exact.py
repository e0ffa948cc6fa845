"""Sums that do not depend on the order: the slow twin adds fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jumar.core import exact
from jumar.core.exact import ExactSums

numbers = st.floats(-1e60, 1e60, allow_subnormal=False) | st.sampled_from(
    [0.0, -0.0, 0.1, -0.1, 1e16, -1e16, 1.0, 2.0**-200, 5e-324, -5e-324, 1e300, -1e300]
)


def obvious(values):
    return sum(map(Fraction, values), Fraction(0))


def summed(values):
    sums = ExactSums(1)
    sums.add(np.zeros(len(values), np.int64), np.array(values))
    return sums


@given(st.lists(numbers, max_size=30))
def test_a_sum_is_the_nearest_double(values):
    assert summed(values).rounded().tolist() == [float(obvious(values))]


@given(st.lists(numbers, max_size=30))
def test_an_expansion_is_the_sum_itself_and_begins_with_the_rounded_one(values):
    found = summed(values).expansion()[0].tolist()
    assert obvious(found) == obvious(values)
    assert found[0] == float(obvious(values))


@given(st.lists(st.tuples(st.integers(0, 2), numbers), max_size=30), st.integers(0, 30), st.data())
def test_parts_in_any_order_add_up_to_the_same(pairs, cut, data):
    shuffled = data.draw(st.permutations(pairs))
    parts = []
    for some in (shuffled[:cut], shuffled[cut:]):
        sums = ExactSums(3)
        sums.add(np.array([i for i, _ in some], np.int64), np.array([x for _, x in some]))
        parts.append(sums)
    total = ExactSums(3)
    for part in parts[:: data.draw(st.sampled_from([1, -1]))]:
        total.merge(part, np.arange(3))
    for i in range(3):
        assert total.rounded()[i] == float(obvious([x for j, x in pairs if j == i]))


def test_ties_go_to_the_even_neighbour():
    even, odd = 2.0**53, 2.0**53 + 2
    assert summed([even, 1.0]).rounded()[0] == even
    assert summed([odd, 1.0]).rounded()[0] == odd + 2
    assert summed([even, 1.0, 2.0**-1000]).rounded()[0] == odd


def test_carries_wait_and_are_passed_on_in_time(monkeypatch):
    monkeypatch.setattr(exact, "MOST_WAITING", 10)
    rng = np.random.default_rng(1)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-9, 9, 1000)
    sums = ExactSums(2)
    for some in np.array_split(np.arange(1000), 300):
        sums.add(some % 2, values[some])
    assert sums.rounded().tolist() == [math.fsum(values[::2]), math.fsum(values[1::2])]


def test_new_sums_are_zero_and_old_ones_stay():
    sums = summed([0.1, 0.2])
    sums.grow(3)
    assert sums.rounded().tolist() == [math.fsum([0.1, 0.2]), 0.0, 0.0]
