"""The figures of a study; `page` has the captions that say what each of them shows.

Colours are told apart by lightness as well, and every line has its own dashes and marker, so that
the figures survive grey print. In heat maps, cells that end below the behavior are hatched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jumar.algorithms import Look
from jumar.core.arrays import Floats
from jumar.core.files import write_atomically
from jumar.lab.study.spec import CHOSEN, SWEPT, FigureSpec
from jumar.lab.study.summary import (
    Cell,
    Environment,
    FamilyRow,
    Results,
    StudyLine,
    family_rows,
    gated_sizes,
    in_hindsight,
    kinds,
    some_sizes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BAND, BAND_EDGE = "#dfe8e2", "#3c6e57"
SHARES = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)
TENS = (1, 10, 100, 1000, 10_000)
STYLE: Any = {
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "jumar",  # the same figure, the same file
    "svg.fonttype": "path",
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
}
NO_DATES: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def pyplot() -> Any:
    """matplotlib's, which draws into files only."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


def panels(
    rows: int, columns: int, size: tuple[float, float], sharey: bool | str, sharex: Any = True
) -> tuple[Figure, Any]:
    """A figure, and its (rows, columns) axes, which share what is below."""
    shared: Any = {"sharex": sharex, "sharey": sharey, "squeeze": False, "layout": "constrained"}
    figure, axes = pyplot().subplots(rows, columns, figsize=size, **shared)
    return figure, axes


def size_axis(ax: Axes, sizes: Sequence[int]) -> None:
    """Sizes of logs on a log axis, with a tick at each of these."""
    ax.set_xscale("log")
    ax.set_xticks(sizes)
    ax.xaxis.set_major_formatter(lambda x, _: short(round(x)))


def short(size: int) -> str:
    """A size that fits an axis.

    >>> short(500), short(2000)
    ('500', '2k')
    """
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def share_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """A square-root axis has room for both 1 % and 80 %."""

    def root(x: Floats) -> Floats:
        return np.sqrt(np.maximum(x, 0))

    getattr(ax, f"set_{which}scale")("function", functions=(root, np.square))
    getattr(ax, f"set_{which}lim")(0, 1)
    getattr(ax, f"set_{which}ticks")(SHARES, [f"{100 * share:g} %" for share in SHARES])
    ax.minorticks_off()


def save(figure: Figure, *paths: Path) -> list[Path]:
    """Write the figure; the ending of each name says as what."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        for path in paths:
            kind = path.suffix.removeprefix(".")
            drawn = BytesIO()  # matplotlib loses its footing where a disk is full
            figure.savefig(drawn, format=kind, dpi=160, metadata=NO_DATES.get(kind))
            write_atomically(path, drawn.getvalue())
    plt.close(figure)
    return list(paths)


GREEN, GREY = "#1b8a5a", "#777777"
STATISTICS: tuple[tuple[str, str, Callable[[Cell], float]], ...] = (
    ("mean", "-", lambda cell: cell.mean),
    ("10 %-CVaR", "--", lambda cell: cell.cvar(0.10)),
    ("1 %-CVaR", ":", lambda cell: cell.cvar(0.01)),
)
Planned = dict[str, dict[str, Any]]  # the online planner's mean and standard error by behavior


def draw(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    """One figure, with the online planner's line where there is one."""
    makers = {"curves": _curves, "heatmap": _heatmap, "safety": _safety, "family": _family}
    with pyplot().rc_context(STYLE):
        return makers[spec.kind](spec, results, planner)


# ---- curves -----------------------------------------------------------------------------------


def _curves(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    rows = _asked(spec, results)
    columns = [(i, n) for i in range(max(len(e.memories) for e in rows)) for n in spec.n_wedge]
    width = max(4.6, 2.15 * len(columns) + 0.4)
    figure, axes = panels(len(rows), len(columns), (width, 1.75 * len(rows) + 1.4), sharey="row")
    for i, environment in enumerate(rows):
        lowest = environment.behavior  # of all means in this row: its panels share an axis
        for j, (memory, n_wedge) in enumerate(columns):
            ax = axes[i][j]
            if memory >= len(environment.memories):
                ax.set_visible(False)
                continue
            k_new = environment.memories[memory]
            planned = planner.get(environment.name)
            lowest = min(lowest, _panel(ax, results, environment, k_new, n_wedge, planned))
            ax.set(xlabel="episodes in the log", ylabel=f"{environment.title}\nvalue")
            ax.set_title(f"N∧ = {n_wedge}, k′ = {k_new}")
            ax.label_outer()
        axes[i][0].set_ylim(*_limits(environment, lowest))
    found = {
        label: handle
        for ax in axes.ravel()
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    columns_of_legend = max(2, round(width / 1.9))
    figure.legend(found.values(), found, loc="outside lower center", ncols=columns_of_legend)
    return figure


def _asked(spec: FigureSpec, results: Results) -> list[Environment]:
    return [e for name in spec.behaviors for e in results.environments if e.name == name]


def _panel(
    ax: Axes,
    results: Results,
    environment: Environment,
    k_new: int,
    n_wedge: int,
    planned: dict[str, Any] | None,
) -> float:
    """Draw one panel; returns the lowest mean in it."""
    lowest = np.inf
    for line in results.lines:
        assert line.setting is not None
        cells = line.at(environment, k_new, CHOSEN)
        if not cells or line.setting.threshold not in (None, n_wedge):
            continue
        look = line.setting.entry.curve(line.setting.options)
        sizes = [cell.size for cell in cells]
        lowest = min(lowest, *(cell.mean for cell in cells))
        for name, dashes, statistic in STATISTICS[: 1 if look.minor else None]:
            values = [statistic(cell) for cell in cells]
            marker = look.marker if name == "mean" else None
            how: Any = {"color": look.colour, "marker": marker, "linewidth": look.width}
            ax.plot(sizes, values, dashes, markersize=2.6, label=f"{look.label}, {name}", **how)
    ax.axhline(environment.behavior, color=GREEN, linestyle="-.", linewidth=1.2, label="behavior")
    if environment.optimum is not None:
        ax.axhline(environment.optimum, color="black", linewidth=0.8, label="best policy of all")
    if planned is not None:
        mean, error = planned["mean"], planned["standard_error"]
        ax.axhspan(mean - error, mean + error, color=GREY, alpha=0.25, linewidth=0)
        dashed: Any = {"linestyle": (0, (5, 1, 1, 1, 1, 1)), "linewidth": 1.0}
        ax.axhline(mean, color=GREY, label="PO-UCT ± s.e.", **dashed)
    size_axis(ax, [t for t in TENS if t <= results.sizes[-1]])
    return lowest


def _limits(environment: Environment, lowest: float) -> tuple[float, float]:
    """Room for every mean, within reason; what falls further leaves the frame."""
    top = environment.behavior if environment.optimum is None else environment.optimum
    span = max(top - environment.behavior, 1e-9)
    low = max(lowest, environment.behavior - 1.6 * span) - 0.12 * span
    return min(low, environment.behavior - 0.35 * span), top + 0.12 * span


# ---- heat maps --------------------------------------------------------------------------------


def _heatmap(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    from matplotlib.patches import Rectangle

    (environment,) = _asked(spec, results)
    height = 1.15 + 1.95 * len(environment.memories)
    figure, axes = panels(len(environment.memories), len(STATISTICS), (8.6, height), sharey=True)
    settings = [s for s in results.settings if s.algorithm == SWEPT]
    how: Any = {"cmap": "cividis", "aspect": "auto", "origin": "lower", "interpolation": "nearest"}
    for i, k_new in enumerate(environment.memories):
        for j, (name, _, statistic) in enumerate(STATISTICS):
            ax, table = axes[i][j], np.full((len(settings), len(results.sizes)), np.nan)
            for cell in (cell for line in results.lines for cell in line.at(environment, k_new)):
                if cell.setting in settings:
                    place = settings.index(cell.setting), results.sizes.index(cell.size)
                    table[place] = cell.normalised(statistic(cell))
            image = ax.imshow(np.clip(table, -1, 1), vmin=-1, vmax=1, **how)
            for y, x in np.argwhere(table < -1e-9):
                box: Any = {"fill": False, "hatch": "////", "edgecolor": "white", "linewidth": 0}
                ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, **box))
            ax.set_xticks(range(len(results.sizes)), map(short, results.sizes), rotation=60)
            ax.set_yticks(range(len(settings)), [str(s.threshold) for s in settings])
            ax.tick_params(length=2, labelsize=6.5)
            ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
            ax.set(xlabel="episodes in the log", ylabel="N∧", title=f"{name}, k′ = {k_new}")
            ax.label_outer()
    bar = figure.colorbar(image, ax=axes, shrink=0.85, pad=0.015)
    bar.set_ticks([-1, -0.5, 0, 0.5, 1], labels=["≤ -1", "-0.5", "0: behavior", "0.5", "1: best"])
    figure.suptitle(
        f"{environment.title}: normalised improvement (hatched: worse than behavior)", fontsize=9
    )
    return figure


# ---- safety -----------------------------------------------------------------------------------

LOWEST = -1.0  # of normalised panels; what falls further leaves the frame, or is marked there
TAIL = ": 10 %-CVaR"
HINDSIGHT_LOOK = Look(
    "best SPIBB in hindsight", "#555555", "x", 1.0, (0, (1, 1.2)), size=3.6, order=1
)


def _safety(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    """One column per kind of behavior among those asked for."""
    columns = kinds(_asked(spec, results))
    chosen = _chosen(results, spec.n_wedge)
    # what a setting that chooses was allowed; of several, the first
    allowed = (s.options["delta"] for s in results.settings if s.chooses_memory)
    delta = float(next(allowed, results.manifest["delta"]))
    width = max(4.6, 2.05 * len(columns) + 0.5)
    figure, axes = panels(2, len(columns), (width, 4.9), sharey="row")
    for j, (title, environments) in enumerate(columns.items()):
        _column(axes[0][j], axes[1][j], chosen, environments, delta)
        axes[0][j].set_title(title)
        axes[1][j].set_xlabel("episodes in the log")
    above, below = axes[:, 0]  # the other columns share their axes
    share_axis(above, "y")
    above.set_ylabel("data sets that end worse")
    below.set(ylim=(LOWEST, 1.06), ylabel="normalised improvement")
    below.set_yticks([-1, -0.5, 0, 0.5, 1], ["-1", "-½", "0", "½", "1"])
    sizes = results.sizes
    size_axis(below, sizes if len(sizes) <= 4 else [t for t in TENS if sizes[0] <= t <= sizes[-1]])
    below.minorticks_off()
    beside: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    beside |= {"xytext": (0, 2), "ha": "right", "color": BAND_EDGE}
    axes[0][-1].annotate(f"δ = {100 * delta:g} %", (1, delta), **beside)
    found = dict(zip(*below.get_legend_handles_labels()[::-1], strict=True))
    labels = list(found)[::-1]  # the most important first
    how: Any = {"loc": "outside lower center", "ncols": min(5, len(labels)), "handlelength": 3.2}
    figure.legend([found[label] for label in labels], labels, **how)
    return figure


def _chosen(results: Results, thresholds: tuple[int, ...]) -> list[tuple[Look, StudyLine]]:
    """The lines to draw, the most important last: on top. Of lines that look alike, the first."""
    hindsight = in_hindsight(results.lines)
    found = [(HINDSIGHT_LOOK, hindsight)] if hindsight else []
    for line in results.lines:
        assert line.setting is not None
        look = line.setting.entry.safety(line.setting.options, thresholds)
        if line.more in (0, None) and look is not None and all(look != x for x, _ in found):
            found.append((look, line))
    return sorted(found, key=lambda pair: pair[0].order)


def _column(
    above: Axes,
    below: Axes,
    chosen: list[tuple[Look, StudyLine]],
    environments: list[Environment],
    delta: float,
) -> None:
    above.axhspan(0, delta, color=BAND, linewidth=0, zorder=0)
    above.axhline(delta, color=BAND_EDGE, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    below.axhline(0, color="#1b8a5a", linewidth=1.0, linestyle="-.", label="behavior", zorder=1)
    below.axhline(1, color="black", linewidth=0.6, zorder=1)
    for order, (look, line) in enumerate(chosen, 2):
        found = line.points(environments)
        if not found:
            continue
        style: dict[str, Any] = {"color": look.colour, "zorder": order, "linestyle": look.dashes}
        style |= {"linewidth": look.width, "marker": look.marker, "markersize": look.size}
        sizes, every = list(found), found.values()
        above.plot(sizes, [point.worse for point in every], clip_on=False, **style)
        below.plot(sizes, [point.mean for point in every], label=look.label, **style)
        if look.tail:
            style |= {"linestyle": (0, (3, 1.5)), "marker": None, "linewidth": look.width * 0.55}
            below.plot(sizes, [point.cvar_10 for point in every], label=look.label + TAIL, **style)


# ---- family -----------------------------------------------------------------------------------

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


def _family(spec: FigureSpec, results: Results, planner: Planned) -> Figure:
    """One row of panels for some of the sizes on which the gate was run; without a gate, for the
    largest size."""
    rows = family_rows(results)
    asked = _asked(spec, results)
    sizes = some_sizes(gated_sizes(rows)) or [results.sizes[-1]]
    height = (0.17 * len(rows) + 0.42) * len(sizes) + 0.75
    figure, axes = panels(len(sizes), len(COLUMNS), (7.4, height), True, sharex="col")
    for i, size in enumerate(sizes):
        for j, (what, title) in enumerate(COLUMNS):
            ax = axes[i][j]
            _family_panel(ax, rows, asked, size, what)
            if i == 0:
                ax.set_title(title)
            if j == 0:
                ax.set_ylabel(f"{size:,} episodes")
                ax.set_yticks(range(len(rows)), [row.name for row in rows])
    axes[0][0].invert_yaxis()
    for j in (0, 1):
        axes[0][j].set_xlim(LOWEST * 1.05, 1.05)
        axes[0][j].set_xticks([-1, -0.5, 0, 0.5, 1], ["≤ -1", "-½", "0", "½", "1"])
    share_axis(axes[0][2], "x")
    handles = [
        pyplot().Line2D([], [], linestyle="", **_style(mark, filled=mark is GATED))
        for mark in (*MARKS, GATED)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _family_panel(
    ax: Axes, rows: list[FamilyRow], environments: list[Environment], size: int, what: str
) -> None:
    for y, row in enumerate(rows):
        ax.axhline(y, color="#e6e6e6", linewidth=0.6, zorder=0)
        lines = [(line, MARKS[min(k, len(MARKS) - 1)]) for k, line in enumerate(row.plain)]
        for line, mark in [*lines, *([(row.gated, GATED)] if row.gated else [])]:
            point = line.points(environments).get(size)
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
