"""A result in a notebook: the verdict and the most important changes."""

from __future__ import annotations

from html import escape

from jumar.verdict.assessing import Assessment
from jumar.verdict.sentences import sentence

MOST_CHANGES = 5
_COLORS = {"good": "#1c7a4a", "warn": "#8a5a00", "accent": "#1f5fa8", "bad": "#b3261e"}


def card(assessment: Assessment) -> str:
    """A few lines of HTML; `Result.report` writes the whole page."""
    verdict, made = assessment.verdict, assessment.decisions
    changed = [h for h in made.order.tolist() if made.changed[h] and verdict.terms.decides]
    color = _COLORS[verdict.terms.colour]
    items = [escape(sentence(made, h)) for h in changed[:MOST_CHANGES]]
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
