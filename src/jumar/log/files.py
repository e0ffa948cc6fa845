"""The files of a log, each with its name, what it holds, and where its bytes are.

Folders that are called ``key=value`` (hive partitions) are columns of that name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jumar.core.errors import LogError
from jumar.core.text import printable
from jumar.log.addresses import Address, without_scheme
from jumar.log.formats import (
    FarFile,
    folder_format,
    format_of,
    known_format,
    located,
    no_format,
    open_log,
)
from jumar.log.formats.places import Place, arrow_file
from jumar.log.formats.source import naming

HIDDEN = (".", "_", "~")  # how names begin that are passed over
RESULTS = {"run.json", "certificate.json"}  # in a folder that jumar wrote


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
    path: str = ""  # from the root, for workers that have started in another folder
    inner: str = ""  # its path in the folder that was given, by which files are told apart

    @property
    def label(self) -> str:
        """By which files are told apart, wherever the folder lies."""
        return self.inner or self.name.rpartition("/")[2]

    @property
    def stays(self) -> bool:
        """Would one see that it has changed? Then what was read of it may be kept."""
        return bool(self.changed or self.sorted_at)

    @property
    def place(self) -> Place:
        """Where it is read."""
        elsewhere = bool(self.path) and os.path.abspath(self.name) != self.path
        return self.far or Path(self.sorted_at or (self.path if elsewhere else self.name))

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
        path = os.path.abspath(name)
        return LogFile(name, known, told.st_size, told.st_mtime, partition, path=path)
    return LogFile(name, known, told.size, told.mtime_ns / 1e9 if told.mtime_ns else 0.0, partition)


def files_of(source: str, kind: str | None) -> list[LogFile]:
    """The files of a log that is a file, a folder, a pattern or an address, in order."""
    source, kind = without_scheme(source), known_format(kind)
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
        inside = sorted(_inside(path))
        if not inside:
            raise LogError(
                f"{source}: the folder has no log files. Logs end in .parquet, .csv, .tsv, .arrow "
                "or .ndjson; names that begin with a point or an underscore are passed over."
            )
        return [
            replace(log_file(str(p), p.stat(), kind, parts), inner="/".join(parts))
            for p, parts in ((p, p.relative_to(path).parts) for p in inside)
        ]
    if any(mark in source for mark in "*?[") and not path.exists():
        import glob

        fixed, pattern = _fixed(source)
        wanted = os.path.join(glob.escape(fixed), pattern)
        found = sorted(p for p in glob.glob(wanted, recursive=True) if Path(p).is_file())
        if not found:
            raise LogError(f"{printable(source)}: no file fits this pattern. Check the path.")
        return [
            replace(
                log_file(p, Path(p).stat(), kind, Path(p).parts),
                inner=os.path.relpath(p, fixed or "."),
            )
            for p in found
        ]
    opened = open_log(source, kind)  # says what is wrong with it
    return [log_file(opened.name, path.stat(), kind)]


def _inside(root: Path) -> Iterator[Path]:
    """The log files in a folder and those in it. Folders that jumar wrote its results to, and
    those that a dataset is, are not looked into."""
    known = {os.path.realpath(root)}

    def unread(error: OSError) -> None:
        raise LogError(f"{error.filename}: cannot be opened: {error.strerror}. Leave it out, or "
                       "let it be read.") from error  # fmt: skip

    for folder, inner, names in os.walk(root, followlinks=True, onerror=unread):
        here = Path(folder)
        if here != root and (whole := folder_format(here)) is not None:
            raise LogError(
                f"{root}: {here.relative_to(root)} in it is a log of {whole}, which is read by "
                "itself. Give the path of one."
            )
        if {*names} >= RESULTS:
            inner[:], names = [], []
        inner[:] = [name for name in inner if not name.startswith(HIDDEN)]
        for name in [*inner]:  # a link may lead back
            where = os.path.realpath(here / name)
            if where in known:
                inner.remove(name)
            known.add(where)
        for name in names:
            path = here / name
            if not name.startswith(HIDDEN) and format_of(path) is not None and path.is_file():
                yield path


def _fixed(pattern: str) -> tuple[str, str]:
    """The folder at the beginning of a pattern that is there, whatever marks are in its name; and
    the rest."""
    parts = Path(pattern).parts
    n = max(i for i in range(len(parts)) if i == 0 or Path(*parts[:i]).is_dir())
    return os.path.join(*parts[:n]) if n else "", os.path.join(*parts[n:])


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
        hidden = any(part.startswith(HIDDEN) for part in inner.split("/"))
        known = kind or format_of(Path(entry.base_name))
        if entry.type == fs.FileType.File and address.fits(entry.path) and not hidden and known:
            far = FarFile(address.name_of(entry.path), system, entry.path, entry.size)
            file = log_file(far.name, entry, known, inner.split("/"))
            files.append(replace(file, far=far, inner=inner))
    if not files:
        raise LogError(f"{address.called}: there are no log files.")
    return files
