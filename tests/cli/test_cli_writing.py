"""The command line: when writing fails, nothing is left behind."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from commands import improve
from facts import says

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


@contextmanager
def full_disk(room: int):
    """No file may grow beyond so many bytes: as a full disk, but without a disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


STUDY = """\
format = "jumar-study/1"
datasets = 1
sizes = [1, 5]
[[behaviors]]
model = "tiger"
window = 1
memories = [1]
[[algorithms]]
name = "spibb"
n_wedge = [5, 20]
"""


@pytest.mark.parametrize(
    ("arguments", "name", "room"),
    [
        (["train", "tiger", "--episodes", 10, "-o", "OUT/b.json"], "b.json", 100),
        (["simulate", "tiger", "--policy", "RULE", "-o", "OUT/log.csv"], "log.csv", 100),
        (["simulate", "tiger", "--policy", "RULE", "-o", "OUT/l.parquet"], "l.parquet", 100),
        (["simulate", "tiger", "--policy", "RULE", "-o", "OUT/l.ndjson"], "l.ndjson", 100),
        (["simulate", "tiger", "--policy", "RULE", "-o", "OUT/l.arrow"], "l.arrow", 100),
        (["simulate", "tiger", "--policy", "RULE", "-o", "OUT/l.csv.gz"], "l.csv.gz", 100),
        (["study", "STUDY", "-o", "OUT", "--jobs", 1], "study.json", 100),
        (["study", "STUDY", "-o", "OUT", "--jobs", 1], ".parquet", 3000),
        (["study", "STUDY", "-o", "OUT", "--jobs", 1], ".svg", 20_000),
    ],
)
def test_a_full_disk_is_a_failure_that_names_the_file(
    jumar, tiger, tmp_path, arguments, name, room
):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "out").mkdir()
    means = {"RULE": tiger / "behavior.json", "STUDY": tmp_path / "study.toml"}
    filled = [str(means.get(a, a)).replace("OUT", str(tmp_path / "out")) for a in arguments]
    with full_disk(room):
        done = jumar(*filled)
    assert done.code == 1
    says(done.err, "WriteError", "File too large", "Make room", "another path")
    assert name in done.err
    assert ".tmp" not in done.err
    assert not list(tmp_path.rglob("*.tmp"))


def test_no_room_for_temporary_files_is_told_with_a_remedy(jumar, tiger, tmp_path):
    with full_disk(100):
        done = jumar("show", tiger / "behavior.json", "-o", tmp_path / "c.svg")
    assert done.code == 1
    says(done.err, "WriteError", "File too large", "temporary file", "TMPDIR=FOLDER")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_no_half_of_a_result(jumar, buses):
    with full_disk(10_000):
        done = jumar(*improve(buses, "-o", buses / "out"))
    assert done.code == 1
    says(done.err, "WriteError", "File too large", str(buses / "out"))
    assert ".tmp" not in done.err
    assert sorted(os.listdir(buses)) == ["log.csv", "rule.toml"]


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
