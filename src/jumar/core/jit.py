"""Compiling loops on first use, and where the result is kept.

Numba keeps compiled loops where NUMBA_CACHE_DIR says, else beside the code, else in the cache
folder of the user (XDG_CACHE_HOME). In a container or a service none of these may be writable. The
loops are then kept in a private folder among the temporary files, and where that cannot be done
either, each process compiles them anew.

What is kept is machine code that will be run: a folder that others can write to is never used.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first use and keep the result on disk; runs without blocking other threads.
    To the type checker it is still a function."""
    jitted: Function = _kept(function)
    return jitted


def inlined(function: Function) -> Function:
    """Compile into its callers: in an inner loop a call that hands over arrays costs more than a
    few additions do."""
    jitted: Function = _kept(function, inline="always")
    return jitted


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    """The compiled function, kept on disk where there is a place for it."""
    try:
        return _forgiving(njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # no folder that numba knows can be written to
        folder = private_folder()
    if folder is None:
        return njit(nogil=True, **options)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        return _forgiving(njit(cache=True, nogil=True, **options)(function))
    finally:
        numba.config.CACHE_DIR = before


def _forgiving(jitted: Any) -> Any:
    """A disk that is full, or became read-only, must not stop work that is done in memory."""
    if numba.config.DISABLE_JIT:  # for a debugger: the function itself, with nothing to keep
        return jitted
    save = jitted._cache.save_overload

    def save_if_possible(*overload: Any) -> None:
        with suppress(OSError):
            save(*overload)

    jitted._cache.save_overload = save_if_possible
    return jitted


@cache
def private_folder() -> Path | None:
    """A folder among the temporary files that only this user can write to, if there can be one.
    Its name can be guessed: what somebody else has put there is left alone."""
    owner = os.getuid() if hasattr(os, "getuid") else None  # Windows: temporary files are private
    try:
        folder = Path(tempfile.gettempdir(), f"jumar-compiled-{'own' if owner is None else owner}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()  # not stat: a link may lead anywhere
    except OSError:
        return None
    ours = owner is None or (found.st_uid == owner and not found.st_mode & 0o077)
    return folder if ours and stat.S_ISDIR(found.st_mode) else None
