"""What people compare in a table of results: mean, CVaR, how often the result is worse.

The α-CVaR of n values is the mean of the ⌈αn⌉ smallest: what to expect in the worst α of cases.
Normalised improvement is (ρ - ρ_b)/(ρ* - ρ_b): 0 is the behavior, 1 the best policy of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.plain import finite
from jumar.lab.study.settings import CHOSEN, StudySetting
from jumar.lab.study.store import Store

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

    >>> cvar(np.array([5.0, 1.0, 4.0, 2.0]), 0.5)
    1.5
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
    def worse(self) -> float:
        """Share of data sets that end below the behavior."""
        return float((self.values < self.environment.behavior - WORSE).mean())

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


class Results:
    """The results of a study, cell by cell."""

    def __init__(self, store: Store) -> None:
        manifest = store.read_manifest()
        self.title: str = manifest["title"]
        self.manifest = manifest
        self.sizes: tuple[int, ...] = tuple(manifest["sizes"])
        self.environments = tuple(
            Environment(
                b["name"],
                b["model"],
                b["title"],
                b["window"],
                tuple(b["memories"]),
                b["value"],
                b["optimum"],
            )
            for b in manifest["behaviors"]
        )
        self.settings = tuple(
            StudySetting(name, tuple(options.items())) for name, options in manifest["settings"]
        )
        self._cells = dict(_cells(store.read(), {e.name: e for e in self.environments}))

    def cell(
        self, environment: str, k_new: int, algorithm: str, size: int, **parameters: Any
    ) -> Cell | None:
        """One cell, or None if nothing of it was computed (yet)."""
        return self._cells.get((environment, k_new, algorithm, frozenset(parameters.items()), size))

    def cells(self) -> list[Cell]:
        return list(self._cells.values())

    def memories(self, environment: Environment) -> tuple[int, ...]:
        """The windows of the improved controllers, and CHOSEN if a setting chose by itself."""
        chosen = (CHOSEN,) if any(setting.chooses_memory for setting in self.settings) else ()
        return (*environment.memories, *chosen)

    def settings_with(self, k_new: int) -> list[StudySetting]:
        """The settings that were run with a window, or those that chose by themselves."""
        return [s for s in self.settings if s.chooses_memory == (k_new == CHOSEN)]

    def across(self, environment: Environment, k_new: int, setting: StudySetting) -> list[Cell]:
        """The cells of a setting with a memory, over the sizes that are there."""
        where = environment.name, k_new, setting.algorithm
        cells = [self.cell(*where, size, **setting.options) for size in self.sizes]
        return [cell for cell in cells if cell is not None]

    def pooled(self, k_new: int, setting: StudySetting, size: int) -> Floats:
        """The normalised improvements of all data sets of all behaviors, for a statement about
        many models together."""
        found = [
            (cell.values - e.behavior) / (e.optimum - e.behavior)
            for e in self.environments
            if e.optimum is not None and e.optimum != e.behavior
            for cell in self.across(e, k_new, setting)
            if cell.size == size
        ]
        return np.concatenate(found) if found else np.empty(0)


def _cells(table: Any, environments: dict[str, Environment]) -> Iterator[tuple[Any, Cell]]:
    """Group rows by everything but the data set."""
    text = {c: table[c].combine_chunks().dictionary_encode() for c in ("k_new", "size")}
    for column in ("behavior", "algorithm", "parameters"):
        text[column] = table[column].unify_dictionaries().combine_chunks()
    columns = ("behavior", "k_new", "algorithm", "parameters", "size")
    code = np.zeros(table.num_rows, np.int64)
    for column in columns:
        array = text[column]
        code = code * len(array.dictionary) + array.indices.to_numpy()
    dataset = table["dataset"].to_numpy()
    order = np.lexsort([dataset, code])
    value, known = table["value"].to_numpy(), table["known"].to_numpy()
    zeta = table["zeta"].to_numpy()
    firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for first, last in zip(firsts, [*firsts[1:], len(order)], strict=True):
        rows = order[first:last]
        at = int(rows[0])
        behavior, k_new, algorithm, parameters, size = (text[c][at].as_py() for c in columns)
        setting = StudySetting(algorithm, tuple(json.loads(parameters).items()))
        yield (
            (behavior, k_new, algorithm, frozenset(setting.parameters), size),
            Cell(
                environments[behavior],
                k_new,
                setting,
                size,
                value[rows],
                float(zeta[rows].mean()),
                float(known[rows].mean()),
            ),
        )
