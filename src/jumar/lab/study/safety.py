"""How safe every setting of a study was, over all its behaviors and sizes.

A *line* is one setting with one amount of memory beyond the behavior's, so that behaviors with
different windows can be put side by side. It has one cell per behavior and size; its share of data
sets that end worse is taken over all of them, and its worst cell is the one with the largest share.

*In hindsight* is the best that a user could do who knew the truth: for every behavior and size, the
setting of SPIBB with the best mean.

The figure has one column per kind of behavior, over log sizes. Top: share of data sets that end
worse than the behavior, on a square-root axis; what lies in the band is within δ. Bottom: the mean
normalised improvement, with the 10 %-CVaR of the bolder lines dashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.algorithms import Look
from jumar.core.plain import finite
from jumar.lab.study.drawing import BAND, BAND_EDGE, panels, share_axis, size_axis
from jumar.lab.study.settings import CHOSEN, SWEPT, StudySetting
from jumar.lab.study.spec import FigureSpec
from jumar.lab.study.summary import Cell, Environment, Results, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


# ---- the figure ---------------------------------------------------------------------------------

LOWEST = -1.0  # of the lower panels; what falls further leaves the frame
TAIL = ": 10 %-CVaR"


HINDSIGHT_LOOK = Look(
    "best SPIBB in hindsight", "#555555", "x", 1.0, (0, (1, 1.2)), size=3.6, order=1
)


def draw_safety(spec: FigureSpec, results: Results) -> Figure:
    """One column per kind of behavior among those asked for."""
    asked = [e for name in spec.behaviors for e in results.environments if e.name == name]
    columns = kinds(asked)
    chosen = _chosen(lines_of(results), spec.n_wedge)
    delta = _delta(results)
    width = max(4.6, 2.05 * len(columns) + 0.5)
    figure, axes = panels(2, len(columns), (width, 4.9), sharey="row")
    for j, (title, environments) in enumerate(columns.items()):
        _column(axes[0][j], axes[1][j], chosen, environments, delta)
        axes[0][j].set_title(title)
        axes[1][j].set_xlabel("episodes in the log")
    share_axis(axes[0][0], "y")
    axes[0][0].set_ylabel("data sets that end worse")
    axes[1][0].set_ylim(LOWEST, 1.06)
    axes[1][0].set_yticks([-1, -0.5, 0, 0.5, 1], ["-1", "-½", "0", "½", "1"])
    axes[1][0].set_ylabel("normalised improvement")
    sizes = results.sizes
    tens = [t for t in (1, 10, 100, 1000, 10_000) if sizes[0] <= t <= sizes[-1]]
    size_axis(axes[1][0], sizes if len(sizes) <= 4 else tens)
    axes[1][0].minorticks_off()
    axes[0][-1].annotate(
        f"δ = {100 * delta:g} %",
        (1, delta),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        color=BAND_EDGE,
    )
    found = dict(zip(*axes[1][0].get_legend_handles_labels()[::-1], strict=True))
    wanted = [f"{look.label}{of}" for look, _ in chosen[::-1] for of in ("", TAIL)]
    labels = [label for label in [*wanted, "behavior"] if label in found]
    figure.legend(
        [found[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=min(5, len(labels)),
        handlelength=3.2,
    )
    return figure


def _delta(results: Results) -> float:
    """What a setting that chooses was allowed; of several, the first."""
    allowed = (s.options["delta"] for s in results.settings if s.chooses_memory)
    return float(next(allowed, results.manifest["delta"]))


def _chosen(lines: list[SafetyLine], thresholds: tuple[int, ...]) -> list[tuple[Look, SafetyLine]]:
    """The lines to draw, the most important last: on top. Of lines that look alike, the first."""
    hindsight = in_hindsight(lines)
    found = [(HINDSIGHT_LOOK, hindsight)] if hindsight else []
    for line in lines:
        assert line.setting is not None
        look = line.setting.entry.safety(line.setting.options, thresholds)
        if line.more in (0, None) and look is not None and all(look != x for x, _ in found):
            found.append((look, line))
    return sorted(found, key=lambda pair: pair[0].order)


def _column(
    above: Axes,
    below: Axes,
    chosen: list[tuple[Look, SafetyLine]],
    environments: list[Environment],
    delta: float,
) -> None:
    above.axhspan(0, delta, color=BAND, linewidth=0, zorder=0)
    above.axhline(delta, color=BAND_EDGE, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    below.axhline(0, color="#1b8a5a", linewidth=1.0, linestyle="-.", label="behavior", zorder=1)
    below.axhline(1, color="black", linewidth=0.6, zorder=1)
    for order, (look, line) in enumerate(chosen, 2):
        found = points(line, environments)
        if not found:
            continue
        style: dict[str, Any] = {"color": look.colour, "zorder": order, "linestyle": look.dashes}
        style |= {"linewidth": look.width, "marker": look.marker, "markersize": look.size}
        sizes = [point.size for point in found]
        above.plot(sizes, [point.worse for point in found], clip_on=False, **style)
        below.plot(sizes, [point.mean for point in found], label=look.label, **style)
        if look.tail:
            style |= {"linestyle": (0, (3, 1.5)), "marker": None, "linewidth": look.width * 0.55}
            below.plot(sizes, [point.cvar_10 for point in found], label=look.label + TAIL, **style)
