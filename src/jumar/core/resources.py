"""What a run may take and what it took: memory, refused beforehand where it is not there, and time,
told in the journal.

Without the first, a number with a few zeros too many ends in a traceback, or in a machine that
stands still until the system kills the process. The journal is the logger "jumar" of the standard
library, silent until somebody listens: `jumar -v improve ...`, or ``logging.basicConfig``. INFO
tells the steps of the main job with what they took, DEBUG also the parts of a step.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import perf_counter

from jumar.core.errors import TooLarge

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_UNKNOWN = 16 * 10**9  # where the system does not tell


def check_room(what: str, size: float, remedy: str) -> None:
    """Refuse what takes `size` bytes if the machine has less.

    >>> check_room("9,000,000,000 episodes", 4e12, "Simulate fewer.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    jumar.core.errors.TooLarge: 9,000,000,000 episodes: they would take about 4 TB of memory, and \
there are ... Simulate fewer.
    """
    there = memory()
    size = min(size, 10**60)
    if size > there:
        raise TooLarge(
            f"{what}: they would take about {in_bytes(size)} of memory, and there are "
            f"{in_bytes(there)}. {remedy}"
        )


def in_bytes(size: float) -> str:
    """A number of bytes as people write it.

    >>> in_bytes(999), in_bytes(2.5e9), in_bytes(4e12), in_bytes(1e30)
    ('999 bytes', '2.5 GB', '4 TB', '1e+15 PB')
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"


@cache
def memory() -> int:
    """Bytes that this process can have at most: the machine's, the container's, the limit's."""
    found = [_UNKNOWN]
    with suppress(AttributeError, OSError, ValueError):
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no number
            found.append(int(Path(limit).read_text()))
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            found.append(soft)
    return min(size for size in found if size > 0)


journal = logging.getLogger("jumar")
journal.addHandler(logging.NullHandler())


class Watch:
    """Seconds since it was started, as text.

    >>> f"{Watch()}"
    '0.00 s'
    """

    def __init__(self) -> None:
        self._begin = perf_counter()

    def __str__(self) -> str:
        return f"{perf_counter() - self._begin:.2f} s"
