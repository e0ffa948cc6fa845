"""A log in files that nobody has read yet: where it lies, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from jumar.log.formats import is_dataset

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

LogSource: TypeAlias = "str | os.PathLike[str] | Dataset"
Progress = Callable[[int, int], None]  # rows that are done, and all


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
