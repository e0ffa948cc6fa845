"""A log in files that nobody has read yet: where it lies, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from jumar.core.errors import ParameterError
from jumar.io.addresses import as_typed
from jumar.io.formats import FileOptions, is_dataset
from jumar.io.log_files import LogFile, files_of

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from jumar.core.controller import Controller
    from jumar.core.episodes import Episodes

LogSource: TypeAlias = "str | os.PathLike[str] | Dataset"
Progress = Callable[[int, int], None]  # rows that are done, and all
BYTES_OF_A_ROW = 40  # of text, more or less
BYTES_OF_PACKED = 4  # the same in Parquet, of which one would have to read the end


@dataclass(frozen=True)
class LogFiles:
    """A log in files, for whoever decides how to read it: at once, or, if it is too large for
    that, in parts where it lies.

    Parameters
    ----------
    sources
        A file, a folder, a pattern such as ``"logs/*.parquet"``, an address such as
        ``"s3://bucket/logs"``, a ``pyarrow.dataset``, or several of them. In parts they are read in
        order: sorted by episode, then by step.
    reading
        How the logs are written, as for `read_logs`: ``{"ends": "cut", "columns": {...}}``.
    sort
        Rows lie anywhere: where the log is read in parts, sort it first, on disk, which needs
        DuckDB (``pip install 'jumar[duckdb]'``).
    engine
        Who reads the parts: "here" (threads), "processes", or "dask".
    jobs
        How many parts at once; all cores by default.
    scheduler
        The address of a running Dask cluster.
    progress
        Called with the rows that are done, and all.

    Examples
    --------
    >>> LogFiles("logs/*.parquet", {"ends": "cut"}, engine="processes").jobs is None
    True
    """

    sources: LogSource | Sequence[LogSource]
    reading: Mapping[str, Any] = field(default_factory=dict)
    sort: bool = False
    engine: str = "here"
    jobs: int | None = None
    scheduler: str | None = None
    progress: Progress | None = None

    @property
    def listed(self) -> list[LogSource]:
        """The sources, one by one."""
        one = isinstance(self.sources, str | os.PathLike) or is_dataset(self.sources)
        return [self.sources] if one else list(self.sources)  # type: ignore[arg-type]

    @property
    def workers(self) -> dict[str, Any]:
        """Who reads the parts, for whoever tells them to."""
        return {
            "engine": self.engine,
            "jobs": self.jobs,
            "scheduler": self.scheduler,
            "progress": self.progress,
        }

    @property
    def rows(self) -> int:
        """How many there are, more or less, without reading any."""
        files = []
        for source in self.listed:
            if is_dataset(source):
                from jumar.large.datasets import dataset_files

                files += dataset_files(source, FileOptions())
            elif _lies_somewhere(as_typed(source)):
                files += files_of(as_typed(source), self.reading.get("file_format"))
        return sum(_rows(file) for file in files)

    def read(
        self, like: Controller | None = None, columns: Mapping[str, str] | None = None
    ) -> Episodes:
        """All of it, with names numbered as a controller does, and with more columns."""
        from jumar.io.logs import read_logs

        reading = dict(self.reading)
        if columns is not None:
            reading["columns"] = {**(reading.get("columns") or {}), **columns}
        if like is not None:
            reading |= {"observations": like.observations, "actions": like.actions}
        sources = self.listed
        if not sources:
            raise ParameterError("logs: there is nothing to read. Give a file or a folder.")
        return read_logs(sources[0] if len(sources) == 1 else sources, **reading)


def _lies_somewhere(source: str) -> bool:
    """Can one look at the size of it? One cannot of a pipe, or of a dataset that has a name."""
    from jumar.io.several import is_several

    return "://" in source or is_several(source) or Path(source).is_file()


def _rows(file: LogFile) -> int:
    path = Path(file.name)
    if path.suffix == ".parquet" and path.is_file():
        from jumar.large.shards import rows_of_parquet

        return rows_of_parquet(path)
    return file.size // (BYTES_OF_PACKED if file.kind == "Parquet" else BYTES_OF_A_ROW)
