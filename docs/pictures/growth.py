"""Draw how counting grows, out of the lines that a benchmark says.

python benchmarks/streaming.py --full growth windows > docs/pictures/growth.jsonl
python docs/pictures/growth.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
LOGS = {  # what a line is called in the figure, its look, and how far above it labels stand
    "CheeseMaze": ("CheeseMaze", "#0b6e99", "o", -13),
    "50": ("50 observations", "#c2571a", "s", 6),
}


def rows_panels(time: Any, memory: Any, line: dict[str, Any]) -> None:
    rows = line["rows"]
    seconds = [r * ns / 1e9 for r, ns in zip(rows, line["cpu_ns_per_row"], strict=True)]
    last = seconds[-1]
    time.plot(rows, [last * r / rows[-1] for r in rows], "--", color="#999999", label="in line")
    time.plot(rows, seconds, "o", color="#0b6e99", label="measured")
    time.set(xscale="log", yscale="log", xlabel="rows", ylabel="CPU seconds")
    time.legend(frameon=False)
    memory.plot(rows, line["peaks_mb"], "o-", color="#0b6e99")
    memory.set(xscale="log", xlabel="rows", ylabel="peak memory, MB")
    memory.set_ylim(0, max(1000, *line["peaks_mb"]))


def windows_panel(axes: Any, line: dict[str, Any]) -> None:
    name, color, mark, above = next(
        look for key, look in LOGS.items() if key in line["benchmark"][16:]
    )
    each = [s / line["rows"] * 1e9 for s in line["cpu_s"]]
    share = [h / line["rows"] for h in line["histories"]]
    axes.plot(line["windows"], each, f"{mark}-", color=color, label=name)
    for k, y, part in zip(line["windows"], each, share, strict=True):
        if k in (1, 4, 8, 12):
            text = f"{part:.0%}" if part >= 0.005 else f"{round(part * line['rows']):,}"
            place = (0, above)
            axes.annotate(text, (k, y), place, textcoords="offset points", ha="center", size=7)
    axes.set(yscale="log", xlabel="window", ylabel="CPU ns per row", xticks=range(1, 13))
    axes.legend(frameon=False)


def main() -> None:
    lines = [json.loads(line) for line in (HERE / "growth.jsonl").read_text().splitlines()]
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    plt.rcParams["svg.hashsalt"] = "growth"  # the same picture is the same file
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.0), width_ratios=(1, 1, 1.5))
    for line in lines:
        if "to_12" in line["benchmark"].replace(" ", "_"):
            windows_panel(axes[2], line)
        elif "cpu_ns_per_row" in line:
            rows_panels(axes[0], axes[1], line)
    low, high = axes[2].get_ylim()
    axes[2].set_ylim(low / 1.6, high * 2)  # room for labels
    figure.tight_layout()
    figure.savefig(HERE / "growth.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
