"""What a finished (or unfinished) study shows: figures, a page, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jumar.study.figures import draw, save
from jumar.study.page import write_page
from jumar.study.planner import read_planned
from jumar.study.spec import StudySpec
from jumar.study.store import Store
from jumar.study.summary import Results


def write_report(
    store: Store, spec: StudySpec, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Draw every figure that has data and write index.html; returns the files."""
    results = Results(store)
    planned = read_planned(store)
    names = {e.name for e in results.environments}
    figures = [f for f in spec.figures_to_draw() if set(f.behaviors) <= names]
    files = []
    for done, figure in enumerate(figures, 1):
        files += save(draw(figure, results, planned), store.folder / "figures", figure.name)
        if progress:
            progress(done)
    write_page(store, results, tuple(figures), planned)
    return [*files, store.folder / "index.html"]
