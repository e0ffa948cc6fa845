"""The files a result is handed over in.

===============  ================================================================
improved.json    the new controller: the behavior, except where it changed
decisions.csv    every history state: what is done, old and new; counts, gain, why
certificate.json verdict, numbers and certificates, for machines
controller.svg   the controller as a picture, changes marked; .dot for Graphviz
improved.py      the controller as a program that needs nothing but Python
report.html      one page that explains it all
run.json         versions, files with fingerprints, settings, the command
===============  ================================================================

All are made before the first is written, and then appear together or not at all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jumar.assessment.assessing import Assessment
from jumar.io.controllers import controller_text
from jumar.io.files import write_atomically, write_folder
from jumar.show import html
from jumar.show.drawing import Drawing, draw
from jumar.show.program import program
from jumar.show.provenance import Run


def save(assessment: Assessment, folder: str | Path, run: Run | None = None) -> list[Path]:
    """Write everything about a result into a folder; returns the files written."""
    drawing = draw_result(assessment)
    origin = _origin(assessment, run)
    controller = assessment.result.controller
    return write_folder(
        folder,
        {
            "improved.json": controller_text(controller),
            "decisions.csv": assessment.decisions.to_csv(assessment.verdict.word),
            "certificate.json": _json({"format": "jumar-certificate/1", **assessment.to_dict()}),
            "controller.svg": drawing.svg,
            "controller.dot": drawing.dot,
            "improved.py": program(controller),
            "report.html": html.page(assessment, drawing, origin),
            "run.json": _json(origin),
        },
    )


def write_report(assessment: Assessment, path: str | Path) -> None:
    """Write the page alone."""
    write_atomically(path, report_page(assessment))


def report_page(assessment: Assessment, run: Run | None = None) -> str:
    """The page alone."""
    return html.page(assessment, draw_result(assessment), _origin(assessment, run))


def draw_result(assessment: Assessment) -> Drawing:
    """The improved controller, with its changes marked, and the verdict."""
    result = assessment.result
    mdp = result.improvement.mdp
    return draw(
        result.controller,
        behavior=result.behavior,
        visits=(mdp.states, mdp.visits.sum(1)),
        where="decisions.csv",
        note=f"Verdict: {assessment.verdict.badge}",
    )


def _origin(assessment: Assessment, run: Run | None) -> dict[str, Any]:
    """Where the result comes from, with what was chosen, by hand or by default."""
    result, told = assessment.result, assessment.result.to_dict()
    kept = ("algorithm", "parameters", "memory", "discount", "behavior")
    settings = {**{key: told[key] for key in kept}, "delta": result.delta}
    return (run or Run(seed=result.seed)).to_dict(settings)


def _json(document: dict[str, Any]) -> str:
    # ASCII, as a file name on the command line need not be text that a file can hold
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
