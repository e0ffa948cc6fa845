"""`jumar compare`: what differs between two results."""

from __future__ import annotations

import json
import shutil

import pytest

from commands import improve
from facts import says


@pytest.fixture(scope="module")
def runs(tiger, tmp_path_factory):
    """Two results of one log, that differ in two options."""
    from jumar.cli import main

    folder = tmp_path_factory.mktemp("runs")
    for name, more in (("a", ["--n-wedge", 5]), ("b", ["--n-wedge", 60, "--unit", "EUR"])):
        with pytest.raises(SystemExit):
            main([*map(str, improve(tiger, *more, "-o", folder / name))])
    return folder


def changed(runs, tmp_path, name, change):
    """A copy of run b with another document in it."""
    shutil.copytree(runs / "b", tmp_path / "c")
    path = tmp_path / "c" / name
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return tmp_path / "c"


def test_options_numbers_and_decisions_that_differ_stand_side_by_side(jumar, runs):
    found = jumar("compare", runs / "a", runs / "b", "--json").data
    assert found["options"] == {"unit": ["", "EUR"], "parameters.n_wedge": ["5", "60"]}
    assert found["same_log"] is True
    of = [json.loads((runs / name / "certificate.json").read_text()) for name in "ab"]
    assert found["numbers"]["verdict"] == [each["verdict"]["word"] for each in of]
    assert found["numbers"]["situations changed"] == [each["changed"] for each in of]
    files = [runs / name / "improved.json" for name in "ab"]
    shown = jumar("show", *files, "--json").data
    assert found["decisions"]["differences"] == shown["differences"] != []


def test_the_table_has_the_same_on_80_columns(jumar, runs):
    said = jumar("compare", runs / "a", runs / "b")
    says(said.text, "Results", "Options that differ", "parameters.n_wedge 5 60", "Decisions")
    says(said.text, "Returns are not counted alike (unit)")
    assert max(map(len, said.out.splitlines())) <= 80


def test_a_run_is_like_itself(jumar, runs):
    said = jumar("compare", runs / "a", runs / "a").text
    says(said, "The options are the same.", "they behave the same everywhere")
    assert "chance of error" not in said


def test_different_logs_are_told(jumar, runs, tmp_path):
    def other(document):
        document["files"]["log"]["sha256"] = "0"
        document["options"]["log"] = "/far/away/other.csv"

    found = jumar("compare", runs / "a", changed(runs, tmp_path, "run.json", other))
    says(found.text, "The logs differ: the numbers are of different", "log log.csv other.csv")


def test_the_chances_of_two_proofs_add_up(jumar, runs, tmp_path):
    def proved(document):
        document["verdict"]["word"] = "adopt"

    found = changed(runs, tmp_path, "certificate.json", proved)
    assert "chance of error" not in jumar("compare", runs / "a", found).text
    shutil.copytree(runs / "a", tmp_path / "d")
    shutil.copy(found / "certificate.json", tmp_path / "d")
    says(jumar("compare", tmp_path / "d", found).text, "is at most 10%")


def test_decisions_that_nobody_should_use_are_not_compared(jumar, runs, tmp_path):
    def broken(document):
        document["verdict"]["word"] = "do-not-rely"

    folder = changed(runs, tmp_path, "certificate.json", broken)
    found = jumar("compare", runs / "a", folder, "--json").data
    assert found["decisions"] is None
    assert found["numbers"]["situations changed"][1] is None
    says(found["decisions_not_compared"], "do not use these numbers")


@pytest.mark.parametrize("missing", ["run.json", "certificate.json", "improved.json"])
def test_what_is_no_result_is_refused_with_a_remedy(jumar, runs, tmp_path, missing):
    shutil.copytree(runs / "b", tmp_path / "c")
    (tmp_path / "c" / missing).unlink()
    found = jumar("compare", runs / "a", tmp_path / "c")
    assert found.code == 1
    says(found.err, missing, "there is no such file")


def test_a_certificate_without_a_verdict_is_refused(jumar, runs, tmp_path):
    found = changed(runs, tmp_path, "certificate.json", lambda document: document.pop("verdict"))
    said = jumar("compare", found, runs / "a")
    says(said.err, "there is no verdict", "jumar improve LOG -o")
