"""A ``pyarrow.dataset.Dataset`` as the files of a log.

What a data set knows is taken from it: which files, in which order, in which store and with which
credentials, and the columns that its folders tell (hive or any other partitioning). The files are
then read as any others. So a data set may be of any size, and only the names of its files travel to
workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jumar.core.errors import LogError
from jumar.core.text import shown
from jumar.log.files import LogFile, log_file
from jumar.log.formats import FarFile, FileOptions, format_of
from jumar.log.formats.delimited import MARKS
from jumar.log.formats.source import naming

KINDS = {"parquet": "Parquet", "csv": "CSV", "arrow": "Arrow", "feather": "Arrow", "json": "NDJSON"}
SCHEMES = {"gcs": "gs"}


def dataset_files(dataset: Any, options: FileOptions) -> list[LogFile]:
    """The files of a data set, in its order."""
    fragments = [_checked(fragment, options) for fragment in _fragments(dataset)]
    if not fragments:
        raise LogError("dataset: it has no files. Check the path, or the format it was opened as.")
    files: list[LogFile] = []
    for system, some in _by_system(fragments):
        files += _files(system, some)
    return files


def _fragments(dataset: Any) -> list[Any]:
    try:
        return list(dataset.get_fragments())
    except ValueError as error:  # so pyarrow says that it is filtered
        raise LogError(
            "dataset: it is filtered, and a log is counted as a whole. Leave the filter out; or "
            "choose files: pyarrow.dataset.FileSystemDataset(list(dataset.get_fragments(filter)), "
            "dataset.schema, dataset.format, dataset.filesystem)."
        ) from error


def _checked(fragment: Any, options: FileOptions) -> Any:
    from pyarrow import dataset

    if not isinstance(fragment, dataset.FileFragment):
        raise LogError(
            "dataset: it lies in memory, and need not be read in parts. Pass it to "
            "jumar.read_logs or jumar.improve; or write it into a file."
        )
    if not fragment.path:
        raise LogError("dataset: it was made of an open file. Make it of a path.")
    name = shown(_name(fragment.filesystem, fragment.path), most=300)
    kind = fragment.format.default_extname
    if kind not in KINDS:
        raise LogError(f"{name}: {kind} is not read. Write it as Parquet.")
    if isinstance(fragment, dataset.ParquetFileFragment):
        with naming(name, "Parquet"):
            if len(fragment.row_groups) < fragment.metadata.num_row_groups:
                raise LogError(
                    f"{name}: the dataset has only some row groups of this file, and "
                    "files are counted as a whole. Write these rows into a file of their own."
                )
    if isinstance(fragment.format, dataset.CsvFileFormat):
        _check_csv(name, fragment.format, options)
    return fragment


def _check_csv(name: str, form: Any, options: FileOptions) -> None:
    """What was said of the text is recognised once more, or must be said to us, too."""
    mark, read = form.parse_options.delimiter, form.default_fragment_scan_options.read_options
    if read.column_names or read.autogenerate_column_names or read.skip_rows:
        raise LogError(
            f"{name}: the dataset names the columns itself. A log needs a header: write "
            "the names into the first row of each file."
        )
    if mark not in MARKS and options.separator is None:
        raise LogError(f"{name}: say what stands between columns: separator={mark!r}.")
    if read.encoding.lower() not in ("utf8", "utf-8") and options.encoding is None:
        raise LogError(f"{name}: say how it is encoded: encoding={read.encoding!r}.")


def _by_system(fragments: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Neighbours in one file system; that is one object then, and travels once."""
    some: list[Any] = []
    system = fragments[0].filesystem
    for fragment in fragments:
        if not fragment.filesystem.equals(system):
            yield system, some
            system, some = fragment.filesystem, []
        some.append(fragment)
    yield system, some


def _files(system: Any, fragments: Sequence[Any]) -> Iterator[LogFile]:
    from pyarrow import dataset

    folder = _local_folder(system)
    paths = [fragment.path for fragment in fragments]
    infos: list[Any] = [None] * len(paths)
    if folder is None:
        with naming(_name(system, paths[0]), "a log"):
            infos = system.get_file_info(paths)
    for fragment, path, info in zip(fragments, paths, infos, strict=True):
        kind = KINDS[fragment.format.default_extname]
        if kind == "CSV" and format_of(Path(path)) == "TSV":
            kind = "TSV"
        told = dataset.get_partition_keys(fragment.partition_expression)
        columns = tuple((key, "" if value is None else str(value)) for key, value in told.items())
        if folder is not None:
            here = str(Path(folder, path))
            with naming(here, kind):
                file = log_file(here, Path(here).stat(), kind)
        else:
            far = FarFile(_name(system, path), system, path, info.size or 0)
            file = replace(log_file(far.name, info, kind), far=far)
        yield replace(file, partition=columns)


def _local_folder(system: Any) -> str | None:
    """The folder that paths begin in, of a file system on this machine; None of others."""
    from pyarrow import fs

    if isinstance(system, fs.LocalFileSystem):
        return ""
    if isinstance(system, fs.SubTreeFileSystem):
        folder = _local_folder(system.base_fs)
        return None if folder is None else str(Path(folder, system.base_path))
    return None


def _name(system: Any, path: str) -> str:
    """How messages call a file.

    >>> from pyarrow import fs
    >>> _name(fs.S3FileSystem(anonymous=True, region="us-east-1"), "bucket/a.csv")
    's3://bucket/a.csv'
    """
    from pyarrow import fs

    folder = _local_folder(system)
    if folder is not None:
        return str(Path(folder, path))
    if isinstance(system, fs.SubTreeFileSystem):
        return _name(system.base_fs, system.base_path.rstrip("/") + "/" + path)
    words = re.findall(r"[a-z0-9]+", system.type_name.rpartition("+")[2])
    scheme = words[0] if words else "store"
    return f"{SCHEMES.get(scheme, scheme)}://{path}"
