"""A picture of the ladder: what a change gains, against how much of the past is assumed to matter.

One line per rung, what assumes least on top. A line begins at the lower bound and ends at the
estimate; the rung the verdict rests on is a full square, a memory that the log contradicts is
crossed out and dashed, so that nothing depends on colour. A bound so far off that the others could
not be told apart leaves the picture with an arrow; the text for who cannot see it has all numbers.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jumar.show.html.figures import LINE, LOSS, TEXT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jumar.algorithms.long_records.ladder import Rung

WIDTH = 46  # letters of a label's line


def rungs(ladder: Sequence[Rung], label: str = "gain in the long run", name: str = "ladder") -> str:
    """The ladder as SVG for the page; "" where there is none."""
    known = [r for r in ladder if r.lower is not None and math.isfinite(r.lower)]
    if not ladder:
        return ""
    labels = [_label(r) for r in ladder]
    least = _least(known)

    def paint(ax: Axes) -> None:
        ax.axvline(0, color=TEXT, linewidth=1)
        for y, rung in enumerate(ladder):
            _draw(ax, y, rung, least)
        ax.set_ylim(len(ladder) - 0.5, -0.5)
        ax.set_yticks(range(len(ladder)))
        ax.set_yticklabels(labels, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.08)
        ax.set_xlabel(label)

    return picture(0.7 + 0.36 * len(ladder), paint, name, in_words(ladder))


def _label(rung: Rung) -> str:
    text = rung.assumes[0].upper() + rung.assumes[1:] if rung.assumes else ""
    marks = "contradicted by the log" if rung.rejected else "judged by this" if rung.judged else ""
    return "\n".join(textwrap.wrap(f"{text} ({marks})" if marks else text, WIDTH))


def _least(known: Sequence[Rung]) -> float:
    """Where the picture ends on the left: as far below 0 as the best estimate lies above it, or
    the least bound that is not farther."""
    best = max((abs(r.gain or r.lower or 0.0) for r in known), default=1.0)
    return max(min((r.lower or 0.0 for r in known), default=0.0), -1.5 * best)


def _draw(ax: Axes, y: int, rung: Rung, least: float) -> None:
    if rung.lower is None or not math.isfinite(rung.lower):
        told = "not judged: the log contradicts it" if rung.rejected else "nothing can be said"
        ax.annotate(told, (0, y), xytext=(14, 0), textcoords="offset points", va="center")
        if rung.rejected:
            ax.plot([0], [y], marker="X", markersize=11, markeredgewidth=0, color=TEXT)
        return
    colour = TEXT if rung.rejected else LOSS if rung.lower <= 0 else LINE
    low = max(rung.lower, least)
    end = max(low, rung.lower if rung.gain is None else rung.gain)
    style = (0, (2, 2)) if rung.rejected else "solid"
    width = 3.5 if rung.judged else 2
    ax.plot([low, end], [y, y], color=colour, linewidth=width, linestyle=style)
    mark = "|" if low == rung.lower else "<"
    ax.plot([low], [y], marker=mark, markersize=11, markeredgewidth=2, color=colour)
    if rung.rejected:
        ax.plot([end], [y], marker="X", markersize=11, markeredgewidth=0, color=colour)
    elif rung.gain is not None:
        shape = "s" if rung.judged else "o"
        face = colour if rung.judged else "none"
        ax.plot([end], [y], marker=shape, markersize=7, markeredgewidth=1.5, color=colour,
                markerfacecolor=face)  # fmt: skip


def in_words(ladder: Sequence[Rung]) -> str:
    """The picture for who cannot see it."""
    told = []
    for rung in ladder:
        if rung.lower is None or not math.isfinite(rung.lower):
            text = f"{rung.assumes}: nothing can be said"
        else:
            text = f"{rung.assumes}: at least {rung.lower:.4g}"
            if rung.gain is not None:
                text += f", estimate {rung.gain:.4g}"
        if rung.rejected:
            text += ", contradicted by the log"
        if rung.judged:
            text += ", the one judged by"
        told.append(text)
    return "Gain against what of the past is taken into account. " + "; ".join(told) + "."
