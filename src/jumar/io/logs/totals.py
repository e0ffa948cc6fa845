"""The last rows of a spreadsheet that are no steps: a total, or cells that were cleared.

Such a row says neither what was seen nor what was done, and the episode it names is "Total", or
none. It could not be read as anything else, so it is left out, and the remarks say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TOTALS = (
    "total", "totals", "grand total", "sum", "sums", "summe", "gesamt", "gesamtsumme", "insgesamt",
    "average", "mean", "mittelwert", "somme", "suma", "totale", "totaal", "count", "anzahl",
)  # fmt: skip
MOST = 10  # rows at the end of a file


def totals_at_end(batch: Any, empty: Sequence[str], name: str | None) -> int:
    """How many of the last rows of an Arrow batch have nothing in the columns `empty`, and in the
    column `name` a word for a total, or nothing.

    >>> import pyarrow as pa
    >>> rows = pa.record_batch({"ship": ["7", "Total"], "done": ["go", None], "paid": [1.5, 9.0]})
    >>> totals_at_end(rows, ["done"], "ship")
    1
    """
    found = 0
    while found < min(MOST, batch.num_rows):
        row = batch.num_rows - 1 - found
        if any(_text(batch.column(column)[row]) for column in empty):
            break
        if name is not None and not is_total(_text(batch.column(name)[row])):
            break
        found += 1
    return found


def is_total(text: str) -> bool:
    """Is it a word for a total, or nothing?

    >>> is_total("Grand total:"), is_total(""), is_total("P-17")
    (True, True, False)
    """
    return text.strip(" :.").lower() in ("", *TOTALS)


def _text(cell: Any) -> str:
    value = cell.as_py()
    return "" if value is None or value != value else str(value).strip()
