"""One page that shows a study: figures with captions, tables, settings. No network, no scripts."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jumar.core.files import write_atomically
from jumar.lab.study.safety import safety_data
from jumar.lab.study.settings import CHOSEN
from jumar.lab.study.spec import FigureSpec
from jumar.lab.study.store import Store
from jumar.lab.study.summary import Results

CURVES = (
    "Value of the improved controller against the size of the log, for SPIBB with threshold N∧ "
    "and for Basic RL, the greedy policy of the estimated model (taking the value of what was "
    "never tried as 0, as in the publication, and, lighter, never choosing it). Solid: mean; "
    "dashed: 10 %-CVaR; dotted: 1 %-CVaR over the data sets. Green: the behavior. Black: the best "
    "policy of all. Grey: an online planner that knows the model (PO-UCT), with its standard "
    "error. Curves that leave the frame fall further."
)
HEATMAP = (
    "Improvement over the behavior on the scale from 0 (the behavior) to 1 (the best policy of "
    "all), for every threshold N∧ and size of the log. Columns: mean, 10 %-CVaR, 1 %-CVaR; rows: "
    "memory k′ of the improved controller. Hatched cells end below the behavior."
)
SAFETY = (
    "Top: share of data sets that end worse than the behavior, on a square-root axis; the band is "
    "what auto is allowed (δ). Bottom: mean normalised improvement, from 0 (the behavior) to 1 "
    "(the best policy of all); dashed: 10 %-CVaR. Best SPIBB in hindsight takes for every behavior "
    "and size the threshold and memory with the best mean, which nobody knows beforehand. "
    "Behaviors of one model and window are averaged. Curves that leave the frame fall further."
)
FAMILY = (
    "Every algorithm as it is (open marks, by its memory) and behind the gate (filled): as the one "
    "that makes the candidates of auto. Left: mean normalised improvement, from 0 (the behavior) "
    "to 1 (the best policy of all). Middle: its 10 %-CVaR. Right: share of data sets that end "
    "worse than the behavior, on a square-root axis. Behaviors are averaged. What falls below -1 "
    "is marked at the edge. Algorithms that end worse least often, as they are, come first."
)
CAPTIONS = {"curves": CURVES, "heatmap": HEATMAP, "safety": SAFETY, "family": FAMILY}


def write_page(
    store: Store, results: Results, figures: tuple[FigureSpec, ...], planned: dict[str, Any]
) -> None:
    """Write index.html into the folder of the run."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("jumar.lab.study").joinpath("page.html").read_text("utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(source)
    titles = {e.name: e.title for e in results.environments}
    columns, worst = worst_shares(results)
    page = template.render(
        title=results.title,
        policies=f"{sum(len(cell.values) for cell in results.cells()):,}",
        datasets=results.manifest["datasets"],
        sizes=[f"{size:,}" for size in results.sizes],
        environments=results.environments,
        planned=planned,
        figures=[
            {
                "name": figure.name,
                "title": figure.title or _shown(figure, titles),
                "caption": CAPTIONS[figure.kind],
                "alternative": f"{figure.kind} for {_shown(figure, titles)}; the numbers are in "
                "the tables below, in cells.csv and in results.parquet",
            }
            for figure in figures
        ],
        columns=columns,
        worst=worst,
        lines=safety_data(results),
        settings=_settings(results),
    )
    write_atomically(store.folder / "index.html", page)


def worst_shares(results: Results) -> tuple[list[str], list[dict[str, Any]]]:
    """Per behavior and memory: the largest share of worse data sets over all sizes."""
    rows = []
    titles = [e.title for e in results.environments]
    for environment in results.environments:
        several = titles.count(environment.title) > 1
        title = environment.name if several else environment.title
        for k_new in results.memories(environment):
            shares = [
                max((cell.worse for cell in results.across(environment, k_new, s)), default=None)
                for s in results.settings
            ]
            memory = "own" if k_new == CHOSEN else str(k_new)
            rows.append({"title": title, "k_new": memory, "shares": shares})
    return [setting.title for setting in results.settings], rows


def _shown(figure: FigureSpec, titles: dict[str, str]) -> str:
    """The kinds of behaviors in a figure."""
    return ", ".join(dict.fromkeys(titles[b] for b in figure.behaviors))


def _settings(results: Results) -> list[tuple[str, str]]:
    manifest = results.manifest
    return [
        ("jumar version", manifest["jumar"]),
        ("seed", str(manifest["seed"])),
        ("data sets per size", str(manifest["datasets"])),
        ("sizes", ", ".join(f"{size:,}" for size in results.sizes)),
        ("algorithms", ", ".join(setting.title for setting in results.settings)),
        ("chance δ in ζ", str(manifest["delta"])),
        (
            "data",
            "the log of size n is the first n episodes of its data set, so sizes of one data set "
            "share episodes; data sets are independent",
        ),
        ("fingerprint", manifest["fingerprint"][:16]),
    ]
