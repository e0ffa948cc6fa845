"""How safe every setting of a study was, over all its behaviors and sizes.

A *line* is one setting with one amount of memory beyond the behavior's, so that behaviors with
different windows can be put side by side. It has one cell per behavior and size; its share of data
sets that end worse is taken over all of them, and its worst cell is the one with the largest share.

*In hindsight* is the best that a user could do who knew the truth: for every behavior and size, the
setting of SPIBB with the best mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.io.plain import finite
from jumar.study.settings import CHOSEN, SWEPT
from jumar.study.summary import Cell, Environment, Results, setting_label

HINDSIGHT = "in hindsight"


@dataclass(frozen=True)
class SafetyLine:
    """One setting with one amount of memory."""

    algorithm: str
    parameters: dict[str, Any]
    more: int | None  # observations remembered beyond the behavior's; None: as the setting chose
    cells: tuple[Cell, ...]  # at least one

    @property
    def name(self) -> str:
        if self.algorithm == HINDSIGHT:
            return f"{SWEPT} in hindsight"
        return setting_label(self.algorithm, self.parameters)

    @property
    def memory(self) -> str:
        """In terms of the behavior's window k."""
        if self.more is None:
            return "any" if self.algorithm == HINDSIGHT else "own"
        return "k" if self.more == 0 else f"k{self.more:+d}"

    @property
    def worse(self) -> float:
        """Share of all data sets that end below the behavior."""
        return _share(self.cells)

    @property
    def worst(self) -> Cell:
        """The cell with the largest share; of several, the first."""
        return max(self.cells, key=lambda cell: cell.worse)

    @property
    def normalised(self) -> float:
        """Mean normalised improvement over the cells, NaN where no optimum is known."""
        return float(np.mean([cell.normalised(cell.mean) for cell in self.cells]))

    def of(self, environments: Iterable[Environment]) -> SafetyLine | None:
        """The line of some behaviors only, if there is anything of them."""
        names = {e.name for e in environments}
        cells = tuple(cell for cell in self.cells if cell.environment.name in names)
        return SafetyLine(self.algorithm, self.parameters, self.more, cells) if cells else None


@dataclass(frozen=True)
class Point:
    """Behaviors of one kind at one size: each counts the same."""

    size: int
    worse: float
    mean: float  # normalised
    cvar_10: float  # normalised


def lines_of(results: Results) -> list[SafetyLine]:
    """Every setting with every amount of memory, in the order of the study."""
    found: dict[tuple[str, str, int | None], list[Cell]] = {}
    by_key: dict[tuple[str, str, int | None], dict[str, Any]] = {}
    for name, parameters in results.settings:
        for environment in results.environments:
            for k_new in results.memories(environment):
                if (name, parameters) not in results.settings_with(k_new):
                    continue
                key = name, str(sorted(parameters.items())), _more(environment, k_new)
                cells = results.across(environment, k_new, name, parameters)
                found.setdefault(key, []).extend(cells)
                by_key[key] = parameters
    return [
        SafetyLine(key[0], by_key[key], key[2], tuple(cells))
        for key, cells in found.items()
        if cells
    ]


def all_lines(results: Results) -> list[SafetyLine]:
    """Every setting, and what could be reached in hindsight."""
    lines = lines_of(results)
    hindsight = in_hindsight(lines)
    return [*lines, *([hindsight] if hindsight else [])]


def _more(environment: Environment, k_new: int) -> int | None:
    """Memory beyond the behavior's; without a window of its own, beyond the least of the study."""
    if k_new == CHOSEN:
        return None
    return k_new - (environment.window or min(environment.memories))


def in_hindsight(lines: Sequence[SafetyLine]) -> SafetyLine | None:
    """For every behavior and size the SPIBB setting with the best mean."""
    best: dict[tuple[str, int], Cell] = {}
    for line in lines:
        for cell in line.cells if line.algorithm == SWEPT else ():
            key = cell.environment.name, cell.size
            if key not in best or cell.mean > best[key].mean:
                best[key] = cell
    return SafetyLine(HINDSIGHT, {}, None, tuple(best.values())) if best else None


def kinds(environments: Iterable[Environment]) -> dict[str, tuple[Environment, ...]]:
    """Behaviors of one model and one window, which may come from different training seeds."""
    found: dict[str, tuple[Environment, ...]] = {}
    for environment in environments:
        found[environment.title] = (*found.get(environment.title, ()), environment)
    return found


def points(line: SafetyLine, environments: Iterable[Environment]) -> list[Point]:
    """A line over the sizes, averaged over some behaviors."""
    part = line.of(environments)
    by_size: dict[int, list[Cell]] = {}
    for cell in part.cells if part else ():
        by_size.setdefault(cell.size, []).append(cell)
    return [
        Point(
            size,
            float(np.mean([cell.worse for cell in cells])),
            float(np.mean([cell.normalised(cell.mean) for cell in cells])),
            float(np.mean([cell.normalised(cell.cvar(0.1)) for cell in cells])),
        )
        for size, cells in sorted(by_size.items())
    ]


def safety_data(results: Results) -> list[dict[str, Any]]:
    """Every line in plain JSON types."""
    return [
        {
            "setting": line.name,
            "memory": line.memory,
            "algorithm": line.algorithm,
            "parameters": line.parameters,
            "worse": line.worse,
            "worst": {
                "behavior": line.worst.environment.name,
                "k_new": line.worst.k_new,
                "size": line.worst.size,
                "worse": line.worst.worse,
            },
            "normalised": finite(line.normalised),
        }
        for line in all_lines(results)
    ]


def _share(cells: Sequence[Cell]) -> float:
    total = sum(len(cell.values) for cell in cells)
    return sum(round(cell.worse * len(cell.values)) for cell in cells) / total
