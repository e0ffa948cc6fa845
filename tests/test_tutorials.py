"""Every example of the tutorials and of the first page is done as it stands there."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import jumar
from notebooks import code, fetch, shown_by, text_of
from walks import WALKED, Walk

ROOT = Path(jumar.__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))
TRIAL = ROOT / "examples" / "trial"


SLOW = ("bridges", "cookbook", "paper")
NEEDS = {"cookbook": ("gymnasium", "minari", "h5py", "pandas", "polars")}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else [])
        for page in WALKED
    ],
)
def test_a_page_can_be_followed_from_top_to_bottom(page, tmp_path, monkeypatch):
    for library in NEEDS.get(page.stem, ()):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install jumar[dev]")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    done = Walk(page, tmp_path).to_the_end()
    assert {"sh", "text"} <= set(done)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_a_notebook_shows_what_its_file_says(path, tmp_path):
    """If not, and the change is meant: python tests/notebooks.py docs/tutorials/*.ipynb"""
    notebook = json.loads(path.read_text())
    fetch(text_of(notebook), path.parent, tmp_path)
    kept = [cell["outputs"] for cell in code(notebook)]
    assert shown_by(notebook, tmp_path) == kept
    assert any(kept)


def test_every_tutorial_has_a_small_notebook():
    assert {path.stem for path in NOTEBOOKS} == {path.stem for path in TUTORIALS.glob("*.md")}
    assert all(path.stat().st_size < 10_000 for path in NOTEBOOKS)


def test_the_log_of_the_trial_is_what_make_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("make_trial", TRIAL / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.make(tmp_path)
    assert (tmp_path / "log.csv").read_bytes() == (TRIAL / "log.csv").read_bytes()


# ---- the one who follows ------------------------------------------------------------------------


def follow(page: str, folder: Path) -> list[str]:
    path = folder / "page.md"
    path.write_text(page)
    return Walk(path, folder).to_the_end()


def test_a_wrong_answer_is_noticed_with_its_line(tmp_path):
    page = "# Title\n\n```sh\njumar --version\n```\n\n```text\njumar 0.0.0\n```\n"
    with pytest.raises(AssertionError, match=r"page.md, line 7: shown\njumar 0.0.0"):
        follow(page, tmp_path)


def test_a_command_that_fails_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="jumar improove ended with 2"):
        follow("```sh\njumar improove\n```\n", tmp_path)


def test_python_blocks_share_their_names(tmp_path):
    page = "```python\n>>> x = 1\n\n```\n\n```python\n>>> x + 1\n{}\n\n```\n"
    assert follow(page.format(2), tmp_path) == ["python", "python"]
    with pytest.raises(AssertionError, match=r'"page\.md", line 7'):
        follow(page.format(3), tmp_path)


def test_a_file_is_written_and_a_variable_replaced(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    shown = "```text\na,b\n...\n```\n\n```toml\n# x.toml\ny = 1\n```\n"
    run = '```sh\nAS="--version"\njumar $AS\n```\n'
    assert follow(f"{shown}\n{run}", tmp_path) == ["text", "toml", "sh"]
    assert (tmp_path / "x.toml").read_text() == "# x.toml\ny = 1\n"
