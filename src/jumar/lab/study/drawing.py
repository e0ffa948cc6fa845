"""What the figures of all studies share: style, the axis of shares, the band of δ, and saving."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jumar.core.arrays import Floats
from jumar.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND, BAND_EDGE = "#dfe8e2", "#3c6e57"
SHARES = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)
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
    rows: int, columns: int, size: tuple[float, float], sharey: bool | str
) -> tuple[Figure, Any]:
    """A figure, and its (rows, columns) axes, which share what is below."""
    shared: Any = {"sharex": True, "sharey": sharey, "squeeze": False, "layout": "constrained"}
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

    scale: Any = {"functions": (root, np.square)}
    (ax.set_xscale if which == "x" else ax.set_yscale)("function", **scale)
    (ax.set_xlim if which == "x" else ax.set_ylim)(0, 1)
    labels = [f"{100 * share:g} %" for share in SHARES]
    (ax.set_xticks if which == "x" else ax.set_yticks)(SHARES, labels)
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
