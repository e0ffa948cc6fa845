"""Logs from standard input and pipes, compressed or not; formats that no name tells."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from commands import run_command as run
from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs, write_logs
from log_rows import HEADER, in_names, three_endings

LOG = three_endings(("good", "worn"), ("keep", "repair"))
RULE = """
format = "jumar-controller/1"
observations = ["good", "worn"]
actions = ["keep", "repair"]
default = { keep = 0.5, repair = 0.5 }
"""


@pytest.fixture
def piped(monkeypatch, tmp_path):
    """Puts bytes on standard input; temporary files go to a folder of their own."""
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spool))

    def put(data: bytes) -> Path:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return spool

    return put


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "ndjson", "ndjson.gz"]
)
def test_standard_input_is_recognised(piped, tmp_path, ending):
    write_logs(LOG, tmp_path / f"log.{ending}")
    spool = piped((tmp_path / f"log.{ending}").read_bytes())
    log = read_logs("-")
    assert in_names(log) == in_names(LOG)
    assert log.where(0).startswith("standard input, row ")
    assert list(spool.iterdir()) == []  # nothing is left


def test_other_files_are_recognised_too(piped):
    piped(b"episode;observation;action;reward\n1;z;a;3.5\n")
    assert read_logs("-", ends="cut").reward.tolist() == [3.5]
    row = {"episode": 1, "observation": "z", "action": "a", "reward": 1}
    piped(json.dumps([row, row], indent=1).encode())
    assert read_logs("-", ends="cut").n_steps == 2
    piped("episode\tobservation\taction\treward\n1\tz\ta\t1\n".encode("utf-16"))
    assert read_logs("-", ends="cut", encoding="utf-16").n_steps == 1


def test_the_format_may_be_said(piped, log_file):
    path = log_file("1,z,a,0,true", header=HEADER, name="log.dat")
    for name in ("CSV", "csv"):
        assert read_logs(path, file_format=name).n_steps == 1
    with refuses(LogError, "log.dat", "cannot be read as Parquet"):
        read_logs(path, file_format="Parquet")
    with refuses(ParameterError, "file_format: format 'cvs' is not one of CSV, TSV"):
        read_logs(path, file_format="cvs")
    piped(path.read_bytes())
    with refuses(LogError, "standard input", "cannot be read as Parquet"):
        read_logs("-", file_format="Parquet")


def test_what_is_no_log_is_refused(piped):
    spool = piped(b"")
    with refuses(LogError, "standard input: nothing came in"):
        read_logs("-")
    piped(bytes(100))
    with refuses(LogError, "standard input: cannot tell the format", "--format CSV"):
        read_logs("-")
    piped(b"\x1f\x8bnot compressed")
    with refuses(LogError, "standard input"):
        read_logs("-")
    piped(b"hello\n")
    with refuses(LogError, "standard input: no column for the episode"):
        read_logs("-")
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("name", ["log.csv", "pipe"])
def test_a_pipe_is_read_like_a_file(piped, tmp_path, name):
    spool = piped(b"")
    path = tmp_path / name
    os.mkfifo(path)
    text = f"{HEADER}\n1,z,a,x,true\n2,z,a,0,true\n".encode()
    for data, good in ((text, False), (text.replace(b"x", b"7"), True)):
        writer = threading.Thread(target=path.write_bytes, args=(data,))
        writer.start()
        if good:
            assert read_logs(path).reward.tolist() == [7, 0]
        else:
            with refuses(LogError, f"{name}, row 2, column 'reward': 'x' is not a number"):
                read_logs(path)
        writer.join()
    assert list(spool.iterdir()) == []


def test_a_full_disk_is_told(piped, monkeypatch):
    spool = piped(b"x" * 10)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with refuses(LogError, "standard input", "No space left on device", "TMPDIR"):
        read_logs("-")
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson", "jsonl", "json"])
def test_every_text_format_may_be_compressed(tmp_path, ending):
    plain = tmp_path / f"log.{ending}"
    if ending == "json":
        row = {"episode": 1, "observation": "z", "action": "a", "reward": 1, "terminated": True}
        plain.write_text(json.dumps([row]))
    else:
        write_logs(LOG, plain)
    packed = tmp_path / f"log.{ending}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert in_names(read_logs(packed)) == in_names(read_logs(plain))
    hidden = tmp_path / f"hidden.{ending}"  # the name does not say that it is compressed
    hidden.write_bytes(packed.read_bytes())
    assert in_names(read_logs(hidden)) == in_names(read_logs(plain))


# ---- the command line ---------------------------------------------------------------------------


def test_commands_read_standard_input_and_record_what_came_in(piped, tmp_path, capsys):
    rows = [f"{e},{z},{a},{r},true" for e, (z, a, r) in enumerate(
        [("good", "keep", 1), ("worn", "repair", -1), ("worn", "keep", -2)] * 20)]  # fmt: skip
    text = "\n".join([HEADER, *rows]).encode()
    (tmp_path / "rule.toml").write_text(RULE)
    spool = piped(text)
    options = ("--policy", tmp_path / "rule.toml", "--discount", 0.9, "--no-project")
    found = run(capsys, "check", "-", *options, "--json")
    assert found.data["log"] == "-"
    piped(text)
    run(capsys, "improve", "-", *options, "--n-wedge", 5, "-o", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["options"]["log"] == "-"
    assert record["files"]["log"] == {
        "name": "-", "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()
    }  # fmt: skip
    assert list(spool.iterdir()) == []


def test_what_was_recognised_is_said_by_check(tmp_path, capsys):
    text = "episode;observation;action;reward\n1;good;keep;3\n"
    (tmp_path / "log.csv").write_text(text)
    (tmp_path / "rule.toml").write_text(RULE)
    options = ("--policy", tmp_path / "rule.toml", "--ends", "cut", "--no-project")
    assert "--separator ';'" in run(capsys, "check", tmp_path / "log.csv", *options).text
