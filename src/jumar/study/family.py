"""Every algorithm of a study, as it is and behind the gate: as the one that makes the candidates of
a setting that chooses. Each is a row, with one line for every amount of memory and one for the
gate; those that end worse least often, as they are, come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumar.study.safety import Point, SafetyLine, lines_of, points
from jumar.study.summary import Environment, Results

CANDIDATES = "candidates"


@dataclass(frozen=True)
class FamilyRow:
    """One algorithm."""

    name: str
    title: str  # with its setting
    plain: tuple[SafetyLine, ...]  # without a test, the least memory first
    gated: SafetyLine | None

    @property
    def worse(self) -> float:
        """Share of the logs that end worse without a test, over all amounts of memory."""
        return float(np.mean([line.worse for line in self.plain])) if self.plain else 0.0


def family_rows(results: Results) -> list[FamilyRow]:
    """The algorithms of a study, the safest first."""
    plain: dict[str, list[SafetyLine]] = {}
    gated: dict[str, SafetyLine] = {}
    for line in lines_of(results):
        assert line.setting is not None
        if not line.setting.chooses_memory:
            # of several settings of one algorithm the first speaks for it
            same = plain.setdefault(line.setting.algorithm, [])
            if all(line.setting == other.setting for other in same):
                same.append(line)
        elif line.setting.options.get(CANDIDATES):
            gated.setdefault(str(line.setting.options[CANDIDATES]), line)
    names = [*plain, *(name for name in gated if name not in plain)]
    rows = []
    for name in names:
        lines = tuple(sorted(plain.get(name, []), key=lambda line: line.more or 0))
        title = lines[0].name if lines else name
        rows.append(FamilyRow(name, title, lines, gated.get(name)))
    return sorted(rows, key=lambda row: row.worse)


def gated_sizes(rows: Sequence[FamilyRow]) -> list[int]:
    """The sizes on which the gate was run."""
    return sorted({cell.size for row in rows if row.gated for cell in row.gated.cells})


def at_size(line: SafetyLine, environments: Sequence[Environment], size: int) -> Point | None:
    """A line at one size, averaged over behaviors; None where it was not run."""
    return next((point for point in points(line, environments) if point.size == size), None)
