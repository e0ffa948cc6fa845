"""Workers that run side by side compile every loop once: who comes second waits, then reads what
numba has kept on disk. Compiling all of them takes a minute of one core."""

from __future__ import annotations

import fcntl
import zlib
from contextlib import suppress
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

compile_now = Dispatcher.compile


def one_at_a_time() -> None:
    """From now on a loop is looked for on disk, or compiled, by one worker at a time."""
    # A lock of bytes of this file, one for each loop: nothing is written, nothing is left behind
    # by a worker that was killed. Open until the worker ends, as closing would unlock all.
    file = open(__file__, "rb+")  # noqa: SIM115

    def compile_or_wait(loop: Any, *signature: Any) -> Any:
        place = zlib.crc32(f"{loop.py_func.__module__}.{loop.py_func.__qualname__}".encode())
        # numba's own lock first: a thread that waits for it must not keep other workers waiting
        with global_compiler_lock:
            with suppress(OSError):  # a disk that knows no locks: everybody compiles
                fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
            try:
                return compile_now(loop, *signature)
            finally:
                with suppress(OSError):
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    Dispatcher.compile = compile_or_wait
