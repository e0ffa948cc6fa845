"""A file of a log: its name, what it holds, and where its bytes are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jumar.io.formats import FarFile, format_of, no_format
from jumar.io.formats.places import Place, arrow_file
from jumar.io.formats.source import naming


@dataclass(frozen=True)
class LogFile:
    """A file of a log."""

    name: str  # a path or an address, as messages call it
    kind: str  # of `FORMATS`
    size: int  # bytes
    changed: float = 0.0  # when, in seconds; 0 where it is not told
    partition: tuple[tuple[str, str], ...] = ()  # columns that its folders tell
    sorted_at: str = ""  # where the rows lie, if they were sorted
    far: FarFile | None = None  # in a store

    @property
    def stays(self) -> bool:
        """Would one see that it has changed? Then what was read of it may be kept."""
        return bool(self.changed or self.sorted_at)

    @property
    def place(self) -> Place:
        """Where it is read."""
        return self.far or Path(self.sorted_at or self.name)

    def open(self) -> Any:
        """The file for Arrow."""
        with naming(self.name, self.kind):
            return arrow_file(self.place)


def log_file(name: str, told: Any, kind: str | None, folders: Sequence[str] = ()) -> LogFile:
    """A file with what the system tells of it, and the folders on the way to it."""
    known = kind or format_of(Path(name.rsplit("/", 1)[-1]))
    if known is None:
        raise no_format(name, "; or say which it is: --format CSV")
    pairs = [folder.split("=", 1) for folder in folders[:-1] if "=" in folder]
    partition = tuple((key, unquote(value)) for key, value in pairs)
    if isinstance(told, os.stat_result):
        return LogFile(name, known, told.st_size, told.st_mtime, partition)
    return LogFile(name, known, told.size, told.mtime_ns / 1e9 if told.mtime_ns else 0.0, partition)
