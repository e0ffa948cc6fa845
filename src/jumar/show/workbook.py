"""A result as an Excel workbook: the decisions with filters, what the log was, and the verdict."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from jumar.core.errors import MissingExtra
from jumar.core.text import visible
from jumar.show.html import content
from jumar.verdict.assessing import Assessment

WORKBOOK = "result.xlsx"
MOST_ROWS = 1_048_575  # of a sheet, under its head
WIDEST = 60


def check_installed() -> None:
    """Refuse before anything is computed."""
    if find_spec("openpyxl") is None:
        raise MissingExtra("Excel workbooks", "openpyxl", "excel")


def workbook(assessment: Assessment, run: Mapping[str, Any]) -> bytes:
    """The file. `run` says where the result comes from (`Run.to_dict`)."""
    check_installed()
    from openpyxl import Workbook

    verdict, result = assessment.verdict, assessment.result
    book = Workbook()
    heads, *rows = assessment.decisions.rows(
        verdict.word, gains=verdict.terms.decides, untold=verdict.exit_code != 0
    )
    sheet = book.active
    sheet.title = "decisions"
    _fill(sheet, heads, rows[:MOST_ROWS])
    sheet.auto_filter.ref = sheet.dimensions
    log = [
        ("log", content.title(assessment)),
        (f"{result.episode}s", result.episodes),
        ("steps", result.steps),
        ("today", assessment.today),
        ("made on", run["time"]),
        ("command", run["command"] or "called from Python"),
        *((file["name"], f"SHA-256 {file['sha256']}") for file in run["files"].values()),
    ]
    checks = [
        (f"check: {name}", f"{part.verdict.status}: {part.verdict.sentence}")
        for name, part in assessment.check.sections.items()
    ]
    _fill(book.create_sheet("log"), ("what", "found"), [*log, *checks])
    said = [
        ("verdict", verdict.headline),
        ("what it brings", verdict.lead),
        ("next step", verdict.next_step),
        *(("could be wrong", str(doubt)) for doubt in verdict.doubts),
    ]
    _fill(book.create_sheet("verdict"), ("what", "said"), said)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _fill(sheet: Any, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Rows under a head that stays in sight. Text is text, also where it looks like a formula."""
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    widths = [0] * len(heads)
    for i, row in enumerate([heads, *rows], 1):
        for j, value in enumerate(row, 1):
            text = isinstance(value, str)
            cell = sheet.cell(i, j, visible(value)[:32_000] if text else value)
            if text:
                cell.data_type = "s"
                cell.alignment = Alignment(wrap_text=len(value) > WIDEST, vertical="top")
            widths[j - 1] = min(WIDEST, max(widths[j - 1], len(str(value)) + 3))
    for j, width in enumerate(widths, 1):
        sheet.column_dimensions[get_column_letter(j)].width = width
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "A2"
