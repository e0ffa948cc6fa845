"""The files of a log, each with its name, what it holds, and where its bytes are; and several of
them read as one.

A log may be a file, a folder, a pattern (``logs/2024-*.csv``), here or in a store, a
``pyarrow.dataset``, or several of them. Rows come file by file, in the order of the names; messages
say in which file a row stands. Folders that are called ``key=value`` (hive partitions) are columns
of that name in every file within.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, ParameterError
from jumar.core.reading import FileRows
from jumar.core.text import listing, printable, visible
from jumar.log.addresses import Address, as_typed, is_address, shown_address, without_scheme
from jumar.log.formats import (
    FarFile,
    FileOptions,
    Source,
    Spooled,
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
SEMICOLONS = "semicolons"  # between columns
NUMBERED = ":"  # between the name of a file and the label of an episode
OF_DATASETS = {"parquet": "Parquet", "csv": "CSV", "arrow": "Arrow", "feather": "Arrow",
               "json": "NDJSON"}  # fmt: skip


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
        raise LogError(f"{address.called}: there is no such file or folder. Check the name.")
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
        raise LogError(
            f"{address.called}: there are no log files. Their names must end in .csv, .parquet or "
            "another format, and begin with no point or underscore; or say --format CSV."
        )
    return files


# ---- datasets of pyarrow ------------------------------------------------------------------------


def dataset_files(dataset: Any) -> list[LogFile]:
    """The files of a ``pyarrow.dataset``, in its order and from its store, with the columns that
    its folders tell. They are read as any others."""
    try:
        files = [_of_fragment(fragment) for fragment in dataset.get_fragments()]
    except ValueError as error:  # so pyarrow says that it is filtered
        raise LogError(
            "dataset: it is filtered, and a log is counted as a whole. Leave the filter out."
        ) from error
    if not files:
        raise LogError("dataset: it has no files. Check the path, or the format it was opened as.")
    return files


def _of_fragment(fragment: Any) -> LogFile:
    from pyarrow.dataset import get_partition_keys

    path = getattr(fragment, "path", "")
    if not path:
        raise LogError(
            "dataset: it lies in memory, and need not be read in parts. Pass it to "
            "jumar.read_logs or jumar.improve; or write it into a file."
        )
    kind = OF_DATASETS.get(fragment.format.default_extname)
    if kind is None:
        raise LogError(f"{path}: {fragment.format.default_extname} is not read. Write it as "
                       "Parquet.")  # fmt: skip
    folder, system = _local_folder(fragment.filesystem), fragment.filesystem
    words = re.findall(r"[a-z0-9]+", system.type_name.rpartition("+")[2])
    name = f"{words[0] if words else 'store'}://{path}" if folder is None else str(folder / path)
    with naming(name, kind):
        groups = getattr(fragment, "row_groups", None) if kind == "Parquet" else None
        if groups is not None and len(groups) < fragment.metadata.num_row_groups:
            raise LogError(
                f"{name}: the dataset has only some row groups of this file, and files are counted "
                "as a whole. Write these rows into a file of their own."
            )
        if folder is not None:
            file = log_file(name, os.stat(name), kind)
        else:
            info = system.get_file_info(path)
            far = FarFile(name, system, path, info.size or 0)
            file = replace(log_file(name, info, kind), far=far)
    told = get_partition_keys(fragment.partition_expression)
    columns = ((key, "" if value is None else str(value)) for key, value in told.items())
    return replace(file, partition=tuple(columns))


def _local_folder(system: Any) -> Path | None:
    """The folder that paths begin in, of a file system on this machine; None of others."""
    from pyarrow import fs

    if isinstance(system, fs.LocalFileSystem):
        return Path()
    if isinstance(system, fs.SubTreeFileSystem):
        folder = _local_folder(system.base_fs)
        return None if folder is None else folder / system.base_path
    return None


# ---- several files as one -----------------------------------------------------------------------


def open_logs(
    source: Any,
    kind: str | None = None,
    options: FileOptions | None = None,
    each_file: bool = False,
) -> Source:
    """What `open_log` opens, or a log in several files."""
    options = options or FileOptions()
    if isinstance(source, list | tuple) and all(isinstance(s, str | os.PathLike) for s in source):
        files = [file for one in source for file in files_of(as_typed(one), kind)]
        return SeveralFiles(f"{len(files):,} files", files, options, each_file)
    plain = isinstance(source, str | os.PathLike) and not isinstance(source, Spooled)
    name = without_scheme(as_typed(source)) if plain else ""
    if plain and is_several(name):
        return SeveralFiles(shown_address(name), files_of(name, kind), options, each_file)
    opened = open_log(name if plain and name != as_typed(source) else source, kind, options)
    if each_file:
        raise ParameterError(
            f"each_file: {opened.name} is one file. Leave it out (--each-file), or give a "
            "folder of logs."
        )
    return opened


def is_several(source: str | os.PathLike[str]) -> bool:
    """Is it a folder of logs or a pattern, here or in a store?"""
    text = without_scheme(as_typed(source))
    if is_address(text):
        return Address.of(text).is_folder()
    path = Path(located(text))
    if path.is_dir():
        return folder_format(path) is None
    return any(mark in str(path) for mark in "*?[") and not path.exists()


class SeveralFiles(Source):
    """Files one after the other. F of them."""

    def __init__(
        self, name: str, files: Sequence[LogFile], options: FileOptions, each_file: bool = False
    ) -> None:
        self.sources = [open_file(file, options) for file in files]
        self.labels = [file.label for file in files] if each_file else []  # by which to tell apart
        first = self.sources[0]
        self.name, self.advice = name, first.advice
        separators = [one.separator for one in self.sources]  # semicolons come with decimal commas
        self.separator = SEMICOLONS if SEMICOLONS in separators else first.separator
        self.names = [*dict.fromkeys(column for one in self.sources for column in one.names)]
        self.may_have_more = any(one.may_have_more for one in self.sources)
        self.has_points = any(one.has_points for one in self.sources)
        self.guessed = tuple(dict.fromkeys(said for one in self.sources for said in one.guessed))
        self.seen: set[str] = set()
        if all(one.metadata == first.metadata for one in self.sources):
            self.metadata = first.metadata
        self._rows: list[Array] = []

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        files: list[FileRows] = []
        self.files, self._rows, before = files, [], 0
        for source in self.sources:
            files.append(FileRows(before, visible(source.name)))  # checks show them
            n = 0
            try:
                for batch in source.batches(columns, text):
                    n += batch.num_rows
                    yield batch
            except LogError as error:
                if not error.no_rows:
                    raise
            self.seen.update(source.seen if source.may_have_more else source.names)
            self._rows.append(source.rows(n).astype(np.int64) + before)
            before = int(self._rows[-1][-1]) if n else before

    @property
    def in_all(self) -> list[str]:
        return [name for name in self.names if all(name in s.names for s in self.sources)]

    def rows(self, n: int) -> Array:
        return np.concatenate(self._rows)[:n]


def in_file(label: str, labels: Any) -> Any:
    """Labels of episodes with that of their file before them, where they are numbered anew in
    each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(pa.scalar(label), labels.cast(pa.string()), NUMBERED)


# ---- one file of several ------------------------------------------------------------------------


def open_file(file: LogFile, options: FileOptions) -> Source:
    """A file as a source, with the columns that its folders tell."""
    source = open_untold(file, options)
    return _ToldToo(source, dict(file.partition)) if file.partition else source


def open_untold(file: LogFile, options: FileOptions) -> Source:
    """A file as a source, with its own columns."""
    source = open_log(file.place, file.kind, options)
    source.name = file.name
    return source


class _ToldToo(Source):
    """A file with the columns that its folders tell; these hold, if it has them too."""

    def __init__(self, source: Source, told: Mapping[str, str]) -> None:
        vars(self).update(vars(source))
        self._source, self._told = source, told
        self.may_have_more, self.has_points = source.may_have_more, source.has_points
        self.names = [*source.names, *(key for key in told if key not in source.names)]

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        inside = [name for name in columns if name not in self._told]
        for batch in self._source.batches(inside, text):
            if self.may_have_more:
                self.seen = {*self._source.seen, *self._told}
            yield with_told(batch, columns, self._told)

    def rows(self, n: int) -> Array:
        return self._source.rows(n)


def with_told(batch: Any, columns: Sequence[str], told: Mapping[str, str]) -> Any:
    """With the columns that the folders of the file tell."""
    import pyarrow as pa

    missing = [name for name in columns if name not in batch.schema.names and name in told]
    for name in missing:
        words = pa.DictionaryArray.from_arrays(
            pa.array([0] * batch.num_rows, pa.int32()), pa.array([told[name]], pa.string())
        )
        batch = batch.append_column(name, words)
    return batch


def check_columns(file: str, names: Collection[str], wanted: Collection[str]) -> None:
    """Has a file all columns that the first one has?"""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise LogError(
            f"{file}: has no column {listing([printable(m) for m in missing])}, which the "
            f"other files have. Leave the file out, or give it the same columns."
        )
