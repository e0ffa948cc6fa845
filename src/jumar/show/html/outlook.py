"""A picture of what comes next: the trend of both controllers along the log, and beyond its end.

The old controller is dashed and the new one full, each with a band, so that nothing depends on
colour. What is forecast lies to the right of the line "end of the log". A band so wide that the
trends could not be told from each other leaves the picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.text import number
from jumar.show.html.figures import BAR, TEXT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jumar.evidence.forecasting import FittedTrend, Forecast


def outlook_picture(found: Forecast, costs: bool, name: str = "outlook") -> str:
    """The forecast as SVG for the page. Of costs, less is better."""
    lines: list[tuple[str, FittedTrend, str, Any]] = [("old", found.behavior, TEXT, (0, (5, 2)))]
    if found.controller is not None:
        lines.append(("new", found.controller, BAR, "solid"))
    fitted = np.concatenate([trend.fitted for _, trend, _, _ in lines])
    size = float(np.abs(fitted).max())
    unit = size if size > 1e290 or 0 < size < 1e-290 else 1.0  # no axis has such numbers
    factor = (-1.0 if costs else 1.0) / unit
    low, high = sorted(factor * x for x in (fitted.min(), fitted.max()))
    room = max(high - low, 1e-9 * max(1.0, abs(high)))

    def paint(ax: Axes) -> None:
        first = max(lines, key=lambda line: factor * line[1].fitted[-1])
        for line in lines:
            label, trend, colour, style = line
            _line(ax, trend, factor, (low - room, high + room), colour, style)
            last = float(trend.at[-1]), factor * float(trend.fitted[-1])
            side = "bottom" if line is first else "top"  # names never lie on each other
            beside: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": side}
            ax.annotate(label, last, color=colour, **beside)
        ax.axvline(found.episodes - 0.5, color=TEXT, linewidth=1)
        end = found.episodes - 0.5, 1.0
        ax.annotate(
            "end of the log ", end, xycoords=("data", "axes fraction"), ha="right", va="top"
        )
        ax.set_xlim(0, found.episodes + found.ahead * 1.6)
        ax.set_xlabel("episode of the log")
        ax.set_ylabel("cost of an episode" if costs else "return of an episode")

    return picture(2.7, paint, name, in_words(found, costs))


def _line(
    ax: Axes,
    trend: FittedTrend,
    factor: float,
    limits: tuple[float, float],
    colour: str,
    style: Any,
) -> None:
    low, high = (np.clip(edge * factor, *limits) for edge in (trend.low, trend.high))
    ax.fill_between(trend.at, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.plot(trend.at, trend.fitted * factor, color=colour, linestyle=style, linewidth=2)


def in_words(found: Forecast, costs: bool) -> str:
    """The picture for who cannot see it."""
    sign, told = -1.0 if costs else 1.0, []
    for name, trend in (("old", found.behavior), ("new", found.controller)):
        if trend is not None:
            begins, ends = sign * float(trend.fitted[0]), sign * trend.value
            told.append(
                f"the {name} controller from {number(begins)} at the beginning of the log to "
                f"{number(ends)} in {found.following}"
            )
    what = "cost" if costs else "return"
    return f"Trend of the {what} of an episode: {'; '.join(told)}."
