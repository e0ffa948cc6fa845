"""A study in the terminal: one table per behavior and memory, and the same as data."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType

from jumar.study.page import setting_label
from jumar.study.store import Store, read_planned
from jumar.study.summary import Cell, Results
from jumar.tables import plain_table

SHOWN = 4  # sizes in a table: what fits a terminal


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
                "zeta": cell.zeta if cell.zeta == cell.zeta else None,
            }
            for cell in results.cells()
        ],
    }


def summary_view(store: Store) -> list[RenderableType]:
    """Mean, 10 %-CVaR and share of worse data sets, per behavior and memory."""
    results = Results(store)
    sizes = _some(results.sizes)
    planned = read_planned(store)
    views: list[RenderableType] = []
    for environment in results.environments:
        best = "unknown" if environment.optimum is None else f"{environment.optimum:.4g}"
        online = planned.get(environment.name)
        note = f", PO-UCT {online['mean']:.4g} ± {online['standard_error']:.2g}" if online else ""
        for k_new in environment.memories:
            rows = []
            for name, parameters in results.settings:
                cells = [
                    results.cell(environment.name, k_new, name, size, **parameters)
                    for size in sizes
                ]
                rows.append([setting_label(name, parameters), *(_text(cell) for cell in cells)])
            title = (
                f"{environment.title}, k′ = {k_new}: behavior {environment.behavior:.4g}, best "
                f"policy of all {best}{note}"
            )
            columns = [f"{size:,} episodes" for size in sizes]
            heads = ["mean | 10 %-CVaR | worse", *columns]
            views.append(plain_table(heads, rows, title=title, right=columns))
    return views


def _some(sizes: tuple[int, ...]) -> list[int]:
    """A few sizes, evenly spread, the largest among them."""
    step = max(1, round((len(sizes) - 1) / (SHOWN - 1)))
    return sorted(sizes[::-1][::step][:SHOWN])


def _text(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return f"{cell.mean:.3g} | {cell.cvar(0.1):.3g} | {100 * cell.worse:.3g} %"
