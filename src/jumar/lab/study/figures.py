"""The figures of a study: performance curves, heat maps of normalised improvement, and how safe
it was (`jumar.lab.study.safety`), and every algorithm with and without a gate
(`jumar.lab.study.family`).

Colours are told apart by lightness as well, and every line has its own dashes and marker, so that
the figures survive grey print. In heat maps, cells that end below the behavior are hatched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.algorithms import Look
from jumar.core.arrays import Floats
from jumar.lab.study.drawing import STYLE, panels, pyplot, short, size_axis
from jumar.lab.study.family import draw_family
from jumar.lab.study.safety import draw_safety
from jumar.lab.study.settings import CHOSEN, SWEPT
from jumar.lab.study.spec import FigureSpec
from jumar.lab.study.summary import Cell, Environment, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREEN, GREY = "#1b8a5a", "#777777"
STATISTICS: tuple[tuple[str, str, Callable[[Cell], float]], ...] = (
    ("mean", "-", lambda cell: cell.mean),
    ("10 %-CVaR", "--", lambda cell: cell.cvar(0.10)),
    ("1 %-CVaR", ":", lambda cell: cell.cvar(0.01)),
)
Planned = dict[str, dict[str, Any]]  # the online planner's mean and standard error by behavior


def draw(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    """One figure, with the online planner's line where there is one."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        if spec.kind == "curves":
            return _curves(spec, results, planner)
        if spec.kind == "safety":
            return draw_safety(spec, results)
        if spec.kind == "family":
            return draw_family(spec, results)
        return _heatmap(spec, results)


# ---- curves -------------------------------------------------------------------------------------


def _curves(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    rows = [e for name in spec.behaviors for e in results.environments if e.name == name]
    columns = [(i, n) for i in range(max(len(e.memories) for e in rows)) for n in spec.n_wedge]
    width = max(4.6, 2.15 * len(columns) + 0.4)
    legend_columns = max(2, round(width / 1.9))
    looks = [setting.entry.curve(setting.options) for setting in results.settings]
    lines = {look.label: 1 if look.minor else len(STATISTICS) for look in looks}
    legend_rows = -(-max(10, sum(lines.values()) + 3) // legend_columns)  # to explain them
    height = 1.75 * len(rows) + 0.5 + 0.17 * legend_rows
    figure, axes = panels(len(rows), len(columns), (width, height), sharey="row")
    for i, environment in enumerate(rows):
        lowest = environment.behavior  # of all means in this row: its panels share an axis
        for j, (memory, n_wedge) in enumerate(columns):
            ax = axes[i][j]
            if memory >= len(environment.memories):
                ax.set_visible(False)
                continue
            k_new = environment.memories[memory]
            planned = planner.get(environment.name)
            least = _panel(ax, results, environment, k_new, n_wedge, planned)
            lowest = min(lowest, least)
            ax.set_title(f"N∧ = {n_wedge}, k′ = {k_new}")
            if j == 0:
                ax.set_ylabel(f"{environment.title}\nvalue")
            if i == len(rows) - 1:
                ax.set_xlabel("episodes in the log")
        axes[i][0].set_ylim(*_limits(environment, lowest))
    handles, labels = _legend(axes)
    figure.legend(handles, labels, loc="outside lower center", ncols=legend_columns)
    return figure


def _panel(
    ax: Axes,
    results: Results,
    environment: Environment,
    k_new: int,
    n_wedge: int,
    planned: dict[str, Any] | None,
) -> float:
    """Draw one panel; returns the lowest mean in it."""
    lines: list[tuple[Look, list[Cell]]] = []
    for setting in results.settings:
        if setting.threshold in (None, n_wedge):
            memory = CHOSEN if setting.chooses_memory else k_new
            cells = results.across(environment, memory, setting)
            lines.append((setting.entry.curve(setting.options), cells))
    for look, cells in lines:
        sizes = [cell.size for cell in cells]
        for name, dashes, statistic in STATISTICS[: 1 if look.minor else None]:
            values = [statistic(cell) for cell in cells]
            ax.plot(
                sizes,
                values,
                dashes,
                color=look.colour,
                marker=look.marker if name == "mean" else None,
                markersize=2.6,
                linewidth=look.width,
                label=f"{look.label}, {name}",
                clip_on=True,
            )
    ax.axhline(environment.behavior, color=GREEN, linestyle="-.", linewidth=1.2, label="behavior")
    if environment.optimum is not None:
        ax.axhline(environment.optimum, color="black", linewidth=0.8, label="best policy of all")
    if planned is not None:
        mean, error = planned["mean"], planned["standard_error"]
        ax.axhspan(mean - error, mean + error, color=GREY, alpha=0.25, linewidth=0)
        ax.axhline(
            mean,
            color=GREY,
            linestyle=(0, (5, 1, 1, 1, 1, 1)),
            linewidth=1.0,
            label="PO-UCT ± s.e.",
        )
    size_axis(ax, [t for t in (1, 10, 100, 1000, 10_000) if t <= results.sizes[-1]])
    return min((cell.mean for *_, cells in lines for cell in cells), default=np.inf)


def _limits(environment: Environment, lowest: float) -> tuple[float, float]:
    """Room for every mean, within reason; what falls further leaves the frame."""
    top = environment.behavior if environment.optimum is None else environment.optimum
    span = max(top - environment.behavior, 1e-9)
    low = max(lowest, environment.behavior - 1.6 * span) - 0.12 * span
    return min(low, environment.behavior - 0.35 * span), top + 0.12 * span


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for ax in axes.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


# ---- heat maps ----------------------------------------------------------------------------------


def _heatmap(spec: FigureSpec, results: Results) -> Figure:
    (environment,) = (e for e in results.environments if e.name == spec.behaviors[0])
    height = 1.15 + 1.95 * len(environment.memories)
    figure, axes = panels(len(environment.memories), len(STATISTICS), (8.6, height), sharey=True)
    thresholds = [s.threshold for s in results.settings if s.algorithm == SWEPT]
    image: Any = None
    for i, k_new in enumerate(environment.memories):
        for j, (name, _, statistic) in enumerate(STATISTICS):
            ax = axes[i][j]
            table = _normalised(results, environment, k_new, thresholds, statistic)
            image = ax.imshow(
                np.clip(table, -1, 1),
                vmin=-1,
                vmax=1,
                cmap="cividis",
                aspect="auto",
                origin="lower",
                interpolation="nearest",
            )
            _hatch(ax, table)
            labels = [short(size) for size in results.sizes]
            ax.set_xticks(range(len(labels)), labels, rotation=60)
            ax.set_yticks(range(len(thresholds)), [str(n) for n in thresholds])
            ax.tick_params(length=2, labelsize=6.5)
            ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
            ax.set_title(f"{name}, k′ = {k_new}")
            if j == 0:
                ax.set_ylabel("N∧")
            if i == len(environment.memories) - 1:
                ax.set_xlabel("episodes in the log")
    bar = figure.colorbar(image, ax=axes, shrink=0.85, pad=0.015)
    bar.set_ticks([-1, -0.5, 0, 0.5, 1], labels=["≤ -1", "-0.5", "0: behavior", "0.5", "1: best"])
    figure.suptitle(
        f"{environment.title}: normalised improvement (hatched: worse than behavior)", fontsize=9
    )
    return figure


def _normalised(
    results: Results,
    environment: Environment,
    k_new: int,
    thresholds: Sequence[int],
    statistic: Any,
) -> Floats:
    table = np.full((len(thresholds), len(results.sizes)), np.nan)
    for i, n_wedge in enumerate(thresholds):
        for j, size in enumerate(results.sizes):
            cell = results.cell(environment.name, k_new, SWEPT, size, n_wedge=n_wedge)
            if cell is not None:
                table[i, j] = cell.normalised(statistic(cell))
    return table


def _hatch(ax: Axes, table: Floats) -> None:
    from matplotlib.patches import Rectangle

    for i, j in np.argwhere(table < -1e-9):
        ax.add_patch(
            Rectangle(
                (j - 0.5, i - 0.5), 1, 1, fill=False, hatch="////", edgecolor="white", linewidth=0
            )
        )
