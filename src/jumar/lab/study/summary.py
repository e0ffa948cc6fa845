"""What people compare in a table of results: mean, CVaR, how often the result is worse.

The α-CVaR of n values is the mean of the ⌈αn⌉ smallest: what to expect in the worst α of cases.
Normalised improvement is (ρ - ρ_b)/(ρ* - ρ_b): 0 is the behavior, 1 the best policy of all.

A *line* is one setting with one amount of memory beyond the behavior's, so that behaviors with
different windows can be put side by side. It has one cell per behavior and size; its share of data
sets that end worse is taken over all of them, and its worst cell is the one with the largest share.
*In hindsight* is the best that a user could do who knew the truth: for every behavior and size, the
setting of SPIBB with the best mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from jumar.core.arrays import Bools, Floats
from jumar.core.plain import finite
from jumar.lab.study.spec import CHOSEN, SWEPT, StudySetting
from jumar.lab.study.store import Store

SHOWN = 3  # sizes in a table
WORSE = 1e-9  # a value this much below the behavior's counts as worse

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their key; keys and items stay in their order.

    >>> grouped(["tiger", "maze", "toad"], lambda word: word[0])
    {'t': ['tiger', 'toad'], 'm': ['maze']}
    """
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def cvar(values: Floats, α: float) -> float:
    """Mean of the worst share α of the values.

    >>> cvar(np.array([5.0, 1.0, 4.0, 2.0]), 0.5), cvar(np.arange(500.0), 0.01)
    (1.5, 2.0)
    """
    worst = max(1, math.ceil(α * len(values) - 1e-9))
    return float(np.sort(values)[:worst].mean())


@dataclass(frozen=True)
class Environment:
    """A behavior of a study, and what it is measured by."""

    name: str
    model: str
    model_name: str
    window: int | None
    memories: tuple[int, ...]
    behavior: float
    optimum: float | None

    @property
    def title(self) -> str:
        words = self.model_name.replace("_", " ").title()
        return words if self.window is None else f"{words}, k={self.window}"

    def more(self, k_new: int) -> int | None:
        """Memory beyond the behavior's; without a window of its own, beyond the least of the study;
        None: as the setting chose."""
        return None if k_new == CHOSEN else k_new - (self.window or min(self.memories))


@dataclass(frozen=True)
class Cell:
    """All data sets of one size under one memory and one setting."""

    environment: Environment
    k_new: int
    setting: StudySetting
    size: int
    values: Floats  # (datasets,) exact values, ascending by data set
    zeta: float  # mean, NaN where there is no such bound
    known: float  # mean fraction of pairs known

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def cvar(self, α: float) -> float:
        return cvar(self.values, α)

    @property
    def lost(self) -> Bools:
        """(datasets,) which end below the behavior."""
        lost: Bools = self.values < self.environment.behavior - WORSE
        return lost

    @property
    def worse(self) -> float:
        """Share of data sets that end below the behavior."""
        return float(self.lost.mean())

    def normalised(self, value: float) -> float:
        """On the scale from the behavior (0) to the optimum (1); NaN without an optimum."""
        e = self.environment
        if e.optimum is None or e.optimum == e.behavior:
            return float("nan")
        return (value - e.behavior) / (e.optimum - e.behavior)

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types; k_new is 0 where the setting chose its memory itself."""
        numbers = {
            "mean": self.mean,
            "cvar_10": self.cvar(0.10),
            "cvar_1": self.cvar(0.01),
            "worse": self.worse,
            "normalised": self.normalised(self.mean),
            "normalised_cvar_10": self.normalised(self.cvar(0.10)),
            "normalised_cvar_1": self.normalised(self.cvar(0.01)),
            "known": self.known,
            "zeta": self.zeta,
        }
        return {
            "behavior": self.environment.name,
            "k_new": self.k_new,
            "algorithm": self.setting.algorithm,
            "parameters": self.setting.options,
            "size": self.size,
            "datasets": len(self.values),
            **{name: finite(x) for name, x in numbers.items()},
        }


# ---- settings over behaviors and sizes ----------------------------------------------------------

HINDSIGHT = "in hindsight"


@dataclass(frozen=True)
class Point:
    """Behaviors of one kind at one size: each counts the same."""

    worse: float
    mean: float  # normalised
    cvar_10: float  # normalised


@dataclass(frozen=True)
class StudyLine:
    """One setting with one amount of memory: what a curve, and a row of a table, is made of."""

    setting: StudySetting | None  # None: the best in hindsight
    more: int | None  # observations remembered beyond the behavior's; None: as the setting chose
    cells: tuple[Cell, ...]  # at least one; those of one behavior ascend in size

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
        return float(np.concatenate([cell.lost for cell in self.cells]).mean())

    @property
    def worst(self) -> Cell:
        """The cell with the largest share; of several, the first."""
        return max(self.cells, key=lambda cell: cell.worse)

    @property
    def normalised(self) -> float:
        """Mean normalised improvement over the cells, NaN where no optimum is known."""
        return float(np.mean([cell.normalised(cell.mean) for cell in self.cells]))

    def at(self, environment: Environment, *memories: int) -> list[Cell]:
        """The cells of one behavior with some memories."""
        return [c for c in self.cells if c.environment == environment and c.k_new in memories]

    def points(self, environments: Sequence[Environment]) -> dict[int, Point]:
        """By size, averaged over some behaviors."""
        cells = (cell for cell in self.cells if cell.environment in environments)
        return {
            size: Point(
                float(np.mean([cell.worse for cell in same])),
                float(np.mean([cell.normalised(cell.mean) for cell in same])),
                float(np.mean([cell.normalised(cell.cvar(0.1)) for cell in same])),
            )
            for size, same in sorted(grouped(cells, lambda cell: cell.size).items())
        }


def some_sizes(sizes: Sequence[int]) -> list[int]:
    """A few sizes, evenly spread, the largest among them: what fits a terminal or a figure."""
    step = max(1, round((len(sizes) - 1) / SHOWN))
    return sorted(sizes[::-1][::step][:SHOWN])


def _cells(table: Any, environments: dict[str, Environment]) -> Iterator[tuple[Any, Cell]]:
    """Group rows by everything but the data set."""
    columns = ("behavior", "k_new", "algorithm", "parameters", "size")
    code = np.zeros(table.num_rows, np.int64)
    values = []
    for column in columns:
        words = column in ("behavior", "algorithm", "parameters")
        array = table[column].unify_dictionaries().combine_chunks()
        array = array if words else array.dictionary_encode()
        code = code * len(array.dictionary) + array.indices.to_numpy()
        values.append(array)
    order = np.lexsort([table["dataset"].to_numpy(), code])
    value, zeta, known = (table[column].to_numpy() for column in ("value", "zeta", "known"))
    firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for rows in np.split(order, firsts[1:]):
        behavior, k_new, algorithm, parameters, size = (a[int(rows[0])].as_py() for a in values)
        setting = StudySetting(algorithm, tuple(json.loads(parameters).items()))
        numbers = value[rows], float(zeta[rows].mean()), float(known[rows].mean())
        yield (
            (behavior, k_new, algorithm, frozenset(setting.parameters), size),
            Cell(environments[behavior], k_new, setting, size, *numbers),
        )


class Results:
    """The results of a study, cell by cell and line by line."""

    def __init__(self, store: Store) -> None:
        manifest = store.read_manifest()
        self.title: str = manifest["title"]
        self.manifest = manifest
        self.sizes: tuple[int, ...] = tuple(manifest["sizes"])
        self.environments = tuple(
            Environment(
                name=b["name"],
                model=b["model"],
                model_name=b["title"],
                window=b["window"],
                memories=tuple(b["memories"]),
                behavior=b["value"],
                optimum=b["optimum"],
            )
            for b in manifest["behaviors"]
        )
        self.settings = tuple(
            StudySetting(name, tuple(options.items())) for name, options in manifest["settings"]
        )
        self._cells = dict(_cells(store.read(), {e.name: e for e in self.environments}))
        lines = grouped(
            self.cells(), lambda cell: (cell.setting, cell.environment.more(cell.k_new))
        )
        ordered = sorted(lines.items(), key=lambda item: self.settings.index(item[0][0]))
        self.lines = tuple(StudyLine(*key, tuple(cells)) for key, cells in ordered)

    def cell(
        self, environment: str, k_new: int, algorithm: str, size: int, **parameters: Any
    ) -> Cell | None:
        """One cell, or None if nothing of it was computed (yet)."""
        return self._cells.get((environment, k_new, algorithm, frozenset(parameters.items()), size))

    def cells(self) -> list[Cell]:
        return list(self._cells.values())

    @property
    def all_lines(self) -> tuple[StudyLine, ...]:
        """Every setting, and what could be reached in hindsight."""
        hindsight = in_hindsight(self.lines)
        return (*self.lines, hindsight) if hindsight else self.lines


def in_hindsight(lines: Iterable[StudyLine]) -> StudyLine | None:
    """For every behavior and size the SPIBB setting with the best mean."""
    swept = (line for line in lines if line.setting and line.setting.algorithm == SWEPT)
    cells = grouped(
        (cell for line in swept for cell in line.cells), lambda c: (c.environment.name, c.size)
    )
    best = tuple(max(those, key=lambda cell: cell.mean) for those in cells.values())
    return StudyLine(None, None, best) if best else None


def kinds(environments: Iterable[Environment]) -> dict[str, list[Environment]]:
    """Behaviors of one model and one window, which may come from different training seeds."""
    return grouped(environments, lambda environment: environment.title)


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
        for line in results.all_lines
    ]


# ---- algorithms with and without a gate --------------------------------------------------------

CANDIDATES = "candidates"


@dataclass(frozen=True)
class FamilyRow:
    """One algorithm."""

    name: str
    title: str  # with its setting
    plain: tuple[StudyLine, ...]  # without a test, the least memory first
    gated: StudyLine | None

    @property
    def worse(self) -> float:
        """Share of the logs that end worse without a test, over all amounts of memory."""
        return float(np.mean([line.worse for line in self.plain])) if self.plain else 0.0


def family_rows(results: Results) -> list[FamilyRow]:
    """Every algorithm as it is and behind the gate, the safest first."""
    plain: dict[str, list[StudyLine]] = {}
    gated: dict[str, StudyLine] = {}
    for line in results.lines:
        assert line.setting is not None
        if not line.setting.chooses_memory:
            # of several settings of one algorithm the first speaks for it
            same = plain.setdefault(line.setting.algorithm, [])
            if all(line.setting == other.setting for other in same):
                same.append(line)
        elif line.setting.options.get(CANDIDATES):
            gated.setdefault(str(line.setting.options[CANDIDATES]), line)
    rows = []
    for name in dict.fromkeys([*plain, *gated]):
        lines = tuple(sorted(plain.get(name, []), key=lambda line: line.more or 0))
        rows.append(FamilyRow(name, lines[0].name if lines else name, lines, gated.get(name)))
    return sorted(rows, key=lambda row: row.worse)


def gated_sizes(rows: Sequence[FamilyRow]) -> list[int]:
    """The sizes on which the gate was run."""
    return sorted({cell.size for row in rows if row.gated for cell in row.gated.cells})
