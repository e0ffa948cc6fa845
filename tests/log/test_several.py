"""Logs in several files, read as one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import jumar as jm
from jumar.core.errors import LogError, ParameterError

HEADER = "machine,week,reading,work,gain"
COLUMNS = {
    "episode": "machine", "step": "week", "observation": "reading", "action": "work",
    "reward": "gain",
}  # fmt: skip


def lines(machines: int = 12, weeks: int = 5, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        f"m{m},{w},{rng.choice(['ok', 'hot'])},{rng.choice(['run', 'fix'])},{rng.integers(-9, 9)}"
        for m in range(machines)
        for w in range(weeks)
    ]


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def read(source, **more):
    return jm.read_logs(source, columns=COLUMNS, ends="cut", **more)


def same(one, other) -> None:
    for name in ("observations", "actions"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("observation", "action", "reward", "start", "final_observation", "terminated"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert list(one.origin.label) == list(other.origin.label)


@pytest.fixture
def whole(tmp_path):
    return read(write(tmp_path / "whole.csv", lines()))


@pytest.mark.parametrize("cuts", [[7, 33], [1, 2, 59]])
def test_files_one_after_the_other_are_one_log(tmp_path, whole, cuts):
    """Episodes may go on in the next file."""
    parts = np.split(np.array(lines()), cuts)
    for i, part in enumerate(parts):
        write(tmp_path / "logs" / f"{i}.csv", list(part))
    same(read(tmp_path / "logs"), whole)
    same(read(f"{tmp_path}/logs/*.csv"), whole)
    same(read(str(tmp_path / "logs") + "/"), whole)


def test_rows_may_lie_in_any_file(tmp_path, whole):
    rows = np.array(lines())
    which = np.random.default_rng(2).integers(0, 3, len(rows))
    which[0] = 0
    for i in range(3):
        write(tmp_path / "logs" / f"{i}.csv", list(rows[which == i]))
    found = read(tmp_path / "logs")
    order = [list(found.origin.label).index(label) for label in whole.origin.label]
    same(found.select(np.array(order)), whole)


def test_formats_may_be_mixed(tmp_path, whole):
    rows = [row.split(",") for row in lines()]
    folder = tmp_path / "logs"
    write(folder / "0.csv", lines()[:20])
    columns = list(zip(*rows[20:30], strict=True))
    typed = [pa.array(columns[0]), pa.array(map(int, columns[1])), *map(pa.array, columns[2:4]),
             pa.array(map(int, columns[4]))]  # fmt: skip
    parquet.write_table(pa.table(typed, names=HEADER.split(",")), folder / "1.parquet")
    with gzip.open(folder / "2.csv.gz", "wt") as file:
        file.write("\n".join([HEADER, *lines()[30:45]]))
    objects = [dict(zip(HEADER.split(","), row, strict=True)) for row in rows[45:]]
    for thing in objects:
        thing.update(week=int(thing["week"]), gain=float(thing["gain"]))
    (folder / "3.ndjson").write_text("\n".join(map(json.dumps, objects)))
    (folder / ".hidden.csv").write_text("no log")
    (folder / "_SUCCESS").write_text("")
    (folder / "readme.txt").write_text("")
    same(read(folder), whole)


def test_columns_may_stand_in_another_order_and_there_may_be_more(tmp_path, whole):
    folder = tmp_path / "logs"
    write(folder / "0.csv", lines()[:20])
    turned = [",".join([*row.split(",")[::-1], "x"]) for row in lines()[20:]]
    write(folder / "1.csv", turned, ",".join([*HEADER.split(",")[::-1], "note"]))
    same(read(folder), whole)


def test_folders_tell_columns(tmp_path):
    for i, region in enumerate(("north", "south")):
        rows = [row.replace("m0", f"m{i}") for row in lines(1)]
        write(tmp_path / "logs" / f"region={region}" / "a.csv", rows)
    found = jm.read_logs(tmp_path / "logs", columns={**COLUMNS, "cluster": "region"}, ends="cut")
    assert found.cluster.names == ("north", "south")


# ---- episodes that are numbered anew ------------------------------------------------------------


def test_episodes_that_are_numbered_anew_are_told_apart(tmp_path):
    for i in range(3):
        write(tmp_path / "logs" / f"{i}.csv", lines(4, seed=i))
    found = read(tmp_path / "logs", each_file=True)
    assert len(found) == 12
    assert list(found.origin.label)[4:6] == ["1.csv:m0", "1.csv:m1"]
    alone = [read(tmp_path / "logs" / f"{i}.csv") for i in range(3)]
    assert found.reward.tolist() == [r for one in alone for r in one.reward.tolist()]
    with pytest.raises(LogError) as refused:
        read(tmp_path / "logs")
    said = str(refused.value)
    assert f"{tmp_path}/logs/1.csv, row 2 (episode m0): the step is the same as in" in said
    assert f"{tmp_path}/logs/0.csv, row 2. If episodes are numbered anew in every file" in said
    assert "(--each-file)" in said


def test_one_file_has_nothing_to_tell_apart(tmp_path, whole):
    with pytest.raises(ParameterError, match=r"each_file: .*a.csv is one file. Leave it out"):
        read(write(tmp_path / "a.csv", lines()), each_file=True)
    write(tmp_path / "logs" / "a.csv", lines())
    assert len(read(tmp_path / "logs", each_file=True)) == len(whole)


def test_files_of_one_name_in_several_folders_are_told_apart(tmp_path):
    for i in range(3):
        write(tmp_path / "logs" / f"site{i}" / "log.csv", lines(4, seed=i))
    for source in (tmp_path / "logs", f"{tmp_path}/logs/*/log.csv", f"{tmp_path}/logs/**/*.csv"):
        found = read(source, each_file=True)
        assert len(found) == 12
        assert list(found.origin.label)[4] == "site1/log.csv:m0"


def test_without_labels_each_file_is_an_episode(tmp_path):
    for i in range(2):
        write(tmp_path / "logs" / f"{i}.csv", lines(1, seed=i), HEADER.replace("machine", "no"))
    parts = {part: name for part, name in COLUMNS.items() if part != "episode"}
    found = jm.read_logs(tmp_path / "logs", columns=parts, ends="cut", gap=2, each_file=True)
    assert list(found.origin.label) == ["0.csv", "1.csv"]


def test_an_episode_in_two_files_without_a_clock_is_refused(tmp_path):
    """Even if one file ends with it and the next begins with it: 10.csv comes before 2.csv."""
    untimed = {part: name for part, name in COLUMNS.items() if part != "step"}
    for name in ("1", "2", "10"):
        rows = [",".join(np.delete(row.split(","), 1)) for row in lines(1)]
        write(tmp_path / "logs" / f"{name}.csv", rows, HEADER.replace(",week", ""))
    with pytest.raises(LogError, match=r"10.csv, row 2 \(episode m0\): the episode also has rows"):
        jm.read_logs(tmp_path / "logs", columns=untimed, ends="cut")
    assert len(jm.read_logs(tmp_path / "logs", columns=untimed, ends="cut", each_file=True)) == 3


def test_a_missing_label_is_missing_in_each_file(tmp_path):
    write(tmp_path / "logs" / "0.csv", [",0,ok,run,1"])
    write(tmp_path / "logs" / "1.csv", lines(2))
    with pytest.raises(LogError, match=r"0.csv, row 2, column 'machine': the episode is missing"):
        read(tmp_path / "logs", each_file=True)


# ---- what must be alike in all files ------------------------------------------------------------


@pytest.mark.parametrize("first", ["m0,0,ok,run,1.250", "m0,0,ok,run,950"])
def test_a_mark_of_one_file_decides_nothing_in_another_kind_of_file(tmp_path, first):
    """1.250 is a decimal number between commas, and may be a thousand between semicolons."""
    write(tmp_path / "logs" / "a.csv", [first])
    rows = ["m1;0;ok;run;1.250,50", "m1;1;hot;fix;1.234"]
    write(tmp_path / "logs" / "b.csv", rows, HEADER.replace(",", ";"))
    with pytest.raises(LogError, match=r"csv, row \d, column 'gain': '1.2\d+' could be 12"):
        read(tmp_path / "logs")


def test_all_files_must_write_dates_alike(tmp_path):
    timed = {**{p: n for p, n in COLUMNS.items() if p != "step"}, "time": "week"}
    write(tmp_path / "logs" / "a.csv", ["m0,2024-01-31,ok,run,1", "m0,2024-02-29,hot,run,2"])
    for other in ("31.03.2024 12:00", "7"):
        write(tmp_path / "logs" / "b.csv", [f"m0,{other},ok,run,3"])
        with pytest.raises(LogError, match=rf"b.csv, row 2, column 'week': '{other}' is not a ti"):
            jm.read_logs(tmp_path / "logs", columns=timed, ends="cut")


def test_one_name_in_two_types_is_refused(tmp_path):
    (tmp_path / "logs").mkdir()
    for i, kind in enumerate((pa.int64(), pa.float64())):
        labels = pa.array([10_000_000_000 + i]).cast(kind)
        table = pa.table([labels, [0], ["ok"], ["run"], [1.0]], names=HEADER.split(","))
        parquet.write_table(table, tmp_path / "logs" / f"{i}.parquet")
    with pytest.raises(
        LogError, match=r"1.parquet: the column 'machine' is given by numbers with a point"
    ):
        read(tmp_path / "logs")


def test_what_a_folder_says_comes_before_what_its_files_say(tmp_path):
    """As other programs have it, and however the log is read."""
    for i in range(3):
        rows = [f"{row},{row.split(',')[1] == '4'}".lower() for row in lines(1, seed=i)]
        write(tmp_path / "logs" / f"machine=s{i}" / "a.csv", rows, f"{HEADER},terminated")
    found = jm.read_logs(tmp_path / "logs", columns=COLUMNS)
    assert list(found.origin.label) == ["s0", "s1", "s2"]
    behavior = jm.Controller.uniform(found.observations, found.actions)
    counted = jm.count_logs(tmp_path / "logs", behavior, columns=COLUMNS)
    assert counted.facts.episodes == 3


def test_a_column_that_is_there_twice_is_refused_as_in_one_file(tmp_path):
    rows = [f"{row},7" for row in lines()]
    write(tmp_path / "logs" / "a.csv", rows, f"{HEADER},gain")
    write(tmp_path / "logs" / "b.csv", lines(3, seed=2))
    messages = []
    for source in (tmp_path / "logs" / "a.csv", tmp_path / "logs"):
        with pytest.raises(LogError) as refused:
            read(source)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("column", ["terminated", "node", "cluster"])
def test_a_part_that_only_some_files_have_is_refused(tmp_path, column):
    write(tmp_path / "logs" / "a.csv", lines(2))
    rows = [f"{row},x" for row in lines(1)] if column != "terminated" else ["m9,0,ok,run,1,true"]
    write(tmp_path / "logs" / "b.csv", rows, f"{HEADER},{column}")
    said = f"a.csv: has no column '{column}' for the {column}, which .*b.csv has"
    with pytest.raises(LogError, match=said):
        jm.read_logs(tmp_path / "logs", columns=COLUMNS)


# ---- which files --------------------------------------------------------------------------------


def test_links_are_followed_once(tmp_path, whole):
    write(tmp_path / "logs" / "a.csv", lines()[:20])
    write(tmp_path / "elsewhere" / "b.csv", lines()[20:])
    (tmp_path / "logs" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "logs")
    same(read(tmp_path / "logs"), whole)


def test_results_and_what_other_programs_keep_are_no_logs(tmp_path, whole):
    write(tmp_path / "logs" / "a.csv", lines())
    write(tmp_path / "logs" / "~$a.csv", ["?"])
    for name in ("run.json", "certificate.json", "improved.json", "decisions.csv"):
        (tmp_path / "logs" / "out").mkdir(exist_ok=True)
        (tmp_path / "logs" / "out" / name).write_text("{}")
    same(read(tmp_path / "logs"), whole)


def test_marks_of_patterns_in_the_names_of_folders(tmp_path, whole):
    folder = tmp_path / "proj [2024]" / "*"
    write(folder / "a.csv", lines())
    same(read(folder), whole)
    same(read(f"{folder}/*.csv"), whole)


def test_an_address_of_this_machine(tmp_path, whole):
    write(tmp_path / "logs" / "a b.csv", lines())
    folder = f"file://{tmp_path}/logs"
    for address in (folder, f"{folder}/*.csv", f"{folder}/a%20b.csv", Path(folder)):
        same(read(address), whole)


# ---- what is wrong is named by its file ---------------------------------------------------------


def broken(tmp_path, number: int, row: int, cell: str, column: int) -> Path:
    """Three files of 20 rows, one cell changed; row 2 is the first below the header."""
    parts = [list(part) for part in np.split(np.array(lines(), dtype=object), 3)]
    cells = parts[number][row - 2].split(",")
    cells[column] = cell
    parts[number][row - 2] = ",".join(cells)
    for i, part in enumerate(parts):
        write(tmp_path / "logs" / f"{i}.csv", part)
    return tmp_path / "logs"


@pytest.mark.parametrize(("cell", "column", "fact"), [
    ("oops", 4, "column 'gain': 'oops' is not a number"),
    ("", 0, "column 'machine': the episode is missing"),
    ("", 4, "column 'gain': the reward is missing"),
    ("soon", 1, "column 'week': 'soon' is"),
    ("1e999", 4, "column 'gain': "),
])  # fmt: skip
def test_a_bad_cell_is_named(tmp_path, cell, column, fact):
    with pytest.raises(LogError) as refused:
        read(broken(tmp_path, 1, 7, cell, column))
    assert f"{tmp_path}/logs/1.csv, row 7" in str(refused.value)
    assert fact in str(refused.value)


def test_what_is_wrong_with_several_files_is_told_at_once(tmp_path):
    broken(tmp_path, 0, 7, "oops", 4)
    write(tmp_path / "logs" / "1.csv", [*lines()[20:39], "m7,9,ok,run,ouch"])
    with pytest.raises(LogError) as refused:
        read(tmp_path / "logs")
    assert len(refused.value.problems) == 2
    assert "0.csv, row 7" in str(refused.value)
    assert "1.csv, row 21" in str(refused.value)


def test_a_step_of_a_log_knows_its_file(tmp_path):
    log = read(broken(tmp_path, 2, 9, "ok", 2))
    assert log.where(0) == f"{tmp_path}/logs/0.csv, row 2 (episode m0)"
    assert log.where(log.n_steps - 1).startswith(f"{tmp_path}/logs/2.csv, row 2")
    some = log.select(np.array([len(log) - 1]))
    assert some.where(0).startswith(f"{tmp_path}/logs/2.csv, row ")


def test_rows_out_of_order_are_told_with_their_file(tmp_path):
    rows = lines()
    rows[25], rows[26] = rows[26], rows[25]
    for i, part in enumerate(np.split(np.array(rows), 3)):
        write(tmp_path / "logs" / f"{i}.csv", list(part))
    log = read(tmp_path / "logs")
    behavior = jm.Controller.uniform(log.observations, log.actions)
    said = json.dumps(jm.check(log, behavior).to_dict()["sections"]["rows"])
    assert f"{tmp_path}/logs/1.csv, row 8" in said


def test_a_missing_column_and_an_empty_file_are_named(tmp_path):
    write(tmp_path / "logs" / "0.csv", lines())
    write(tmp_path / "logs" / "1.csv", lines(), HEADER.replace("gain", "points"))
    with pytest.raises(
        LogError, match=r"1.csv: no column for the reward: column 'gain' is not one"
    ):
        read(tmp_path / "logs")
    (tmp_path / "logs" / "1.csv").write_text("")
    with pytest.raises(LogError, match=r"1.csv: the file is empty"):
        read(tmp_path / "logs")


def test_a_file_with_nothing_but_a_header_adds_nothing(tmp_path, whole):
    write(tmp_path / "logs" / "0.csv", lines()[:20])
    write(tmp_path / "logs" / "1.csv", [])
    write(tmp_path / "logs" / "2.csv", lines()[20:])
    same(read(tmp_path / "logs"), whole)


def test_an_episode_may_go_on_in_the_next_file(tmp_path):
    """Without steps or times: where a file ends in the midst of it, and the next one begins so."""
    rows = [f"{e},z,{a},{e}" for e in (1, 2, 3) for a in "abab"]
    head = "episode,observation,action,reward"
    for name, some in (("a", rows[:6]), ("b", rows[6:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *some]) + "\n")
    found = jm.read_logs(tmp_path, ends="cut")
    assert (len(found), found.lengths.tolist()) == (3, [4, 4, 4])
    # rows of it elsewhere, or two files with one episode each, which may be two: refused
    for first, second in ((rows[:2] + rows[4:8], rows[2:4]), (rows[:2], rows[2:4])):
        for name, some in (("a", first), ("b", second)):
            (tmp_path / f"{name}.csv").write_text("\n".join([head, *some]) + "\n")
        with pytest.raises(LogError, match="no column tells their order"):
            jm.read_logs(tmp_path, ends="cut")
