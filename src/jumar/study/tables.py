"""A study in the terminal: one table per behavior and memory, and the same as data."""

from __future__ import annotations

import math
from typing import Any

from rich.console import RenderableType

from jumar.study.page import setting_label
from jumar.study.planner import read_planned
from jumar.study.store import Store
from jumar.study.summary import Cell, Environment, Results
from jumar.tables import plain_table

SHOWN = 3  # sizes in a table: what fits a terminal


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
        "cells": [
            {
                "behavior": cell.environment.name,
                "k_new": cell.k_new,
                "algorithm": cell.algorithm,
                "parameters": cell.parameters,
                "size": cell.size,
                "datasets": len(cell.values),
                "mean": cell.mean,
                "cvar_10": cell.cvar(0.1),
                "cvar_1": cell.cvar(0.01),
                "worse": cell.worse,
                "known": cell.known,
                "zeta": cell.zeta if math.isfinite(cell.zeta) else None,
            }
            for cell in results.cells()
        ],
    }


def summary_view(store: Store) -> list[RenderableType]:
    """Per behavior and memory: means at some sizes, and the worst over all sizes."""
    results = Results(store)
    sizes = _some(results.sizes)
    planned = read_planned(store)
    views: list[RenderableType] = []
    for environment in results.environments:
        best = "unknown" if environment.optimum is None else f"{environment.optimum:.4g}"
        online = planned.get(environment.name)
        note = f", PO-UCT {online['mean']:.4g} ± {online['standard_error']:.2g}" if online else ""
        for k_new in environment.memories:
            rows = [
                _row(results, environment, k_new, name, parameters, sizes)
                for name, parameters in results.settings
            ]
            title = (
                f"{environment.title}, k′ = {k_new}: behavior {environment.behavior:.4g}, best "
                f"policy of all {best}{note}"
            )
            numbers = [*(f"n = {size:,}" for size in sizes), "lowest CVaR", "worse"]
            views.append(plain_table(["setting", *numbers], rows, title=title, right=numbers))
    views.append(
        "Mean value of the improved controllers at n episodes; lowest 10 %-CVaR and largest share "
        "of data sets that end below the behavior, over all sizes."
    )
    return views


def _row(
    results: Results,
    environment: Environment,
    k_new: int,
    name: str,
    parameters: dict[str, Any],
    sizes: list[int],
) -> list[str]:
    cells = {
        size: results.cell(environment.name, k_new, name, size, **parameters)
        for size in results.sizes
    }
    there = [cell for cell in cells.values() if cell]
    return [
        setting_label(name, parameters),
        *(_mean(cells[size]) for size in sizes),
        f"{min(cell.cvar(0.1) for cell in there):.4g}" if there else "-",
        f"{100 * max(cell.worse for cell in there):.3g} %" if there else "-",
    ]


def _some(sizes: tuple[int, ...]) -> list[int]:
    """A few sizes, evenly spread, the largest among them."""
    step = max(1, round((len(sizes) - 1) / SHOWN))
    return sorted(sizes[::-1][::step][:SHOWN])


def _mean(cell: Cell | None) -> str:
    return "-" if cell is None else f"{cell.mean:.4g}"
