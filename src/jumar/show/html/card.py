"""A result in a notebook: the verdict and the most important changes."""

from __future__ import annotations

from html import escape

from jumar.assessment.assessing import Assessment
from jumar.assessment.sentences import sentence

MOST_CHANGES = 5
_COLORS = {"safe": "#1c7a4a", "tested": "#1c7a4a", "test": "#8a5a00", "keep": "#1f5fa8"}
_LOUD = "#b3261e"


def card(assessment: Assessment) -> str:
    """A few lines of HTML; `Result.report` writes the whole page."""
    verdict, made = assessment.verdict, assessment.decisions
    changed = [h for h in made.order.tolist() if made.changed[h]]
    color = _COLORS.get(verdict.word, _LOUD)
    lines = [f"<b>{escape(warning.title)}</b>" for warning in assessment.warnings]
    lines += [escape(assessment.gain_text), escape(assessment.safety)]
    items = [escape(sentence(made, h)) for h in changed[:MOST_CHANGES]]
    more = len(changed) - len(items)
    items += [f"and {more:,} more"] if more else []
    listed = "".join(f"<li>{item}</li>" for item in items)
    return (
        f'<div style="border-left: 6px solid {color}; padding-left: 1em; max-width: 60em">'
        f'<p><b style="color: {color}">{escape(verdict.badge)}</b> {escape(verdict.headline)}</p>'
        + "".join(f"<p>{line}</p>" for line in lines)
        + (f"<ul>{listed}</ul>" if items else "")
        + "</div>"
    )
