"""Writing a log, in the formats it can be read from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from jumar.core.errors import LogError
from jumar.core.files import replacing
from jumar.log.episodes import Episodes
from jumar.log.formats import format_of, is_compressed, no_format

WRITTEN = ("CSV", "TSV", "Parquet", "Arrow", "NDJSON")
_LINES = 1 << 14  # lines of NDJSON that are made at a time


def write_logs(log: Episodes, path: str | Path) -> None:
    """Write a log in the format that the ending of the name says.

    That is CSV, TSV, Parquet, Arrow or NDJSON. Parquet and Arrow also keep the names that never
    occurred.

    Parameters
    ----------
    log
        The log.
    path
        The file.

    Returns
    -------
    None
        The file is written whole or not at all.
    """
    path = Path(path)
    kind = format_of(path)
    if kind is None:
        raise no_format(path)
    if kind not in WRITTEN:
        raise LogError(f"{path}: {kind} is read, not written. Choose {', '.join(WRITTEN)}.")
    try:
        table = log.to_arrow()
    except UnicodeEncodeError as error:
        raise LogError(
            f"{path}: the name {error.object!r} has half a character (a lone surrogate), which no "
            "file can hold. Choose another name."
        ) from error
    with replacing(path) as temporary:
        _write(table, temporary, kind, is_compressed(path))


def _write(table: Any, path: Path, kind: str, compressed: bool) -> None:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    if kind == "Parquet":
        parquet.write_table(table, path)
    elif kind == "Arrow":
        with ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    elif kind == "NDJSON":
        opened = gzip.open if compressed else open
        with opened(path, "wt", encoding="utf-8", newline="\n") as lines:
            for batch in table.to_batches(_LINES):
                for row in batch.to_pylist():
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    else:
        options = csv.WriteOptions(delimiter="," if kind == "CSV" else "\t")
        with pa.output_stream(str(path), compression="gzip" if compressed else None) as stream:
            csv.write_csv(table, stream, options)
