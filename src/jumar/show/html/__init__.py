"""One self-contained page that explains an improvement to a person. No network."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from jumar.core.text import counted, number, shown
from jumar.show.drawing import Drawing
from jumar.show.html import content
from jumar.show.html.before_after import before_after
from jumar.show.remedies import next_command, remedies, repaired
from jumar.verdict.advice import certain, sentence
from jumar.verdict.assessing import Assessment
from jumar.verdict.verdicts import claim

PICTURES = {
    "graph": "Each box is a node of the memory: what the policy remembers. It has one line for "
    "each observation. Arrows lead to the next node. Changes are marked. The same picture is in "
    "controller.svg.",
    "table": "This memory has too many nodes for a readable graph. So the situations that "
    "change are listed. All of them are in decisions.csv.",
}
MIXED = (
    "These are the main choices, for people. The numbers above are those of the exact shares, "
    "which machines follow (decisions.csv, improved.py)."
)
MAKE_CERTAIN = " For a policy with one action in each situation, tested as such: --simplify."
SIGNS = {"passed": "✓", "look": "!", "failed": "✗"}
LONGEST = 5000  # letters of a command that are shown; run.json has them all
CARD_CHANGES = 5
COLORS = {"good": "#1c7a4a", "warn": "#8a5a00", "accent": "#1f5fa8", "bad": "#b3261e"}


def page(
    assessment: Assessment,
    drawing: Drawing,
    run: Mapping[str, Any],
    typed: Sequence[str] = (),
    smallest: Drawing | None = None,
) -> str:
    """The page about a result. `run` says where it comes from (`Run.to_dict`), `typed` is the
    command, `smallest` draws the controller with the fewest nodes, where these are fewer."""
    environment = _environment()
    script = _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    result, made, verdict = assessment.result, assessment.decisions, assessment.verdict
    decides = verdict.terms.decides
    changed = [h for h in made.order.tolist() if decides and made.changed[h]]
    free = result.selection is not None and result.simplified is None  # else the bound decides
    telling = [c for c in assessment.telling if not c.vacuous] or [result.certificate]
    empty = [c for c in assessment.result.certificates if c not in telling]
    page: str = environment.from_string(_part("page.html")).render(
        said=assessment,
        made=made,
        title=content.title(assessment),
        log=content.log_line(assessment),
        next_command=shown(next_command(verdict, typed) or "", LONGEST),
        decides=decides,
        # where an action changes and is not to be changed, why it would is not told either
        whys=decides or (result.improvement.changed == 0 and not verdict.exit_code),
        changes=[content.now_and_new(made, h) for h in changed[: content.MOST_CHANGES]],
        rules=content.rules_of(assessment),
        mixed="" if not decides or certain(made) else MIXED + (MAKE_CERTAIN if free else ""),
        simpler_command=shown(shlex.join(repaired(typed, ["--simplify"])), LONGEST)
        if typed and free
        else "",
        more_changes=max(0, len(changed) - content.MOST_CHANGES),
        decisions=made.order[: content.MOST_ROWS].tolist(),
        reasons=changed[: content.MOST_REASONS],
        options=content.options,
        claim=lambda certificate: claim(certificate, verdict.terms.numbers),
        thin=[] if verdict.exit_code else content.thin(made),
        thin_text=content.thin_text(made),
        checks_text=content.checks_text(assessment.states),
        certificates=[*telling, *result.kept],
        empty_certificates=empty,
        empty_text=f"{counted(len(empty), 'certificate')} without a word for this log",
        before_after=before_after(verdict, assessment.gain),
        number=number,
        signs=SIGNS,
        style=_part("page.css"),
        script=script,
        script_hash=f"sha256-{digest}",
        drawing=drawing,
        picture=PICTURES[drawing.kind],
        smallest=smallest if smallest and smallest.kind == "graph" else None,
        run=_run_rows(run),
        notices=_notices(assessment, typed),
    )
    return page


def sheet(assessment: Assessment, run: Mapping[str, Any]) -> str:
    """The rules of a policy that people can follow, on one sheet of paper; empty where there are
    none."""
    rules = content.rules_of(assessment)
    if not rules:
        return ""
    text: str = (
        _environment()
        .from_string(_part("sheet.html"))
        .render(
            said=assessment,
            rules=rules,
            name=shown(assessment.result.controller.name, 80),
            log=content.log_line(assessment),
            date=run["time"].partition("T")[0],
            version=run["jumar"],
        )
    )
    return text


def _part(name: str) -> str:
    return resources.files("jumar.show.html").joinpath(name).read_text("utf-8")


def _environment() -> Any:
    from jinja2 import Environment, StrictUndefined

    from jumar.show.drawing.dot import left_to_right

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
    environment.filters["an"] = lambda noun: f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
    return environment


def _notices(assessment: Assessment, typed: Sequence[str]) -> list[dict[str, Any]]:
    """What was noticed, safe to show."""
    return [
        {key: text and shown(text, LONGEST) for key, text in notice.items()}
        for notice in remedies(assessment.notices, typed)
        if notice["fact"] != assessment.verdict.lead  # it is said there
    ]


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


# ---- in a notebook ------------------------------------------------------------------------------


def card(assessment: Assessment) -> str:
    """The verdict and the most important changes; `Result.report` writes the whole page."""
    verdict, made = assessment.verdict, assessment.decisions
    changed = [h for h in made.order.tolist() if made.changed[h] and verdict.terms.decides]
    color = COLORS[verdict.terms.colour]
    items = [escape(sentence(made, h)) for h in changed[:CARD_CHANGES]]
    more = len(changed) - len(items)
    items += [f"and {more:,} more"] if more else []
    doubts = [f"<b>{escape(doubt.title)}.</b> {escape(doubt.text)}" for doubt in verdict.doubts]
    return (
        f'<div style="border-left: 6px solid {color}; padding-left: 1em; max-width: 60em">'
        f'<p><b style="color: {color}">{escape(verdict.headline)}</b> {escape(verdict.lead)}</p>'
        + _listed(items)
        + f"<p>Next: {escape(verdict.next_step)}</p>"
        f"<details><summary>What could make this wrong</summary>{_listed(doubts)}</details></div>"
    )


def _listed(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""
