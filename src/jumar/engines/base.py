"""What engines share: how work is described, what an engine is, how errors travel."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jumar.core.errors import JumarError

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

    @property
    def name(self) -> str:
        return getattr(self.make, "__name__", "work")

    def build(self) -> Callable[[Any], Any]:
        """The function of one worker."""
        return self.make(*self.arguments)


@dataclass(frozen=True)
class Engine:
    """A way to have work done: one entry in `jumar.engines.ENGINES`."""

    name: str
    # (task, items, jobs, scheduler) -> (item, result) as they finish
    work: Callable[[Recipe, Iterable[Any], int, str | None], Iterator[tuple[Any, Any]]]
    has_scheduler: bool = False  # it can use a cluster that is running already
    ready: Callable[[], object] = lambda: None  # raises if something is not installed


def that_travels(error: Exception) -> Exception:
    """An error that can be sent: our own as it is, any other as its text."""
    if isinstance(error, JumarError):
        return error
    return RuntimeError("in a worker process: " + "".join(traceback.format_exception(error)))
