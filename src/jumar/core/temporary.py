"""Temporary names beside a file that is being written, and clearing away what a kill left there.

A process that is killed (`kill -9`, a power cut) cannot remove its temporary files. The next run
that writes into the folder does, if nobody can still be writing them: the writer was a process of
this machine, in the same boot and the same container, and is gone. What came from elsewhere, and
what an older jumar left, is given a day. Nothing is written for that long.

    .jumar-<where>-<process>-<random>.tmp
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

DAY = 24 * 3600.0
_NAME = re.compile(r"\.jumar-(?:(?P<where>[0-9a-f]{8})-(?P<process>\d{1,10})-)?[0-9a-f]{16}\.tmp")
_cleared: set[Path] = set()  # folders that this process has looked through


def temporary_name() -> str:
    """A name that nobody else uses, and that tells whose it is.

    >>> bool(_NAME.fullmatch(temporary_name()))
    True
    """
    return f".jumar-{_where()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def clear_left_behind(folder: Path, fresh: Path) -> None:
    """Remove from a folder what writers left that are gone; once in a process. `fresh` was made
    there just now: its age is compared, because the clock of a file server may be wrong."""
    if folder in _cleared:
        return
    _cleared.add(folder)
    with suppress(OSError):
        now = fresh.lstat().st_mtime
        for entry in list(os.scandir(folder)):
            found = _NAME.fullmatch(entry.name)
            if found is None or entry.name == fresh.name:
                continue
            if found["where"] == _where() and os.name == "posix":
                left = not _is_running(int(found["process"]))
            else:
                left = now - entry.stat(follow_symlinks=False).st_mtime > DAY
            if left:
                _remove(entry)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(entry.path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # no signal: only asks
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # there is one, but of another user
    return True


@cache
def _where() -> str:
    """Where the numbers of processes mean the same: this boot of this machine or container."""
    told = [socket.gethostname()]
    for source in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with suppress(OSError):
            told.append(os.readlink(source) if "/ns/" in source else Path(source).read_text())
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]
