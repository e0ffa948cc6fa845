"""The files of a log, each with its name, what it holds, and where its bytes are.

Folders that are called ``key=value`` (hive partitions) are columns of that name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.io.addresses import Address
from jumar.io.formats import FarFile, folder_format, format_of, located, no_format, open_log
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


def files_of(source: str, kind: str | None) -> list[LogFile]:
    """The files of a log that is a file, a folder, a pattern or an address, in order."""
    if source.startswith("file://"):
        source = unquote(source.removeprefix("file://").removeprefix("localhost"))
    if "://" in source:
        return _far_files(source, kind)
    source = str(located(source))
    path = Path(source)
    if path.is_dir():
        whole = folder_format(path)
        if whole is not None:
            raise LogError(
                f"{source}: a log of {whole} is not read in parts. Write it as Parquet first: "
                "jumar convert FOLDER -o log.parquet."
            )
        inside = sorted(p for p in path.rglob("*") if p.is_file() and _is_log(p, path))
        _check_no_folder_is_a_log(path, inside)
        if not inside:
            raise LogError(
                f"{source}: the folder has no log files. Logs end in .parquet, .csv, .tsv, .arrow "
                "or .ndjson; names that begin with a point or an underscore are passed over."
            )
        return [log_file(str(p), p.stat(), kind, p.relative_to(path).parts) for p in inside]
    if any(mark in source for mark in "*?[") and not path.exists():
        import glob

        found = sorted(p for p in glob.glob(source, recursive=True) if Path(p).is_file())
        if not found:
            raise LogError(f"{printable(source)}: no file fits this pattern. Check the path.")
        return [log_file(p, Path(p).stat(), kind, Path(p).parts) for p in found]
    opened = open_log(source, kind)  # says what is wrong with it
    return [log_file(opened.name, path.stat(), kind)]


def _check_no_folder_is_a_log(root: Path, inside: Sequence[Path]) -> None:
    """What lies in the folder of a dataset is no log by itself."""
    for folder in sorted({up for path in inside for up in path.parents if root in up.parents}):
        whole = folder_format(folder)
        if whole is not None:
            raise LogError(
                f"{root}: {folder.relative_to(root)} in it is a log of {whole}, which is read by "
                "itself. Give the path of one."
            )


def _is_log(path: Path, root: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    return not hidden and format_of(path) is not None


# ---- object stores ------------------------------------------------------------------------------


def _far_files(text: str, kind: str | None) -> list[LogFile]:
    from pyarrow import fs

    address = Address.of(text)
    system, path = address.opened()
    info = address.asked(system.get_file_info, path)
    if info.type == fs.FileType.File:
        found = [info]
    elif info.type == fs.FileType.NotFound:
        raise LogError(f"{address.called}: there is no such file or folder.")
    else:
        found = address.asked(system.get_file_info, fs.FileSelector(path, recursive=True))
    files = []
    for entry in sorted(found, key=lambda entry: entry.path):
        inner = entry.path[len(path) :].strip("/")
        hidden = any(part.startswith((".", "_")) for part in inner.split("/"))
        known = kind or format_of(Path(entry.base_name))
        if entry.type == fs.FileType.File and address.fits(entry.path) and not hidden and known:
            far = FarFile(address.name_of(entry.path), system, entry.path, entry.size)
            files.append(replace(log_file(far.name, entry, known, inner.split("/")), far=far))
    if not files:
        raise LogError(f"{address.called}: there are no log files.")
    return files
