"""What a run leaves behind: guarantees.json and guarantees.csv with every cell, guarantees.md with
the tables that matter, and guarantees.svg.

The figure: per process the share of logs with a false claim, against δ, for every gate. Of the
sizes of a process the worst is drawn, with its 95 % interval (Clopper and Pearson, both ends).
Gates differ in marker, lightness and place, so that it survives grey print.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.files import write_atomically
from jumar.lab.study.drawing import BAND, BAND_EDGE, STYLE, pyplot, save, share_axis
from jumar.lab.study.guarantees.page_tables import markdown
from jumar.lab.study.guarantees.summary import ClaimCell, Findings, at_least, at_most, findings
from jumar.lab.study.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "guarantees"


def write_report(store: Store) -> list[Path]:
    """Write the cells, the tables and the figure into the folder of the run."""
    found = findings(store)
    data = store.folder / f"{NAME}.json"
    write_atomically(data, json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    table = store.folder / f"{NAME}.csv"
    write_atomically(table, cells_csv(found))
    page = store.folder / f"{NAME}.md"
    write_atomically(page, markdown(found))
    files = [data, table, page]
    if found.of("gates"):
        files += save(draw(found), store.folder / f"{NAME}.svg")
    return files


def cells_csv(found: Findings) -> str:
    """Every cell as a row."""
    text = io.StringIO()
    cells = [cell.to_dict() for cell in found.cells]
    writer = csv.DictWriter(text, list(cells[0]) if cells else [], lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        rounded = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in cell.items()}
        writer.writerow(rounded)
    return text.getvalue()


# ---- the figure ---------------------------------------------------------------------------------

LOOKS = (  # colour of line and marker, marker, colour inside it
    ("#0a2f5f", "o", "#0a2f5f"),
    ("#d1752b", "s", "white"),
    ("#777777", "^", "#777777"),
)
TWO_SIDED = 0.975


def draw(found: Findings) -> Figure:
    """One line per process, the first on top."""
    plt = pyplot()
    names = [one["name"] for one in found.processes if found.of("gates", process=one["name"])]
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(7.2, 0.27 * len(names) + 1.3), layout="constrained")
        ax.axvspan(0, found.delta, color=BAND, linewidth=0, zorder=0)
        ax.axvline(found.delta, color=BAND_EDGE, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        step = 0.5 / max(1, len(found.gates))
        for i, gate in enumerate(found.gates):
            shift = (i - (len(found.gates) - 1) / 2) * step
            _gate(ax, found, gate, names, shift, LOOKS[i % len(LOOKS)])
        undeclared = {one["name"] for one in found.processes if not one["declared"]}
        ax.set_yticks(
            range(len(names)), [f"{name} *" if name in undeclared else name for name in names]
        )
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        share_axis(ax, "x")
        ax.set_xlabel(
            "share of logs with a false claim, with its 95 % interval; worst size (episodes)\n"
            "* rewards not declared: the claim holds only within what the log shows"
        )
        ax.annotate(
            f"δ = {100 * found.delta:g} %",
            (found.delta, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, 2),
            textcoords="offset points",
            color=BAND_EDGE,
        )
        figure.legend(loc="outside upper right", ncols=len(found.gates))
    drawn: Figure = figure
    return drawn


def _gate(
    ax: Axes, found: Findings, gate: str, names: list[str], shift: float, look: tuple[str, str, str]
) -> None:
    colour, marker, inside = look
    for row, name in enumerate(names):
        cells = found.of("gates", subject=gate, process=name)
        if not cells:
            continue
        worst = max(cells, key=lambda cell: (cell.share, cell.limit))
        low, high = _ends(worst)
        y = row + shift
        ax.plot([low, high], [y, y], color=colour, linewidth=1.3, zorder=2, solid_capstyle="butt")
        ax.plot(
            [worst.share],
            [y],
            linestyle="none",
            marker=marker,
            markersize=4.2,
            color=colour,
            markerfacecolor=inside,
            zorder=3,
            clip_on=False,
            label=f"{gate} gate" if row == 0 else None,
        )
        if worst.false:
            ax.annotate(
                f"{worst.size:,}",
                (high, y),
                xytext=(3, -2.4),
                textcoords="offset points",
                fontsize=6,
                color="#555555",
            )


def _ends(cell: ClaimCell) -> tuple[float, float]:
    return at_least(cell.false, cell.logs, TWO_SIDED), at_most(cell.false, cell.logs, TWO_SIDED)
