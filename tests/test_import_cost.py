"""`import jumar` and the start of a command must not load what they do not need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("numpy", "numba", "scipy", "pyarrow", "rich", "matplotlib")


def loaded(code: str) -> set[str]:
    """The top-level packages a fresh Python has loaded after running some code."""
    report = (
        "import sys, json; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", ["jumar", "jumar.cli"])
def test_importing_loads_nothing_heavy(module):
    assert loaded(f"import {module}") & set(HEAVY) == set()


def test_the_check_sees_what_is_loaded():
    """A public name loads what it needs, and the check above would notice."""
    assert loaded("import jumar; jumar.window(2)") & set(HEAVY) == {"numpy"}


def test_a_log_is_read_and_counted_without_pandas(tmp_path):
    """Most functions of pyarrow load it where it is installed, which takes a third of a second."""
    rows = ["episode,step,observation,action,reward,terminated"]
    rows += [f"{i},1,{'worn' if i % 2 else 'good'},keep,{i / 2},yes" for i in range(20)]
    rows += ["20,1,,keep,,"]  # with holes
    (tmp_path / "log.csv").write_text("\n".join(rows))
    code = f"""
import jumar as jm
from jumar.core.arrays import hashed, np
log = jm.read_logs({str(tmp_path / "log.csv")!r}, missing="drop")
jm.count(log, jm.window(2))
hashed(np.arange(3))  # what counting a long window does
"""
    assert {"pyarrow", "numba"} <= (found := loaded(code))
    assert "pandas" not in found


def test_every_public_name_can_be_imported():
    import jumar

    for name in jumar.__all__:
        assert getattr(jumar, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'improove'"):
        jumar.improove  # noqa: B018
