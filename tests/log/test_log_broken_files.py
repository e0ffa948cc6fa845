"""Logs that are no logs: what is wrong with a file, and row numbers that are right."""

from __future__ import annotations

import pyarrow as pa
import pytest

from facts import refuses
from jumar.core.errors import LogError
from jumar.log.reading import read_logs, write_logs
from log_rows import (
    AS_CP1252,
    AS_UTF_16,
    FILL_IN,
    FORMATS,
    HEADER,
    ITS_FORMAT,
    ONE_OF_EACH,
    PLAIN_DIGITS,
    THE_AMOUNT,
    in_names,
    refused,
    three_endings,
)

NOT_TEXT = ": this is not CSV: its first line is not UTF-8 text."

# ---------------------------------------------------------------- what is wrong with a file


def test_an_empty_log_is_refused_in_every_form(tmp_path):
    empty = {
        "": ": the file is empty. A log needs a header and at least one row.",
        HEADER: ": the log is empty: it has no rows. Give at least one episode.",
        HEADER + "\n": ": the log is empty: it has no rows. Give at least one episode.",
        HEADER + "\n\n\n": ": the log is empty: it has no rows. Give at least one episode.",
    }
    for i, (text, message) in enumerate(empty.items()):
        path = tmp_path / f"{i}.csv"
        path.write_text(text)
        refused(path, message)


def test_a_path_that_is_no_log_is_refused(tmp_path):
    refused(tmp_path / "no.csv", ": there is no such file. Check the path.")
    with refuses(LogError, "/dev/null: this is a device"):
        read_logs("/dev/null")
    (tmp_path / "spark.parquet").mkdir()
    refused(
        tmp_path / "spark.parquet",
        ": the folder has no log files. Logs end in .parquet, .csv, .tsv, .arrow or .ndjson; names "
        "that begin with a point or an underscore are passed over.",
    )
    for name in ("log.xls", "log", ".csv", "log.gz", "log.parquet.gz"):
        (tmp_path / name).write_text(HEADER)
        refused(
            tmp_path / name,
            ": cannot tell the format; end the name in .csv or .parquet, or in .tsv, .arrow or "
            ".ndjson; or say which it is: file_format='CSV' (--format CSV).",
        )


@pytest.mark.parametrize("ending", FORMATS)
def test_binary_garbage_is_refused(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(
        LogError, match=r"this is not (CSV|TSV)|cannot be read|is not JSON"
    ) as caught:
        read_logs(path)
    assert str(caught.value).startswith((f"{path}: ", f"{path}, row 1: "))
    assert str(caught.value).isprintable()


def test_an_arrow_file_that_is_cut_off_is_not_taken_for_a_stream(tmp_path):
    """Its first letters would be the length of what follows: 1.3 GB."""
    whole, cut = tmp_path / "log.arrow", tmp_path / "cut.arrow"
    write_logs(three_endings(("good", "worn"), ("keep", "repair")), whole)
    cut.write_bytes(whole.read_bytes()[:-20])
    before = pa.default_memory_pool().max_memory()
    with refuses(LogError, "Arrow", "complete"):
        read_logs(cut)
    assert pa.default_memory_pool().max_memory() <= max(before, 10**9)


def test_text_in_parquet_that_is_not_utf8_is_refused(parquet_file):
    """Parquet promises UTF-8 and nobody checks it on writing."""
    latin = pa.array([b"z", b"\xe4", b"z"]).view(pa.string())
    path = parquet_file(**{**ONE_OF_EACH, "observation": latin})
    with refuses(LogError, "log.parquet", "Parquet", "UTF8"):
        read_logs(path)


def test_a_ragged_row_is_named(log_file):
    remedy = "Is a comma missing, or a quotation mark?"
    path = log_file("1,z,a,0,", "1,z,a,0")
    refused(path, f", row 3: has 4 cells, but the header has 5. {remedy}")
    path = log_file("1,z,a,0,", "", "1,z,a,0,,,")
    refused(path, f", row 4: has 7 cells, but the header has 5. {remedy}")
    path = log_file('1,"z,a,0,', "1,z,a,0,")
    refused(path, f", row 2: has 2 cells, but the header has 5. {remedy}")


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(HEADER.encode() + "\n1,z,a,0,\n1,zustand ä,a,0,\n".encode("latin-1"))
    refused(path, ", row 3, column 'observation': is not UTF-8 text." + AS_CP1252)
    path.write_bytes("episode,observation,action,reward,Größe\n1,z,a,0,\n".encode("latin-1"))
    refused(path, NOT_TEXT + AS_CP1252 + ITS_FORMAT)
    path.write_bytes((HEADER + "\n1,z,a,0,\n").encode("utf-16"))
    refused(path, NOT_TEXT + AS_UTF_16 + ITS_FORMAT)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbf" + f"{HEADER}\r\n1,z,a,0,\r\n1,y,a,0,1\r\n".encode())
    assert in_names(read_logs(path)) == [([("z", "a", 0.0), ("y", "a", 0.0)], None, True)]


def test_columns_nobody_needs_may_hold_anything(tmp_path):
    """Arrow guesses a column's type from its first megabyte; a word after that must not matter."""
    rows = [f"{i},z,a,0,true,{i}" for i in range(120_000)] + ["last,z,a,0,true,a word"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER + ",note", *rows]))
    assert path.stat().st_size > 2_000_000
    assert len(read_logs(path)) == 120_001
    path.write_bytes(HEADER.encode() + b",note\n1,z,a,0,true,\xff\n")
    assert len(read_logs(path)) == 1


# ---------------------------------------------------------------- row numbers


BIG = 100_000


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("99,z,a,abc,", ", column 'reward': 'abc' is not a number." + PLAIN_DIGITS),
        (
            "99,z,a,nan,",
            ", column 'reward': reward is nan; rewards must be finite numbers." + THE_AMOUNT,
        ),
        (
            "99,z,,,\n99,z,a,0,",
            " (episode 99): the action is missing. Only the last row of an "
            "episode that was cut off may have none." + FILL_IN,
        ),
        (
            "99,z,a,0,,",
            ": has 6 cells, but the header has 5. Is a comma missing, or a quotation mark?",
        ),
    ],
)
def test_the_row_is_right_at_the_end_of_a_file_of_many_blocks(tmp_path, bad, message):
    path = tmp_path / "log.csv"
    rows = "\n".join(f"{i},some observation,a,0.25,true" for i in range(100, BIG + 100))
    path.write_text(f"{HEADER}\n{rows}\n{bad}\n")
    assert path.stat().st_size > 3 * 2**20  # Arrow reads blocks of one megabyte
    refused(path, f", row {BIG + 2}{message}")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("lines", "row"),
    [
        (["1,z,a,0,", "1,z,a,x,"], 3),
        (["1,z,a,0,", "", "1,z,a,x,"], 4),
        (["", "1,z,a,0,", "", "", "1,z,a,x,"], 6),
        (['1,"two\nlines",a,0,', "1,z,a,x,"], 3),  # a spreadsheet shows one row
        (['1,"one\n\nthree",a,0,', "", "1,z,a,x,"], 4),
        (["1,z,a,x,", "", ""], 2),
    ],
)
def test_blank_lines_count_as_rows_and_line_breaks_in_quotes_do_not(tmp_path, lines, row, newline):
    path = tmp_path / "log.csv"
    path.write_text(newline.join([HEADER, *lines, ""]), newline="")
    refused(path, f", row {row}, column 'reward': 'x' is not a number." + PLAIN_DIGITS)
