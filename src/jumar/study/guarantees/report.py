"""What a run leaves behind: guarantees.json and guarantees.csv with every cell, guarantees.md with
the tables that matter, and guarantees.svg."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from jumar.io.files import write_atomically
from jumar.study.drawing import save
from jumar.study.guarantees.figure import draw
from jumar.study.guarantees.page_tables import markdown
from jumar.study.guarantees.summary import Findings, findings
from jumar.study.store import Store

NAME = "guarantees"


def write_report(store: Store) -> list[Path]:
    """Write the cells, the tables and the figure into the folder of the run."""
    found = findings(store)
    data = store.folder / f"{NAME}.json"
    write_atomically(data, json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    table = store.folder / f"{NAME}.csv"
    write_atomically(table, cells_csv(found))
    page = store.folder / f"{NAME}.md"
    write_atomically(page, markdown(found))
    files = [data, table, page]
    if found.of("gates"):
        files += save(draw(found), store.folder / f"{NAME}.svg")
    return files


def cells_csv(found: Findings) -> str:
    """Every cell as a row."""
    text = io.StringIO()
    cells = [cell.to_dict() for cell in found.cells]
    writer = csv.DictWriter(text, list(cells[0]) if cells else [], lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        rounded = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in cell.items()}
        writer.writerow(rounded)
    return text.getvalue()
