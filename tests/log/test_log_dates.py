"""Dates as people write them are read with their format, and refused without."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs


def read(*times: object, **options: object):
    """A log with one step at each time, whose reward is its place in the file."""
    n = len(times)
    table = pa.table(
        {
            "episode": ["1"] * n,
            "observation": ["z"] * n,
            "action": ["a"] * n,
            "reward": np.arange(float(n)),
            "time": list(times),
        }
    )
    return read_logs(table, ends="cut", **options)


@pytest.mark.parametrize(
    ("later", "earlier", "format"),
    [
        ("31.05.2024", "1.6.2023", "%d.%m.%Y"),
        ("05/31/2024 2:30 PM", "05/31/2024 9:05 am", "%m/%d/%Y %I:%M %p"),
        ("31 may 2024", "1 SEPT 2023", "%d %b %Y"),
        ("May 31, 2024", "September 1, 2023", "%b %d, %Y"),
        ("31.05.2024T10:00:00.5", "31.05.2024T10:00:00.25", "%d.%m.%YT%H:%M:%S.%f"),
        ("31/12/68", "31/12/69", "%d/%m/%y"),  # two digits are years from 1969 to 2068
    ],
)
def test_dates_are_read_in_the_format_that_was_said(later, earlier, format):
    assert read(later, earlier, dates=format).reward.tolist() == [1, 0]
    with refuses(LogError, f"row 1, column 'time': '{later}' is not a time", "dates='%d/%m/%Y'"):
        read(later, earlier)


def test_times_are_in_seconds_for_a_gap():
    times = ("31.05.2024 10:00", "31.05.2024 11:59", "31.05.2024 14:00")
    assert read(*times, gap="2h", dates="%d.%m.%Y %H:%M").lengths.tolist() == [2, 1]


def test_iso_and_numbers_stay_what_they_are():
    assert read("2024-05-31", "2024-05-30").reward.tolist() == [1, 0]
    assert read("20240531", "20240530").reward.tolist() == [1, 0]
    days = read("20240531", "20240601", "20240602", dates="%Y%m%d", gap="1d")
    assert len(days) == 1


@pytest.mark.parametrize(
    ("times", "row", "strange"),
    [
        (["2024-05-31", "soon", "2024-01-02"], 2, "soon"),
        (["2024-05-31", "31.05.2024"], 2, "31.05.2024"),
        (["7", "2024-05-31"], 2, "2024-05-31"),
    ],
)
def test_a_date_unlike_the_others_is_named(times, row, strange):
    with refuses(LogError, f"row {row}, column 'time': '{strange}' is not a time like the others"):
        read(*times)


def test_a_date_that_does_not_fit_the_format_is_named():
    with refuses(LogError, "row 2", "'05/31/2024' is not a date like %d/%m/%Y", "--dates"):
        read("31/05/2024", "05/31/2024", dates="%d/%m/%Y")
    with refuses(LogError, "row 2", "the time is missing"):
        read("31/05/2024", "", dates="%d/%m/%Y")


def test_a_column_that_has_times_needs_no_format():
    days = [datetime(2024, 6, 1), datetime(2024, 5, 31)]
    assert read(*days, dates="%d/%m/%Y").reward.tolist() == [1, 0]


@pytest.mark.parametrize("format", ["%Q", "%d.%", "%d.%d.%Y", "day"])
def test_a_format_that_is_none_is_refused(format):
    fact = f"dates: '{format}' is not a format of dates"
    with refuses(ParameterError, fact, "Write it like %d/%m/%Y", "each of %d %m"):
        read("31/05/2024", dates=format)
