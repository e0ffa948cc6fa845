"""A terminal of 80 columns shows no word in two pieces."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
READ = ["--ends", "terminated", "--columns"]
READ += ["episode=call,step=turn,observation=heard,action=response,reward=score"]


@pytest.fixture
def cut(monkeypatch) -> list[str]:
    """The words that rich has cut, because the column of a table was too narrow."""
    from rich import _wrap

    words, chop = [], _wrap.chop_cells

    def chopped(word: str, width: int) -> list[str]:
        pieces = chop(word, width)
        if len(pieces) > 1:
            words.append(word)
        return pieces

    monkeypatch.setattr(_wrap, "chop_cells", chopped)
    return words


@pytest.mark.slow
def test_no_word_is_cut_on_80_columns(jumar, cut, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES / "voicemail", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    log = ["log.csv", *READ]
    known = [*log, "--policy", "dialog.toml", "--discount", 0.95]
    estimate = ["estimate", *known, "--controller", "dialog.toml"]
    for command in (
        ["check", *known],
        ["improve", *known, "-o", "a"],
        ["improve", *known, "--simplify", "-o", "b"],
        ["compare", "a", "b"],
        ["samples", *known],
        estimate,
        ["init", *log, "--yes"],
    ):
        assert jumar(*command).code == 0
        assert (command[0], cut) == (command[0], [])


def test_a_word_that_is_cut_would_be_seen(jumar, cut, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    jumar("algorithms")
    assert cut
