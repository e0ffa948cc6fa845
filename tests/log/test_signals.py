"""A log carries named signals beside its reward, and nothing loses them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from jumar import Episodes, read_logs, write_logs
from jumar.core.arrays import same_content
from jumar.core.errors import LogError, ParameterError

ROWS = """episode,observation,action,reward,score,misses
1,good,run,1,0.5,0
1,worn,fix,-2,0.25,3
2,worn,run,1,0,1
"""
READ = {"signal:safety": "score", "cost:misses": "misses"}


def read(text: str, tmp_path, columns=READ, **options):
    path = tmp_path / "log.csv"
    path.write_text(text)
    return read_logs(path, columns=columns, ends="terminated", **options)


def test_a_signal_is_read_as_it_stands_and_a_cost_with_its_sign_turned(tmp_path):
    log = read(ROWS, tmp_path)
    assert list(log.signals) == ["safety", "misses"]
    assert log.signals["safety"].tolist() == [0.5, 0.25, 0.0]
    assert log.signals["misses"].tolist() == [0.0, -3.0, -1.0]
    assert log.reward.tolist() == [1.0, -2.0, 1.0]
    assert log.origin.columns["signal:safety"] == ("score",)


def test_the_view_pays_the_signal_and_knows_whether_it_is_a_cost(tmp_path):
    log = read(ROWS, tmp_path)
    assert log.with_reward("misses").returns(1.0).tolist() == [-3.0, -1.0]
    assert log.with_reward("misses").origin.remarks.costs
    assert not log.with_reward("safety").origin.remarks.costs
    again = log.with_reward("safety").with_reward("misses")
    assert again == log.with_reward("misses")


def test_a_signal_that_is_not_there_is_named_with_those_that_are(tmp_path):
    with pytest.raises(LogError, match=r"log.csv: .*'safty'.*Did you mean 'safety'"):
        read(ROWS, tmp_path).with_reward("safty")


def test_parts_of_a_log_and_logs_together_keep_the_signals(tmp_path):
    log = read(ROWS, tmp_path)
    assert log.select([1, 0]).signals["safety"].tolist() == [0.0, 0.5, 0.25]
    both = log + log.select([1])
    assert both.signals["misses"].tolist() == [0.0, -3.0, -1.0, -1.0]
    aligned = log.align(("worn", "good"), ("fix", "run"))
    assert same_content(aligned.signals, log.signals)
    bare = read(ROWS, tmp_path, {})
    with pytest.raises(LogError, match="Only one of the two logs has a signal 'misses'"):
        log + bare


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "ndjson"])
def test_what_is_written_is_read_back_with_all_signals(tmp_path, ending):
    log = read(ROWS, tmp_path)
    write_logs(log, tmp_path / f"again.{ending}")
    assert read_logs(tmp_path / f"again.{ending}") == log


def test_a_dataset_of_minari_keeps_the_signals_whatever_they_are_called(tmp_path):
    pytest.importorskip("minari")
    from jumar import write_minari

    log = read(ROWS, tmp_path, {"signal:a/b c": "score", "cost:misses": "misses"})
    data = write_minari(log, "jumar/two-v0", folder=tmp_path)
    assert read_logs(data) == log


def test_a_table_in_memory_and_back(tmp_path):
    log = read(ROWS, tmp_path)
    assert read_logs(log.to_arrow()) == log
    frame = log.to_pandas()
    assert frame["signal:misses"].tolist() == [0.0, -3.0, -1.0]
    assert read_logs(frame) == log


def test_a_log_that_was_sent_elsewhere_is_the_same_and_read_only(tmp_path):
    log = read(ROWS, tmp_path)
    sent = pickle.loads(pickle.dumps(log))
    assert sent == log
    with pytest.raises(ValueError, match="read-only"):
        sent.signals["safety"][0] = 7.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.25", "much"), r"row 3, column 'score': 'much' is not a number"),
        (("0.25", ""), r"row 3, column 'score': the signal 'safety' is missing.*--missing drop"),
        (("0.25", "NaN"), r"row 3, column 'score': signal 'safety' is nan"),
        (("0.25", "1e99"), r"row 3 .*signal 'safety' 1e\+99 is too large"),
        (("score", "mark"), r"no column for the signal:safety: .*'score'.*--columns signal:safety"),
    ],
)
def test_what_is_wrong_with_a_signal_is_told_with_its_place(tmp_path, change, said):
    with pytest.raises(LogError, match=said):
        read(ROWS.replace(*change), tmp_path)


def test_episodes_with_a_hole_in_a_signal_can_be_left_out(tmp_path):
    log = read(ROWS.replace("0.25", ""), tmp_path, missing="drop")
    assert log.signals["safety"].tolist() == [0.0]


def test_rows_that_differ_in_a_signal_alone_are_no_copies(tmp_path):
    rows = "episode,step,observation,action,reward,score\n1,1,z,a,1,2\n1,1,z,a,1,3\n"
    with pytest.raises(LogError):
        read(rows, tmp_path, {"signal:safety": "score"}, repeated="drop")


def test_a_signal_is_either_a_cost_or_not(tmp_path):
    with pytest.raises(ParameterError, match="safety is a signal and a cost"):
        read(ROWS, tmp_path, {"signal:safety": "score", "cost:safety": "misses"})


def test_a_signal_in_a_closing_row_is_refused(tmp_path):
    rows = ROWS.replace("2,worn,run,1,0,1\n", "2,worn,run,1,0,1\n2,good,,,5,0\n")
    with pytest.raises(LogError, match="there is a signal 'safety' but no action"):
        read(rows, tmp_path)


def test_signals_made_by_hand_are_checked():
    basics = ("z",), ("a",), [0, 0], [0, 0], [0.0, 0.0], [0, 2], [-1], [True]
    with pytest.raises(LogError, match="2 steps, but 3 in the signal 'safety'"):
        Episodes(*basics, signals={"safety": [1, 2, 3]})
    with pytest.raises(LogError, match="signal 'safety' is inf; signals must be finite"):
        Episodes(*basics, signals={"safety": [1, np.inf]})
    with pytest.raises(LogError, match="signal name 1"):
        Episodes(*basics, signals={"": [1, 2]})
    with pytest.raises(LogError, match="expected a mapping"):
        Episodes(*basics, signals=[1, 2])
