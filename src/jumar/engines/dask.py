"""A Dask cluster: `dask scheduler` on one machine, `dask worker ADDRESS` on many.

    jumar study my.toml -o out --engine dask --scheduler tcp://big:8786

Without an address, a local cluster is started for the run: a scheduler in this process and so many
worker processes with one thread each.

What passes through the scheduler is small. An item says what to read, and the worker reads it.
Results are fetched from the workers directly. The task is sent once, as the value of a Dask task
of its own on which all items depend: Dask makes it again if all who had it have died. (What is
*scattered* is lost then: tried with Dask 2026.8.)

Each thread of a worker is given one item at a time, and we say which worker it is for. (Left alone,
Dask gives short items to those who hold the task: of two workers one did all 40 items of 20 ms.)
So a worker that dies takes only its item with it, and results that were not fetched yet; Dask gives
these to others. An item whose workers die more often than `distributed.scheduler.allowed-failures`
(3) ends the run with an error that names it.

Dask is imported only when it is used: `pip install 'jumar[cluster]'`.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import queue
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from itertools import chain, count, islice
from typing import Any, NamedTuple

from jumar import __version__
from jumar.core.errors import EngineError
from jumar.core.resources import journal
from jumar.core.text import printable
from jumar.engines import ONE_THREAD, Engine, Recipe, that_travels
from jumar.engines.processes import deaf_to_ctrl_c

PATIENCE = 8.0  # seconds until a scheduler has answered, and until it has a worker
ALONE = 60.0  # seconds without any worker, in the middle of the work, until we give up
LOOK = 1.0  # seconds after which we look who is there, if nothing has finished

# results are the same bits only where these are alike
MUST_AGREE = ("numpy", "scipy", "numba", "pyarrow")


def work(
    task: Recipe, items: Iterable[Any], jobs: int, scheduler: str | None
) -> Iterator[tuple[Any, Any]]:
    """(item, work(item)) as they finish, on the cluster at that address, or on one of our own."""
    waiting = iter(items)
    for first in islice(waiting, 1):  # no cluster where there is nothing to do
        with _cluster(jobs, scheduler) as client:
            yield from _Window(client, task, chain([first], waiting)).results()


def ready() -> Any:
    """The package `distributed`."""
    try:
        import distributed

        return distributed
    except ImportError as error:
        raise EngineError(
            "engine dask: needs the packages dask and distributed. Install them: pip install "
            "'jumar[cluster]'"
        ) from error


ENTRY = Engine("dask", work, has_scheduler=True, ready=ready)


# ---- the cluster --------------------------------------------------------------------------------


@contextmanager
def _cluster(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster that is asked for. What was opened for it is closed."""
    log = logging.getLogger("distributed")
    with ExitStack() as opened:
        # what Dask writes about workers that come and go is for those who run it
        opened.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL + 1)
        address = opened.enter_context(_local(jobs)) if scheduler is None else scheduler
        client = _connect(address)
        opened.callback(_close, client)
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise EngineError(
                f"scheduler {printable(address)}: has no worker. Start some, on any machine that "
                f"reaches it: dask worker {printable(address)} --nthreads 1 --nworkers -1"
            ) from error
        threads = sum(client.nthreads().values())
        journal.info("Dask at %s: %d threads of workers", printable(address), threads)
        yield client


@contextmanager
def _local(jobs: int) -> Iterator[str]:
    try:
        with deaf_to_ctrl_c(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cluster = ready().LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                memory_limit=0,  # as for the engine `processes`: what the machine has
                silence_logs=logging.CRITICAL + 1,
                env=ONE_THREAD,
            )
    except RuntimeError as error:
        raise EngineError(
            f"engine dask: a local cluster does not start ({printable(str(error))}). A script that "
            'starts one does so below `if __name__ == "__main__":`.'
        ) from error
    try:
        yield cluster.scheduler_address
    finally:
        cluster.close(timeout=PATIENCE)


def _connect(address: str) -> Any:
    """A client that finds no scheduler keeps trying behind our back, and complains when the program
    ends; so one is made only where a scheduler answers."""

    async def ask() -> Any:
        async with ready().rpc(address, timeout=PATIENCE) as somebody:
            return await asyncio.wait_for(somebody.identity(), PATIENCE)

    try:
        with ThreadPoolExecutor(1) as another:  # in a notebook, this thread has a loop of its own
            kind = another.submit(lambda: asyncio.run(ask())).result()["type"]
        if kind != "Scheduler":
            raise ValueError(f"it is the address of a {kind}")
    except Exception as error:  # nobody, no address, a server of another kind or age, no TLS
        raise EngineError(
            f"scheduler {printable(address)}: no scheduler answers there "
            f"({printable(repr(error))}). Start one with `dask scheduler`, of the same Dask as "
            "here, and use the address that it prints (such as tcp://host:8786)."
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # versions that differ: see _check_versions
        return ready().Client(
            address,
            timeout=PATIENCE,
            set_as_default=False,
            direct_to_workers=True,  # results need not pass through the scheduler
            name="jumar",
        )


def _close(client: Any) -> None:
    with suppress(Exception):  # the scheduler may be gone
        client.close(timeout=PATIENCE)


# ---- who gets what ------------------------------------------------------------------------------


class _UnderWay(NamedTuple):
    item: Any
    future: Any
    worker: str  # for whom it is; somebody else may do it


class _Window:
    """The items that are under way: as many as the workers have threads."""

    def __init__(self, client: Any, task: Recipe, items: Iterator[Any]) -> None:
        self._client, self._items, self._more = client, items, True
        self._name, self._numbers = f"jumar-{uuid.uuid4().hex}", count()
        self._at: dict[Any, _UnderWay] = {}  # by the key of the future
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()  # keys
        self._workers: dict[str, int] = {}  # threads, by address
        self._looked = self._seen = time.monotonic()  # when we looked for workers, and saw one
        import cloudpickle  # also sends what is defined in a script or a notebook

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a task of more than 10 MB: it is sent once
            self._parcel = self._submit(_same, _Parcel(cloudpickle.dumps(task), versions()))

    def results(self) -> Iterator[tuple[Any, Any]]:
        """(item, result) as they finish; nothing is left under way in the end."""
        try:
            while done := self._next_finished():
                good, result = self._fetch(done.future, done.item)
                done.future.release()
                if done.worker in self._workers:
                    self._give(done.worker, 1)  # before the result is used: no worker waits for it
                if not good:
                    raise result
                yield done.item, result
        finally:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel([one.future for one in self._at.values()], force=True)
                self._parcel.release()

    def _next_finished(self) -> _UnderWay | None:
        """What finishes next; None if there is nothing left to do."""
        while self._at or self._more:
            if not self._at or time.monotonic() > self._looked + LOOK:
                self._look()
            with suppress(queue.Empty):
                return self._at.pop(self._finished.get(timeout=LOOK if self._at else 0.1))
        return None

    def _look(self) -> None:
        """Give every thread of every worker something to do; or give up if nobody is there."""
        try:
            self._workers = self._client.nthreads()
        except Exception as error:
            raise self._lost("was lost in the middle of the work") from error
        self._looked = time.monotonic()
        if self._workers:
            self._seen = self._looked
        elif self._looked > self._seen + ALONE:
            raise self._lost(f"all workers have left, {ALONE:.0f} s ago")
        busy = Counter(one.worker for one in self._at.values())
        for worker, threads in self._workers.items():
            self._give(worker, threads - busy[worker])

    def _give(self, worker: str, most: int) -> None:
        """Give a worker something to do; others do it if that worker is gone."""
        given = list(islice(self._items, max(0, most)))
        self._more = len(given) >= most
        for item in given:
            future = self._submit(
                _do, self._parcel, item, workers=[worker], allow_other_workers=True
            )
            self._at[future.key] = _UnderWay(item, future, worker)
            future.add_done_callback(lambda done: self._finished.put(done.key))

    def _submit(self, function: Callable[..., Any], *arguments: Any, **where: Any) -> Any:
        key = (self._name, next(self._numbers))
        return self._client.submit(function, *arguments, key=key, pure=False, **where)

    def _fetch(self, future: Any, item: Any) -> tuple[bool, Any]:
        """Whether it went well, and the result or the error of our own."""
        distributed = ready()
        try:
            return future.result()  # type: ignore[no-any-return]
        except distributed.KilledWorker as error:
            raise EngineError(
                f"{error.allowed_failures + 1} workers died one after another while they were at "
                f"{item}. If memory ran out, give workers more of it or cut the work into smaller "
                "parts; what is finished is kept."
            ) from error
        except distributed.CancelledError as error:
            raise self._lost("was lost in the middle of the work") from error
        except Exception as error:  # all that goes wrong in the work itself is returned by _do
            raise self._lost(f"cannot run jumar ({printable(repr(error))})") from error

    def _lost(self, fact: str) -> EngineError:
        return EngineError(
            f"scheduler {printable(str(self._client.scheduler.address))}: {fact}. The scheduler "
            f"and all workers need jumar {__version__} with the extra cluster. Start them and run "
            "again; what is finished is kept."
        )


def versions() -> dict[str, str]:
    """What must be alike wherever the work is done: jumar to the letter, others to the minor
    version."""
    full = {name: version(name) for name in MUST_AGREE} | {"Python": platform.python_version()}
    return {"jumar": __version__} | {n: ".".join(v.split(".")[:2]) for n, v in full.items()}


# ---- in the worker ------------------------------------------------------------------------------


class _Parcel:
    """The task as it is sent, and in a worker also what was built from it, once for each thread.

    A worker lets go of it when the run is over, and with it of what was built.
    """

    def __init__(self, task: bytes, needed: dict[str, str]) -> None:
        self._sent = task, needed
        self._built: dict[int, Callable[[Any], Any]] = {}  # by thread

    def __reduce__(self) -> tuple[Any, ...]:
        return _Parcel, self._sent

    def work(self) -> Callable[[Any], Any]:
        """The function of this thread."""
        thread = threading.get_ident()
        if thread not in self._built:
            task, needed = self._sent
            _check_versions(needed)
            import cloudpickle

            # what this run's client sent to its own workers, as Dask sends every task; never a file
            self._built[thread] = cloudpickle.loads(task).build()
        return self._built[thread]


def _check_versions(needed: dict[str, str]) -> None:
    here = versions()
    other = [f"{name} {here[name]} instead of {v}" for name, v in needed.items() if here[name] != v]
    if other:
        raise EngineError(
            f"worker {ready().get_worker().address}: has {', '.join(other)}. Results would not be "
            "the same: install the same there and restart the worker."
        )


def _same(parcel: _Parcel) -> _Parcel:
    return parcel


def _do(parcel: _Parcel, item: Any) -> tuple[bool, Any]:
    try:
        return True, parcel.work()(item)
    except Exception as error:  # it is raised again where people see it
        return False, that_travels(error)
