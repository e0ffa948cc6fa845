"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from controller_documents import write
from facts import refuses
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.io.controllers import (
    save_controller,
)
from jumar.io.files import write_atomically

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


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "note.txt")
    write_atomically(tmp_path / "link.txt", "1")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "note.txt").read_text() == "1"


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
    expected = ParameterError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_atomically(path, "new")
    if expected is ParameterError:
        assert "note.txt: cannot be written (No space left on device)" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note.txt"]


def test_a_directory_that_does_not_exist_is_named(tmp_path):
    with refuses(ParameterError, "c.json", "no directory", "nowhere'", "create"):
        save_controller(Controller.uniform(("z",), ("a",)), tmp_path / "nowhere" / "c.json")
    write(tmp_path, "x", "file")
    with refuses(ParameterError, "no directory", "file'"):
        write_atomically(tmp_path / "file" / "c.json", "1")


def test_a_missing_permission_is_named(tmp_path, monkeypatch):
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with refuses(ParameterError, "permission", "choose another"):
        write_atomically(tmp_path / "note.txt", "1")


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
