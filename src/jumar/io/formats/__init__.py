"""Log files as a stream of batches: the columns that matter, and where each row stands.

Every format gives the same: the names of its columns, Arrow batches of those one asks for, and
where entry i stands (`Source`). Nothing here knows what a column means. Rows are counted as people
count them: in CSV and TSV the header is row 1 and blank lines count too, in NDJSON a row is a line,
and in Parquet, Arrow and tables in memory the first row is row 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from jumar.core.errors import LogError
from jumar.io.formats.arrow import ArrowFile, ParquetFile, TableInMemory
from jumar.io.formats.delimited import DelimitedFile
from jumar.io.formats.lines import JsonLines
from jumar.io.formats.source import Source, naming, no_rows

Format = Literal["CSV", "TSV", "Parquet", "Arrow", "NDJSON"]
ENDINGS: dict[str, Format] = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".ndjson": "NDJSON",
    ".jsonl": "NDJSON",
}

__all__ = ["Format", "Source", "format_of", "is_compressed", "no_rows", "open_log"]


def is_compressed(path: Path) -> bool:
    """Whether the file is a compressed .csv.gz or .tsv.gz."""
    return path.suffix.lower() == ".gz"


def format_of(path: Path) -> Format:
    """The format, by the ending of the name.

    >>> format_of(Path("log.csv.gz")), format_of(Path("LOG.jsonl"))
    ('CSV', 'NDJSON')
    """
    whole = path.with_suffix("") if is_compressed(path) else path
    kind = ENDINGS.get(whole.suffix.lower())
    if kind is None or (is_compressed(path) and kind not in ("CSV", "TSV")):
        raise LogError(
            f"{path}: cannot tell the format; end the name in .csv or .parquet, or in .tsv, "
            ".arrow or .ndjson."
        )
    return kind


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
        if kind == "CSV" or kind == "TSV":
            return DelimitedFile(path, kind, is_compressed(path))
        if kind == "NDJSON":
            return JsonLines(path)
        return ParquetFile(path) if kind == "Parquet" else ArrowFile(path)
