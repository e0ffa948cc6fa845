"""A browser for pages and scripts."""

from __future__ import annotations

import shutil

import pytest

HOW = "apt install chromium, and pip install -e '.[dev]' for Playwright"


@pytest.fixture(scope="module")
def browser():
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if program is None:
        pytest.skip(f"there is no Chromium: {HOW}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip(f"there is no Playwright: {HOW}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()
