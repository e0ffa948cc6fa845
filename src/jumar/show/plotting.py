"""A result as charts in a notebook: axes of matplotlib in, axes out.

Each chart shows what the page shows, and no number that the verdict does not carry: where there is
nothing to show, the axes say why.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.errors import ParameterError, not_one_of
from jumar.core.text import shown
from jumar.show.html import COLORS
from jumar.show.outputs import Handover
from jumar.show.provenance import Run
from jumar.verdict.assessing import Assessment
from jumar.verdict.verdicts import Carried

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OLD, LINE = "#b6bec8", "#1f2328"
MOST, LONGEST = 12, 60  # bars; letters of a label


def plot(assessment: Assessment, what: str, ax: Axes | None = None) -> Axes:
    """One of `PLOTS` on these axes, or on new ones."""
    if what not in PLOTS:
        raise ParameterError("what: " + not_one_of("chart", what, PLOTS))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    PLOTS[what](assessment, ax)
    return ax


def _gain(assessment: Assessment, ax: Axes) -> None:
    """What an episode is worth today and under the new policy, with its interval."""
    verdict, gain = assessment.verdict, assessment.gain
    if verdict.about is None or gain.new is None or gain.interval is None:
        return _say(ax, verdict.headline, verdict.lead)
    sign = -1 if gain.costs else 1
    old, new = sign * gain.old, sign * gain.new
    ends = sorted(sign * (gain.old + x) for x in gain.interval)
    ax.barh(["today", "new"], [old, new], color=[OLD, COLORS[verdict.terms.colour]])
    error = [[new - ends[0]], [ends[1] - new]]
    ax.errorbar([new], ["new"], xerr=error, fmt="none", ecolor=LINE, capsize=4)
    if verdict.terms.numbers is Carried.AT_LEAST and verdict.at_least is not None:
        least, word = sign * (gain.old + verdict.at_least), "at most" if gain.costs else "at least"
        ax.plot([least, least], [0.6, 1.4], ":", color=LINE, label=word)
        ax.legend(frameon=False)
    ax.invert_yaxis()
    ax.axvline(0, color=LINE, linewidth=1)
    what = f"{'cost' if gain.costs else 'worth'} of each {gain.episode}"
    ax.set_xlabel(f"{what}{f', {shown(gain.unit, 20)}' * bool(gain.unit)} (90 % interval)")
    ax.set_title(fill(shown(verdict.headline, 300), LONGEST), loc="left")


def _decisions(assessment: Assessment, ax: Axes) -> None:
    """What changes, by its share of the gain."""
    verdict, made = assessment.verdict, assessment.decisions
    changed = [h for h in made.order.tolist() if verdict.terms.decides and made.changed[h]]
    if not changed:
        return _say(ax, verdict.headline, "Nothing is to be changed.")
    top, shares = changed[:MOST], bool((made.share[changed] > 0).any())
    width = 100 * made.share[top].clip(0) if shares else made.visits[top]
    names = [f"{_situation(assessment, h)}\n{_line(made.change(h)[:1])}" for h in top]
    _bars(ax, names, [(width, "", COLORS[verdict.terms.colour])])
    ax.set_xlabel("share of the gain, % (by the model)" if shares else "times seen in the log")
    ax.set_title(f"{made.summary}" + f", the first {MOST}" * (len(changed) > MOST), loc="left")


def _policy(assessment: Assessment, ax: Axes) -> None:
    """The picture of the new policy, with what changes marked."""
    verdict, result = assessment.verdict, assessment.result
    if verdict.exit_code:
        return _say(ax, verdict.headline, verdict.lead)
    from matplotlib.image import imread

    drawing = Handover(assessment, Run(seed=result.seed)).drawing
    ax.imshow(imread(io.BytesIO(drawing.image("png"))))
    ax.set_axis_off()


def _coverage(assessment: Assessment, ax: Axes) -> None:
    """How often the log tried each action, in the situations that it met most."""
    mdp = assessment.result.improvement.mdp
    met = np.argsort(-mdp.visits.sum(1), kind="stable")
    top = met[:MOST].tolist()
    names = [_situation(assessment, h) for h in top]
    tried = [(mdp.visits[top, a], shown(action, 30), None) for a, action in enumerate(mdp.actions)]
    _bars(ax, names, tried)
    ax.legend(frameon=False, title="tried", loc="upper left", bbox_to_anchor=(1, 1))
    share = 100 * mdp.visits[top].sum() / max(1, mdp.visits.sum())
    ax.set_xlabel("steps of the log")
    ax.set_title(f"{len(top)} of {len(mdp):,} situations: {share:.0f} % of the log", loc="left")


PLOTS: dict[str, Callable[[Assessment, Axes], None]] = {
    "gain": _gain,
    "decisions": _decisions,
    "policy": _policy,
    "coverage": _coverage,
}


def _situation(assessment: Assessment, h: int) -> str:
    return _line(assessment.decisions.history_state(h), " → ")


def _line(words: Sequence[str], between: str = ", ") -> str:
    # names come from logs, and a pair of dollars would begin a formula
    return shown(between.join(words), LONGEST).replace("$", r"\$")


def _bars(
    ax: Axes, names: Sequence[str], stacked: Sequence[tuple[np.ndarray, str, str | None]]
) -> None:
    """Bars from above, one for each name, of parts one after the other."""
    rows, left = np.arange(len(names)), np.zeros(len(names))
    for width, label, colour in stacked:
        ax.barh(rows, width, left=left, label=label.replace("$", r"\$"), color=colour)
        left = left + width
    ax.set_yticks(rows, names)
    ax.invert_yaxis()


def _say(ax: Axes, headline: str, why: str) -> None:
    """In place of a chart, why there is none."""
    lines = [fill(shown(text, 500), LONGEST).replace("$", r"\$") for text in (headline, why)]
    ax.text(0, 1, "\n".join(lines), va="top", transform=ax.transAxes)
    ax.set_axis_off()
