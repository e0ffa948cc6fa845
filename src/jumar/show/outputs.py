"""The files a result is handed over in.

===================  ======================================================================
improved.json        the new controller: the behavior, except where it changed
decisions.csv        every history state: what is done, old and new; counts, gain, why
certificate.json     verdict, numbers and certificates, for machines
controller.svg       the controller as a picture, changes marked; .dot for Graphviz
improved.py          the controller as a program that needs nothing but Python
improved.table.json  the table that programs in other languages are made of
report.html          one page that explains it all
run.json             versions, files with fingerprints, settings, the command
without_exceptions.json  the old policy without its exceptions, if the log shows what they cost
smallest.json        fewer memory nodes that do exactly the same, if there are
card.html            rules that people can follow, on one sheet of paper, if that was asked for
===================  ======================================================================

controller.png, controller.pdf and result.xlsx (a workbook; not of itself where openpyxl happens to
be installed, for what is in a folder should not depend on that) are made for those who ask for
them.
All are made before the first is written, and then appear together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jumar.core.files import write_folder
from jumar.core.reading import LogReading
from jumar.policy.controller import Controller
from jumar.policy.files import controller_text
from jumar.show import html
from jumar.show.drawing import Drawing, draw
from jumar.show.drawing.images import IMAGES, check_images
from jumar.show.html.content import rules_of
from jumar.show.program import program, table
from jumar.show.provenance import Run
from jumar.show.remedies import remedies
from jumar.show.workbook import WORKBOOK, workbook
from jumar.verdict.assessing import Assessment, Smallest
from jumar.verdict.exceptions import Exceptions
from jumar.verdict.result import Result


@dataclass(frozen=True)
class Handover:
    """What the files are made from; each part is made once."""

    assessment: Assessment
    run: Run

    @property
    def controller(self) -> Controller:
        return self.assessment.result.controller

    @property
    def reading(self) -> LogReading | None:
        """How the log made observations of its columns, if that is known."""
        origin = self.assessment.result.log.origin
        return None if origin is None else origin.reading

    @cached_property
    def drawing(self) -> Drawing:
        """The improved controller, with what is new marked, and the verdict."""
        result = self.assessment.result
        mdp = result.improvement.mdp
        return draw(
            result.controller,
            behavior=result.behavior,
            visits=(mdp.states, mdp.visits.sum(1)),
            where="decisions.csv",
            note=f"Verdict: {self.assessment.verdict.word}",
        )

    @cached_property
    def smallest_drawing(self) -> Drawing | None:
        """That as a picture, if there is such."""
        smallest, note = self.assessment.smallest, f"Verdict: {self.assessment.verdict.word}"
        if smallest is None:
            return None
        return draw(smallest.controller, where="smallest.json", note=note)

    @cached_property
    def origin(self) -> dict[str, Any]:
        """Where the result comes from, with what was chosen, by hand or by default."""
        result, told = self.assessment.result, self.assessment.result.to_dict()
        kept = ("algorithm", "parameters", "memory", "discount", "behavior")
        settings = {**{key: told[key] for key in kept}, "delta": result.delta}
        return self.run.to_dict(settings)


# a new rendering is one more line
FILES: dict[str, Callable[[Handover], str]] = {
    "improved.json": lambda made: controller_text(made.controller),
    "decisions.csv": lambda made: made.assessment.decisions.to_csv(
        made.assessment.verdict.word,
        gains=made.assessment.verdict.terms.decides,
        untold=made.assessment.verdict.exit_code != 0,
    ),
    "certificate.json": lambda made: _json(
        {
            "format": "jumar-certificate/1",
            **made.assessment.to_dict(),
            "notices": remedies(made.assessment.notices, made.run.command),
        }
    ),
    "controller.svg": lambda made: made.drawing.svg,
    "controller.dot": lambda made: made.drawing.dot,
    "improved.py": lambda made: program(made.controller, made.reading),
    "improved.table.json": lambda made: table(made.controller, made.reading).text(),
    "report.html": lambda made: html.page(
        made.assessment,
        made.drawing,
        made.origin,
        made.run.command,
        made.smallest_drawing,
    ),
    "run.json": lambda made: _json(made.origin),
}
# ... and what is not always there: what a notice hands over, and a smaller controller
SPECIAL: dict[str, Callable[[Handover], str]] = {
    "without_exceptions.json": lambda made: _text_of(made.assessment.exceptions),
    "smallest.json": lambda made: _text_of(made.assessment.smallest),
    "card.html": lambda made: html.sheet(made.assessment, made.origin),
}


def save(
    assessment: Assessment,
    folder: str | Path,
    run: Run | None = None,
    pictures: str | Sequence[str] | None = None,
    *,
    excel: bool = False,
) -> list[Path]:
    """Write everything about a result into a folder, and tell what was written. `pictures` are more
    kinds of pictures of the controller: png, pdf. `excel` writes `result.xlsx`, too."""
    kinds = check_images(pictures)
    made = Handover(assessment, run or Run(seed=assessment.result.seed))
    wanted = {notice.file for notice in assessment.notices}
    wanted |= {"smallest.json"} if assessment.smallest else set()
    wanted |= {"card.html"} if rules_of(assessment) else set()
    special = {name: render for name, render in SPECIAL.items() if name in wanted}
    contents: dict[str, str | bytes] = {}
    contents |= {name: render(made) for name, render in {**FILES, **special}.items()}
    contents |= {f"controller.{kind}": made.drawing.image(kind) for kind in kinds}
    if excel:
        contents[WORKBOOK] = workbook(assessment, made.origin)
    written = write_folder(folder, contents)
    stale = {*SPECIAL, WORKBOOK, *(f"controller.{kind}" for kind in IMAGES)} - contents.keys()
    for name in stale:  # of an earlier run, which nothing here speaks of
        Path(folder, name).unlink(missing_ok=True)
    return written


def save_untested(result: Result, folder: str | Path) -> list[Path]:
    """Write what was learned from counts: the controller, and what is promised of it."""
    contents = {
        "improved.json": controller_text(result.controller),
        "certificate.json": _json(result.to_dict()),
    }
    return write_folder(folder, contents)


def report_page(assessment: Assessment, run: Run | None = None) -> str:
    """The page alone."""
    return FILES["report.html"](Handover(assessment, run or Run(seed=assessment.result.seed)))


def _text_of(part: Exceptions | Smallest | None) -> str:
    assert part is not None  # or its file would not be wanted
    return controller_text(part.controller)


def _json(document: dict[str, Any]) -> str:
    # ASCII, as a file name on the command line need not be text that a file can hold
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
