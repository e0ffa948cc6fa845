"""Log files as a stream of batches: the columns that matter, and where each row stands.

Every format gives the same: the names of its columns, Arrow batches of those one asks for, and
where entry i stands (`Source`). Nothing here knows what a column means. Rows are counted as people
count them: in CSV and TSV the header is row 1 and blank lines count too, in NDJSON a row is a line,
and in Parquet, Arrow and tables in memory the first row is row 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jumar.core.errors import LogError
from jumar.core.registry import Registry
from jumar.io.formats.arrow import ArrowFile, ParquetFile, TableInMemory
from jumar.io.formats.delimited import DelimitedFile
from jumar.io.formats.lines import JsonLines
from jumar.io.formats.source import Source, naming, no_rows

__all__ = ["FORMATS", "LogFormat", "Source", "format_of", "is_compressed", "no_rows", "open_log"]


@dataclass(frozen=True)
class LogFormat:
    """A kind of file: how its name ends, and what reads it."""

    endings: tuple[str, ...]
    open: Callable[[Path], Source]
    compressed: bool = False  # may it end in .gz?


FORMATS: Registry[LogFormat] = Registry(
    "format",
    {
        "CSV": LogFormat((".csv",), partial(DelimitedFile, kind="CSV"), compressed=True),
        "TSV": LogFormat((".tsv",), partial(DelimitedFile, kind="TSV"), compressed=True),
        "Parquet": LogFormat((".parquet",), ParquetFile),
        "Arrow": LogFormat((".arrow", ".feather", ".ipc"), ArrowFile),
        "NDJSON": LogFormat((".ndjson", ".jsonl"), JsonLines),
    },
)


def is_compressed(path: Path) -> bool:
    """Whether the file is a compressed .csv.gz or .tsv.gz."""
    return path.suffix.lower() == ".gz"


def format_of(path: Path) -> str:
    """The format, by the ending of the name.

    >>> format_of(Path("log.csv.gz")), format_of(Path("LOG.jsonl"))
    ('CSV', 'NDJSON')
    """
    whole = path.with_suffix("") if is_compressed(path) else path
    for name, known in FORMATS.items():
        if whole.suffix.lower() in known.endings and known.compressed >= is_compressed(path):
            return name
    raise LogError(
        f"{path}: cannot tell the format; end the name in .csv or .parquet, or in .tsv, "
        ".arrow or .ndjson."
    )


def open_log(source: Any) -> Source:
    """The file at a path, or a table in memory: of pyarrow, pandas, polars or anything else that
    speaks the Arrow stream protocol."""
    if hasattr(source, "__arrow_c_stream__"):
        with naming("table", "Arrow"):
            return TableInMemory(source)
    path = Path(source)
    if path.is_dir():
        raise LogError(f"{path}: this is a directory. Give the path of a .csv or .parquet file.")
    if not path.is_file():
        raise LogError(f"{path}: there is no such file. Check the path.")
    kind = format_of(path)
    with naming(str(path), kind):
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty. A log needs a header and at least one row.")
        return FORMATS[kind].open(path)
