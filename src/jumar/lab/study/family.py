"""Every algorithm of a study, as it is and behind the gate: as the one that makes the candidates of
a setting that chooses. Each is a row, with one line for every amount of memory and one for the
gate; those that end worse least often, as they are, come first.

The figure has one row of panels per size of the log. Left: the mean; middle: the 10 %-CVaR, what to
expect of the worst tenth of the logs; right: how many logs end worse. Open marks are the algorithm
as it is, filled ones the same behind the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.lab.study.drawing import pyplot, share_axis
from jumar.lab.study.safety import Point, SafetyLine, lines_of, points
from jumar.lab.study.spec import FigureSpec
from jumar.lab.study.summary import Environment, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


# ---- the figure ---------------------------------------------------------------------------------

LOWEST, HIGHEST = -1.0, 1.0  # of the normalised panels; what falls further is marked at the edge
MARKS: tuple[dict[str, Any], ...] = (  # by memory
    {"marker": "o", "color": "#d1495b", "label": "as it is, k′ = k"},
    {"marker": "s", "color": "#e09f3e", "label": "as it is, k′ = k+1"},
)
GATED: dict[str, Any] = {"marker": "D", "color": "#0a2f5f", "label": "behind the gate (own k′)"}
COLUMNS = (
    ("mean", "mean improvement"),
    ("cvar_10", "10 %-CVaR"),
    ("worse", "logs that end worse"),
)


def draw_family(spec: FigureSpec, results: Results) -> Figure:
    """One row of panels per size that is asked for, or on which the gate was run; without a gate,
    the largest size."""
    rows = family_rows(results)
    asked = [e for name in spec.behaviors for e in results.environments if e.name == name]
    sizes = list(spec.sizes) or gated_sizes(rows) or [results.sizes[-1]]
    height = (0.17 * len(rows) + 0.42) * len(sizes) + 0.75
    shared: Any = {"sharex": "col", "sharey": True, "squeeze": False, "layout": "constrained"}
    figure: Figure
    figure, axes = pyplot().subplots(len(sizes), len(COLUMNS), figsize=(7.4, height), **shared)
    for i, size in enumerate(sizes):
        for j, (what, title) in enumerate(COLUMNS):
            ax = axes[i][j]
            _panel(ax, rows, asked, size, what)
            if i == 0:
                ax.set_title(title)
            if j == 0:
                ax.set_ylabel(f"{size:,} episodes")
                ax.set_yticks(range(len(rows)), [row.name for row in rows])
    axes[0][0].invert_yaxis()
    for j in (0, 1):
        axes[0][j].set_xlim(LOWEST * 1.05, HIGHEST * 1.05)
        axes[0][j].set_xticks([-1, -0.5, 0, 0.5, 1], ["≤ -1", "-½", "0", "½", "1"])
    share_axis(axes[0][2], "x")
    shares = (0.0, 0.05, 0.2, 0.5, 1.0)
    axes[0][2].set_xticks(shares, [f"{100 * share:g} %" for share in shares])
    handles = [
        pyplot().Line2D([], [], linestyle="", **_style(mark, filled=mark is GATED))
        for mark in (*MARKS, GATED)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _panel(
    ax: Axes, rows: list[FamilyRow], environments: list[Environment], size: int, what: str
) -> None:
    for y, row in enumerate(rows):
        ax.axhline(y, color="#e6e6e6", linewidth=0.6, zorder=0)
        lines = [(line, MARKS[min(k, len(MARKS) - 1)]) for k, line in enumerate(row.plain)]
        for line, mark in [*lines, *([(row.gated, GATED)] if row.gated else [])]:
            point = at_size(line, environments, size)
            if point is None:
                continue
            value = getattr(point, what)
            style = _style(mark, filled=mark is GATED)
            if what != "worse" and value < LOWEST:
                value, style["marker"] = LOWEST, "<"
            ax.plot([value], [y], clip_on=False, zorder=4 if mark is GATED else 3, **style)
    if what != "worse":
        ax.axvline(0, color="#1b8a5a", linewidth=1.0, linestyle="-.", zorder=1)
    ax.tick_params(length=2)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _style(mark: dict[str, Any], *, filled: bool) -> dict[str, Any]:
    face = mark["color"] if filled else "white"
    return {**mark, "markersize": 4.2, "markerfacecolor": face, "markeredgewidth": 1.1}
