"""The files a result is handed over in.

===============  ================================================================
improved.json    the new controller: the behavior, except where it changed
decisions.csv    every history state: old rule, new rule, counts, gain, why
certificate.json numbers and guarantees, for machines
controller.svg   the controller as a picture, new rules marked; .dot for Graphviz
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

from jumar.assessment.decisions import decide
from jumar.assessment.result import Result
from jumar.io.controllers import controller_text
from jumar.io.files import write_folder
from jumar.show.html import draw_result, report_page, settings_of
from jumar.show.program import program
from jumar.show.provenance import Run


def save(result: Result, folder: str | Path, run: Run | None = None) -> list[Path]:
    """Write everything about a result into a folder, and tell what was written."""
    run = run or Run(seed=result.seed)
    drawing = draw_result(result)
    return write_folder(
        folder,
        {
            "improved.json": controller_text(result.controller),
            "decisions.csv": decide(result.improvement).to_csv(),
            "certificate.json": _json({"format": "jumar-certificate/1", **result.to_dict()}),
            "controller.svg": drawing.svg,
            "controller.dot": drawing.dot,
            "improved.py": program(result.controller),
            "report.html": report_page(result, run),
            "run.json": _json(run.to_dict(settings_of(result))),
        },
    )


def _json(document: dict[str, Any]) -> str:
    # ASCII, as a file name on the command line need not be text that a file can hold
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
