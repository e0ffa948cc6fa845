"""Numbers as people write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumar.core.text import number, rounded


@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (5.0123, 1.03, "5.0"), (5.0123, 0.103, "5.01"), (5.0123, 12.0, "5"), (-0.04, 1.0, "0.0"),
        (12345.6, 230.0, "12,350"), (5.0123, 0.0, "5.012"), (5.0123, np.nan, "5.012"),
        (1e20, 1.0, "1e+20"), (0.5, 2.5e-4, "0.50000"),
    ],
)  # fmt: skip
def test_an_estimate_has_the_digits_its_error_leaves(x: float, error: float, text: str):
    assert rounded(x, error) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1, "1"), (-2.5, "-2.5"), (0.012346, "0.01235"),
        (999.94, "999.9"), (999.96, "1,000"), (-1234.5, "-1,234"), (1e15, "1e+15"),
        (-1e100, "-1e+100"), (2.5e-7, "2.5e-07"), (np.inf, "unbounded"),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(x: float, text: str):
    assert number(x) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_is_right_to_four_digits_and_short(x: float):
    text = number(x)
    assert float(text.replace(",", "")) == pytest.approx(x, rel=6e-4, abs=0)
    assert len(text) <= 22
