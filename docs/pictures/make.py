"""Make the pictures of the documentation, and the tables that come from results.

    python docs/pictures/make.py [FOLDER ...]

The drawn controller always; the figures of a finished `jumar paper -o FOLDER`; the figure and the
tables on the page about safety from finished `jumar study safety -o FOLDER` and `safety-seeds`, and
those on the page about guarantees from a finished `jumar study guarantees -o FOLDER`; those on the
page "Which algorithm?" from a finished `jumar study family -o FOLDER`; the picture of the page on
top of the README from `out/voicemail`, which `make demo` writes.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from jumar.lab.study.guarantees.measuring import TITLE
from jumar.lab.study.guarantees.report import findings, tables, write_report
from jumar.lab.study.store import Store
from jumar.lab.study.summary import FamilyRow, Results, StudyLine, family_rows, gated_sizes
from jumar.policy.files import load_controller
from jumar.show.drawing import draw as draw_controller

HERE = Path(__file__).parent
COPIED = ("performance", "voicemail-memoryless", "heatmap-tiger-k1")
SHOWN = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)  # below, hardly anything changes
GATED_SHOWN = (100, 500, 1000, 5000)  # sizes; the table is wide enough
SETTINGS = ("auto", "strict", "spibb 5", "spibb 20", "spibb 100", "basic zero", "basic exclude")


def controllers() -> None:
    """The difference of the two controllers that stand on the page about pictures."""
    blocks = re.findall(r"```toml\n(.*?)```", (HERE.parent / "pictures.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for i, block in enumerate(blocks):
            path = Path(folder, f"{i}.toml")
            path.write_text(block)
            found.append(load_controller(path))
    drawing = draw_controller(found[1], behavior=found[0])
    (HERE / "bridge-controller.svg").write_text(drawing.svg)


def page(folder: Path) -> None:
    """The answer on top of a report, as a browser shows it."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    target = HERE / "report.png"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1000, "height": 1200})
        tab.goto((folder / "report.html").resolve().as_uri())
        tab.locator("#answer").screenshot(path=target)
        browser.close()
    with Image.open(target) as picture:  # few colours: a third of the size
        picture.convert("RGB").quantize(64).save(target, optimize=True)


def figures(store: Store) -> None:
    """The figures of the paper."""
    for name in COPIED:
        shutil.copy(store.folder / "figures" / f"{name}.svg", HERE)


# ---- safety -------------------------------------------------------------------------------------


def safety(store: Store) -> None:
    """The figure of the page about safety, and its tables."""
    shutil.copy(store.folder / "figures" / "safety.svg", HERE)
    results = Results(store)
    page = HERE.parent / "safety.md"
    text = page.read_text("utf-8")
    for name, block in {
        "run": run_of(results),
        "settings": settings_table(results),
        "gain": gains_table(results, line_of(results, "auto", "own")),
    }.items():
        text = filled(text, name, block)
    page.write_text(text, "utf-8")


def seeds(store: Store) -> None:
    """The table of behaviors trained from several seeds."""
    results = Results(store)
    line = line_of(results, "auto", "own")
    rows = [
        "| behavior | " + " | ".join(f"{size:,}" for size in results.sizes) + " | worse |",
        "|---" + "|---:" * (len(results.sizes) + 1) + "|",
    ]
    for title in dict.fromkeys(e.title for e in results.environments):
        cells = [cell for cell in line.cells if cell.environment.title == title]
        means = []
        for size in results.sizes:
            found = [cell.normalised(cell.mean) for cell in cells if cell.size == size]
            means.append(f"{sum(found) / len(found):.3f}")
        worse = 100 * sum(cell.worse for cell in cells) / len(cells)
        rows.append(f"| {title} | {' | '.join(means)} | {worse:.1f} % |")
    page = HERE.parent / "safety.md"
    page.write_text(filled(page.read_text("utf-8"), "seeds", "\n".join(rows)), "utf-8")


def guarantees(store: Store) -> None:
    """The tables of the page about guarantees."""
    write_report(store)
    shutil.copy(store.folder / "guarantees.csv", HERE)
    found = findings(store)
    page = HERE.parent / "guarantees.md"
    text = filled(page.read_text("utf-8"), "run", found.run)
    for table in tables(found):
        text = filled(text, table.name, table.markdown)
    page.write_text(text, "utf-8")


# ---- which algorithm ----------------------------------------------------------------------------


def family(store: Store) -> None:
    """The figure of the page "Which algorithm?", and its table."""
    shutil.copy(store.folder / "figures" / "family.svg", HERE)
    results = Results(store)
    page = HERE.parent / "which.md"
    text = filled(page.read_text("utf-8"), "run", run_of(results))
    for name, block in {
        "plain": plain_table(family_rows(results)),
        "gated": gated_table(results, family_rows(results)),
    }.items():
        text = filled(text, name, block)
    page.write_text(text, "utf-8")


def plain_table(rows: list[FamilyRow]) -> str:
    """Every algorithm as it is, over all behaviors and sizes, as Markdown."""
    head = "mean | 10 %-CVaR | worse"
    found = [
        f"| algorithm, setting | k′ = k: {head} | k′ = k+1: {head} |",
        "|---" + "|---:" * 6 + "|",
    ]
    for row in rows:
        numbers = [f"{_numbers(line)} | {100 * line.worse:.1f} %" for line in row.plain]
        found.append(f"| {row.title} | {' | '.join(numbers)} |")
    return "\n".join(found)


def _numbers(line: StudyLine) -> str:
    tails = [cell.normalised(cell.cvar(0.1)) for cell in line.cells]
    return f"{line.normalised:.2f} | {sum(tails) / len(tails):.2f}"


def gated_table(results: Results, rows: list[FamilyRow]) -> str:
    """The same behind the gate: means at some of the sizes where it was run, and how often it ended
    worse at all of them."""
    run = gated_sizes(rows)
    sizes = [size for size in run if size in GATED_SHOWN] or run
    head = " | ".join(f"{size:,}" for size in sizes)
    found = [
        f"| algorithm | gate: {head} | 10 %-CVaR | worse |",
        "|---" + "|---:" * (len(sizes) + 2) + "|",
    ]
    for row in sorted(rows, key=lambda row: -row.gated.normalised if row.gated else 0):
        if row.gated is None:
            continue
        numbers = [_mean(results, row.gated, sizes), _numbers(row.gated).partition(" | ")[2]]
        numbers += [_worse([row.gated], run)]
        found.append(f"| {row.name} | {' | '.join(numbers)} |")
    return "\n".join(found)


def _mean(results: Results, line: StudyLine, sizes: list[int]) -> str:
    points = line.points(results.environments)
    found = (points.get(size) for size in sizes)
    return " | ".join(
        "-" if point is None else f"{round(point.mean, 2) + 0.0:.2f}" for point in found
    )


def _worse(lines: list[StudyLine], sizes: list[int]) -> str:
    """Share of the logs of these sizes that end worse."""
    lost = [cell.lost for line in lines for cell in line.cells if cell.size in sizes]
    return f"{100 * np.concatenate(lost).mean():.1f} %"


def filled(page: str, name: str, block: str) -> str:
    """The page with what stands between the marks of that name replaced."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"the page has no marks {begin.strip()} and {end}")
    return f"{before}{begin}{block}\n{end}{after}"


def line_of(results: Results, name: str, memory: str) -> StudyLine:
    return next(line for line in results.lines if (line.name, line.memory) == (name, memory))


def run_of(results: Results) -> str:
    """Which run the numbers are from."""
    return (
        f"jumar {results.manifest['jumar']}, {results.manifest['datasets']} data sets per size, "
        f"study {results.manifest['fingerprint'][:12]}."
    )


def settings_table(results: Results) -> str:
    """Settings over all behaviors and sizes, as Markdown."""
    rows = [
        "| setting | k′ | worse | at worst | improvement |",
        "|---|---|---:|---:|---:|",
    ]
    for line in results.all_lines:
        if line.name not in SETTINGS and line.setting is not None:
            continue
        rows.append(
            f"| {line.name} | {line.memory} | {100 * line.worse:.2f} % | "
            f"{100 * line.worst.worse:.1f} % | {line.normalised:.3f} |"
        )
    return "\n".join(rows)


def gains_table(results: Results, line: StudyLine) -> str:
    """The mean gain for each behavior and size, as Markdown."""
    sizes = [size for size in results.sizes if size in SHOWN]
    rows = [
        "| behavior | " + " | ".join(f"{size:,}" for size in sizes) + " |",
        "|---" + "|---:" * len(sizes) + "|",
    ]
    for environment in results.environments:
        cells = {cell.size: cell for cell in line.cells if cell.environment is environment}
        numbers = [
            f"{cells[size].normalised(cells[size].mean):.2f}".replace("-0.00", "0.00")
            for size in sizes
        ]
        rows.append(f"| {environment.title} | " + " | ".join(numbers) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    controllers()
    for folder in sys.argv[1:]:
        if Path(folder, "report.html").exists():
            page(Path(folder))
            continue
        results_there = Store(folder)
        if results_there.read_manifest()["title"] == TITLE:
            guarantees(results_there)
            continue
        trained = Results(results_there).environments
        if len({e.title for e in trained}) < len(trained):
            seeds(results_there)
        elif (results_there.folder / "figures" / "family.svg").exists():
            family(results_there)
        elif (results_there.folder / "figures" / "safety.svg").exists():
            safety(results_there)
        else:
            figures(results_there)
