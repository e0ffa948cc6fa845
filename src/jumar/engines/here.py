"""Threads of this process, for work that releases the interpreter lock; or no thread at all.

With one job the work is done where it is asked for, item by item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

from jumar.engines.base import Engine, Recipe


def work(
    task: Recipe, items: Iterable[Any], jobs: int, scheduler: str | None = None
) -> Iterator[tuple[Any, Any]]:
    """(item, work(item)) as they finish; hardly more items at a time than there are threads.

    >>> from functools import partial
    >>> sorted(work(Recipe(partial, abs), [-2, 5], jobs=2))
    [(-2, 2), (5, 5)]
    """
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


ENTRY = Engine("here", work)
