"""Dask: a real scheduler, real workers; the same results, and nothing is lost if a worker dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import chores
from dask_cluster import cluster
from jumar.core.errors import EngineError, LogError
from jumar.engines import Recipe, run
from orphans import check_nobody_stays

pytest.importorskip("distributed", reason="needs dask: pip install 'jumar[cluster]'")

import jumar.engines.dask as engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Dask closes its sockets late
]


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def on(address, make, *arguments, items=range(9)):
    return run(Recipe(make, *arguments), items, engine="dask", scheduler=address)


def items_done(folder: Path) -> Counter[str]:
    """How often each item was worked on."""
    return Counter(path.name.split("-")[1] for path in folder.glob("item-*"))


def test_the_three_engines_give_the_same_results(two_workers):
    task, items = Recipe(chores.power_of, 3), range(40)
    expected = [(i, 3**i) for i in items]
    assert sorted(run(task, items, engine="here", jobs=2)) == expected
    assert sorted(run(task, items, engine="processes", jobs=2)) == expected
    assert sorted(run(task, items, engine="dask", scheduler=two_workers.address)) == expected
    assert sorted(run(task, items, engine="dask", jobs=2)) == expected
    assert list(run(task, [], engine="dask", scheduler="tcp://127.0.0.1:9")) == []


def test_a_recipe_is_made_once_by_every_worker(two_workers, tmp_path):
    found = dict(on(two_workers.address, chores.counted, str(tmp_path), items=range(30)))
    assert {item: result for item, (result, _) in found.items()} == {i: i * i for i in range(30)}
    assert items_done(tmp_path) == {str(i): 1 for i in range(30)}
    builders = {built for _, built in found.values()}
    assert len(list(tmp_path.glob("built-*"))) == len(builders)
    # not once for every item: on a busy machine one worker may be done before the other begins, and
    # Dask may take a copy that is idle away and bring it back
    assert 1 <= len(builders) <= 4


def test_hardly_more_items_are_under_way_than_there_are_threads(two_workers):
    taken = []

    def items():
        for item in range(100_000):
            taken.append(item)
            yield item

    found = on(two_workers.address, chores.power_of, 1, items=items())
    assert [next(found)[1] for _ in range(3)] == [1, 1, 1]
    found.close()
    assert len(taken) <= 5


def test_errors_come_home_and_the_cluster_goes_on(two_workers):
    with pytest.raises(LogError, match=r"^part-3\.parquet, row 3: no reward\.$") as told:
        list(on(two_workers.address, chores.refusing, 3))
    assert told.value.problems == ("one", "two")
    with pytest.raises(RuntimeError, match=r"(?s)in a worker.*Traceback.*ZeroDivisionError"):
        list(on(two_workers.address, chores.power_of, 0, items=[-1]))
    assert sorted(on(two_workers.address, chores.power_of, 2, items=[4])) == [(4, 16)]


def kill_who_is_at(folder: Path, item: int, done: threading.Event) -> None:
    """Kill the worker process that has begun with an item."""
    while not done.is_set():
        for path in folder.glob(f"item-{item}-*"):
            if pid := path.read_text():
                os.kill(int(pid), signal.SIGKILL)
                return
        time.sleep(0.01)


@pytest.mark.parametrize("local", [False, True])
def test_a_killed_worker_loses_nothing_and_only_its_item_is_repeated(tmp_path, local, request):
    address = None if local else request.getfixturevalue("two_workers").address
    done = threading.Event()
    killer = threading.Thread(target=kill_who_is_at, args=(tmp_path, 5, done))
    killer.start()
    task = Recipe(chores.slow, str(tmp_path), 0.5)
    found = list(run(task, range(12), engine="dask", jobs=2, scheduler=address))
    done.set()
    killer.join()
    assert sorted(found) == [(i, i * i) for i in range(12)]
    assert items_done(tmp_path) == {str(i): 2 if i == 5 else 1 for i in range(12)}


def test_an_item_that_kills_again_and_again_is_named(two_workers):
    found = on(two_workers.address, chores.deadly, (6,), items=range(20))
    with pytest.raises(EngineError, match=r"^4 workers died .* while they were at 6\. If memory"):
        list(found)
    assert sorted(on(two_workers.address, chores.deadly, (), items=[1, 2])) == [(1, 1), (2, 2)]


def test_workers_that_join_later_get_work_and_the_task_outlives_its_holders(tmp_path):
    with cluster(tmp_path / "c", workers=1) as found:
        pids = tmp_path / "pids"
        pids.mkdir()
        work = on(found.address, chores.slow, str(pids), 0.2, items=range(400))
        next(work)
        found.add_worker()

        def at_work() -> set[str]:
            return {path.read_text() for path in pids.glob("item-*")} - {""}

        for _ in work:
            if len(at_work()) == 2:
                break
        first = at_work()
        for pid in first:  # everybody who holds the task
            os.kill(int(pid), signal.SIGKILL)
        for _ in work:
            if at_work() - first:
                break
        assert at_work() - first
        work.close()


# ---- what can be wrong with a cluster -----------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "facts"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers there .* Start one with `dask scheduler`"),
        ("rubbish", "no scheduler answers .*such as tcp://host:8786"),
        ("", "no scheduler answers"),
        ("carrier://pigeon:1", "no scheduler answers"),
    ],
)
def test_an_address_where_nobody_is_is_told_soon(address, facts):
    begin = time.monotonic()
    with pytest.raises(EngineError, match=f"(?s)^scheduler {address}: {facts}"):
        list(on(address, chores.power_of, 2))
    assert time.monotonic() - begin < 12


def test_a_cluster_without_workers_and_the_address_of_a_worker(tmp_path, two_workers):
    with cluster(tmp_path / "c", workers=0) as empty:
        begin = time.monotonic()
        with pytest.raises(EngineError, match=r"has no worker. Start some.*: dask worker tcp://"):
            list(on(empty.address, chores.power_of, 2))
        assert time.monotonic() - begin < 12
    with engine._cluster(1, two_workers.address) as client:
        worker = next(iter(client.nthreads()))
    with pytest.raises(EngineError, match=r"it is the address of a Worker"):
        list(on(worker, chores.power_of, 2))


@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_who_cannot_import_jumar_is_told(tmp_path, monkeypatch, who):
    monkeypatch.setattr(engine, "ALONE", 4.0)
    (tmp_path / "jumar").mkdir()
    (tmp_path / "jumar" / "__init__.py").touch()  # hides the real one
    with cluster(tmp_path / "c", workers=0, path=[tmp_path] if who == "scheduler" else None) as c:
        c.add_worker(path=[tmp_path] if who == "worker" else None)
        with pytest.raises(EngineError, match=r"tcp://.* need jumar"):
            list(on(c.address, chores.power_of, 2))


def test_other_versions_are_refused(two_workers, monkeypatch):
    here = engine.versions()
    monkeypatch.setattr(engine, "versions", lambda: here | {"jumar": "99.1", "numpy": "9.0"})
    told = (
        rf"worker tcp://.*: has jumar {here['jumar']} instead of 99\.1, numpy .* install the same"
    )
    with pytest.raises(EngineError, match=told):
        list(on(two_workers.address, chores.power_of, 2))


def test_a_scheduler_that_dies_is_told(tmp_path):
    with cluster(tmp_path / "c", workers=1) as found:
        work = on(found.address, chores.slow, str(tmp_path), 0.3, items=range(1000))
        next(work)
        found.scheduler.kill()
        begin = time.monotonic()
        with pytest.raises(EngineError, match="was lost in the middle of the work"):
            list(work)
        assert time.monotonic() - begin < 30


def test_workers_that_all_leave_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "ALONE", 2.0)
    with cluster(tmp_path / "c", workers=1) as found:
        work = on(found.address, chores.slow, str(tmp_path), 0.3, items=range(1000))
        next(work)
        os.killpg(found.processes[1].pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="all workers have left, 2 s ago"):
            list(work)


# ---- nobody is left behind ----------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_local_cluster_leaves_when_we_are_killed_or_interrupted(number):
    check_nobody_stays("dask", number)


def test_whoever_stops_early_cancels_what_is_under_way(two_workers, tmp_path):
    work = on(two_workers.address, chores.slow, str(tmp_path), 0.5, items=range(100))
    next(work)
    work.close()
    with engine._cluster(1, two_workers.address) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
