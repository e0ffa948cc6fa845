"""Worker processes: everything is done once, errors come home, nobody is left behind."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from jumar.core.errors import JumarError
from jumar.engines import ONE_THREAD, Recipe, run
from orphans import check_nobody_stays


def in_processes(function, *arguments, items, jobs):
    return run(Recipe(partial, function, *arguments), items, engine="processes", jobs=jobs)


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


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_leave_when_the_one_who_waits_is_killed_or_interrupted(number):
    check_nobody_stays("processes", number)
