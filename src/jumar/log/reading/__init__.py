"""Logs in files: a long table with one row per step.

=============  ====================================================================
episode        any label; rows of one episode belong together, in order of `step` or
               `time` where there is such a column, else in the order of the file
observation    what was seen
action         what was done on it; empty in an extra last row that only carries the
               observation after an episode was cut off
reward         a finite number
terminated     true on the step with which the process ended by itself
node           optional: the memory node in which the controller says it was
propensity     optional: the probability with which the action was taken
cluster        optional: the person, plant or machine an episode belongs to
behavior       optional: the name of the controller that made the episode
signal:NAME    optional: another number that each step brings, more of which is better
=============  ====================================================================

Without a `terminated` column it must be said what the end of an episode means (`ends`): guessing
wrong would either invent endings or lose every last step. Other columns are ignored.

Batches of any source become columns of numbers (`loading`); rows are put in order and episodes
apart (`ordering`), and what they say is checked (`assembling`). Free to change: all of this, as
long as the same rows give the same episodes, and a bad one an error with file, row, column, fact
and remedy. A log that is read in parts (`jumar.log.shards`) must give the same, too.
"""

from __future__ import annotations

import gzip
import inspect
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jumar.core.errors import LogError
from jumar.core.files import replacing
from jumar.core.resources import Watch, journal
from jumar.core.text import counted
from jumar.log.episodes import Episodes
from jumar.log.files import open_logs
from jumar.log.formats import format_of, is_compressed, no_format, spooled
from jumar.log.reading.assembling import assemble
from jumar.log.reading.loading import load
from jumar.log.reading.options import (
    Ends,
    LogFiles,
    Missing,
    ReadOptions,
    Repeated,
    with_columns,
)
from jumar.log.reading.ordering import arrange
from jumar.log.reading.parts import find_parts

__all__ = ["Ends", "LogFiles", "Missing", "ReadOptions", "Repeated", "read_logs", "write_logs"]

WRITTEN = ("CSV", "TSV", "Parquet", "Arrow", "NDJSON")
_LINES = 1 << 14  # lines of NDJSON that are made at a time


@runtime_checkable
class ArrowTable(Protocol):
    """A table in memory: of pandas, polars, pyarrow, or anything else that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


File = str | os.PathLike[str]
Read = Callable[..., Episodes]


def _with_keywords(read: Read) -> Read:
    """The function with the keywords of `ReadOptions` in its signature and documentation."""
    own, options = inspect.signature(read), inspect.signature(ReadOptions)
    first = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    setattr(read, "__signature__", own.replace(parameters=[*first, *options.parameters.values()]))  # noqa: B010
    told = inspect.cleandoc(ReadOptions.__doc__ or "").partition("----------\n")[2]
    read.__doc__ = inspect.cleandoc(read.__doc__ or "").replace("**options", told.rstrip())
    return read


@_with_keywords
def read_logs(source: File | ArrowTable | Sequence[File], **options: Any) -> Episodes:
    """Read a log from CSV, TSV, Parquet, Arrow, NDJSON, JSON, Excel or Minari, or from a table in
    memory.

    Parameters
    ----------
    source
        A file, its address in a store (``"s3://bucket/log.csv"``), a pipe, "-" for standard input,
        a table of pandas, polars or pyarrow, a ``pyarrow.dataset``, or a dataset of Minari: its
        folder, or its name, as minari:namespace/name-v0. A folder of files, or a pattern such as
        ``"logs/*.csv"``, or several of them, are one log; its rows may lie in any order.
    **options

    Returns
    -------
    Episodes
        The log.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table(
    ...     {"bus": [7, 7, 9], "vibration": [0.4, 6.1, 3.0], "done": ["run", "fix", "run"]})
    >>> log = read_logs(
    ...     table, episode="bus", observation="vibration", action="done",
    ...     bins={"vibration": ("low", 2, "high")}, prices={"action:fix": -10}, ends="cut")
    >>> log.observations, log.observation.tolist(), log.reward.tolist()
    (('high', 'low'), [1, 0, 0], [0.0, -10.0, 0.0])

    A log that was saved by a spreadsheet in Berlin:

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("episode;time;observation;action;reward\\n"
    ...                        "1;31.05.2024;worn;fix;-1.234,5\\n1;07.06.2024;good;run;2\\n")
    ...     read_logs(path, ends="cut", decimal=",", dates="%d.%m.%Y").reward.tolist()
    [-1234.5, 2.0]
    """
    asked, watch = ReadOptions(**with_columns(options)), Watch()
    with spooled(source) as file:
        opened = open_logs(file, asked.file_format, asked.file, asked.each_file)
        found = assemble(arrange(load(opened, find_parts(opened, asked), asked), asked), asked)
    episodes, steps = counted(len(found), "episode"), counted(found.n_steps, "step")
    journal.info("Read %s: %s, %s (%s)", opened.name, episodes, steps, watch)
    return found


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
