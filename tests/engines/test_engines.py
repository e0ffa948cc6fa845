"""The seam: whatever engine does the work, the results are the same; and a new engine is a file."""

from __future__ import annotations

import sys
import threading
from functools import partial

import pytest

import chores
from jumar.core.errors import EngineError, LogError, ParameterError
from jumar.engines import ENGINES, Engine, Recipe, check, run

LOCAL = ("here", "processes")


def test_a_recipe_is_made_once_by_every_worker(tmp_path):
    for engine, most in (("here", 1), ("processes", 2)):
        folder = tmp_path / engine
        folder.mkdir()
        found = dict(run(Recipe(chores.counted, str(folder)), range(9), engine=engine, jobs=2))
        assert {item: result for item, (result, _) in found.items()} == {i: i * i for i in range(9)}
        assert len(list(folder.glob("built-*"))) == most
        assert len(list(folder.glob("item-*"))) == 9


def test_one_job_here_starts_no_thread_and_takes_one_item_at_a_time():
    taken = []

    def items():
        for item in range(5):
            taken.append(item)
            yield item

    found = run(Recipe(chores.power_of, 2), items(), jobs=1)
    before = threading.active_count()
    assert next(found) == (0, 1)
    assert (taken, threading.active_count()) == ([0], before)


@pytest.mark.parametrize("engine", LOCAL)
def test_hardly_more_items_are_taken_than_there_are_workers(engine):
    taken = []

    def items():
        for item in range(1000):
            taken.append(item)
            yield item

    found = run(Recipe(chores.power_of, 1), items(), engine=engine, jobs=2)
    next(found)
    found.close()
    assert len(taken) <= 4


def test_threads_hand_out_what_is_finished_before_they_fail():
    task = Recipe(partial, abs)
    assert sorted(run(task, range(-7, 0), jobs=3)) == [(i, -i) for i in range(-7, 0)]
    found = run(Recipe(partial, divmod, 1), [1, 2, 0], jobs=1)
    assert [next(found), next(found)] == [(1, (1, 0)), (2, (0, 1))]
    with pytest.raises(ZeroDivisionError):
        next(found)


@pytest.mark.parametrize("engine", LOCAL)
def test_an_error_of_ours_comes_home_whole(engine):
    with pytest.raises(LogError, match=r"^part-3\.parquet, row 3: no reward\.$") as told:
        list(run(Recipe(chores.refusing, 3), range(9), engine=engine, jobs=2))
    assert told.value.problems == ("one", "two")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"engine": "dusk"}, "engine 'dusk' is not one of here, processes, dask.*'dask'"),
        ({"engine": None}, "engine: None is no name"),
        ({"engine": "here", "jobs": 0}, "jobs is 0; at least 1 is needed"),
        ({"engine": "here", "jobs": 10**20}, "jobs is .*20; at most 1,000 are started"),
        ({"engine": "processes", "jobs": 1_000_000}, "jobs is 1,000,000; at most 1,000"),
        ({"engine": "processes", "scheduler": "tcp://h:1"}, "'processes' has none. Use .* dask"),
    ],
)
def test_a_wrong_choice_is_told_before_any_work(asked, message):
    with pytest.raises(ParameterError, match=message):
        run(Recipe(chores.power_of, 2), [1], **asked)


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"needs .* pip install 'jumar\[cluster\]'"):
        check("dask")


# --- 8< --- a new engine


def backwards(task, items, jobs, scheduler):
    """All items in one go, the last one first."""
    work = task.build()
    for item in reversed(list(items)):
        yield item, work(item)


BACKWARDS = Engine("backwards", backwards)

# --- 8< ---


def test_a_new_engine_is_entered_from_outside():
    ENGINES.add("backwards", BACKWARDS)
    try:
        found = list(run(Recipe(chores.power_of, 2), range(3), engine="backwards"))
    finally:
        ENGINES.remove("backwards")
    assert found == [(2, 4), (1, 2), (0, 1)]
