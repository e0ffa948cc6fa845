"""Excel workbooks (.xlsx), with openpyxl, which is only imported when one is read.

Every cell becomes the text that stands for it: 17, 0.5, true, 2024-05-31T14:30:00. Rows have the
numbers that Excel shows. The header is the first row that is not empty; what a formula gave is
read, not the formula.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from jumar.core.arrays import Array
from jumar.core.errors import LogError, not_one_of
from jumar.core.text import listing
from jumar.log.formats.places import Place, seekable
from jumar.log.formats.source import BATCH_ROWS, Source, naming, no_rows, text_batch


class ExcelFile(Source):
    """One sheet of a workbook."""

    has_points = True

    def __init__(self, path: Place, name: str | None = None, sheet: str | None = None) -> None:
        self.name, self._path = name or str(path), path
        self._row: list[int] = []
        with self._workbook() as book:
            self._sheet = self._chosen(book, sheet)
            head = next(self._filled(book, self._sheet), None)
        if head is None:
            raise no_rows(self.name)
        self._head, cells = head
        self.names = [_text(cell) or "" for cell in cells]
        while self.names and not self.names[-1]:
            self.names.pop()

    def rows(self, n: int) -> Array:
        return np.array(self._row[:n], np.int32)

    def batches(self, columns: Sequence[str], text: Collection[str]) -> Iterator[Any]:
        at = {name: self.names.index(name) for name in columns}
        self._row = []
        cells: dict[str, list[str | None]] = {name: [] for name in columns}
        with self._workbook() as book:
            for row, values in self._filled(book, self._sheet):
                if row == self._head:
                    continue
                self._row.append(row)
                for name, i in at.items():
                    cells[name].append(_text(values[i]) if i < len(values) else None)
                if len(self._row) % BATCH_ROWS == 0:
                    yield text_batch(cells)
                    cells = {name: [] for name in columns}
            if len(self._row) % BATCH_ROWS:
                yield text_batch(cells)

    def _chosen(self, book: Any, sheet: str | None) -> str:
        """The sheet asked for, or the only one with anything on it."""
        names: list[str] = [each.title for each in book.worksheets]
        if sheet is not None:
            if sheet not in names:
                raise LogError(f"{self.name}: {not_one_of('sheet', sheet, names)}")
            return sheet
        used = [name for name in names if next(self._filled(book, name), None)]
        if len(used) > 1:
            raise LogError(
                f"{self.name}: there are several sheets: {listing(used)}. Say which one holds the "
                f"log: sheet={used[0]!r} (--sheet ...)."
            )
        if not used:
            raise no_rows(self.name)
        return used[0]

    def _filled(self, book: Any, name: str) -> Iterator[tuple[int, Sequence[Any]]]:
        """The rows of a sheet that are not empty, with their numbers."""
        sheet = book[name]
        sheet.reset_dimensions()  # what a file says about its own size is often wrong
        for row, values in enumerate(sheet.iter_rows(values_only=True), 1):
            if any(value is not None for value in values):
                yield row, values

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        try:
            from openpyxl import load_workbook
        except ImportError as error:
            raise LogError(
                f"{self.name}: reading Excel files needs openpyxl. Install it: pip install "
                "'jumar[excel]'; or save the sheet as CSV."
            ) from error
        # a damaged workbook makes openpyxl raise anything
        with (
            naming(self.name, "Excel", Exception),
            seekable(self._path) as file,
            closing(load_workbook(file, read_only=True, data_only=True)) as book,
        ):
            yield book


def _text(cell: Any) -> str | None:
    """A cell as it would stand in a text file."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        midnight = (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0)
        return cell.date().isoformat() if midnight else cell.isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return repr(cell.total_seconds())
    return str(cell)
