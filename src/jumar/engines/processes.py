"""Processes of this machine, for work that holds the interpreter lock.

Each worker is a fresh interpreter with one thread for linear algebra. It builds its function once
and is handed one item after another through a pipe. A script that starts one does so below
`if __name__ == "__main__":`, as workers load it too.

No worker outlives its parent. The parent stops all workers when the work is done, on an error and
on Ctrl-C (workers ignore Ctrl-C; only the parent answers it). If the parent is killed, workers
notice and stop. A worker that dies raises an error in the parent; the parent never waits for ever.

Why not `concurrent.futures` or loky. A pool of Python 3.11 cannot stop running work, so Ctrl-C
would wait for the slowest block; and neither says at which item a worker died. Workers outlive a
parent that was killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from jumar.core.errors import EngineError
from jumar.engines import ONE_THREAD, Engine, Recipe, that_travels


def work(
    task: Recipe, items: Iterable[Any], jobs: int, scheduler: str | None = None
) -> Iterator[tuple[Any, Any]]:
    """(item, work(item)) as they finish. Task, items and results are sent through pipes."""
    waiting = iter(items)
    crew: dict[Any, Any] = {}  # process by connection
    at: dict[Any, Any] = {}  # item under way by connection
    try:
        for item in islice(waiting, jobs):
            connection, process = _start(task)
            crew[connection] = process
            at[connection] = item
            _send(connection, item)
        while at:
            for ready in wait(list(at)):
                item = at.pop(ready)
                result = _receive(ready, crew[ready], item)
                for following in islice(waiting, 1):
                    at[ready] = following
                    _send(ready, following)
                yield item, result
    finally:
        for connection, process in crew.items():
            process.terminate()
            process.join()
            connection.close()


def _send(connection: Any, item: Any) -> None:
    with suppress(OSError):  # the worker is gone; reading from it raises the error
        connection.send(item)


def _receive(connection: Any, process: Any, item: Any) -> Any:
    try:
        good, result = connection.recv()
    except (EOFError, OSError) as error:
        process.join()
        raise EngineError(
            f"A worker process ended with code {process.exitcode} while it was at {item}. If "
            "memory ran out, run again with fewer --jobs; what is finished is kept."
        ) from error
    if not good:
        raise result
    return result


def _start(task: Recipe) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, task), daemon=True)
    with _one_thread(), deaf_to_ctrl_c():
        process.start()
    theirs.close()  # the worker holds the only other end: when it is gone, we read an end of file
    return ours, process


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start inside this block have one thread for linear algebra."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that start inside this block ignore Ctrl-C from the beginning."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set this
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


ENTRY = Engine("processes", work)


# ---- in the worker ------------------------------------------------------------------------------


def _serve(connection: Connection, task: Recipe) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    do = None
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            do = do or task.build()
            answer: tuple[bool, Any] = (True, do(item))
        except Exception as error:  # it is raised again where people see it
            answer = (False, that_travels(error))
        connection.send(answer)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
