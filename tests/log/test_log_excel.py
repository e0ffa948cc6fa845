"""Excel workbooks: cells as text, sheets by name, rows as Excel numbers them."""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path

import pytest

from facts import refuses
from jumar.core.errors import LogError
from jumar.log.reading import read_logs

HEADER = ("episode", "time", "observation", "action", "reward", "terminated")


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel is an extra")

    def write(**sheets: list[tuple[object, ...]]) -> Path:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        path = tmp_path / "log.xlsx"
        book.save(path)
        return path

    return write


def test_a_workbook_is_read(workbook):
    rows = [
        (),
        HEADER,
        (1, datetime(2024, 5, 31), "z", "a", 1.5, None),
        (),
        (1.0, datetime(2024, 6, 1, 12, 30), "y", "b", 2, True),
        (2, date(2024, 6, 2), 7, "b", 3.5, False),
    ]
    log = read_logs(workbook(log=rows, empty=[]))
    assert log.reward.tolist() == [1.5, 2, 3.5]
    assert log.observations == ("7", "y", "z")
    assert log.lengths.tolist() == [2, 1]
    assert log.terminated.tolist() == [True, False]
    assert log.where(1).endswith("log.xlsx, row 5 (episode 1)")


def test_one_of_several_sheets_is_named(workbook):
    good = [HEADER, (1, "2024-05-31", "z", "a", 1, True)]
    path = workbook(notes=[("read me",)], data=good)
    with refuses(LogError, "there are several sheets: notes, data", "--sheet"):
        read_logs(path)
    assert read_logs(path, sheet="data").n_steps == 1
    with refuses(LogError, "sheet 'date' is not one of notes, data", "'data'"):
        read_logs(path, sheet="date")


def test_what_is_wrong_is_named(workbook):
    rows = [HEADER, (1, 5, "z", "a", "ten", None), (1, 6, "z", "a", None, "maybe")]
    with refuses(LogError, "row 2, column 'reward': 'ten'", "row 3, column 'terminated': 'maybe'"):
        read_logs(workbook(log=rows))
    mixed = [HEADER, (1, 5, "z", "a", 1.5, None), (1, 6, "z", "a", "3,5", None)]
    with refuses(LogError, "row 3", "'3,5' is not a number", "with a decimal point"):
        read_logs(workbook(log=mixed))
    with refuses(LogError, "the log is empty"):
        read_logs(workbook(log=[HEADER]))
    with refuses(LogError, "the log is empty"):
        read_logs(workbook(log=[]))


def test_cells_become_the_text_that_stands_for_them():
    from jumar.log.formats.excel import _text

    assert [_text(cell) for cell in (17, 17.0, 0.1, True, time(8, 30), None, "x")] == [
        "17", "17", "0.1", "true", "08:30:00", None, "x",
    ]  # fmt: skip
    assert _text(date(2024, 5, 31)) == _text(datetime(2024, 5, 31)) == "2024-05-31"


def test_a_damaged_workbook_is_refused(workbook):
    path = workbook(log=[HEADER, *[(1, i, "z", "a", 1, None) for i in range(50)]])
    whole = path.read_bytes()
    for size in range(1, len(whole), 301):
        path.write_bytes(whole[:size])
        with refuses(LogError, "cannot be read as Excel"):
            read_logs(path)
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            read_logs(path)
        except LogError as error:
            assert all(line.isprintable() for line in str(error).split("\n"))  # noqa: PT017
