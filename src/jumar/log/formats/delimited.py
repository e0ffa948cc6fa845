"""CSV and TSV: text in rows.

Arrow reads fast but says little about what is wrong, and nothing about where. So a file it refuses,
or one with blank lines, which it passes over, is read once more by Python's own reader, which knows
the rows. What stands between the columns is recognised by the first rows.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import IO, Any, Literal

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, ParameterError
from jumar.core.text import printable
from jumar.log.formats.places import BLOCK, Place, TextFile, is_not_utf8
from jumar.log.formats.source import Source, naming, no_rows
from jumar.log.problems import Problems

MARKS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}
ROWS = 20  # by which a separator is recognised
USUAL = {"CSV": ",", "TSV": "\t"}
BLANKS = (b"\n\n", b"\n\r", b"\r\r")


class DelimitedFile(Source):
    """A CSV or TSV file, perhaps compressed. All columns are handed on as text."""

    def __init__(
        self,
        path: Place,
        kind: Literal["CSV", "TSV"],
        name: str | None = None,
        separator: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self.name, self._kind = name or str(path), kind
        self._file = TextFile(path, encoding)
        self._mark = separator or self._recognised()
        self.separator = called(self._mark)
        self.names = next(filter(None, self._records()), [])
        if any("\0" in cell or is_not_utf8(cell) for cell in self.names):
            text = f"{encoding or 'UTF-8'} text"
            raise LogError(
                f"{self.name}: this is not {kind}: its first line is not {text}. "
                f"{self._file.how_encoded} Or give the file the ending of its format, such as "
                ".parquet."
            )

    def _recognised(self) -> str:
        with self._file.lines() as lines:
            mark = recognised(lines, USUAL[self._kind])
        if mark != USUAL[self._kind]:
            option = f"--separator {'tab' if mark == chr(9) else shlex.quote(mark)}"
            self.guessed = (f"with columns between {called(mark)} (recognised; {option})",)
        return mark

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        import pyarrow as pa

        with naming(self.name, self._kind):
            try:
                yield from self._read({name: pa.string() for name in columns})
            except pa.ArrowInvalid:
                self._check_records()  # names the row, which Arrow does not know
                raise

    def typed_batches(
        self, columns: Sequence[str], text: Collection[str], numbers: Collection[str]
    ) -> Iterator[Any]:
        """Arrow batches of these columns with names as dictionaries and plain numbers as such;
        columns that are in neither list are text. An error of Arrow where they are not plain."""
        import pyarrow as pa

        words = pa.dictionary(pa.int32(), pa.string())
        kinds = {name: words if name in text else pa.string() for name in columns}
        kinds.update((name, pa.float64()) for name in numbers)
        return self._read(kinds)

    def _read(self, kinds: Mapping[str, Any]) -> Iterator[Any]:
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

        with self._file.opened() as stream:
            yield from open_csv(
                stream,
                read_options=ReadOptions(block_size=BLOCK, encoding=self._file.encoding or "utf8"),
                parse_options=ParseOptions(delimiter=self._mark, newlines_in_values=True),
                convert_options=ConvertOptions(
                    column_types=dict(kinds),
                    include_columns=list(kinds),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )

    def rows(self, n: int) -> Array:
        if self._uneven is not None and len(self._uneven) >= n:
            return self._uneven[:n]
        return np.arange(2, n + 2, dtype=np.int32)

    @cached_property
    def _uneven(self) -> Array | None:
        """The rows of a file with blank lines between them."""
        if not _has_blank_lines(self._file.blocks()):
            return None
        filled = (row for row, cells in enumerate(self._records(), 1) if cells)
        return np.fromiter(islice(filled, 1, None), np.int32)

    def _records(self) -> Iterator[list[str]]:
        """The rows one by one; blank lines are empty rows."""
        with self._file.lines() as lines:
            yield from csv.reader(lines, delimiter=self._mark)

    def _check_records(self) -> None:
        filled, problems = 0, Problems()
        for row, cells in enumerate(self._records(), 1):
            filled += bool(cells)
            if cells and len(cells) != len(self.names):
                size = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                problems.add(
                    f"{self.name}, row {row}: has {size}, but the header has {len(self.names)}.",
                    f"Is a {self.separator.removesuffix('s')} missing, or a quotation mark?",
                )
                continue
            for name, cell in zip(self.names, cells, strict=False):
                if is_not_utf8(cell):
                    problems.add(
                        f"{self.name}, row {row}, column {printable(name)!r}: is not UTF-8 text.",
                        self._file.how_encoded,
                    )
        problems.check()
        if filled < 2:
            raise no_rows(self.name)


def _has_blank_lines(blocks: Iterator[bytes]) -> bool:
    """Whether a blank line comes before the last row; those at the end do not matter."""
    carried = b"\n"  # a blank first line is blank too
    for block in blocks:
        text = carried + block
        body = text.rstrip(b"\r\n")
        if any(blank in body for blank in BLANKS):
            return True
        carried = text[len(body) :][-4:]
    return False


# ---- separators ---------------------------------------------------------------------------------


def check_separator(text: str) -> str:
    """The mark, which may be called by its name; or an error that shows how to write it."""
    mark = WORDS.get(text.lower(), text)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0' or mark.isalnum():
        raise ParameterError(
            f"separator: {printable(text)!r} does not separate columns. Write one of , ; | or tab."
        )
    return mark


def called(mark: str) -> str:
    """A mark in a message."""
    return MARKS.get(mark, repr(mark))


def recognised(file: IO[str], usual: str) -> str:
    """The separator of a file: the usual one, unless the header and the rows say otherwise.

    Among the marks that stand in the header, the one that parts it and the next rows into the same
    number of cells, and into most, is the separator."""
    lines = islice(filter(str.strip, file), ROWS + 1)
    header = next(lines, "")
    present = [mark for mark in dict.fromkeys((usual, *MARKS)) if mark in header]
    if present in ([], [usual]):
        return usual
    text = [header, *lines]
    counts = {mark: _cells(text, mark) for mark in present}
    return max(present, key=lambda mark: counts[mark])  # the first of several with most


def _cells(lines: Sequence[str], mark: str) -> tuple[bool, int]:
    """Do all rows have as many cells as the header, and how many is that?"""
    try:
        rows = [len(cells) for cells in csv.reader(lines, delimiter=mark) if cells]
    except csv.Error:
        return False, 0
    if len(lines) > ROWS:
        rows = rows[:-1] or rows  # the last one may be cut off within quotes
    return rows[0] > 1 and len(set(rows)) == 1, rows[0]
