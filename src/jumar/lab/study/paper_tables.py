"""A study in the terminal: one table per behavior and memory, and the same as data."""

from __future__ import annotations

import math
from typing import Any

from rich.console import RenderableType

from jumar.lab.study.planner import read_planned
from jumar.lab.study.spec import CHOSEN
from jumar.lab.study.store import Store
from jumar.lab.study.summary import Cell, Results, kinds, safety_data, some_sizes
from jumar.show.terminal import plain_table


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
