"""Every kind of bad row, in text of both shapes: the message names the file, the row, the column
where one is to blame, and says what to do."""

from __future__ import annotations

import gzip

import pytest

from bad_rows import BAD, BINNED, GOOD, NEXT, written
from facts import refuses
from jumar.core.errors import LogError
from jumar.log.formats import places
from jumar.log.reading import read_logs


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
        ("{", "is not JSON: Expecting property name enclosed in double quotes. Write objects"),
        ("[1, 2]", "\"['1', '2']\" is not a JSON object. Write objects"),
        ("17", "'17' is not a JSON object"),
        ('{"episode": 1} {"episode": 2}', "is not JSON: Extra data. Write objects"),
        ("[" * 100_000, "is nested too deeply"),
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


def test_a_list_among_numbers_is_named_where_only_its_block_holds_lists(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "BLOCK", 100)
    path = tmp_path / "log.ndjson"
    row = '{"episode": 1, "observation": "y", "action": "a", "reward": %s}\n'
    path.write_text("".join(row % reward for reward in ("0", "null", "[1]", "2")))
    with refuses(LogError, f"{path}, row 3, column 'reward': is a list or an object"):
        read_logs(path, ends="cut")


def test_text_that_is_not_utf8_is_named_in_ndjson(tmp_path):
    path = tmp_path / "log.ndjson"
    path.write_bytes(written(path, [GOOD], set()).encode() + b'{"observation": "\xe4"}\n')
    with pytest.raises(LogError, match=r"row 2: is not UTF-8 text. Save the file as UTF-8"):
        read_logs(path, ends="cut")


def test_columns_separated_by_something_else_are_recognised_in_tsv(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("episode,observation,action,reward\n1,z,a,0\n")
    assert read_logs(path, ends="cut").n_steps == 1
    with pytest.raises(LogError, match="Separate the columns by tabs, or say what separates them"):
        read_logs(path, separator="tab")


@pytest.mark.parametrize("size", [20, 60])
def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path, size):
    path = tmp_path / "log.csv.gz"
    text = written(tmp_path / "x.csv", [GOOD] * 50, set())
    path.write_bytes(gzip.compress(text.encode())[:size])
    with pytest.raises(LogError, match=r"cannot be read as CSV: .* Is the file complete"):
        read_logs(path)
