"""Every example of the tutorials and of the first page is done as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumar
from walks import Walk

ROOT = Path(jumar.__file__).parents[2]
WALKED = [ROOT / "docs" / "start.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.stem)
def test_a_page_can_be_followed_from_top_to_bottom(page, tmp_path):
    done = Walk(page, tmp_path).to_the_end()
    assert {"sh", "text"} <= set(done)
