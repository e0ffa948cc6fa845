"""One self-contained page that explains an improvement to a person. No network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.assessment.result import Result
from jumar.core.streams import stream
from jumar.core.words import counted, shown
from jumar.evidence.checking import check
from jumar.io.files import write_atomically
from jumar.show.html.answer import number
from jumar.show.html.content import Content, content
from jumar.show.html.figures import histogram
from jumar.show.provenance import Run

if TYPE_CHECKING:
    from jumar.show.drawing import Drawing

RESAMPLES = 99  # draws of a test: enough for its level, and a page should not take long
BADGES = {
    "safe": "safe to change",
    "tested": "passed its test",
    "test": "promising, not proved",
    "keep": "keep as it is",
}
PICTURES = {
    "graph": "Each box is what the rule remembers, with one line for what it may see then; arrows "
    "lead to what it remembers next. New rules are marked. The same picture is in controller.svg.",
    "table": "This memory has too many nodes for a readable graph; the rules that change are "
    "listed. All of them are in decisions.csv.",
}
SIGNS = {"passed": "✓", "look": "!", "failed": "✗"}
LONGEST = 5000  # letters of a command that are shown; run.json has them all


def write_report(result: Result, path: str | Path, run: Run | None = None) -> None:
    """Write the page about a result."""
    write_atomically(path, report_page(result, run or Run(seed=result.seed)))


def report_page(result: Result, run: Run) -> str:
    """The page about a result, with its checks and its drawing made on the way."""
    checked = check(
        result.log,
        result.behavior,
        discount=result.improvement.mdp.discount,
        estimated=result.estimated,
        rng=stream(run.seed, "check"),
        resamples=RESAMPLES,
    )
    said = content(result, checked, run.seed)
    return render(result, said, draw_result(result, prefix="c"), run.to_dict(settings_of(result)))


def draw_result(result: Result, prefix: str = "") -> Drawing:
    """The improved controller, with the rules marked that are new."""
    from jumar.show.drawing import draw

    mdp = result.improvement.mdp
    return draw(
        result.controller,
        behavior=result.behavior,
        visits=(mdp.states, mdp.visits.sum(1)),
        where="decisions.csv",
        prefix=prefix,
    )


def settings_of(result: Result) -> dict[str, Any]:
    """What was chosen, by hand or by default."""
    told = result.to_dict()
    return {
        **{key: told[key] for key in ("algorithm", "parameters", "memory", "discount", "behavior")},
        "delta": result.delta,
    }


def render(result: Result, said: Content, drawing: Drawing, run: Mapping[str, Any]) -> str:
    """Set the content as a page."""
    from jinja2 import Environment, StrictUndefined

    from jumar.show.drawing.dot import left_to_right

    def part(name: str) -> str:
        return resources.files("jumar.show.html").joinpath(name).read_text("utf-8")

    script = part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    def steady(value: object) -> object:
        """Text with names in it, whichever way these are written; markup is left alone."""
        return left_to_right(value) if type(value) is str else value

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=steady,
    )
    changed = result.improvement.changed > 0
    page: str = environment.from_string(part("page.html")).render(
        c=said,
        number=number,
        badges=BADGES,
        signs=SIGNS,
        style=part("page.css"),
        script=script,
        script_hash=f"sha256-{digest}",
        drawing=drawing,
        natural=drawing.width,
        picture=PICTURES[drawing.kind],
        histogram=_histogram(said) if changed else "",
        long=result.long,
        ladder=_ladder(result),
        discount=f"{result.improvement.mdp.discount:g}",
        run=_run_rows(run),
    )
    return page


def _ladder(result: Result) -> str:
    """What is gained against how much of the past is assumed to matter."""
    from jumar.show.html.rungs import rungs

    return rungs(result.long.ladder) if result.long else ""


def _histogram(said: Content) -> str:
    low, high = said.interval
    return histogram(
        said.resampled.gains,
        said.interval,
        f"{said.unit} per episode by the new rule",
        "gain",
        f"Histogram of the estimated gain in {len(said.resampled.gains)} redrawn logs: 90 % lie "
        f"between {number(low)} and {number(high)}; {100 * said.resampled.worse:.3g} % are not "
        "above zero.",
    )


def _run_rows(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("command", shown(run["command"] or "called from Python", LONGEST)),
        ("time", run["time"]),
        ("jumar", f"{run['jumar']} on Python {run['python']}, {run['platform']}"),
        ("packages", ", ".join(f"{name} {v}" for name, v in run["packages"].items())),
        ("seed", str(run["seed"])),
    ]
    rows += [
        (
            part,
            f"{shown(file['name'], 500)} ({counted(file['bytes'], 'byte')}, "
            f"SHA-256 {file['sha256']})",
        )
        for part, file in run["files"].items()
    ]
    for name, value in run["settings"].items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} = {v}" for key, v in value.items()) or "none"
        rows.append((name, str(value)))
    return rows
