"""The files a result is handed over in: all of them or none, true to the run, and harmless whatever
the names in the log are."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import jumar as jm
from facts import refuses
from jumar.cli import main
from jumar.core import files
from jumar.core.errors import ParameterError
from jumar.core.files import write_folder
from jumar.core.text import shown
from jumar.policy.files import load_controller
from jumar.show import outputs
from jumar.show.outputs import save
from jumar.show.provenance import Run
from results import HALF, HOSTILE, RUN, named, one_step_log, tiger_log

FILES = [
    "certificate.json",
    "controller.dot",
    "controller.svg",
    "decisions.csv",
    "improved.json",
    "improved.py",
    "improved.table.json",
    "report.html",
    "run.json",
]


def listed(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def strictly(text: str) -> dict:
    """JSON without NaN and Infinity, which are not JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def result():
    return jm.improve(one_step_log(30, 30), HALF, discount=0.9, n_wedge=20)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A result full of hostile names, and the folder it was handed over in."""
    made = named(HOSTILE, HOSTILE[1])
    folder = tmp_path_factory.mktemp("hostile") / "out"
    save(made.assessment, folder, RUN)
    return made, folder


# ---------------------------------------------------------------- all or none


def test_every_file_is_written_and_named(tmp_path, result):
    paths = save(result.assessment, tmp_path / "out")
    assert sorted(path.name for path in paths) == listed(tmp_path / "out") == FILES
    assert listed(tmp_path) == ["out"]


@pytest.mark.parametrize("part", ["controller_text", "draw", "program", "_json"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_if_one_part_cannot_be_made_none_is_written(tmp_path, monkeypatch, result, part, error):
    def fail(*_, **__):
        raise error("no")

    monkeypatch.setattr(outputs, part, fail)
    with pytest.raises(error):
        save(result.assessment, tmp_path / "new")
    assert listed(tmp_path) == []


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [0, 3, 7])
def test_if_one_file_cannot_be_written_none_is(tmp_path, monkeypatch, result, error, at):
    (tmp_path / "old").mkdir()
    for name in ("run.json", "notes.txt"):
        (tmp_path / "old" / name).write_text("mine")
    real, calls = files._sync, []

    def fail(path):
        calls.append(path)
        if len(calls) % 8 == at:  # in both folders
            raise error("full")
        real(path)

    monkeypatch.setattr(files, "_sync", fail)
    for folder in ("new", "old"):
        with pytest.raises((ParameterError, error)):
            save(result.assessment, tmp_path / folder)
        calls.clear()
    assert listed(tmp_path) == ["old"]
    assert listed(tmp_path / "old") == ["notes.txt", "run.json"]
    assert {file.read_text() for file in (tmp_path / "old").iterdir()} == {"mine"}


@pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(4))
def test_if_taking_the_places_is_interrupted_the_old_files_come_back(
    tmp_path, monkeypatch, error, when, at
):
    """Files a and c are there, b and d are new; the move of one of them is broken off, just before
    or just after it is made."""
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a", "c", "other"):
        (out / name).write_text("old")
    real = os.replace
    moves = []

    def replace(source, target):
        into = Path(target).parent == out and ".kept" not in str(source)
        moves.extend([target] * into)
        if into and len(moves) == at + 1 and when == "before":
            raise error
        real(source, target)
        if into and len(moves) == at + 1:
            raise error

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises((ParameterError, KeyboardInterrupt)):
        write_folder(out, dict.fromkeys("abcd", "new"))
    assert len(moves) == at + 1
    assert {file.name: file.read_text() for file in out.iterdir()} == {
        "a": "old", "c": "old", "other": "old",
    }  # fmt: skip
    assert listed(tmp_path) == ["out"]


def test_a_second_time_replaces_the_files_and_leaves_everything_else(tmp_path, result):
    save(result.assessment, tmp_path / "out", RUN)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "run.json").write_text("old")
    save(result.assessment, tmp_path / "out", RUN)
    assert listed(tmp_path / "out") == sorted([*FILES, "notes.txt"])
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert strictly((tmp_path / "out" / "run.json").read_text())["format"] == "jumar-run/1"
    assert listed(tmp_path) == ["out"]


def test_a_file_or_a_directory_in_the_way_is_named(tmp_path, result):
    (tmp_path / "file").write_text("mine")
    with refuses(ParameterError, "a file"):
        save(result.assessment, tmp_path / "file")
    (tmp_path / "out" / "run.json").mkdir(parents=True)
    with refuses(ParameterError, "run.json", "a directory"):
        save(result.assessment, tmp_path / "out")
    assert listed(tmp_path / "out") == ["run.json"]
    assert listed(tmp_path) == ["file", "out"]


def test_a_link_to_a_folder_is_followed(tmp_path, result):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    save(result.assessment, tmp_path / "link")
    assert listed(tmp_path / "real") == FILES
    assert (tmp_path / "link").is_symlink()


# ---------------------------------------------------------------- what stands in them


def test_decisions_have_a_row_per_history(tmp_path):
    log, behavior = tiger_log()
    made = jm.improve(log, behavior, discount=0.95, memory=jm.window(2))
    save(made.assessment, tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "decisions.csv").read_text("utf-8"))))
    assert len(rows) == len(made.improvement.mdp)
    shares = [float(row["share of the gain"].rstrip("%") or 0) for row in rows]
    assert sum(shares) == pytest.approx(100, abs=0.1 * len(rows))  # rounded
    assert sum(int(row["times seen"]) for row in rows) == log.n_steps
    assert sum(row["changed"] == "yes" for row in rows) == made.improvement.changed


@pytest.mark.parametrize("algorithm", ["spibb", "basic"])
def test_the_certificate_is_json_also_where_a_bound_is_infinite(tmp_path, algorithm):
    log, behavior = tiger_log(50)
    made = jm.improve(log, behavior, discount=0.95, memory=jm.window(3), algorithm=algorithm)
    save(made.assessment, tmp_path)
    told = strictly((tmp_path / "certificate.json").read_text())
    assert told["format"] == "jumar-certificate/1"
    assert told["logged"] == log.returns(0.95).mean()
    assert all(c["zeta"] is None for c in told["certificates"] if c["vacuous"])
    assert len(told["certificates"]) == len(made.certificates) >= 1


def test_the_run_names_versions_files_with_fingerprints_and_settings(tmp_path, result):
    log = tmp_path / "log.csv"
    log.write_bytes(b"abc")
    save(
        result.assessment,
        tmp_path / "out",
        Run(["jumar", "improve", "my log.csv"], {"log": log}, seed=5),
    )
    run = strictly((tmp_path / "out" / "run.json").read_text())
    assert run["command"] == "jumar improve 'my log.csv'"
    assert run["jumar"] == jm.__version__
    assert set(run["packages"]) == {"numpy", "scipy", "numba", "pyarrow"}
    assert run["seed"] == 5
    assert run["files"]["log"] == {
        "name": str(log),
        "bytes": 3,
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }
    assert run["settings"]["parameters"] == {"n_wedge": 20}
    assert run["settings"]["discount"] == 0.9


# ---------------------------------------------------------------- hostile names


def test_hostile_names_leave_the_pictures_well_formed(hostile):
    _, folder = hostile
    svg = ET.fromstring((folder / "controller.svg").read_bytes())
    tags = {element.tag.rpartition("}")[2] for element in svg.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "polygon", "path", "text", "polyline"}
    assert not any(name.startswith("on") for element in svg.iter() for name in element.attrib)
    words = "".join(element.text or "" for element in svg.iter())
    assert shown(HOSTILE[0]) in words
    dot = (folder / "controller.dot").read_text("utf-8")
    assert "<script" not in dot
    assert len(dot) + len(words) < 1_000_000


def test_hostile_names_are_no_formulas(hostile):
    made, folder = hostile
    text = (folder / "decisions.csv").read_text("utf-8")
    header, *rows = csv.reader(io.StringIO(text))
    assert len(rows) == len(made.improvement.mdp)
    signs = tuple("=+-@\t\r\n")
    for row in [header, *rows]:
        for cell in row:
            assert len(cell) < 1000
            assert not cell.startswith(signs) or cell.removeprefix("-").replace(".", "").isalnum()
    assert any("'=cmd|" in cell for row in rows for cell in row)
    assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) == {"\n"}


# ---------------------------------------------------------------- the command line


def jumar(*arguments: object, **options) -> subprocess.CompletedProcess:
    """The command in a process of its own, where its command line is its own."""
    return subprocess.run(
        [sys.executable, "-m", "jumar", *map(str, arguments)],
        capture_output=True, text=True, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a log and the policy that made it."""
    folder = tmp_path_factory.mktemp("place")
    log, behavior = tiger_log(200)
    jm.write_logs(log, folder / "my log.csv")
    behavior.save(folder / "policy.json")
    return folder


@pytest.mark.slow
def test_the_exact_command_is_told_and_gives_the_same_files_again(place, monkeypatch):
    given = ["improve", "my log.csv", "--policy", "policy.json", "--discount", "0.95", "-o"]
    ran = jumar(*given, "one", "--seed", "3", cwd=place)
    assert ran.returncode == 0, ran.stderr
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as left:
        main([*given, "two", "--seed", "3"])
    assert not left.value.code
    run = strictly((place / "one" / "run.json").read_text())
    assert run["command"] == (
        "jumar improve 'my log.csv' --policy policy.json --discount 0.95 -o one --seed 3"
    )
    assert run["seed"] == 3
    for part, name in (("log", "my log.csv"), ("policy", "policy.json")):
        content = (place / name).read_bytes()
        assert run["files"][part] == {
            "name": name,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    again = strictly((place / "two" / "run.json").read_text())
    for told in (run, again):
        told["time"] = told["command"] = ""
    assert run == again
    certificates = [
        strictly((place / folder / "certificate.json").read_text()) for folder in ("one", "two")
    ]
    for certificate in certificates:
        for notice in certificate["notices"]:
            notice["command"] = ""
    assert certificates[0] == certificates[1]
    for name in set(FILES) - {"run.json", "report.html", "certificate.json"}:
        assert (place / "one" / name).read_bytes() == (place / "two" / name).read_bytes(), name
    pages = [(place / folder / "report.html").read_text().splitlines() for folder in ("one", "two")]
    differ = [a for a, b in zip(*pages, strict=True) if a != b]
    assert all("command" in line or ">time<" in line for line in differ)
    # the next step and --simplify are commands, too
    assert 1 <= len(differ) <= 4 + len(certificates[0]["notices"])


def test_a_file_name_that_is_no_text_is_written_down_all_the_same(tmp_path, result):
    policy = tmp_path / os.fsdecode(b"policy-\xff.json")
    try:
        policy.write_text("{}")
    except OSError:
        pytest.skip("this file system has names of text only")
    save(
        result.assessment,
        tmp_path / "out",
        Run(["jumar", "--policy", str(policy)], {"policy": policy}),
    )
    run = strictly((tmp_path / "out" / "run.json").read_text())
    assert run["files"]["policy"]["name"] == str(policy)
    assert str(policy) in run["command"]
    assert "policy-\\udcff.json" in (tmp_path / "out" / "report.html").read_text()


def test_hostile_names_go_through_the_command_line(tmp_path, capsys):
    made = named(HOSTILE, HOSTILE[0])
    jm.write_logs(made.log, tmp_path / "log.ndjson")
    made.behavior.save(tmp_path / "policy.json")
    with pytest.raises(SystemExit) as left:
        main(["improve", str(tmp_path / "log.ndjson"), "--policy", str(tmp_path / "policy.json"),
              "--discount", "0.9", "--n-wedge", "1", "-o", str(tmp_path / "out")])  # fmt: skip
    said = capsys.readouterr()
    assert left.value.code == 0, said.err
    assert said.err == ""
    assert listed(tmp_path / "out") == FILES
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    loaded = load_controller(tmp_path / "out" / "improved.json")
    assert set(loaded.observations) == set(HOSTILE)
