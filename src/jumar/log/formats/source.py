"""What all log formats share, and how errors of other libraries become our own errors."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import JumarError, LogError
from jumar.core.reading import Files
from jumar.core.text import shown

BATCH_ROWS = 1 << 18  # of a format that is not read in blocks of bytes


class Source(ABC):
    """A log file that is being read."""

    name: str  # how messages call it
    names: list[str]  # its columns; in NDJSON those of the first megabyte
    may_have_more = False  # whether a column may come up later that is not among `names`,
    seen: set[str]  # and then those that have come up so far
    separator = ""  # what stands between the columns, if the file is text: commas, tabs
    metadata: bytes | None = None  # what write_logs has left there
    guessed: tuple[str, ...] = ()  # what was recognised and not said, for the remarks
    advice = ""  # what may be meant where a column is not found
    once: Collection[str] = ()  # columns that say one thing for a whole list of turns
    has_points = False  # numbers have a decimal point, whatever people write elsewhere
    files: Files = ()  # where it is several files: those that were read so far

    @abstractmethod
    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        """Arrow batches of these columns; those in `text` hold names, not numbers."""

    @property
    def in_all(self) -> list[str]:
        """The columns that every file has, where it is several."""
        return self.names

    def rows(self, n: int) -> Array:
        """(n,) where the first n entries stand in the file (`jumar.core.reading`)."""
        return np.arange(1, n + 1, dtype=np.int32)


@contextmanager
def naming(name: str, kind: str, *more: type[Exception]) -> Iterator[None]:
    """An error of a library about a damaged file, as one that names the file and the remedy."""
    import pyarrow as pa

    try:
        yield
    except JumarError:
        raise
    except (pa.ArrowException, csv.Error, OSError, ValueError, *more) as error:
        said = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        fact = shown(said, most=200, cut="...")
        raise LogError(
            f"{name}: cannot be read as {kind}: {fact}. Is the file complete and of that format?"
        ) from error


def no_rows(name: str) -> LogError:
    """The error for a log without rows."""
    found = LogError(f"{name}: the log is empty: it has no rows. Give at least one episode.")
    found.no_rows = True
    return found


def sliced(batch: Any) -> Iterator[Any]:
    """A batch in pieces that are small beside the log."""
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)


def text_batch(cells: dict[str, list[str | None]]) -> Any:
    """A batch of columns of text."""
    import pyarrow as pa

    return pa.record_batch({name: pa.array(texts, pa.string()) for name, texts in cells.items()})
