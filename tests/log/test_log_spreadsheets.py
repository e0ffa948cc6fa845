"""Text as spreadsheets write it: other separators, decimal commas, thousands, encodings."""

from __future__ import annotations

import csv
import gzip
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs
from log_rows import HEADER, in_names

PARTS = ("episode", "observation", "action", "reward", "terminated")
STEPS = [([("z", "a", 1.5), ("y", "b", -2.0)], None, True)]
MARKS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}


@pytest.fixture
def column(tmp_path):
    """Writes texts into the column reward, and others beside it; returns the log."""

    def read(*texts: str, separator=";", name="reward", beside=None, **options):
        columns = {
            "episode": ["1"] * len(texts), "observation": ["z"] * len(texts),
            "action": ["a"] * len(texts), name: list(texts), **(beside or {}),
        }  # fmt: skip
        path = tmp_path / "log.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file, delimiter=separator)
            rows.writerows([list(columns), *zip(*columns.values(), strict=True)])
        return read_logs(path, ends="cut", **options)

    return read


# ---- separators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_the_separator_is_recognised(tmp_path, mark, ending):
    rows = [PARTS, ("1", "z", "a", "1.5", ""), ("1", "y", "b", "-2", "true")]
    path = tmp_path / f"log.{ending}"
    text = "".join(mark.join(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    log = read_logs(path)
    assert in_names(log) == STEPS
    usual = "\t" if ending == "tsv" else ","
    assert bool(log.origin.remarks.guessed) == (mark != usual)
    assert in_names(read_logs(path, separator=mark)) == STEPS
    assert read_logs(path, separator=mark).origin.remarks.guessed == ()


def test_the_separator_may_be_named(log_file):
    path = log_file("1;z;a;0;", header=HEADER.replace(",", ";"))
    for name in (";", "semicolon", "Semicolon"):
        assert read_logs(path, separator=name).n_steps == 1
    with refuses(LogError, "no column for the episode", "separator=';'"):
        read_logs(path, separator=",")


@pytest.mark.parametrize("text", ["", "ab", '"', "\n", "x", "7", "ä"])
def test_what_cannot_separate_is_refused(log_file, text):
    path = log_file("1,z,a,0,", header=HEADER)
    with pytest.raises(ParameterError, match=r"separator: .* Write one of , ; \| or tab"):
        read_logs(path, separator=text)


def test_marks_within_cells_do_not_separate(log_file):
    """Two commas in the header and decimal commas in the rows: four columns between semicolons."""
    path = log_file("1;z;a;3,5", "1;z;a;4,5", header="episode;observation;action;cost, EUR")
    log = read_logs(path, columns={"reward": "cost, EUR"}, ends="cut", decimal=",")
    assert log.reward.tolist() == [3.5, 4.5]
    path = log_file("1,z;y,a,0", header='"episode","observation","action","reward; net"')
    log = read_logs(path, columns={"reward": "reward; net"}, ends="cut")
    assert log.observations == ("z;y",)


def test_a_ragged_row_names_the_separator(log_file):
    path = log_file("1;z;a;0", "1;z;a", header="episode;observation;action;reward")
    with refuses(LogError, "row 3: has 3 cells, but the header has 4", "Is a semicolon missing"):
        read_logs(path, ends="cut")


# ---- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "decimal", "numbers"),
    [
        (["3.5", "1.234", "1,234.5"], None, [3.5, 1.234, 1234.5]),
        (["1 234", "1\u2019234", "\u22123.5", " 4.5 "], None, [1234, 1234, -3.5, 4.5]),
        (["3,5", "1.234", "1.234,5", "1.234.567"], ",", [3.5, 1234, 1234.5, 1234567]),
        (["-0,25", "+1,5e3", "12,"], ",", [-0.25, 1500, 12]),
        (["1 234,5", "12\u202f345,25", "\u22123,5"], ",", [1234.5, 12345.25, -3.5]),
        (["1,234", "1.234"], ".", [1234, 1.234]),
    ],
)
def test_numbers_are_read_with_the_mark_that_was_said(column, texts, decimal, numbers):
    assert column(*texts, decimal=decimal, separator="|").reward.tolist() == numbers


@pytest.mark.parametrize(
    ("text", "decimal", "fact"),
    [
        ("1,234", None, "could be 1234 or 1.234. Say which mark"),
        ("3,5", None, "is not a number with a decimal point. Say which mark"),
        ("1.234.567", None, "is not a number with a decimal point. Say which mark"),
        ("3.5", ",", "is not a number with a decimal comma. Write all numbers alike"),
        ("3,5", ".", "is not a number with a decimal point. Write all numbers alike"),
        ("3-5", ",", "is not a number. Write plain digits"),
    ],
)
def test_a_number_that_is_unclear_is_named_with_the_option(column, text, decimal, fact):
    with refuses(LogError, f"row 3, column 'reward': '{text}' {fact}"):
        column("2", text, decimal=decimal, separator="\t")


def test_between_semicolons_a_point_may_part_thousands(column):
    with refuses(LogError, "row 3, column 'reward': '1.234' could be 1234 or 1.234", "--decimal"):
        column("950", "1.234")
    assert column("950", "1.25").reward.tolist() == [950, 1.25]
    assert column("950", "1.234", decimal=".").reward.tolist() == [950, 1.234]
    with pytest.raises(ParameterError, match="decimal: mark ';' is not one of"):
        column("3,5", decimal=";")


NUMBERS = st.lists(
    st.one_of(
        st.integers(-(10**7), 10**7).map(float),
        st.floats(-1e7, 1e7).map(lambda x: round(x, 3)),
        st.floats(-10, 10).map(lambda x: round(x, 2)),
    ),
    min_size=1,
    max_size=6,
)


def spelled(x: float, mark: str, gap: str) -> str:
    text = f"{x:,.6f}".rstrip("0").rstrip(".")
    return text.translate({ord(","): gap, ord("."): mark})


@given(NUMBERS, st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (",", " ")]))
def test_numbers_are_never_read_wrongly(tmp_path_factory, numbers, style):
    """Between semicolons, in any style: read as written, or refused; with the option, read."""
    path = tmp_path_factory.mktemp("numbers") / "log.csv"
    rows = [f"1;z;a;{spelled(x, *style)}" for x in numbers]
    path.write_text("\n".join(["episode;observation;action;reward", *rows]))
    expected = [x + 0.0 for x in numbers]
    assert read_logs(path, ends="cut", decimal=style[0]).reward.tolist() == expected
    with suppress(LogError):
        found = read_logs(path, ends="cut").reward.tolist()
        assert all(math.isclose(a, b) for a, b in zip(found, expected, strict=True))


# ---- encodings ----------------------------------------------------------------------------------

ROW = "1,schön €,prüfen,0,true"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "iso8859-15", "cp437"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "ndjson"])
def test_an_encoding_is_read_when_it_is_named(tmp_path, encoding, ending):
    text = f"{HEADER}\n\n{ROW.replace('€', '' if encoding == 'cp437' else '€')}\n"
    if ending == "ndjson":
        names, cells = text.split()[0].split(","), text.split("\n")[2].split(",")
        pairs = (f'"{n}": "{c}"' for n, c in zip(names, cells, strict=True))
        text = f"\n\n{{{', '.join(pairs)}}}\n"
    data = text.encode(encoding)
    path = tmp_path / f"log.{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    log = read_logs(path, encoding=encoding)
    assert log.actions == ("prüfen",)
    assert log.observations[0].startswith("schön")
    assert log.where(0) == f"{path}, row 3 (episode 1)"
    with refuses(LogError, "UTF-8", "encoding="):
        read_logs(path)


@pytest.mark.parametrize("name", ["cp12", "", "base64", "rot13", "a\0b"])
def test_an_encoding_that_is_none_is_refused(log_file, name):
    with pytest.raises(ParameterError, match=r"encoding: .* is not known. Write cp1252"):
        read_logs(log_file(ROW, header=HEADER), encoding=name)


def test_bytes_that_the_encoding_does_not_know_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(f"{HEADER}\n1,z".encode() + b"\x81" + b",a,0,\n")
    with refuses(LogError, "log.csv", "cannot be read as CSV"):
        read_logs(path, encoding="cp1252")


def test_an_option_that_says_nothing_about_the_format_is_refused(parquet_file):
    path = parquet_file(episode=[1], observation=["z"], action=["a"], reward=[0.0])
    for options in ({"separator": ";"}, {"encoding": "cp1252"}, {"turns": "x"}, {"sheet": "x"}):
        (name,) = options
        with refuses(ParameterError, f"{name}:", "says nothing about Parquet", f"--{name}"):
            read_logs(path, ends="cut", **options)
