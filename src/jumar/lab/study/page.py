"""What is shown of a run: tables in the terminal, and the files that it leaves behind: figures, its
cells as a table, and one page with all of it, without network and scripts."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from jumar.core.files import make_folder, write_atomically
from jumar.lab.study.figures import draw, save
from jumar.lab.study.runner import read_planned
from jumar.lab.study.spec import CHOSEN, FigureSpec, StudySpec
from jumar.lab.study.store import Store
from jumar.lab.study.summary import Cell, Results, kinds, safety_data, some_sizes
from jumar.show.terminal import plain_table

CURVES = (
    "Value of the improved controller against the size of the log, for SPIBB with threshold N∧ "
    "and for Basic RL, the greedy policy of the estimated model (taking the value of what was "
    "never tried as 0, as in the publication, and, lighter, never choosing it). Solid: mean; "
    "dashed: 10 %-CVaR; dotted: 1 %-CVaR over the data sets. Green: the behavior. Black: the best "
    "policy of all. Grey: an online planner that knows the model (PO-UCT), with its standard "
    "error. Curves that leave the frame fall further."
)
HEATMAP = (
    "Improvement over the behavior on the scale from 0 (the behavior) to 1 (the best policy of "
    "all), for every threshold N∧ and size of the log. Columns: mean, 10 %-CVaR, 1 %-CVaR; rows: "
    "memory k′ of the improved controller. Hatched cells end below the behavior."
)
SAFETY = (
    "Top: share of data sets that end worse than the behavior, on a square-root axis; the band is "
    "what auto is allowed (δ). Bottom: mean normalised improvement, from 0 (the behavior) to 1 "
    "(the best policy of all); dashed: 10 %-CVaR. Best SPIBB in hindsight takes for every behavior "
    "and size the threshold and memory with the best mean, which nobody knows beforehand. "
    "Behaviors of one model and window are averaged. Curves that leave the frame fall further."
)
FAMILY = (
    "Every algorithm as it is (open marks, by its memory) and behind the gate (filled): as the one "
    "that makes the candidates of auto. Left: mean normalised improvement, from 0 (the behavior) "
    "to 1 (the best policy of all). Middle: its 10 %-CVaR. Right: share of data sets that end "
    "worse than the behavior, on a square-root axis. Behaviors are averaged. What falls below -1 "
    "is marked at the edge. Algorithms that end worse least often, as they are, come first."
)
CAPTIONS = {"curves": CURVES, "heatmap": HEATMAP, "safety": SAFETY, "family": FAMILY}
FORMATS = ("svg", "pdf", "png")


def write_report(
    store: Store, spec: StudySpec, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Draw every figure that has data and write cells.csv and index.html; returns the files."""
    results, planned = Results(store), read_planned(store)
    names = {e.name for e in results.environments}
    figures = [f for f in spec.figures_to_draw() if set(f.behaviors) <= names]
    folder, page, cells = (store.folder / n for n in ("figures", "index.html", "cells.csv"))
    files = []
    for done, figure in enumerate(figures, 1):
        make_folder(folder)
        paths = (folder / f"{figure.name}.{kind}" for kind in FORMATS)
        files += save(draw(figure, results, planned), *paths)
        if progress:
            progress(done)
    write_atomically(page, _page(results, figures, planned))
    rows = (cell.to_dict() for cell in results.cells())
    write_cells(cells, [{**row, "parameters": json.dumps(row["parameters"])} for row in rows])
    return [*files, cells, page]


def write_cells(path: Path, cells: Iterable[Mapping[str, Any]]) -> None:
    """Every cell as a row of a CSV file."""
    rows = list(cells)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def _page(results: Results, figures: list[FigureSpec], planned: dict[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined

    source = resources.files("jumar.lab.study").joinpath("page.html").read_text("utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
    titles = {e.name: e.title for e in results.environments}
    shown = {f.name: ", ".join(dict.fromkeys(titles[b] for b in f.behaviors)) for f in figures}
    return template.render(
        title=results.title,
        policies=f"{sum(len(cell.values) for cell in results.cells()):,}",
        datasets=results.manifest["datasets"],
        sizes=[f"{size:,}" for size in results.sizes],
        environments=results.environments,
        planned=planned,
        figures=[
            {
                "name": figure.name,
                "title": figure.title or shown[figure.name],
                "caption": CAPTIONS[figure.kind],
                "alternative": f"{figure.kind} for {shown[figure.name]}; the numbers are in the "
                "table below, in cells.csv and in results.parquet",
            }
            for figure in figures
        ],
        lines=safety_data(results),
        settings=[
            ("jumar version", results.manifest["jumar"]),
            ("seed", results.manifest["seed"]),
            ("chance δ in ζ", results.manifest["delta"]),
            ("fingerprint", results.manifest["fingerprint"][:16]),
        ],
    )


# ---- in the terminal --------------------------------------------------------------------------


def summary_data(store: Store) -> dict[str, Any]:
    """Every cell of a study, in plain JSON types."""
    results = Results(store)
    return {
        "title": results.title,
        "folder": str(store.folder),
        "behaviors": [
            {"name": e.name, "model": e.model, "value": e.behavior, "optimum": e.optimum}
            for e in results.environments
        ],
        "planner": read_planned(store),
        "settings": safety_data(results),
        "cells": [cell.to_dict() for cell in results.cells()],
    }


def summary_view(store: Store) -> list[RenderableType]:
    """Per behavior and memory: means at some sizes, and the worst over all sizes; then how safe
    every setting was. Where several behaviors are of one model and window, only the latter."""
    results = Results(store)
    if len(kinds(results.environments)) < len(results.environments):
        return [_safety(results)]
    note = (
        "Mean value of the improved controllers at n episodes; lowest 10 %-CVaR and largest "
        "share of data sets that end below the behavior, over all sizes."
    )
    return [*_behaviors(results, read_planned(store)), note, _safety(results)]


def _behaviors(results: Results, planned: dict[str, dict[str, Any]]) -> list[RenderableType]:
    sizes = some_sizes(results.sizes)
    views: list[RenderableType] = []
    for environment in results.environments:
        best = "unknown" if environment.optimum is None else f"{environment.optimum:.4g}"
        online = planned.get(environment.name)
        note = f", PO-UCT {online['mean']:.4g} ± {online['standard_error']:.2g}" if online else ""
        for k_new in (*environment.memories, CHOSEN):
            rows = [
                _row(line.name, cells, sizes)
                for line in results.lines
                if (cells := line.at(environment, k_new))
            ]
            memory = "k′ chosen from the log" if k_new == CHOSEN else f"k′ = {k_new}"
            title = (
                f"{environment.title}, {memory}: behavior {environment.behavior:.4g}, "
                f"best policy of all {best}{note}"
            )
            numbers = [*(f"n = {size:,}" for size in sizes), "lowest CVaR", "worse"]
            if rows:
                views.append(plain_table(["setting", *numbers], rows, title=title, right=numbers))
    return views


def _row(label: str, cells: list[Cell], sizes: list[int]) -> list[str]:
    means = {cell.size: f"{cell.mean:.4g}" for cell in cells}
    return [
        label,
        *(means.get(size, "-") for size in sizes),
        f"{min(cell.cvar(0.1) for cell in cells):.4g}",
        f"{100 * max(cell.worse for cell in cells):.3g} %",
    ]


def _safety(results: Results) -> RenderableType:
    """Every setting over all behaviors and sizes."""
    rows = []
    for line in results.all_lines:
        worst = line.worst
        share, most = f"{100 * line.worse:.2f} %", f"{100 * worst.worse:.1f} %"
        where = [worst.environment.name, f"{worst.size:,}"] if worst.worse else ["", ""]
        gained = f"{line.normalised:.3f}" if math.isfinite(line.normalised) else "-"
        rows.append([line.name, line.memory, share, most, *where, gained])
    headers = ["setting", "k′", "worse", "at most", "with", "n", "gain"]
    title = (
        "Data sets that end below the behavior, in all and at most with one behavior and size n; "
        "mean normalised gain"
    )
    return plain_table(headers, rows, title=title, right=["worse", "at most", "n", "gain"])
