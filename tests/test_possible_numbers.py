"""Whatever the log, no number is printed that no return can be: terminal, JSON, page, tables."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

import jumar as jm
from attacks import ATTACKS, attack, beyond, outcome_at_the_end
from facts import refuses, says
from jumar.core.errors import LogError
from jumar.show.outputs import report_page
from jumar.show.terminal import as_text, result_view
from jumar.verdict.assessing import Assessment
from large_logs import improve_logs
from results import RUN, Page

SETTINGS = ({}, {"n_wedge": 5}, {"algorithm": "tilt"})


def said(found: Assessment) -> list[object]:
    """All that a person may read of a result."""
    table = list(csv.reader(io.StringIO(found.decisions.to_csv(found.verdict.word))))
    page, terminal = Page(report_page(found, RUN)).text, as_text(result_view(found))
    return [found.to_dict(), table, page, terminal, repr(found.result), found.result.to_dict()]


@pytest.mark.parametrize("name", ATTACKS)
def test_improve_prints_nothing_that_is_not_possible(name):
    given = attack(name)
    for options in SETTINGS:
        found = jm.improve(given.log, given.behavior, discount=given.discount, **options).assessment
        ranges = ("value_range", "most") if given.longer else ()
        assert beyond(said(found), given.largest, ranges) == []
        gain = found.gain
        assert gain.old == given.log.returns(given.discount).mean()
        assert gain.shown is None or gain.interval[0] <= gain.shown <= gain.interval[1]
        returns = [] if gain.new is None else [gain.new, *(gain.old + x for x in gain.interval)]
        assert all(given.low - 1 <= value <= given.high + 1 for value in returns)


@pytest.mark.parametrize("name", ATTACKS)
def test_check_prints_nothing_that_is_not_possible(name):
    given = attack(name)
    found = jm.check(given.log, given.behavior, discount=given.discount, resamples=99)
    assert beyond([found.to_dict(), str(found)], given.largest_sum) == []


def test_what_finds_impossible_numbers_finds_them():
    assert beyond({"gain": [1.0, -12.0]}, 10.0) == [".gain[1]: -12"]
    assert len(beyond("better by 6,478 than 9.5", 10.0)) == 1
    assert beyond("key 2d711642b726b044, window of 3, 95 %", 100.0) == []


def test_outcomes_on_last_rows_that_are_left_out_are_not_relied_on():
    """All rewards lie on rows after which nobody knows what came."""
    given = attack("outcomes on last rows")
    checked = jm.check(given.log, given.behavior, discount=0.9, resamples=99)
    (notice,) = [n for n in checked.notices if n.kind == "last rows"]
    says(notice.fact, "300 episodes", "100%", "left out")
    assert notice.loud
    assert notice.options == ("--ends", "terminated")
    found = jm.improve(given.log, given.behavior, discount=0.9).assessment
    assert found.verdict.exit_code == 1
    assert notice in found.notices


def test_outcomes_that_are_all_alike_are_noticed_when_they_lie_on_last_rows():
    """Whoever gets there gets 100, and that is all that is ever paid."""
    ends = np.cumsum(np.random.default_rng(1).integers(1, 8, 200))
    reward = np.zeros(ends[-1])
    reward[ends - 1] = 100.0
    start, n = np.append(0, ends), len(reward)
    names = ("seen",), ("a", "b")
    fair = jm.Controller.uniform(*names)
    log = jm.Episodes(*names, [0] * n, np.arange(n) % 2, reward, start, [-1] * 200, [False] * 200)
    (notice,) = [n for n in jm.check(log, fair, discount=0.9).notices if n.kind == "last rows"]
    assert notice.loud
    assert jm.improve(log, fair, discount=0.9).assessment.verdict.exit_code == 1
    same = replace(log, reward=np.full(n, 7.1))
    assert [n.kind for n in jm.check(same, fair, discount=0.9).notices] == []


def test_last_rows_like_all_others_are_left_out_without_a_word():
    given = attack("cut at 20, rewards + 1,000")
    checked = jm.check(given.log, given.behavior, discount=0.9, resamples=99)
    assert [n for n in checked.notices if n.kind == "last rows"] == []


def test_a_log_of_outcomes_alone_is_refused_with_its_remedy():
    with refuses(LogError, "300", "--ends terminated"):
        given = outcome_at_the_end(1, 300)
        jm.improve(given.log, given.behavior, discount=0.9)


def test_in_parts_outcomes_on_last_rows_are_noticed_too(tmp_path):
    given = attack("outcomes on last rows")
    jm.write_logs(given.log, tmp_path / "log.parquet")
    found = improve_logs(tmp_path / "log.parquet", given.behavior, discount=0.9).assessment
    assert "last rows" in [n.kind for n in found.notices]
    assert found.gain.old == pytest.approx(given.log.returns(0.9).mean())
