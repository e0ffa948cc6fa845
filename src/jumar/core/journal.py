"""What the library is doing, for whoever wants to know: the logger "jumar" of the standard library.

It is silent until somebody listens: `jumar -v improve ...`, or in a program

    logging.basicConfig(level=logging.INFO)

INFO tells the steps of the main job with what they took, DEBUG also the parts of a step.
"""

from __future__ import annotations

import logging
from time import perf_counter

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
