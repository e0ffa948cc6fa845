"""Log files as tables: the columns that matter, and the row each entry has in the file.

Arrow reads fast but says little about what is wrong, and nothing about where. So a CSV file it
refuses, or one with blank lines, which it passes over, is read once more by Python's own reader,
which knows the rows. Rows are counted as people count them: in CSV the header is row 1 and blank
lines count too; in Parquet the first row is row 1.
"""

from __future__ import annotations

import csv
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jumar.arrays import Ints
from jumar.errors import JumarError, LogError, not_one_of

NEEDED = ("episode", "observation", "action", "reward")
OPTIONAL = ("step", "terminated")


@dataclass(frozen=True)
class LogTable:
    """What was read. N rows."""

    table: Any  # a pyarrow Table
    parts: Mapping[str, str]  # which column plays which part
    row: Ints  # (N,) int64, where each row stands in the file


def format_of(path: Path) -> Literal["CSV", "Parquet"]:
    """The format, by the ending of the name."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise LogError(f"{path}: cannot tell the format; end the name in .csv or .parquet.")
    return "CSV" if ending == ".csv" else "Parquet"


def load(path: Path, columns: Mapping[str, str]) -> LogTable:
    """The columns of a log; `columns` gives those that are not called after their part."""
    import pyarrow as pa

    if path.is_dir():
        raise LogError(f"{path}: this is a directory. Give the path of a .csv or .parquet file.")
    if not path.is_file():
        raise LogError(f"{path}: there is no such file. Check the path.")
    kind = format_of(path)
    try:
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty. A log needs a header and at least one row.")
        read = _load_csv(path, columns) if kind == "CSV" else _load_parquet(path, columns)
    except JumarError:
        raise
    except (pa.ArrowException, csv.Error, OSError, ValueError) as error:
        fact = str(error).partition("\n")[0][:200].rstrip(".")
        raise LogError(
            f"{path}: cannot be read as {kind}: {fact}. Is the file complete and of that format?"
        ) from error
    if len(read.row) == 0:
        raise _no_rows(path)
    return read


def _load_parquet(path: Path, columns: Mapping[str, str]) -> LogTable:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        parts = _find_columns(path, file.schema_arrow.names, columns)
        table = file.read(list(dict.fromkeys(parts.values())))
    table.validate(full=True)  # a damaged file may hold text that is none, codes without a name
    return LogTable(table, parts, np.arange(1, table.num_rows + 1))


def _load_csv(path: Path, columns: Mapping[str, str]) -> LogTable:
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, read_csv

    header = next(filter(None, _records(path)), [])
    if any("\0" in cell or _not_utf8(cell) for cell in header):
        raise LogError(f"{path}: this is not CSV: its first line is not UTF-8 text.")
    parts = _find_columns(path, header, columns)
    text = {name: pa.string() for name in parts.values()}
    try:
        table = read_csv(
            path,
            parse_options=ParseOptions(newlines_in_values=True),
            convert_options=ConvertOptions(
                column_types=text,
                include_columns=list(text),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        _check_records(path, header)  # names the row, which Arrow's threads do not know
        raise
    return LogTable(table, parts, _rows_of_csv(path, table.num_rows))


def _records(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file one by one; blank lines are empty rows."""
    with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        yield from csv.reader(file)


def _not_utf8(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)  # "surrogateescape"


def _check_records(path: Path, header: Sequence[str]) -> None:
    filled = [(row, cells) for row, cells in enumerate(_records(path), 1) if cells]
    for row, cells in filled:
        if len(cells) != len(header):
            raise LogError(
                f"{path}, row {row}: has {len(cells)} cells, but the header has {len(header)}. Is "
                "a comma missing, or a quotation mark?"
            )
        for name, cell in zip(header, cells, strict=True):
            if _not_utf8(cell):
                raise LogError(
                    f"{path}, row {row}, column {name!r}: is not UTF-8 text. Save the file as "
                    "UTF-8."
                )
    if len(filled) < 2:
        raise _no_rows(path)


def _rows_of_csv(path: Path, n: int) -> Ints:
    """(N,) where the rows below the header stand; Arrow passes over blank lines."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        blank = data[:1] in b"\r\n" or any(
            data.find(pair) >= 0 for pair in (b"\n\n", b"\n\r", b"\r\r")
        )
    if blank:
        rows = [row for row, cells in enumerate(_records(path), 1) if cells][1:]
        if len(rows) == n:
            return np.array(rows, np.int64)
    return np.arange(2, n + 2)


def _no_rows(path: Path) -> LogError:
    return LogError(f"{path}: the log is empty: it has no rows. Give at least one episode.")


def _find_columns(path: Path, found: Sequence[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Which column plays which part."""
    parts = {}
    for part in (*NEEDED, *OPTIONAL):
        name = wanted.get(part, part)
        if found.count(name) > 1:
            raise LogError(
                f"{path}: there are {found.count(name)} columns {name!r}. Rename all but one."
            )
        if name in found:
            parts[part] = name
        elif part in NEEDED or part in wanted:
            one = len(found) == 1 and any(mark in found[0] for mark in ";\t|")
            remedy = (
                f"If it has another name, say so: columns={{'{part}': ...}} (--columns {part}=...)."
            )
            if one:
                remedy = "Separate the columns by commas."
            raise LogError(
                f"{path}: no column for the {part}: {not_one_of('column', name, found)} {remedy}"
            )
    return parts
