"""A run on a log that is read in parts, repeated from its record: all of it is the same."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import jumar as jm

TIGER = jm.models.tiger()
BEHAVIOR = jm.Controller.uniform(TIGER.observations, TIGER.actions, name="coin")
SAME = ("improved.json", "certificate.json", "decisions.csv", "improved.py", "controller.svg")


@pytest.fixture
def days(tmp_path, monkeypatch):
    """A folder of three logs whose episodes are numbered anew."""
    (tmp_path / "logs").mkdir()
    BEHAVIOR.save(tmp_path / "p.json")
    for i in range(3):
        log = jm.simulate(TIGER, BEHAVIOR, episodes=600, seed=i)
        jm.write_logs(log, tmp_path / f"logs/day-{i}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scattered(days):
    """The same days as one log, the rows of an episode in two files, last steps first."""
    tables = []
    for i, path in enumerate(sorted((days / "logs").iterdir())):
        table = pq.read_table(path).replace_schema_metadata(None)
        labels = pc.binary_join_element_wise(f"{i}", table["episode"].cast(pa.string()), "-")
        at = table.column_names.index("episode")
        tables.append(table.set_column(at, "episode", labels))
    whole = pa.concat_tables(tables)
    shutil.rmtree(days / "logs")
    (days / "logs").mkdir()
    for name, odd in (("a", 1), ("b", 0)):
        rows = [i for i in range(len(whole)) if i % 2 == odd][::-1]
        pq.write_table(whole.take(rows), days / f"logs/{name}.parquet")
    return days


def without_places(file, folder):
    """What a file says, wherever the command was typed; not how to type it again."""
    lines = file.read_text().replace(f"{folder}/", "").splitlines()
    return [line for line in lines if "jumar improve " not in line]


def repeated(jumar, place, *asked, again=()):
    """Run it, and once more from its record."""
    first = jumar("improve", *asked, "-o", "out", "--seed", 7)
    assert first.code == 0, first.err
    second = jumar("improve", "--again", "out/run.json", "-o", "out2", *again)
    assert second.code == 0, second.err
    for name in SAME:
        one, two = (without_places(place / out / name, place) for out in ("out", "out2"))
        assert one == two, name
    one, two = (json.loads((place / name / "run.json").read_text()) for name in ("out", "out2"))
    assert one["options"] == two["options"]
    assert one["settings"] == two["settings"]
    return one["options"]


def test_a_folder_whose_episodes_are_numbered_anew(jumar, days):
    asked = ["logs", "--policy", "p.json", "--discount", 0.95, "--each-file"]
    options = repeated(jumar, days, *asked)
    assert options["each_file"] is True
    assert options["log"] == str(days / "logs")
    # without the option it is another log, which is refused
    refused = jumar("improve", *asked[:-1])
    assert refused.code == 1
    assert "--each-file" in refused.err


def test_a_run_is_repeated_from_another_folder(jumar, days, monkeypatch):
    asked = ["logs", "--policy", "p.json", "--discount", 0.95, "--each-file"]
    assert jumar("improve", *asked, "-o", "out").code == 0
    (days / "elsewhere").mkdir()
    monkeypatch.chdir(days / "elsewhere")
    assert jumar("improve", "--again", "../out/run.json", "-o", "out2").code == 0
    for name in SAME:
        one, two = days / "out" / name, days / "elsewhere/out2" / name
        assert without_places(one, days) == without_places(two, days)


def test_what_was_sorted_is_sorted_again(jumar, scattered, monkeypatch):
    pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'jumar[duckdb]'")
    asked = ["logs", "--policy", "p.json", "--discount", 0.95, "--sort"]
    options = repeated(jumar, scattered, *asked)
    assert options["sort"] is True
    assert jumar("improve", *asked[:-1]).code == 0  # a small one is read at once in any order
    monkeypatch.setattr("jumar.gate.dealing.LARGE", 10)
    assert jumar("improve", *asked[:-1]).code == 1  # it does lie in disorder
    assert jumar("improve", *asked).code == 0


def test_a_log_that_changed_is_another_one(jumar, days):
    asked = ["logs", "--policy", "p.json", "--discount", 0.95, "--each-file"]
    assert jumar("improve", *asked, "-o", "out").code == 0
    (days / "logs/day-2.parquet").unlink()
    assert jumar("improve", "--again", "out/run.json", "-o", "out2").code == 0
    one, two = ((days / name / "certificate.json").read_text() for name in ("out", "out2"))
    assert one != two


def test_an_episode_in_two_files_that_are_not_plain_is_read_at_once(jumar, tmp_path, monkeypatch):
    """In parts such files cannot share an episode; few rows are read at once instead."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    head = "episode;step;observation;action;reward\n"
    (tmp_path / "logs" / "a.csv").write_text(f"{head}1;1;z;a;0,5\n2;1;z;b;1,5\n")
    (tmp_path / "logs" / "b.csv").write_text(f"{head}2;2;z;a;2,5\n")
    jm.Controller.uniform(("z",), ("a", "b")).save("p.json")
    asked = ["logs", "--policy", "p.json", "--discount", 0.9, "--ends", "cut", "--json"]
    done = jumar("improve", *asked, "--decimal", ",", "--jobs", 1)
    assert "read at once, by one process: --jobs has no effect" in done.err
    assert done.data["episodes"] == 2
