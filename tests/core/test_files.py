"""Files are written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controller_documents import write
from facts import refuses
from jumar.core import files
from jumar.core.errors import ParameterError, WriteError
from jumar.core.files import replacing, write_atomically
from jumar.policy.controller import Controller
from jumar.policy.files import (
    save_controller,
)

# ---- writing files ------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "note.txt"
    write_atomically(path, "größer")
    write_atomically(str(path), b"bytes")
    assert path.read_bytes() == b"bytes"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_new_file_obeys_the_umask_and_a_replaced_one_keeps_its_permissions(tmp_path):
    path, other = tmp_path / "note.txt", tmp_path / "other.txt"
    other.touch()
    write_atomically(path, "1")
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o640)
    write_atomically(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(
    step, failure, tmp_path, monkeypatch
):
    path = tmp_path / "note.txt"
    write_atomically(path, "old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(os, step, fail)
    expected = WriteError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_atomically(path, "new")
    if expected is WriteError:
        assert "note.txt: cannot be written (No space left on device)" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_directory_that_does_not_exist_is_named(tmp_path):
    with refuses(ParameterError, "c.json", "no directory", "nowhere'", "create"):
        save_controller(Controller.uniform(("z",), ("a",)), tmp_path / "nowhere" / "c.json")
    write(tmp_path, "x", "file")
    with refuses(ParameterError, "no directory", "file'"):
        write_atomically(tmp_path / "file" / "c.json", "1")


def test_a_link_is_followed_and_a_missing_permission_named(tmp_path, monkeypatch):
    (tmp_path / "link.txt").symlink_to(tmp_path / "note.txt")
    write_atomically(tmp_path / "link.txt", "1")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "note.txt").read_text() == "1"

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with refuses(ParameterError, "permission", "choose another"):
        write_atomically(tmp_path / "note.txt", "2")


def test_a_directory_and_a_device_are_not_overwritten(tmp_path):
    with refuses(ParameterError, "a directory", "name of a file"):
        write_atomically(tmp_path, "1")
    with refuses(ParameterError, "regular file", "another path"):
        write_atomically(os.devnull, "1")


def test_text_that_is_no_text_and_an_impossible_path_are_refused(tmp_path):
    with refuses(ParameterError, "half a character", "position 2"):
        write_atomically(tmp_path / "note.txt", "a\ud800")
    with pytest.raises(ParameterError, match="Choose another path"):
        write_atomically("a\0b", "1")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_of_the_real_path_whoever_writes(tmp_path):
    """pyarrow and others get the path of a temporary file; people never see it."""
    path = tmp_path / "log.parquet"
    with (
        refuses(WriteError, path, "cannot be written", "Make room") as told,
        replacing(path) as tmp,
    ):
        raise OSError(28, f"Error writing bytes to file {tmp}")
    assert ".tmp" not in str(told.value)
    assert "No space left on device" in str(told.value)
    assert os.listdir(tmp_path) == []


# ---- what a kill leaves behind --------------------------------------------------------------

KILLED = """
import os, signal, sys
from jumar.core.files import replacing, write_atomically
from jumar.core import files
if sys.argv[2] == "file":
    with replacing(sys.argv[1] + "/note.txt") as temporary:
        temporary.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
files._replace_all = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.write_folder(sys.argv[1] + "/out", {"a.txt": "one"})
"""


@pytest.fixture
def anew():
    """As if this process had not written anything yet."""
    files._cleared.clear()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_the_next_run_removes_what_a_kill_left(tmp_path, anew, what):
    if what == "folder":
        (tmp_path / "out").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path), what]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    write_atomically(tmp_path / "other.txt", "1")
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def left(folder: Path, name: str, age: float = 0.0) -> Path:
    path = folder / name
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_what_somebody_may_still_be_writing_stays(tmp_path, anew):
    here, mine = files._where(), os.getpid()
    stays = [
        left(tmp_path, f".jumar-{here}-{mine}-{'0' * 16}.tmp", age=1e6),  # its writer is running
        left(tmp_path, f".jumar-{here}-1-{'0' * 16}.tmp", age=1e6),  # so is that of another user
        left(tmp_path, f".jumar-{'f' * 8}-4194999-{'0' * 16}.tmp", age=3600.0),  # another machine
        left(tmp_path, ".jumar-notes.tmp", age=1e6),  # not ours
        left(tmp_path, "mine.tmp", age=1e6),
    ]
    goes = [
        left(tmp_path, f".jumar-{here}-4194999-{'0' * 16}.tmp"),  # larger than any process number
        left(tmp_path, f".jumar-{'f' * 8}-4194999-{'1' * 16}.tmp", age=90_000.0),  # for a day
    ]
    write_atomically(tmp_path / "note.txt", "1")
    assert [path.name for path in goes if path.exists()] == []
    assert [path.name for path in stays if not path.exists()] == []


def test_a_link_that_looks_like_ours_is_removed_and_not_followed(tmp_path, anew):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data.txt").write_text("1")
    link = tmp_path / f".jumar-{files._where()}-4194999-{'0' * 16}.tmp"
    link.symlink_to(tmp_path / "precious", target_is_directory=True)
    write_atomically(tmp_path / "note.txt", "1")
    assert not link.is_symlink()
    assert (tmp_path / "precious" / "data.txt").read_text() == "1"


# ---- one at a time --------------------------------------------------------------------------

HOLDS = """
import sys, time
from jumar.core.files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_says_who_holds_it_and_ends_with_the_process(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with refuses(files.Busy, f"process {holder.pid}"), files.locked(tmp_path / "out"):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with files.locked(tmp_path / "out"), files.locked(tmp_path / "out"):  # who holds it may again
        assert (tmp_path / "out" / files.LOCK).exists()
    assert os.listdir(tmp_path / "out") == []


def test_a_lock_leaves_no_empty_folders(tmp_path):
    with pytest.raises(ZeroDivisionError), files.locked(tmp_path / "a" / "b"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_without_locks_in_the_system_work_goes_on(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def none(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with files.locked(tmp_path):
        pass
    assert os.listdir(tmp_path) == []
