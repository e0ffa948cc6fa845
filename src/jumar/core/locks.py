"""One run at a time in a folder.

The lock is one of the operating system on an open file, so it ends with the process that holds it,
however that ends. The file says who holds it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jumar.core.files import make_folder
from jumar.core.text import shown

NAME = ".jumar-lock"
_held: set[Path] = set()  # by this process: whoever holds a folder may lock it again


class Busy(Exception):
    """Somebody else works in the folder; the message says who."""


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else gets this lock while the block runs. Raises Busy if somebody has it.

    Where the file system knows no locks, the block runs without one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(folder):
    ...         held = os.listdir(folder)
    ...     held, os.listdir(folder)
    (['.jumar-lock'], [])
    """
    path = Path(os.path.realpath(folder), NAME)
    if path in _held:
        yield
        return
    before = [parent for parent in path.parents if not parent.exists()]
    make_folder(path.parent)
    handle = _take(path)
    _held.add(path)
    try:
        if handle is not None:
            os.truncate(handle, 0)
            os.write(handle, json.dumps(_me()).encode())
        yield
    finally:
        _held.discard(path)
        if handle is not None:
            with suppress(OSError):
                os.unlink(path)  # while it is held: whoever waits for it looks again
            os.close(handle)
        with suppress(OSError):  # a run that failed at once leaves no empty folders
            for parent in before:
                parent.rmdir()


def _take(path: Path) -> int | None:
    """The open and locked file; None where there is no such thing as a lock."""
    for _ in range(100):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # what cannot be written there will be told when results are written
            return None
        if not _lock(handle):
            with suppress(OSError):
                os.close(handle)
            raise Busy(_who(path))
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # its last holder removed it just now
    return None


def _lock(handle: int) -> bool:
    """Did we get the lock? Yes, too, where nobody can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _me() -> dict[str, Any]:
    now = time.strftime("%Y-%m-%d %H:%M")
    return {"process": os.getpid(), "host": socket.gethostname(), "since": now}


def _who(path: Path) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(path.read_text("utf-8"))
        parts = (shown(str(found[key])) for key in ("process", "host", "since"))
        return "process {} on {}, since {}".format(*parts)
    return "another process"
