"""The comparison of two recordings: what is the same passes, and whatever is not, does not."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "same_numbers.py"


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("same_numbers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compare


FILES = {
    "run/said.json": json.dumps({"gain": 1.5, "words": "better", "parts": [{"n": 3}]}),
    "run/said.exit": "0\n",
    "run/decisions.csv": "state,gain\ngood,1.5\n",
    "run/improved.json": "{}",
}


def recording(folder: Path, **changed: str | None) -> Path:
    """Changed or, where None, missing files."""
    for name, text in {**FILES, **changed}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder


def test_what_is_the_same_passes(compare, tmp_path, capsys):
    words = {"run/said.json": FILES["run/said.json"].replace("better", "other words")}
    before, after = recording(tmp_path / "a"), recording(tmp_path / "b", **words)
    assert compare(before, after) == 0
    assert capsys.readouterr().out == "4 numbers in 4 files: all the same\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"run/said.json": '{"gain": 1.5000001, "parts": [{"n": 3}]}'}, ".gain: 1.5 -> 1.5000001"),
        ({"run/said.json": '{"gain": 1.5}'}, ".parts[0].n: 3 -> None (gone)"),
        ({"run/said.exit": "1\nLogError"}, "exit 0, then 1"),
        ({"run/decisions.csv": "state,gain\ngood,1.6\n"}, "column gain differs"),
        ({"run/decisions.csv": "state,gain,why\ngood,1.5,so\n"}, "'new columns': 1"),
        ({"run/improved.json": "{ }"}, "other bytes"),
        ({"run/said.json": None}, "1 files only before"),
        ({"run/more.json": "{}"}, "1 files only after"),
    ],
)
def test_whatever_differs_is_told(compare, tmp_path, capsys, changed, said):
    before, after = recording(tmp_path / "a"), recording(tmp_path / "b", **changed)
    assert compare(before, after) == 1
    assert said in capsys.readouterr().out
