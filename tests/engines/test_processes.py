"""Worker processes: everything is done once, errors come home, nobody is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial

import pytest

from jumar.core.errors import JumarError
from jumar.engines import ONE_THREAD, Recipe, run


def in_processes(function, *arguments, items, jobs):
    return run(Recipe(partial, function, *arguments), items, engine="processes", jobs=jobs)


def test_every_item_is_worked_on_once_whatever_the_number_of_workers():
    for jobs in (1, 3):
        found = list(in_processes(pow, 2, items=range(7), jobs=jobs))
        assert sorted(found) == [(i, 2**i) for i in range(7)]


def test_workers_have_one_thread_each_and_we_keep_our_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    found = dict(in_processes(os.getenv, items=sorted(ONE_THREAD), jobs=1))
    assert found == dict.fromkeys(ONE_THREAD, "1")
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_any_other_error_comes_home_with_everything_it_says():
    with pytest.raises(RuntimeError, match=r"(?s)in a worker.*Traceback.*ZeroDivisionError"):
        list(in_processes(divmod, 1, items=[0], jobs=1))


def test_a_worker_that_ends_is_an_error_and_not_a_wait_without_end():
    with pytest.raises(JumarError, match=r"ended with code 4 while it was at 4\. .*fewer --jobs"):
        list(in_processes(os._exit, items=[4], jobs=1))


def children_of(pid: int) -> list[str]:
    """The processes that have this parent, from /proc."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def is_alive(pid: str) -> bool:
    """Neither gone nor only waiting to be buried."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_leave_when_the_one_who_waits_is_killed_or_interrupted(number):
    script = textwrap.dedent("""
        import functools, signal, time
        from jumar.engines import Recipe, run
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        try:
            task = Recipe(functools.partial, time.sleep)
            for _ in run(task, [0, 0, 600, 600], engine="processes", jobs=2):
                print("one", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["one\n", "one\n"]
    workers = children_of(process.pid)
    assert len(workers) >= 2
    if number is signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to everybody
    else:
        process.kill()
    out, error = process.communicate(timeout=60)
    assert error == ""
    assert out == ("interrupted\n" if number is signal.SIGINT else "")
    for _ in range(600):
        if not any(map(is_alive, workers)):
            break
        time.sleep(0.05)
    assert not [pid for pid in workers if is_alive(pid)]
