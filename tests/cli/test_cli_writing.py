"""The command line: when writing fails, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands import improve

# ---------------------------------------------------------------- writing that fails


def test_a_folder_that_cannot_be_made_leaves_nothing(jumar, buses):
    (buses / "file").write_text("mine")
    before = sorted(os.listdir(buses))
    for out in (buses / "file" / "out", buses / "file"):
        done = jumar(*improve(buses, "-o", out))
        assert done.code == 2
        assert "cannot be made a folder" in done.err
        assert str(buses / "file") in done.err
        assert sorted(os.listdir(buses)) == before
    assert (buses / "file").read_text() == "mine"


def test_no_controller_is_written_when_its_certificate_cannot_be(jumar, buses):
    """An improved controller without its certificate, or with an old one, is worse than none."""
    (buses / "out" / "certificate.json").mkdir(parents=True)
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 2
    assert "certificate.json: this is a directory" in done.err
    assert os.listdir(buses / "out") == ["certificate.json"]


def test_no_certificate_is_written_when_the_controller_cannot_be(jumar, buses):
    (buses / "out" / "improved.json").mkdir(parents=True)
    (buses / "out" / "certificate.json").write_text("the old one")
    done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 2
    assert sorted(os.listdir(buses / "out")) == ["certificate.json", "improved.json"]
    assert (buses / "out" / "certificate.json").read_text() == "the old one"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["train", "tiger", "--episodes", 10], "b.json"),
        (["simulate", "tiger", "--policy", "RULE", "--episodes", 10], "log.csv"),
        (["simulate", "tiger", "--policy", "RULE", "--episodes", 10], "log.parquet"),
    ],
)
def test_a_file_that_cannot_be_written_leaves_nothing(jumar, tiger, tmp_path, arguments, name):
    (tmp_path / "file").write_text("mine")
    arguments = [tiger / "behavior.json" if a == "RULE" else a for a in arguments]
    done = jumar(*arguments, "-o", tmp_path / "file" / name)
    assert (done.code, done.out) == (2, "")
    assert "there is no directory" in done.err
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("arguments", "name", "message"),
    [
        (["train", "tiger", "--episodes", 10], "b.txt", "Use 'b.json'"),
        (["simulate", "tiger", "--policy", "RULE"], "log.xls", "end the name in .csv or"),
    ],
)
def test_a_file_of_unknown_kind_is_not_written(jumar, tiger, tmp_path, arguments, name, message):
    arguments = [tiger / "behavior.json" if a == "RULE" else a for a in arguments]
    done = jumar(*arguments, "-o", tmp_path / name)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_nowhere_to_print_to_is_one_line_and_no_traceback():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jumar", "models"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("jumar: OSError: ")
    assert "Traceback" not in done.stderr
