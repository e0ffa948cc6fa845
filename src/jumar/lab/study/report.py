"""What a finished (or unfinished) study shows: figures, a page, and its cells as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from jumar.core.files import make_folder, write_atomically
from jumar.lab.study.drawing import save
from jumar.lab.study.figures import draw
from jumar.lab.study.page import write_page
from jumar.lab.study.planner import read_planned
from jumar.lab.study.spec import StudySpec
from jumar.lab.study.store import Store
from jumar.lab.study.summary import Results

FORMATS = ("svg", "pdf", "png")


def write_report(
    store: Store, spec: StudySpec, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Draw every figure that has data and write cells.csv and index.html; returns the files."""
    results = Results(store)
    planned = read_planned(store)
    names = {e.name for e in results.environments}
    figures = [f for f in spec.figures_to_draw() if set(f.behaviors) <= names]
    folder = store.folder / "figures"
    files = []
    for done, figure in enumerate(figures, 1):
        make_folder(folder)
        paths = (folder / f"{figure.name}.{kind}" for kind in FORMATS)
        files += save(draw(figure, results, planned), *paths)
        if progress:
            progress(done)
    write_page(store, results, tuple(figures), planned)
    return [*files, _write_cells(store, results), store.folder / "index.html"]


def _write_cells(store: Store, results: Results) -> Path:
    """Every cell as a row of cells.csv."""
    rows = [cell.to_dict() for cell in results.cells()]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "parameters": json.dumps(row["parameters"])})
    path = store.folder / "cells.csv"
    write_atomically(path, text.getvalue())
    return path
