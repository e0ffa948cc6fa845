"""Dates as people write them: read where one day decides, else refused with the option."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.reading import read_logs
from jumar.log.reading.clocks import DATES


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
        ("05/31/2024 14:30", "05/31/2024 09:05", "%m/%d/%Y %H:%M"),
        ("05/31/2024 2:30 PM", "05/31/2024 9:05 am", "%m/%d/%Y %I:%M %p"),
        ("31-May-2024", "1-Jan-2024", "%d-%b-%Y"),
        ("31 may 2024", "1 SEPT 2023", "%d %b %Y"),
        ("May 31, 2024", "September 1, 2023", "%b %d, %Y"),
        ("2024/05/31", "2024/05/04", "%Y/%m/%d"),
        ("2024.05.31 10:00:01", "2024.05.31 10:00:00", "%Y.%m.%d %H:%M:%S"),
        ("31.05.2024T10:00:00.5", "31.05.2024T10:00:00.25", "%d.%m.%YT%H:%M:%S.%f"),
    ],
)
def test_dates_that_are_clear_are_read(later, earlier, format):
    log = read(later, earlier)
    assert log.reward.tolist() == [1, 0]
    (said,) = log.origin.remarks.guessed
    assert "--dates" in said
    assert format in said
    same = read(later, earlier, dates=format)
    assert same.reward.tolist() == [1, 0]
    assert same.origin.remarks.guessed == ()


def test_a_day_after_the_twelfth_decides_for_the_column():
    assert read("05/04/2024", "31/03/2024").reward.tolist() == [1, 0]
    assert read("05/04/2024", "03/31/2024").reward.tolist() == [1, 0]
    with refuses(
        LogError, "row 1, column 'time': '05/04/2024' could be day/month/year or month/day/year",
        "dates='%d/%m/%Y' or dates='%m/%d/%Y'", "--dates %d/%m/%Y",
    ):  # fmt: skip
        read("05/04/2024", "03/06/2024")
    assert read("05/04/2024", "04/05/2024", dates="%d/%m/%Y").reward.tolist() == [0, 1]
    assert read("05/04/2024", "04/05/2024", dates="%m/%d/%Y").reward.tolist() == [1, 0]


def test_years_of_two_digits_lie_from_1969_to_2068():
    with refuses(LogError, "could be day/month/year or year/month/day"):
        read("31/12/20", "31/12/19")
    assert read("31/12/20", "31/12/19", dates="%d/%m/%y").reward.tolist() == [1, 0]
    assert read("31/12/69", "31/12/68", dates="%d/%m/%y").reward.tolist() == [0, 1]
    assert read("31/12/99", "31/12/68").reward.tolist() == [0, 1]  # there is no day 99


def test_dates_that_mean_the_same_either_way_are_read():
    assert read("05/05/2024", "04/04/2024").reward.tolist() == [1, 0]


def test_times_are_in_seconds_for_a_gap():
    log = read("31.05.2024 10:00", "31.05.2024 11:59", "31.05.2024 14:00", gap="2h")
    assert log.lengths.tolist() == [2, 1]


def test_iso_and_numbers_stay_what_they_are():
    assert read("2024-05-31", "2024-05-30").origin.remarks.guessed == ()
    assert read("20240531", "20240530").origin.remarks.guessed == ()
    days = read("20240531", "20240601", "20240602", dates="%Y%m%d", gap="1d")
    assert len(days) == 1


@pytest.mark.parametrize(
    ("times", "row", "strange"),
    [
        (["31.05.2024", "31.02.2024"], 2, "31.02.2024"),
        (["31.05.2024", "soon", "2.1.2024"], 2, "soon"),
        (["2024-05-31", "31.05.2024"], 2, "31.05.2024"),
        (["05/31/2024", "31/05/2024"], 2, "31/05/2024"),
        (["soon", "later"], 1, "soon"),
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


@given(
    st.sampled_from(DATES),
    st.lists(st.datetimes(datetime(2000, 1, 1), datetime(2030, 12, 31)), min_size=2, max_size=6),
)
def test_dates_are_never_read_wrongly(format, times):
    """Whatever the format: sorted as they are, or refused."""
    words = [time.strftime(format) for time in times]
    assume(len(set(words)) == len(words))
    try:
        log = read(*words)
    except LogError:
        return
    days = [datetime.strptime(word, format) for word in words]
    order = sorted(range(len(days)), key=days.__getitem__)
    assert log.reward.tolist() == order
