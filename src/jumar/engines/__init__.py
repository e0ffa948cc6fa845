"""One seam for work that is cut into items, with several engines behind it.

    task = Recipe(make, *arguments)               # work = make(*arguments), built by each worker
    for item, result in run(task, items, engine="processes", jobs=4):
        ...                                       # result = work(item), in any order

| engine | where the work is done |
|---|---|
| `here` | in threads of this process: for work that releases the interpreter lock, or for one job |
| `processes` | in processes of this machine, one thread each |
| `dask` | on a Dask cluster: `scheduler="tcp://host:8786"`, or one that is started for the run |

Results come in any order: whoever adds them up uses a sum that does not depend on it. Items and
results are sent, so both are small: an item names the file that a worker is to read, it does not
hold its rows.

A further engine is an `Engine`: `ENGINES.add("mine", Engine(...))`, and its name can be used
wherever an engine is asked for.

Free to change: all of it. Held in place: nothing depends on the order of results, and no worker
outlives the one who asked.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from jumar.core.errors import JumarError, ParameterError
from jumar.core.registry import Registry
from jumar.core.text import whole_number

Item = TypeVar("Item")
MOST_JOBS = 1000  # a slip of the finger is not to start a million processes

# Each worker has one thread for linear algebra: as many workers as cores keep the cores busy, and
# results do not depend on how many there are.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True, init=False)
class Recipe:
    """How a worker makes its function: `make(*arguments)`, once.

    `make` is a function of a module, so that workers can import it; arguments can be pickled. What
    `make` returns need not.

    >>> from functools import partial
    >>> Recipe(partial, divmod, 17).build()(5)
    (3, 2)
    """

    make: Callable[..., Callable[[Any], Any]]
    arguments: tuple[Any, ...]

    def __init__(self, make: Callable[..., Callable[[Any], Any]], *arguments: Any) -> None:
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "arguments", arguments)

    def build(self) -> Callable[[Any], Any]:
        """The function of one worker."""
        return self.make(*self.arguments)


@dataclass(frozen=True)
class Engine:
    """A way to have work done: one entry in `ENGINES`."""

    name: str
    # (task, items, jobs, scheduler) -> (item, result) as they finish
    work: Callable[[Recipe, Iterable[Any], int, str | None], Iterator[tuple[Any, Any]]]
    has_scheduler: bool = False  # it can use a cluster that is running already
    ready: Callable[[], object] = lambda: None  # raises if something is not installed


def _work_here(
    task: Recipe, items: Iterable[Any], jobs: int, scheduler: str | None
) -> Iterator[tuple[Any, Any]]:
    """With one job the work is done where it is asked for, item by item; else in threads."""
    from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

    do = task.build()
    if jobs == 1:
        for item in items:
            yield item, do(item)
        return
    waiting = iter(items)
    under_way: dict[Future[Any], Any] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                for item in islice(waiting, jobs + 1 - len(under_way)):
                    under_way[pool.submit(do, item)] = item
                if not under_way:
                    return
                finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
                # hand out what is finished, even if something else failed at the same time
                for future in sorted(finished, key=lambda done: done.exception() is not None):
                    yield under_way.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


ENGINES: Registry[Engine] = Registry(
    "engine",
    {
        "here": Engine("here", _work_here),
        "processes": "jumar.engines.processes:ENTRY",
        "dask": "jumar.engines.dask:ENTRY",
    },
)


def run(
    task: Recipe,
    items: Iterable[Item],
    *,
    engine: str = "here",
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[Item, Any]]:
    """(item, work(item)) as they finish, in any order, with work = task.build().

    Items are taken one by one, hardly more at a time than there are workers. An error that work
    raises is raised here: a JumarError as it is, any other error as it is or as a RuntimeError
    with its text. Whoever stops early, or is stopped, leaves no worker behind.

    Parameters
    ----------
    task
        How a worker makes its function. Each worker does so once; the engine `here` makes one for
        all its threads.
    items
        What to work on. An item is small and can be pickled.
    engine
        A name in `ENGINES`.
    jobs
        How many items at once; None: all cores. A cluster that is running already has as many
        workers as it has.
    scheduler
        The address of a running cluster, for engines that can use one.

    >>> from functools import partial
    >>> sorted(run(Recipe(partial, divmod, 17), [2, 5], jobs=2))
    [(2, (8, 1)), (5, (3, 2))]
    """
    found = check(engine, jobs=jobs, scheduler=scheduler)
    return found.work(task, items, jobs or cores(), scheduler)


def check(engine: str, *, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """The engine of that name; or what is wrong with the choice, before any work is done.

    >>> check("here", scheduler="tcp://big:8786")
    Traceback (most recent call last):
    jumar.core.errors.ParameterError: scheduler: engine 'here' has none. Use the engine dask.
    """
    if not isinstance(engine, str):
        raise ParameterError(f"engine: {engine!r} is no name. There are {', '.join(ENGINES)}.")
    found = ENGINES.find(engine)
    if jobs is not None and jobs < 1:
        raise ParameterError(f"jobs is {jobs}; at least 1 is needed.")
    if jobs is not None and jobs > MOST_JOBS:
        raise ParameterError(
            f"jobs is {whole_number(jobs)}; at most {MOST_JOBS:,} are started. As many as there "
            f"are cores ({cores()}) is about right."
        )
    if scheduler is not None and not found.has_scheduler:
        with_one = [name for name, entry in ENGINES.items() if entry.has_scheduler]
        raise ParameterError(
            f"scheduler: engine {engine!r} has none. Use the engine {' or '.join(with_one)}."
        )
    found.ready()
    return found


def cores() -> int:
    """How many jobs there are where nobody says how many."""
    return os.cpu_count() or 1


def that_travels(error: Exception) -> Exception:
    """An error that can be sent: our own as it is, any other as its text."""
    if isinstance(error, JumarError):
        return error
    return RuntimeError("in a worker process: " + "".join(traceback.format_exception(error)))
