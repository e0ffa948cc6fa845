"""Worker processes, for work that holds the interpreter lock; threads, for work that does not.

Each worker is a fresh interpreter with one thread for linear algebra, so that as many workers as
cores keep the cores busy and results do not depend on how many there are. It builds its function
once and is handed one item after another through a pipe.

No worker outlives its parent. The parent stops all workers when the work is done, on an error and
on Ctrl-C (workers ignore Ctrl-C; only the parent answers it). If the parent is killed, workers
notice and stop. A worker that dies raises an error in the parent; the parent never waits for ever.

Why not `concurrent.futures`. A pool of Python 3.11 cannot stop running work (3.14 can), so Ctrl-C
would wait for the slowest block. Its workers outlive a parent that was killed. And its broken pool
does not say at which item a worker died, nor how.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_threads
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from jumar.core.errors import JumarError

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def in_threads(
    work: Callable[[Any], Any], items: Iterable[Any], jobs: int
) -> Iterator[tuple[Any, Any]]:
    """(item, work(item)) as they finish; hardly more items at a time than there are threads.

    >>> sorted(in_threads(abs, [-2, 5], jobs=2))
    [(-2, 2), (5, 5)]
    """
    waiting, jobs = iter(items), max(1, jobs)
    under_way: dict[Future[Any], Any] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                for item in islice(waiting, jobs + 1 - len(under_way)):
                    under_way[pool.submit(work, item)] = item
                if not under_way:
                    return
                finished, _ = wait_for_threads(under_way, return_when=FIRST_COMPLETED)
                # hand out what is finished, even if something else failed at the same time
                for future in sorted(finished, key=lambda done: done.exception() is not None):
                    yield under_way.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def in_processes(
    make: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
    items: Iterable[Any],
    jobs: int,
) -> Iterator[tuple[Any, Any]]:
    """(item, work(item)) as they finish, with work = make(*arguments) built in every worker.

    `make` is a function of a module, so that workers can import it. Arguments, items and results
    are sent through pipes.

    >>> from functools import partial
    >>> sorted(in_processes(partial, (divmod, 17), [2, 5], jobs=2))
    [(2, (8, 1)), (5, (3, 2))]
    """
    waiting = iter(items)
    crew: dict[Any, Any] = {}  # process by connection
    at: dict[Any, Any] = {}  # item under way by connection
    try:
        for item in islice(waiting, max(1, jobs)):
            connection, process = _start(make, arguments)
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
        raise JumarError(
            f"A worker process ended with code {process.exitcode} while it was at {item}. If "
            "memory ran out, run again with fewer --jobs; what is finished is kept."
        ) from error
    if not good:
        raise result
    return result


def _start(make: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
    with _environment(ONE_THREAD), _deaf_to_ctrl_c():
        process.start()
    theirs.close()  # the worker holds the only other end: when it is gone, we read an end of file
    return ours, process


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    """The environment of processes that start inside this block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that start inside this block ignore Ctrl-C from the beginning."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set this
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ---- in the worker ------------------------------------------------------------------------------


def _serve(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    work = None
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            work = work or make(*arguments)
            answer: tuple[bool, Any] = (True, work(item))
        except Exception as error:  # it is raised again where people see it
            answer = (False, _that_travels(error))
        connection.send(answer)


def _that_travels(error: Exception) -> Exception:
    """An error that can be sent: our own as it is, any other as its text."""
    if isinstance(error, JumarError):
        return error
    return RuntimeError("in a worker process: " + "".join(traceback.format_exception(error)))


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
