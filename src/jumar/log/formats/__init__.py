"""Log files as a stream of batches: the columns that matter, and where each row stands.

Every format gives the same: the names of its columns, Arrow batches of those one asks for, and
where entry i stands (`Source`). Nothing here knows what a column means. Rows are counted as people
count them: in CSV and TSV the header is row 1 and blank lines count too, in NDJSON a row is a line,
in Excel it has the number that Excel shows, and in Parquet, Arrow, JSON, Minari and tables in
memory the first row is row 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from jumar.core.errors import LogError, ParameterError, not_one_of
from jumar.core.registry import Registry
from jumar.core.text import printable
from jumar.log.addresses import Address, as_typed, is_address
from jumar.log.formats.arrow import ArrowFile, DatasetRows, ParquetFile, TableInMemory, is_dataset
from jumar.log.formats.delimited import DelimitedFile, check_separator
from jumar.log.formats.excel import ExcelFile
from jumar.log.formats.minari import MinariFolder, is_minari, located
from jumar.log.formats.objects import JsonObjects, ndjson
from jumar.log.formats.places import (
    FarFile,
    Place,
    Spooled,
    check_encoding,
    format_by_content,
    is_compressed,
    spooled,
)
from jumar.log.formats.source import Source, naming, no_rows

__all__ = [
    "FORMATS",
    "FarFile",
    "FileOptions",
    "LogFormat",
    "Source",
    "Spooled",
    "collected",
    "folder_format",
    "format_of",
    "is_compressed",
    "is_dataset",
    "located",
    "no_format",
    "no_rows",
    "open_log",
    "spooled",
]


@dataclass(frozen=True)
class FileOptions:
    """How a file is written, where its name does not tell; nothing where it shall be recognised."""

    separator: str | None = None  # what stands between columns
    encoding: str | None = None  # of text; nothing for UTF-8
    turns: str | None = None  # the key of the list that holds the steps
    sheet: str | None = None  # of a workbook

    def __post_init__(self) -> None:
        for name in ("turns", "sheet"):
            if getattr(self, name) == "":
                raise ParameterError(f"{name}: is empty. Write a name, or leave it out.")
        for name, check in (("separator", check_separator), ("encoding", check_encoding)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check(value))

    def for_format(self, kind: str, known: Collection[str] = ()) -> dict[str, str]:
        """The options that were given, for a format that must know all of them."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        for name, value in given.items():
            if name not in known:
                raise ParameterError(
                    f"{name}: {printable(value)!r} says nothing about {kind}. Leave {name} "
                    f"(--{name}) out, or say which format it is (--format)."
                )
        return given


@dataclass(frozen=True)
class LogFormat:
    """A kind of file: how its name ends, and what reads it."""

    endings: tuple[str, ...]
    open: Callable[..., Source]  # of a path, with the options it knows as keywords
    compressed: bool = False  # may it end in .gz?
    options: tuple[str, ...] = ()  # of `FileOptions`; "name": how messages shall call the file
    is_folder: Callable[[Path], bool] | None = None  # does a folder hold such a log?


_DELIMITED = ("name", "separator", "encoding")
_JSON = ("name", "encoding", "turns")

FORMATS: Registry[LogFormat] = Registry(
    "format",
    {
        "CSV": LogFormat((".csv",), partial(DelimitedFile, kind="CSV"), True, _DELIMITED),
        "TSV": LogFormat((".tsv",), partial(DelimitedFile, kind="TSV"), True, _DELIMITED),
        "Parquet": LogFormat((".parquet",), ParquetFile, options=("name",)),
        "Arrow": LogFormat((".arrow", ".feather", ".ipc"), ArrowFile, options=("name",)),
        "NDJSON": LogFormat((".ndjson", ".jsonl"), ndjson, True, _JSON),
        "JSON": LogFormat((".json",), partial(JsonObjects, kind="JSON"), True, _JSON),
        "Excel": LogFormat((".xlsx", ".xlsm"), ExcelFile, options=("name", "sheet")),
        "Minari": LogFormat((), MinariFolder, options=("name",), is_folder=is_minari),
    },
)

_WHICH = "file_format='CSV' (--format CSV)"


def format_of(path: Path) -> str | None:
    """The format, by the ending of the name; nothing if it does not tell."""
    whole = path.with_suffix("") if is_compressed(path) else path
    for name, known in FORMATS.items():
        if whole.suffix.lower() in known.endings and known.compressed >= is_compressed(path):
            return name
    return None


def folder_format(path: Path) -> str | None:
    """The format of a log that is a folder; nothing if it is just a folder."""
    found = (n for n, known in FORMATS.items() if known.is_folder and known.is_folder(path))
    return next(found, None)


def no_format(path: object, more: str = "") -> LogError:
    """The error for a name that does not tell the format."""
    return LogError(
        f"{path}: cannot tell the format; end the name in .csv or .parquet, or in .tsv, "
        f".arrow or .ndjson{more}."
    )


def known_format(name: str | None) -> str | None:
    """The name of a format, whatever its capitals."""
    known = {known.lower(): known for known in FORMATS}
    if name is not None and str(name).lower() not in known:
        raise ParameterError("file_format: " + not_one_of("format", name, FORMATS))
    return known.get(str(name).lower())


def collected(source: Any) -> Any:
    """The table that a lazy one of Polars stands for; anything else as it is."""
    lazy = hasattr(source, "collect_schema") and not hasattr(source, "__arrow_c_stream__")
    return source.collect() if lazy else source


def open_log(source: Any, kind: str | None = None, options: FileOptions | None = None) -> Source:
    """The file at a path or address, or a table in memory: of pyarrow, pandas, polars or anything
    else that speaks the Arrow stream protocol; or a folder or name of a dataset, or one of pyarrow.
    A pipe must have been `spooled`."""
    options, source = options or FileOptions(), collected(source)
    if hasattr(source, "__arrow_c_stream__"):
        options.for_format("a table in memory")
        return _table(source)
    if is_dataset(source):
        options.for_format("a data set")
        return DatasetRows(source)
    if not isinstance(source, str | os.PathLike | FarFile):
        raise ParameterError(
            f"{printable(repr(source)[:40])} is no log. Pass a file, or a table with named columns."
        )
    name = as_typed(str(source))
    if not isinstance(source, FarFile | Spooled) and is_address(name):
        source = far_file(name)
    if isinstance(source, FarFile):
        kind = kind or format_of(Path(source.path)) or _untold(source.name)
        if FORMATS[kind].is_folder is not None:
            raise LogError(f"{source}: {kind} is not read from there. Copy it first.")
        return _opened(source, source.name, kind, options, source.size)
    if isinstance(source, Spooled):
        if not (size := source.path.stat().st_size):
            fact = "nothing came in. A log needs a header and at least one row."
            raise LogError(f"{source.name}: {fact}")
        kind = kind or format_of(Path(source.given)) or format_by_content(source.path)
        if kind is None:
            raise LogError(f"{source.name}: cannot tell the format. Say which it is: {_WHICH}.")
        return _opened(source.path, source.name, kind, options, size)
    name, path = str(source), Path(located(source))
    if path.is_dir():
        kind = kind or folder_format(path)
        if kind is None or FORMATS[kind].is_folder is None:
            raise LogError(
                f"{path}: this is a directory. Give the path of a .csv or .parquet file."
            )
        return _opened(path, name, kind, options)
    if not path.is_file():
        if path.exists():
            raise LogError(f"{path}: this is a device, not a file. To read from a pipe, say -.")
        raise LogError(f"{path}: there is no such file. Check the path.")
    kind = kind or format_of(path) or _untold(name)
    return _opened(path, name, kind, options, path.stat().st_size)


def _untold(name: str) -> NoReturn:
    raise no_format(name, f"; or say which it is: {_WHICH}")


def _table(source: Any) -> Source:
    try:
        with naming("table", "Arrow"):
            return TableInMemory(source)
    except TypeError as error:  # columns that Arrow does not know, such as sparse ones
        said = printable(str(error).rstrip("."))
        raise LogError(f"table: cannot be read as Arrow: {said}. Convert the column.") from error


def far_file(text: str) -> FarFile:
    """The file at an address in a store."""
    from pyarrow import fs

    address = Address.of(text)
    system, path = address.opened()
    info = address.asked(system.get_file_info, path)
    if info.type == fs.FileType.NotFound:
        raise LogError(f"{address.called}: there is no such file. Check the address.")
    if info.type != fs.FileType.File:
        raise LogError(
            f"{address.called}: this is a folder. Give the address of a file; or read "
            "the folder in parts: jumar improve, jumar count."
        )
    return FarFile(address.name_of(path), system, path, info.size)


def _opened(place: Place, name: str, kind: str, options: FileOptions, size: int = 1) -> Source:
    known = FORMATS[kind]
    with naming(name, kind):
        if size == 0:
            raise LogError(f"{name}: the file is empty. A log needs a header and at least one row.")
        chosen: dict[str, str] = options.for_format(kind, known.options)
        if "name" in known.options:
            chosen = {**chosen, "name": name}
        return known.open(place, **chosen)
