"""Pictures of the report, as SVG that takes its colours from the page.

matplotlib knows no CSS: it draws in a few colours nobody would choose, and these are then replaced
by the page's variables, so that a picture follows light, dark and print.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TEXT, BAR, LOSS, LINE = "#010203", "#040506", "#070809", "#0a0b0c"
_VARIABLES = {
    TEXT: "currentColor",
    BAR: "var(--accent)",
    LOSS: "var(--bad)",
    LINE: "var(--good)",
}
_STYLE: Any = {
    "font.size": 9,
    "font.family": "sans-serif",
    "svg.fonttype": "none",
    "svg.hashsalt": "jumar",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "text.color": TEXT,
}


def picture(height: float, paint: Callable[[Axes], None], name: str, alternative: str) -> str:
    """What is painted, with names of its own, the page's colours and a text for who cannot see."""
    from markupsafe import escape
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot, whose figures and back end are the caller's

    file = io.StringIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(6.4, height), layout="constrained")
        paint(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    # its style would be that of the whole page
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'xmlns:xlink="[^"]*"', "", svg).replace("xlink:href", "href")
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    opening, rest = svg.split(">", 1)
    opening = re.sub(r'\s(width|height)="[^"]*"', "", opening)
    lines = 'stroke-linejoin="round" stroke-linecap="butt"'
    return f'{opening} {lines} role="img" aria-label="{escape(alternative)}">{rest}'
