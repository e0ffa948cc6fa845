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
from jumar.study.grouped import grouped
from jumar.study.settings import CHOSEN, SWEPT, StudySetting
from jumar.study.summary import Cell, Environment, Results

HINDSIGHT = "in hindsight"


@dataclass(frozen=True)
class SafetyLine:
    """One setting with one amount of memory."""

    setting: StudySetting | None  # None: the best in hindsight
    more: int | None  # observations remembered beyond the behavior's; None: as the setting chose
    cells: tuple[Cell, ...]  # at least one

    @property
    def name(self) -> str:
        return self.setting.title if self.setting else f"{SWEPT} {HINDSIGHT}"

    @property
    def memory(self) -> str:
        """In terms of the behavior's window k."""
        if self.more is None:
            return "own" if self.setting else "any"
        return "k" if self.more == 0 else f"k{self.more:+d}"

    @property
    def worse(self) -> float:
        """Share of all data sets that end below the behavior."""
        total = sum(len(cell.values) for cell in self.cells)
        return sum(round(cell.worse * len(cell.values)) for cell in self.cells) / total

    @property
    def worst(self) -> Cell:
        """The cell with the largest share; of several, the first."""
        return max(self.cells, key=lambda cell: cell.worse)

    @property
    def normalised(self) -> float:
        """Mean normalised improvement over the cells, NaN where no optimum is known."""
        return float(np.mean([cell.normalised(cell.mean) for cell in self.cells]))


@dataclass(frozen=True)
class Point:
    """Behaviors of one kind at one size: each counts the same."""

    size: int
    worse: float
    mean: float  # normalised
    cvar_10: float  # normalised


def lines_of(results: Results) -> list[SafetyLine]:
    """Every setting with every amount of memory, in the order of the study."""
    found: dict[tuple[StudySetting, int | None], list[Cell]] = {}
    for setting in results.settings:
        for environment in results.environments:
            for k_new in results.memories(environment):
                cells = results.across(environment, k_new, setting)
                found.setdefault((setting, _more(environment, k_new)), []).extend(cells)
    return [SafetyLine(*key, tuple(cells)) for key, cells in found.items() if cells]


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
    swept = (line for line in lines if line.setting and line.setting.algorithm == SWEPT)
    cells = grouped(
        (cell for line in swept for cell in line.cells), lambda c: (c.environment.name, c.size)
    )
    best = tuple(max(those, key=lambda cell: cell.mean) for those in cells.values())
    return SafetyLine(None, None, best) if best else None


def kinds(environments: Iterable[Environment]) -> dict[str, list[Environment]]:
    """Behaviors of one model and one window, which may come from different training seeds."""
    return grouped(environments, lambda environment: environment.title)


def points(line: SafetyLine, environments: Sequence[Environment]) -> list[Point]:
    """A line over the sizes, averaged over some behaviors."""
    cells = (cell for cell in line.cells if cell.environment in environments)
    return [
        Point(
            size,
            float(np.mean([cell.worse for cell in same])),
            float(np.mean([cell.normalised(cell.mean) for cell in same])),
            float(np.mean([cell.normalised(cell.cvar(0.1)) for cell in same])),
        )
        for size, same in sorted(grouped(cells, lambda cell: cell.size).items())
    ]


def safety_data(results: Results) -> list[dict[str, Any]]:
    """Every line in plain JSON types."""
    return [
        {
            "setting": line.name,
            "memory": line.memory,
            "algorithm": line.setting.algorithm if line.setting else HINDSIGHT,
            "parameters": line.setting.options if line.setting else {},
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
