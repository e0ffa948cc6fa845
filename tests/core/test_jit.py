"""Compiled loops work wherever jumar runs, and are kept where nobody else can write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import jumar
from jumar.core import jit

ADDS = "def add(x, y):\n    return x + y\n"


@pytest.fixture
def add(tmp_path):
    """A function in a folder where nothing can be kept beside it, not even by root."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "__pycache__").write_text("a file where a folder should be")
    path = tmp_path / "code" / "adds.py"
    path.write_text(ADDS)
    names: dict = {}
    exec(compile(ADDS, str(path), "exec"), names)
    return names["add"]


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """No folder that numba knows of; temporary files are in tmp_path."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/dev/null/nowhere")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(jit.tempfile, "tempdir", str(tmp_path / "tmp"))
    jit.private_folder.cache_clear()
    yield tmp_path / "tmp"
    jit.private_folder.cache_clear()


def test_without_a_folder_loops_are_kept_among_the_temporary_files(add, homeless):
    assert jit.compiled(add)(2, 3) == 5
    (folder,) = homeless.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.suffix for path in sorted(folder.rglob("*.nb?"))] == [".nbc", ".nbi"]
    assert numba.config.CACHE_DIR == ""  # what others compile is kept where it was
    assert jit.inlined(add)(2, 3) == 5


@pytest.mark.parametrize("trap", ["open to all", "link", "file", "no room"])
def test_a_folder_that_others_can_write_to_is_not_used(add, homeless, trap):
    ours = homeless / f"jumar-compiled-{os.getuid()}"
    if trap == "open to all":
        ours.mkdir()
        ours.chmod(0o777)
    elif trap == "link":
        (homeless / "elsewhere").mkdir(mode=0o700)
        ours.symlink_to(homeless / "elsewhere")
    elif trap == "file":
        ours.write_text("")
    else:
        shutil.rmtree(homeless)
    assert jit.private_folder() is None
    assert jit.compiled(add)(2, 3) == 5
    assert not list(homeless.rglob("*.nb?"))


def test_a_full_disk_does_not_stop_what_is_computed(add, homeless, monkeypatch):
    kept = jit.compiled(add)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept._cache._cache_file, "save", full)
    assert kept(2, 3) == 5


@pytest.mark.slow
def test_commands_run_without_a_writable_home(tmp_path):
    code = tmp_path / "jumar"
    shutil.copytree(
        Path(jumar.__file__).parent, code, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    for folder in [code, *(path for path in code.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    (tmp_path / "tmp").mkdir()
    environment = {
        "PYTHONPATH": str(tmp_path),
        "HOME": "/dev/null/nowhere",
        "TMPDIR": str(tmp_path / "tmp"),
        "PATH": os.environ["PATH"],
    }
    ran = subprocess.run(
        [sys.executable, "-m", "jumar", "train", "tiger", "--episodes", "10", "-o", "b.json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list((tmp_path / "tmp").rglob("*.q_learning*.nbi"))


def test_loops_run_uncompiled_for_a_debugger(add, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert jit.compiled(add) is add
    assert jit.inlined(add)(2, 3) == 5
