"""One self-contained page that explains an improvement to a person. No network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jumar.assessment.assessing import Assessment
from jumar.assessment.sentences import sentence
from jumar.core.text import counted, number, shown
from jumar.show.drawing import Drawing
from jumar.show.html import content
from jumar.show.html.before_after import before_after
from jumar.show.html.figures import histogram
from jumar.show.remedies import remedies

PICTURES = {
    "graph": "Each box is a node of the memory: what the controller remembers. It has one line for "
    "each observation. Arrows lead to the next node. Changes are marked. The same picture is in "
    "controller.svg.",
    "table": "This memory has too many nodes for a readable graph. So the history states that "
    "change are listed. All of them are in decisions.csv.",
}
SIGNS = {"passed": "✓", "look": "!", "failed": "✗"}
LONGEST = 5000  # letters of a command that are shown; run.json has them all


def page(
    assessment: Assessment,
    drawing: Drawing,
    run: Mapping[str, Any],
    typed: Sequence[str] = (),
    smallest: Drawing | None = None,
) -> str:
    """The page about a result. `run` says where it comes from (`Run.to_dict`), `typed` is the
    command, `smallest` draws the controller with the fewest nodes, where these are fewer."""
    from jinja2 import Environment, StrictUndefined

    from jumar.show.drawing.dot import left_to_right

    def part(name: str) -> str:
        return resources.files("jumar.show.html").joinpath(name).read_text("utf-8")

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
    script = part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    result, made = assessment.result, assessment.decisions
    changed = [h for h in made.order.tolist() if made.changed[h]]
    telling = [c for c in assessment.telling if not c.vacuous] or [result.certificate]
    empty = [c for c in assessment.certificates if c not in telling]
    page: str = environment.from_string(part("page.html")).render(
        said=assessment,
        made=made,
        title=shown(result.behavior.name, 80),
        headline=content.first_sentence(assessment.verdict.headline),
        log=content.log_line(assessment),
        changes=[sentence(made, h) for h in changed[: content.MOST_CHANGES]],
        more_changes=max(0, len(changed) - content.MOST_CHANGES),
        decisions=made.order[: content.MOST_ROWS].tolist(),
        reasons=[content.reason(made, h) for h in changed[: content.MOST_REASONS]],
        bootstrap=content.bootstrap(assessment),
        thin=content.thin(made),
        thin_text=content.thin_text(made),
        changed=bool(changed),
        unchanged_text=content.unchanged_text(len(made.order)),
        failed_checks=sum(fact.state == "failed" for fact in assessment.facts),
        checks_text=content.checks_text(assessment.facts),
        certificates=telling,
        empty_certificates=empty,
        empty_text=f"{counted(len(empty), 'certificate')} without a word for this log",
        before_after=before_after(assessment.gain),
        unit=_unit(assessment),
        number=number,
        signs=SIGNS,
        style=part("page.css"),
        script=script,
        script_hash=f"sha256-{digest}",
        drawing=drawing,
        picture=PICTURES[drawing.kind],
        smallest=smallest if smallest and smallest.kind == "graph" else None,
        histogram=_histogram(assessment) if changed else "",
        outlook_picture=_outlook(assessment),
        run=_run_rows(run),
        notices=_notices(assessment, typed),
    )
    return page


def _unit(assessment: Assessment) -> str:
    """What the numbers count."""
    return "saved" if assessment.costs else "won"


def _notices(assessment: Assessment, typed: Sequence[str]) -> list[dict[str, Any]]:
    """What was noticed, safe to show."""
    return [
        {key: text and shown(text, LONGEST) for key, text in notice.items()}
        for notice in remedies(assessment.notices, typed)
    ]


def _outlook(assessment: Assessment) -> str:
    """Both controllers along the log, and what is forecast."""
    from jumar.show.html.outlook import outlook_picture

    ahead = assessment.outlook
    if ahead is None or ahead.forecast is None:
        return ""
    return outlook_picture(ahead.forecast, assessment.costs)


def _histogram(assessment: Assessment) -> str:
    again, (low, high) = assessment.resampled, assessment.interval
    return histogram(
        again.gains,
        (low, high),
        f"{_unit(assessment)} per episode by the new controller",
        "gain",
        f"Histogram of the estimated gain in {len(again.gains)} redrawn logs: 90 % lie "
        f"between {number(low)} and {number(high)}; {100 * again.worse:.3g} % are not "
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
