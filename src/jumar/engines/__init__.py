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

Free to change: all of it. Nothing may depend on the order of results.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from jumar.core.errors import ParameterError
from jumar.core.registry import Registry
from jumar.core.text import whole_number
from jumar.engines.base import Engine, Recipe

__all__ = ["ENGINES", "Engine", "Recipe", "check", "cores", "run"]

Item = TypeVar("Item")
MOST_JOBS = 1000  # a slip of the finger is not to start a million processes

ENGINES: Registry[Engine] = Registry(
    "engine",
    {
        "here": "jumar.engines.here:ENTRY",
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
