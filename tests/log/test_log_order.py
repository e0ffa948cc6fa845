"""Rows in any order, times, gaps, copies; and what is remarked about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import refuses
from jumar.core.errors import LogError, ParameterError
from jumar.log.episodes import Remarks
from jumar.log.reading import read_logs

HEADER = "episode,time,observation,action,reward"


def timed(times: list, kind: pa.DataType | None = None, part: str = "time") -> pa.Table:
    """Rows of one episode; the reward counts them."""
    n = len(times)
    return pa.table(
        {
            "episode": ["bus"] * n,
            part: pa.array(times, kind),
            "observation": ["z"] * n,
            "action": ["a"] * n,
            "reward": range(n),
        }
    )


# ---- order --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_steps_as_far_apart_as_numbers_can_be_are_put_in_order():
    far = timed([1e308, -1e308, 0.0, 1.7e308], part="step")
    log = read_logs(far, ends="cut")
    assert log.reward.tolist() == [1, 2, 0, 3]
    assert len(read_logs(timed([-1e308, 1e308]), ends="cut", gap=1.0)) == 2


LATER_FIRST = {
    "dates": [date(2024, 2, 1), date(2024, 1, 31), date(2023, 12, 1)],
    "times": [datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 9), datetime(2024, 1, 1)],
    "ISO dates": ["2024-02-01", "2024-01-31", "1023-12-01"],
    "ISO times": ["2024-01-01T10:00", "2024-01-01 09:59:59.5", "2024-01-01"],
    "nanoseconds": ["2024-01-01T10:00:00.000000002", "2024-01-01T10:00:00.000000001", "2024-01-01"],
    "zones": ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00", "2024-01-01T07:00:00-00:30"],
    "whole numbers": [10, 9, -1],
    "numbers": [10.5, 2.25, -1e300],
    "numbers as text": ["10", " 9 ", "8.5"],
    "durations": [timedelta(2), timedelta(1), timedelta(0)],
}


@pytest.mark.parametrize("times", LATER_FIRST.values(), ids=LATER_FIRST)
def test_times_of_every_kind_sort_rows(times):
    log = read_logs(timed(times), ends="cut")
    assert log.reward.tolist() == [2, 1, 0]
    assert log.origin.row.tolist() == [3, 2, 1]
    remarks = replace(log.origin.remarks, began=None, ended=None)
    assert remarks == Remarks(rows=3, out_of_order=2, first_out_of_order=2)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_sort_and_split(unit):
    times = [datetime(2024, 1, 3), datetime(2024, 1, 1)]
    log = read_logs(timed(times, pa.timestamp(unit)), ends="cut", gap="47h")
    assert (log.reward.tolist(), len(log)) == ([1, 0], 2)
    assert len(read_logs(timed(times, pa.timestamp(unit)), ends="cut", gap="48h")) == 1


def test_times_that_are_finer_or_no_times_further_down_are_found():
    """Batches of one row: the first looks plain, and the column is then read again as words."""
    fine = timed(["2024-01-01T10:00:00", "2024-01-01T09:00:00.000000002"])
    assert read_logs(fine.to_reader(max_chunksize=1), ends="cut").reward.tolist() == [1, 0]
    with refuses(LogError, "table, row 2, column 'step': 'x' is not a number"):
        read_logs(timed(["1", "x"], part="step").to_reader(max_chunksize=1), ends="cut")


def test_the_time_is_not_asked_where_steps_say_the_order(log_file):
    path = log_file("1,2,noon,z,a,0", "1,1,soon,z,a,1", header="episode,step," + HEADER[8:])
    assert read_logs(path, ends="cut").reward.tolist() == [1, 0]


rows_of_a_log = st.lists(
    st.tuples(st.sampled_from(["x", "y", "w"]), st.integers(0, 50)),
    min_size=1, max_size=20, unique=True,
)  # fmt: skip


@given(rows_of_a_log, st.randoms())
def test_the_order_of_the_file_does_not_matter_where_steps_are_numbered(rows, rng):
    def read(order: list[tuple[str, int]]) -> dict[str, list[float]]:
        table = pa.table(
            {
                "episode": [e for e, _ in order],
                "step": [t for _, t in order],
                "observation": ["z"] * len(order),
                "action": ["a"] * len(order),
                "reward": [t / 2 for _, t in order],
            }
        )
        log = read_logs(table, ends="cut")
        slices = zip(log.start[:-1], log.start[1:], strict=True)
        return {
            str(label): log.reward[i:j].tolist()
            for label, (i, j) in zip(log.origin.label, slices, strict=True)
        }

    expected: dict[str, list[float]] = {}
    for e, t in sorted(rows, key=lambda row: row[1]):
        expected.setdefault(e, []).append(t / 2)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    assert read(rows) == read(shuffled) == expected


def test_interleaved_and_early_rows_are_remarked(log_file):
    """x: 1 3 2, y: 5 4, w: 1; x and y interleave; rows 5 (x 2) and 6 (y 4) stand too low."""
    rows = ["x,1", "y,5", "x,3", "x,2", "y,4", "w,1"]
    log = read_logs(log_file(*(f"{row},z,a,0" for row in rows)), ends="cut")
    assert log.origin.remarks == Remarks(
        rows=6, interleaved=2, out_of_order=2, first_out_of_order=5
    )


# ---- gaps ---------------------------------------------------------------------------------------


def test_a_longer_pause_starts_a_new_episode_and_an_equal_one_does_not(log_file):
    path = log_file(
        "17,2024-01-01,z,a,0", "17,2024-03-31,z,a,1", "17,2024-06-30,y,a,2", "18,2024-01-01,z,a,3"
    )
    log = read_logs(path, gap="90d", ends="terminated")  # 90 days, then 91
    assert log.lengths.tolist() == [2, 1, 1]
    assert log.origin.label == ["17", "17 (2)", "18"]
    assert log.origin.remarks.gaps == 1
    assert log.where(2) == f"{path}, row 4 (episode 17 (2))"
    # cut off before the gap, whatever the ends mean; and what came after it is not what followed
    assert log.terminated.tolist() == [False, True, True]
    assert log.final_observation.tolist() == [-1, -1, -1]


def test_the_mark_says_that_the_process_ended_before_the_gap(log_file):
    path = log_file(
        "17,1,z,a,0,true", "17,9,z,a,1,false", "17,99,z,a,1,", header=HEADER + ",terminated"
    )
    assert read_logs(path, gap=5).terminated.tolist() == [True, False, False]
    with refuses(LogError, "terminated", "goes on"):
        read_logs(path, gap=8)


def test_with_a_gap_a_file_without_episodes_is_one_sequence(log_file):
    path = log_file("3,z,a,0", "1,z,a,1", "99,z,a,2", "100,z,a,3", header=HEADER[8:])
    log = read_logs(path, gap=5, ends="cut")
    assert (log.reward.tolist(), log.start.tolist()) == ([1, 0, 2, 3], [0, 2, 4])
    assert log.origin.label == ["1", "2"]
    with refuses(LogError, "no column", "episode"):
        read_logs(path, ends="cut")


def test_gaps_are_measured_in_time_where_steps_say_the_order(log_file):
    path = log_file(
        "1,2,2024-01-03,z,a,1", "1,1,2024-01-01,z,a,0", header="episode,step," + HEADER[8:]
    )
    log = read_logs(path, gap="1d", ends="cut")
    assert (log.reward.tolist(), len(log)) == ([0, 1], 2)


@pytest.mark.parametrize(
    ("gap", "seconds"),
    [
        ("90d", 7_776_000),
        ("12h", 43_200),
        ("30m", 1800),
        ("45s", 45),
        ("0.5h", 1800),
        (timedelta(minutes=2), 120),
    ],
)
def test_lengths_of_time(gap, seconds):
    begin = datetime(2024, 1, 1)
    for extra, episodes in ((0, 1), (1, 2)):
        times = [begin, begin + timedelta(seconds=seconds + extra)]
        assert len(read_logs(timed(times), gap=gap, ends="cut")) == episodes


@pytest.mark.parametrize("gap", ["soon", "", "-5", "d", "5 weeks", "1.2.3", "0", 0, True, "inf"])
def test_a_gap_that_is_none_is_refused_with_an_example(gap):
    with pytest.raises(ParameterError, match=r"gap: .*90d"):
        read_logs(timed([1]), gap=gap)


def test_a_gap_must_fit_the_column(log_file):
    with refuses(LogError, "column 'step'", "numbers", "gap 90d", "plain number"):
        read_logs(timed([1, 2], part="step"), gap="90d", ends="cut")
    with refuses(LogError, "column 'time'", "times", "gap 90", "unit", "90d"):
        read_logs(timed(["2024-01-01"]), gap=90, ends="cut")
    path = log_file("1,z,a,0", header="episode,observation,action,reward")
    for wish in ({"gap": "90d"}, {"repeated": "drop"}):
        with refuses(LogError, "'step'", "'time'", "--columns time"):
            read_logs(path, ends="cut", **wish)


# ---- copies -------------------------------------------------------------------------------------


def test_copies_of_a_row_are_left_out_when_asked(log_file):
    path = log_file("1,1,z,a,0.5", "1,2,z,a,1", "1,1,z,a,0.50", "1,2,z,a,1", "1,1,z,a,5e-1")
    with refuses(LogError, "row 4 (episode 1)", "time", "row 2", "copy"):
        read_logs(path, ends="cut")
    log = read_logs(path, ends="cut", repeated="drop")
    assert (log.reward.tolist(), log.origin.remarks.repeated) == ([0.5, 1], 3)
    assert log.origin.row.tolist() == [2, 3]


@pytest.mark.parametrize("other", ["1,1,y,a,0", "1,1,z,b,0", "1,1,z,a,1", "1,1,z,a,"])
def test_rows_that_differ_are_never_copies(log_file, other):
    path = log_file("1,1,z,a,0", other)
    with pytest.raises(LogError) as caught:
        read_logs(path, ends="cut", repeated="drop")
    assert str(caught.value) == (
        f"{path}, row 3 (episode 1): the time is the same as in row 2. Number the steps of an "
        "episode differently."
    )


def test_closing_rows_may_be_copies_too(log_file):
    path = log_file("1,1,z,a,0", "1,2,y,,", "1,2,y,,")
    log = read_logs(path, ends="cut", repeated="drop")
    assert (log.n_steps, log.final_observation.tolist()) == (1, [0])


# ---- remarks ------------------------------------------------------------------------------------


def test_remarks_of_two_logs_add_up(log_file):
    first = read_logs(log_file("x,2,z,a,0", "x,1,z,a,0"), ends="cut", cost=True)
    second = read_logs(log_file("x,1,z,a,0", "x,9,z,a,0", "x,8,z,a,0"), ends="cut", gap=5)
    both = Remarks(rows=5, out_of_order=2, first_out_of_order=3, gaps=1, costs=True)
    assert (first + second).origin.remarks == both
    assert first.select([0]).origin.remarks == first.origin.remarks
