"""The figure that asks whether it was safe: one column per kind of behavior, over log sizes.

Top: share of data sets that end worse than the behavior, on a square-root axis, which has room for
both 1 % and 80 %; what lies in the band is within δ. Bottom: the mean normalised improvement, 0 the
behavior and 1 the best policy of all, with the 10 %-CVaR of the bolder lines dashed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.algorithms import Look
from jumar.study.drawing import BAND, BAND_EDGE, panels, share_axis, size_axis
from jumar.study.safety import SafetyLine, in_hindsight, kinds, lines_of, points
from jumar.study.spec import FigureSpec
from jumar.study.summary import Environment, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
