"""What a finished (or unfinished) study shows: figures, a page, and tables for the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumar.files import write_atomically
from jumar.study.figures import draw, save
from jumar.study.page import write_page
from jumar.study.spec import StudySpec
from jumar.study.store import Store
from jumar.study.summary import Results

PLANNED = "planner.json"


def write_report(
    store: Store, spec: StudySpec, progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Draw every figure that has data and write index.html; returns the files."""
    results = Results(store)
    planned = read_planned(store)
    values = {name: found["mean"] for name, found in planned.items()}
    names = {e.name for e in results.environments}
    figures = [f for f in spec.figures_to_draw() if set(f.behaviors) <= names]
    files = []
    for figure in figures:
        if progress:
            progress(figure.name)
        files += save(draw(figure, results, values), store.folder / "figures", figure.name)
    write_page(store, results, tuple(figures), planned)
    return [*files, store.folder / "index.html"]


def read_planned(store: Store) -> dict[str, dict[str, Any]]:
    """The online planner's results by behavior, if it was run."""
    path = store.folder / PLANNED
    if not path.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def write_planned(store: Store, planned: dict[str, dict[str, Any]]) -> None:
    write_atomically(store.folder / PLANNED, json.dumps(planned, indent=2) + "\n")
