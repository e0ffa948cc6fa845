"""What can be read only once, standard input or a pipe, is first put into a temporary file.

A log is read more than once: for its header, for the rows of a message, for its fingerprint. The
file is deleted when the log is no longer needed.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumar.core.errors import LogError

STDIN = "-"


@dataclass(frozen=True)
class Spooled:
    """A temporary file, and what it was read from. As a path it is the file, as text the name that
    was given."""

    path: Path
    given: str

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.given

    @property
    def name(self) -> str:
        """How messages call it."""
        return "standard input" if self.given == STDIN else self.given


@contextmanager
def spooled(source: Any) -> Iterator[Any]:
    """The source, or the file into which it was read if it can be read only once.

    >>> with spooled("log.csv") as same:
    ...     same
    'log.csv'
    """
    if not isinstance(source, str | os.PathLike) or isinstance(source, Spooled):
        yield source
    elif str(source) == STDIN or _is_pipe(Path(source)):
        with _put_by(str(source)) as file:
            yield file
    else:
        yield source


def _is_pipe(path: Path) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def _put_by(given: str) -> Iterator[Spooled]:
    handle, path = tempfile.mkstemp(prefix="jumar-", suffix=".tmp")
    file = Spooled(Path(path), given)
    try:
        try:
            with os.fdopen(handle, "wb") as target:
                if given == STDIN:
                    shutil.copyfileobj(sys.stdin.buffer, target)
                else:
                    with open(given, "rb") as pipe:
                        shutil.copyfileobj(pipe, target)
        except OSError as error:
            raise LogError(
                f"{file.name}: cannot be put into a temporary file in '{file.path.parent}' "
                f"({error.strerror or error}). Make room there, or name another folder with TMPDIR."
            ) from error
        yield file
    finally:
        with suppress(OSError):
            os.unlink(path)
