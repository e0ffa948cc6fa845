"""The change that CONTRIBUTING.md shows is done as it stands there, in a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jumar

ROOT = Path(jumar.__file__).parents[2]


@pytest.mark.slow
def test_a_change_from_edit_to_green(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    module, line, test = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    package = tmp_path / "src" / "jumar"
    shutil.copytree(ROOT / "src" / "jumar", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "algorithms" / "lean.py").write_text(module)
    listed = package / "algorithms" / "__init__.py"
    last = '        "mbie": "jumar.algorithms.mbie:ENTRY",\n'
    assert last in listed.read_text()
    listed.write_text(listed.read_text().replace(last, last + line))
    (tmp_path / "test_lean.py").write_text(test)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_lean.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    said = subprocess.run(
        [sys.executable, "-m", "jumar", "algorithms"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "lean towards what paid most" in said
