"""One page that shows a study: figures with captions, tables, settings. No network, no scripts."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jumar.files import write_atomically
from jumar.study.spec import FigureSpec
from jumar.study.store import Store
from jumar.study.summary import Results

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


def write_page(
    store: Store, results: Results, figures: tuple[FigureSpec, ...], planned: dict[str, Any]
) -> None:
    """Write index.html into the folder of the run."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("jumar.study").joinpath("page.html").read_text("utf-8")
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
                "title": figure.title or ", ".join(titles[b] for b in figure.behaviors),
                "caption": CURVES if figure.kind == "curves" else HEATMAP,
                "alternative": f"{figure.kind} for "
                f"{', '.join(titles[b] for b in figure.behaviors)}; the numbers are in the table "
                "below and in results.parquet",
            }
            for figure in figures
        ],
        columns=columns,
        worst=worst,
        settings=_settings(results),
    )
    write_atomically(store.folder / "index.html", page)


def worst_shares(results: Results) -> tuple[list[str], list[dict[str, Any]]]:
    """Per behavior and memory: the largest share of worse data sets over all sizes."""
    labels = [setting_label(name, parameters) for name, parameters in results.settings]
    rows = []
    for environment in results.environments:
        for k_new in environment.memories:
            shares = []
            for name, parameters in results.settings:
                cells = [
                    results.cell(environment.name, k_new, name, size, **parameters)
                    for size in results.sizes
                ]
                shares.append(max((cell.worse for cell in cells if cell), default=float("nan")))
            rows.append({"title": environment.title, "k_new": k_new, "shares": shares})
    return labels, rows


def setting_label(name: str, parameters: dict[str, Any]) -> str:
    """A short column heading.

    >>> setting_label("spibb", {"n_wedge": 5}), setting_label("basic", {"unseen": "zero"})
    ('spibb 5', 'basic zero')
    """
    return " ".join([name, *(str(value) for value in parameters.values())])


def _settings(results: Results) -> list[tuple[str, str]]:
    manifest = results.manifest
    labels = ", ".join(setting_label(name, parameters) for name, parameters in results.settings)
    return [
        ("jumar version", manifest["jumar"]),
        ("seed", str(manifest["seed"])),
        ("data sets per size", str(manifest["datasets"])),
        ("sizes", ", ".join(f"{size:,}" for size in results.sizes)),
        ("algorithms", labels),
        ("chance δ in ζ", str(manifest["delta"])),
        (
            "data",
            "the log of size n is the first n episodes of its data set, so sizes of one data set "
            "share episodes; data sets are independent",
        ),
        ("fingerprint", manifest["fingerprint"][:16]),
    ]
