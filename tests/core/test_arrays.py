"""Rows of integers: numbered, found again, and closed under a step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.arrays import RowIndex, closure, freeze, number_rows
from jumar.core.errors import TooLarge

HUGE = 2**63 - 1
words = st.one_of(st.integers(0, 3), st.sampled_from([2**31, 2**62, HUGE - 1, HUGE]))


@st.composite
def integer_rows(draw, most: int = 12) -> np.ndarray:
    width = draw(st.integers(0, 5))
    rows = draw(st.lists(st.lists(words, min_size=width, max_size=width), max_size=most))
    return np.array(rows, np.int64).reshape(len(rows), width)


def obvious_numbers(rows: np.ndarray) -> tuple[list[list[int]], list[int]]:
    distinct = sorted({tuple(row) for row in rows.tolist()})
    return [list(row) for row in distinct], [distinct.index(tuple(row)) for row in rows.tolist()]


def test_rows_may_have_more_columns_than_arrays_have_dimensions():
    """As those of a memory that moves in 101 ways, hardly any of which leads elsewhere."""
    rows = np.zeros((50, 101), np.int64)
    rows[::2, 100], rows[::5, 7] = 1, 1
    distinct, number = number_rows(rows)
    assert len(distinct) == 4
    np.testing.assert_array_equal(distinct[number], rows)
    assert [tuple(row) for row in distinct] == sorted(tuple(row) for row in distinct)


def test_a_frozen_array_is_a_copy_nobody_can_write_to():
    mine = np.array([1, 2, 3])
    frozen = freeze(mine, np.int64)
    mine[0] = 99
    assert frozen.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 99


def test_a_transposed_array_is_frozen_row_after_row():
    assert freeze(np.arange(6).reshape(2, 3).T, np.int64).flags.c_contiguous


@given(integer_rows())
def test_rows_are_numbered_in_lexicographic_order(rows):
    distinct, number = number_rows(rows)
    expected, numbers = obvious_numbers(rows)
    assert distinct.shape == (len(expected), rows.shape[1])
    assert distinct.tolist() == expected
    assert number.tolist() == numbers


@given(integer_rows(), st.data())
def test_a_row_is_found_where_it_stands_and_others_are_not(rows, data):
    index_rows = np.unique(rows, axis=0) if rows.shape[1] else rows[:1]
    shuffled = data.draw(st.permutations(range(len(index_rows))))
    index_rows = index_rows[np.array(shuffled, np.int64)]
    width = rows.shape[1]
    stranger = st.lists(st.one_of(words, st.just(-1)), min_size=width, max_size=width)
    wanted_rows = rows.tolist() + data.draw(st.lists(stranger, max_size=5))
    wanted = np.array(wanted_rows, np.int64).reshape(len(wanted_rows), width)
    places = {tuple(row): i for i, row in enumerate(index_rows.tolist())}
    expected = [places.get(tuple(row), -1) for row in wanted.tolist()]
    assert RowIndex(index_rows).find(wanted).tolist() == expected


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10), st.integers(0, 9))
def test_the_closure_is_what_walking_finds(follows, first):
    seen, todo = {first}, [first]
    while todo:
        now = follows[todo.pop()]
        if now not in seen:
            seen.add(now)
            todo.append(now)
    step = np.array(follows)
    found = closure(np.array([[first]]), lambda rows: step[rows], 10, "numbers")
    assert found.ravel().tolist() == sorted(seen)


def test_one_row_more_than_allowed_is_too_many_and_the_error_says_of_what():
    def count_up(most: int) -> np.ndarray:
        return closure(np.array([[0]]), lambda rows: np.minimum(rows + 1, 4), most, "numbers")

    assert len(count_up(5)) == 5
    with refuses(TooLarge, "numbers", "more than 4"):
        count_up(4)
