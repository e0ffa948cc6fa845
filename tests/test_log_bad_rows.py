"""Every kind of bad row, in text of both shapes: the message names the file, the row, the column
where one is to blame, and says what to do."""

from __future__ import annotations

import gzip
import json

import pytest

from facts import refuses
from jumar.core.errors import LogError
from jumar.io.logs import read_logs

COLUMNS = ("episode", "time", "observation", "noise", "action", "reward", "terminated", "miles")
GOOD = {
    "episode": "7",
    "time": "2024-01-01",
    "observation": "z",
    "noise": "1",
    "action": "a",
    "reward": "0",
    "terminated": "",
    "miles": "5",
}
NEXT = {**GOOD, "time": "2024-01-02"}
CELL = "row 3, column "
ROW = "row 3 (episode 7): "
BINNED = {"columns": {"observation": "observation+noise"}, "bins": {"noise": ("low", 2, "high")}}

# what is changed in the second row; what the message begins with; a word of the remedy; options
BAD = {
    "no episode": ({"episode": ""}, CELL + "'episode': the episode is missing",
                   "Write in every row which", {}),
    "no time": ({"time": ""}, CELL + "'time': the time is missing", "Fill it in", {}),
    "no such time": ({"time": "soon"}, CELL + "'time': 'soon' is not a time", "rename it", {}),
    "zone": ({"time": "2024-01-02T00:00Z"}, CELL + "'time': '2024-01-02T00:00Z' is not a time like",
             "without a time zone", {}),
    "number": ({"time": "5"}, CELL + "'time': '5' is not a time like the others", "or numbers", {}),
    "same time": ({"time": "2024-01-01"}, ROW + "the time is the same as in row 2",
                  "--repeated", {}),
    "same time, another row": ({"time": "2024-01-01", "reward": "1"}, ROW + "the time is the same",
                               "differently", {"repeated": "drop"}),
    "no observation": ({"observation": ""}, ROW + "the observation is missing",
                       "--missing symbol", {}),
    "half an observation": ({"noise": ""}, ROW + "the observation is missing (column 'noise')",
                            "--missing drop", BINNED),
    "no number to cut": ({"noise": "loud"}, CELL + "'noise': 'loud' is not a number",
                         "Write plain digits", BINNED),
    "unknown observation": ({"observation": "Z"}, ROW + "observation 'Z' is not one of z",
                            "add the observation to those of the controller",
                            {"observations": ("z", "y")}),
    "wildcard": ({"observation": "*"}, ROW + "observation '*' is reserved", "Choose another", {}),
    "unknown action": ({"action": "aa"}, ROW + "action 'aa' is not one of a", "Did you mean 'a",
                       {"actions": ("a", "aaa")}),
    "no reward": ({"reward": ""}, CELL + "'reward': the reward is missing", "--missing drop", {}),
    "no number": ({"reward": "ten"}, CELL + "'reward': 'ten' is not a number",
                  "Write plain digits", {}),
    "not finite": ({"reward": "inf"}, CELL + "'reward': reward is inf", "Write the amount", {}),
    "too large": ({"reward": "1e200"}, ROW + "reward 1e+200 is too large", "larger unit", {}),
    "reward without action": ({"action": "", "reward": "1"}, ROW + "there is a reward but no",
                              "Write what was done", {}),
    "no flag": ({"terminated": "maybe"}, CELL + "'terminated': 'maybe' is not true",
                "Write true or false", {}),
    "end without action": ({"action": "", "reward": "", "terminated": "true"},
                           ROW + "marked terminated, but has no action", "drop this row", {}),
    "no steps": ({"episode": "8", "action": "", "reward": ""},
                 "row 3 (episode 8): the episode has no steps", "Leave it out", {}),
    "long label": ({"episode": "8" * 10_000, "observation": ""},
                   f"row 3 (episode {'8' * 57}...): the observation is missing", "Fill it in", {}),
    "label that moves the cursor": ({"episode": "\x1b[2J\u202e", "observation": ""},
                                    "row 3 (episode \\x1b[2J\\u202e): the observation is missing",
                                    "Fill it in", {}),
    "long value": ({"reward": "x" * 10_000}, CELL + f"'reward': '{'x' * 57}...' is not",
                   "Write plain digits", {}),
}  # fmt: skip


def written(path, rows: list[dict[str, str]], plain: set[str]) -> str:
    """The rows as CSV, TSV or NDJSON, where numbers are numbers and what is empty is left out."""
    if path.suffix == ".ndjson":
        return "".join(
            json.dumps({k: float(v) if k in plain else v for k, v in row.items() if v != ""}) + "\n"
            for row in rows
        )
    mark = "," if path.suffix == ".csv" else "\t"
    return "".join(mark.join(row) + "\n" for row in [COLUMNS, *(r.values() for r in rows)])


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson"])
@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_a_bad_row_is_named_with_a_remedy(tmp_path, case, ending):
    changes, place, remedy, options = case
    path = tmp_path / f"log.{ending}"
    text = written(path, [GOOD, {**NEXT, **changes}], set())
    if ending == "ndjson":
        text = "\n" + text  # a blank line, so that rows are numbered as below a header
    path.write_text(text)
    if "terminated" not in text:
        options = {**options, "ends": "cut"}
    with pytest.raises(LogError) as caught:
        read_logs(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}, {place}")
    assert remedy
    assert remedy in message
    assert message.isprintable()
    assert len(message) < 500 + len(str(path))


def test_the_rows_are_good_otherwise(tmp_path):
    for ending in ("csv", "tsv", "ndjson"):
        path = tmp_path / f"log.{ending}"
        path.write_text(written(path, [GOOD, {**NEXT, "terminated": "true"}], {"reward"}))
        assert read_logs(path).n_steps == 2
        assert read_logs(path, **BINNED).observations == ("z+low",)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("{", "is not a JSON object. Write one object per line"),
        ("[1, 2]", "'[1, 2]' is not a JSON object. Write one object per line"),
        ("17", "'17' is not a JSON object"),
        ('{"episode": 1} {"episode": 2}', "is not a JSON object. Write one object per line"),
        ("[" * 100_000, "is not a JSON object"),
        ('{"episode": 1, "episode": 2}', "column 'episode': is there twice. Keep one"),
        ('{"observation": [1]}', "column 'observation': is a list or an object. Store text"),
        ('{"action": "\\ud800"}', "column 'action': has half a character"),
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path, line, fact):
    path = tmp_path / "log.ndjson"
    path.write_text(written(path, [GOOD], set()) + "\n" + line + "\n")
    with pytest.raises(LogError) as caught:
        read_logs(path, ends="cut")
    assert str(caught.value).startswith(f"{path}, row 3")
    assert fact in str(caught.value)


def test_text_that_is_not_utf8_is_named_in_ndjson(tmp_path):
    path = tmp_path / "log.ndjson"
    path.write_bytes(written(path, [GOOD], set()).encode() + b'{"observation": "\xe4"}\n')
    with refuses(LogError, "row 2", "UTF-8", "save"):
        read_logs(path, ends="cut")


def test_columns_separated_by_something_else_are_recognised_in_tsv(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("episode,observation,action,reward\n1,z,a,0\n")
    with refuses(LogError, "columns", "tabs"):
        read_logs(path)


def test_a_ragged_row_of_a_tsv_is_named(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("episode\tobservation\taction\treward\n1\tz\ta\n")
    with refuses(LogError, "row 2", "3 cells", "header has 4", "tab"):
        read_logs(path)


@pytest.mark.parametrize("size", [20, 60])
def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path, size):
    path = tmp_path / "log.csv.gz"
    text = written(tmp_path / "x.csv", [GOOD] * 50, set())
    path.write_bytes(gzip.compress(text.encode())[:size])
    with refuses(LogError, "CSV", "complete"):
        read_logs(path)
