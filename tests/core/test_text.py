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
        (5.0123, 0.103, "5.01"), (5.0123, 12.0, "5"), (5.0123, np.nan, "5.012"),
        (1e20, 1.0, "1e+20"), (0.5, 2.5e-4, "0.50000"), (999.94, 0.0, "999.9"), (-0.0, 0.0, "0"),
    ],
)  # fmt: skip
def test_an_estimate_has_the_digits_its_error_leaves(x: float, error: float, text: str):
    assert rounded(x, error) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_is_right_to_four_digits_and_short(x: float):
    text = number(x)
    assert float(text.replace(",", "")) == pytest.approx(x, rel=6e-4, abs=0)
    assert len(text) <= 22
