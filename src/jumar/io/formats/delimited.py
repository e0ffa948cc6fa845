"""CSV and TSV: text in rows.

Arrow reads fast but says little about what is wrong, and nothing about where. So a file it refuses,
or one with blank lines, which it passes over, is read once more by Python's own reader, which knows
the rows.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError
from jumar.io.formats.source import Source, naming, no_rows

BLOCK = 1 << 22  # bytes read at a time; no cell can be longer
MARKS = {"CSV": ",", "TSV": "\t"}
SEPARATORS = {"CSV": "commas", "TSV": "tabs"}
BLANKS = (b"\n\n", b"\n\r", b"\r\r")


class DelimitedFile(Source):
    """A CSV or TSV file, perhaps compressed. All columns are handed on as text."""

    def __init__(self, path: Path, kind: Literal["CSV", "TSV"]) -> None:
        self.name, self._path, self._kind = str(path), path, kind
        self._compressed = path.suffix.lower() == ".gz"
        self.separator = SEPARATORS[kind]
        self.names = next(filter(None, self._records()), [])
        if any("\0" in cell or _not_utf8(cell) for cell in self.names):
            raise LogError(
                f"{path}: this is not {kind}: its first line is not UTF-8 text. Save it as UTF-8, "
                "or give the file the ending of its format, such as .parquet."
            )

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

        with naming(self.name, self._kind):
            try:
                yield from open_csv(
                    self._path,
                    read_options=ReadOptions(block_size=BLOCK),
                    parse_options=ParseOptions(
                        delimiter=MARKS[self._kind], newlines_in_values=True
                    ),
                    convert_options=ConvertOptions(
                        column_types={name: pa.string() for name in columns},
                        include_columns=list(columns),
                        null_values=[""],
                        strings_can_be_null=True,
                    ),
                )
            except pa.ArrowInvalid:
                self._check_records()  # names the row, which Arrow does not know
                raise

    def rows(self, n: int) -> Array:
        if self._uneven is not None and len(self._uneven) >= n:
            return self._uneven[:n]
        return np.arange(2, n + 2, dtype=np.int32)

    @cached_property
    def _uneven(self) -> Array | None:
        """The rows of a file with blank lines between them."""
        if not _has_blank_lines(self._blocks()):
            return None
        filled = (row for row, cells in enumerate(self._records(), 1) if cells)
        return np.fromiter(islice(filled, 1, None), np.int32)

    def _opened(self, mode: str, **text: str) -> IO[Any]:
        opened: Callable[..., IO[Any]] = gzip.open if self._compressed else open
        return opened(self._path, mode, **text)

    def _blocks(self) -> Iterator[bytes]:
        with self._opened("rb") as file:
            while block := file.read(BLOCK):
                yield block

    def _records(self) -> Iterator[list[str]]:
        """The rows one by one; blank lines are empty rows."""
        text = {"newline": "", "encoding": "utf-8-sig", "errors": "surrogateescape"}
        with self._opened("rt", **text) as file:
            yield from csv.reader(file, delimiter=MARKS[self._kind])

    def _check_records(self) -> None:
        filled = 0
        for row, cells in enumerate(self._records(), 1):
            filled += bool(cells)
            if cells and len(cells) != len(self.names):
                size = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                raise LogError(
                    f"{self.name}, row {row}: has {size}, but the header has "
                    f"{len(self.names)}. Is a {self.separator.removesuffix('s')} missing, or a "
                    "quotation mark?"
                )
            for name, cell in zip(self.names, cells, strict=False):
                if _not_utf8(cell):
                    raise LogError(
                        f"{self.name}, row {row}, column {name!r}: is not UTF-8 text. Save the "
                        "file as UTF-8."
                    )
        if filled < 2:
            raise no_rows(self.name)


def _not_utf8(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)  # "surrogateescape"


def _has_blank_lines(blocks: Iterator[bytes]) -> bool:
    """Whether a blank line comes before the last row; those at the end do not matter.

    >>> [_has_blank_lines(iter([text])) for text in (b"a\\nb\\n\\n", b"a\\n\\nb\\n", b"\\na\\n")]
    [False, True, True]
    """
    carried = b"\n"  # a blank first line is blank too
    for block in blocks:
        text = carried + block
        body = text.rstrip(b"\r\n")
        if any(blank in body for blank in BLANKS):
            return True
        carried = text[len(body) :][-4:]
    return False
