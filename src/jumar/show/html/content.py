"""What the report says, as plain text and numbers; the page only sets it.

The order is the reader's: what to do, what it brings, how safe it is and what that rests on; then
what exactly changes, why, how sure the numbers are, and what to log next.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from jumar.assessment.assessing import Assessment
from jumar.assessment.decisions import Decisions, Thin
from jumar.assessment.gain import Gain
from jumar.assessment.sensitivity import Row
from jumar.assessment.sentences import Fact, Warning, sentence
from jumar.assessment.tested import Trials
from jumar.assessment.verdict import Verdict
from jumar.core.text import counted, listing, number, percent, shown, times

if TYPE_CHECKING:
    from jumar.evidence.claims import Certificate

MOST_ROWS = 1000  # decisions on the page; all of them are in decisions.csv
MOST_CHANGES = 5  # told in the answer
MOST_REASONS = 12  # history states whose actions are compared one by one
MOST_THIN = 12


@dataclass(frozen=True)
class Change:
    """One history state, with what the old and the new controller do there."""

    state: tuple[str, ...]
    old: str
    new: str
    visits: int
    gain: float
    share: float
    changed: bool
    why: str


@dataclass(frozen=True)
class Option:
    """One action in one history state, as the log shows it."""

    action: str
    tried: int
    old: str
    new: str
    value: float  # what it is worth against the old controller
    bar: float  # from -1 to 1, for the eye


@dataclass(frozen=True)
class Reason:
    """Why a history state changes: its actions side by side."""

    state: tuple[str, ...]
    options: tuple[Option, ...]
    never: str  # the actions that were never tried here
    why: str


@dataclass(frozen=True)
class Content:
    """Everything on the page."""

    title: str
    verdict: Verdict
    changes: tuple[str, ...]  # the most important ones, in sentences
    more_changes: int
    brought: Gain
    changed: bool
    gain: str  # in sentences, with all that is known about it
    safety: str
    next_step: str
    warnings: tuple[Warning, ...]
    facts: tuple[Fact, ...]
    failed_checks: int
    checks_text: str
    heads: tuple[str, ...]
    decisions: tuple[Change, ...]
    all_decisions: int
    reasons: tuple[Reason, ...]
    trials: Trials | None  # what "auto" tested
    interval: tuple[float, float]
    bootstrap: str
    sensitivity: tuple[Row, ...]
    n_wedge: object  # the threshold that was used, if there is one and the grid has it
    costs: bool  # rewards are costs, so values are shown with the sign turned
    sensitivity_text: str
    thin: tuple[tuple[str, ...], ...]
    thin_text: str
    certificates: tuple[Certificate, ...]
    empty_certificates: tuple[Certificate, ...]  # vacuous, or the same with other constants
    empty_text: str
    log: str
    unit: str  # what the numbers count


def content(assessment: Assessment) -> Content:
    """What the page says about a result."""
    result, made = assessment.result, assessment.decisions
    order = made.order[:MOST_ROWS].tolist()
    changed = [h for h in made.order.tolist() if made.changed[h]]
    telling = tuple(c for c in assessment.telling if not c.vacuous) or (result.certificate,)
    empty = tuple(c for c in result.certificates if c not in telling)
    return Content(
        title=shown(result.behavior.name, 80),
        verdict=assessment.verdict,
        changes=tuple(sentence(made, h) for h in changed[:MOST_CHANGES]),
        more_changes=max(0, len(changed) - MOST_CHANGES),
        brought=assessment.gain,
        changed=bool(changed),
        gain=assessment.gain_text,
        safety=assessment.safety,
        next_step=assessment.next_step,
        warnings=assessment.warnings,
        facts=assessment.facts,
        failed_checks=sum(fact.state == "failed" for fact in assessment.facts),
        checks_text=_checks_text(assessment.facts),
        heads=tuple(made.heads),
        decisions=tuple(_change(made, h) for h in order),
        all_decisions=len(made.order),
        reasons=tuple(_reason(made, h) for h in order[:MOST_REASONS] if made.changed[h]),
        trials=assessment.trials,
        interval=assessment.interval,
        bootstrap=_bootstrap(assessment),
        sensitivity=assessment.sensitivity,
        n_wedge=None if result.selection else assessment.threshold,
        costs=assessment.costs,
        sensitivity_text=_sensitivity_text(assessment),
        thin=tuple(_thin(made)),
        thin_text=_thin_text(made),
        certificates=telling,
        empty_certificates=empty,
        empty_text=f"{counted(len(empty), 'certificate')} that say nothing here",
        log=_log(assessment),
        unit="saved" if assessment.costs else "won",
    )


def _checks_text(facts: tuple[Fact, ...]) -> str:
    """How the checks of the log went, in one line."""
    states = [fact.state for fact in facts]
    said = f"{states.count('passed')} of {counted(len(states), 'check')} of the log passed"
    if look := states.count("look"):
        said += f", {look} {'is' if look == 1 else 'are'} worth a look"
    if failed := states.count("failed"):
        said += f", {failed} failed"
    return said


def _change(made: Decisions, h: int) -> Change:
    return Change(
        state=tuple(made.history_state(h)),
        old=made.actions_at(h, new=False),
        new=made.actions_at(h, new=True),
        visits=int(made.visits[h]),
        gain=float(made.gain[h]),
        share=float(made.share[h]),
        changed=bool(made.changed[h]),
        why=made.why(h),
    )


def _reason(made: Decisions, h: int) -> Reason:
    chosen = made.improvement
    actions, visits = chosen.controller.actions, chosen.mdp.visits[h]
    value = made.q[h] - chosen.behavior_values[h]
    tried = np.flatnonzero(visits > 0).tolist()
    scale = max((abs(value[a]) for a in tried), default=0.0) or 1.0
    return Reason(
        tuple(made.history_state(h)),
        tuple(
            Option(
                shown(actions[a]),
                int(visits[a]),
                percent(float(chosen.behavior_policy[h, a])),
                percent(float(chosen.policy[h, a])),
                float(value[a]),
                float(value[a] / scale),
            )
            for a in tried
        ),
        listing([shown(action) for a, action in enumerate(actions) if a not in tried]),
        made.why(h),
    )


def _bootstrap(assessment: Assessment) -> str:
    again = assessment.resampled
    return (
        f"{len(again.gains):,} other logs were made; each draws its episodes at random from this "
        "log. Both controllers were valued in each, and the new one is better in "
        f"{percent(1 - again.worse)} of them. The picture is a little too hopeful, because the "
        "same log chose the controller. It cannot show what too short a memory hides."
    )


def _sensitivity_text(assessment: Assessment) -> str:
    result, grid, costs = assessment.result, assessment.sensitivity, assessment.costs
    if not grid and assessment.threshold is not None:
        return "They were not tried: with so many history states, that would take too long."
    if not grid:
        return ""
    gains = [cell.gain for row in grid for cell in row.cells]
    values = sorted(-row.behavior if costs else row.behavior for row in grid)
    text = (
        "Every cell is learned from the whole log and not tested, so no cell is the controller "
        "on this page. The table only shows how much the estimate depends on the settings. "
        if result.selection
        else ""
    )
    text += (
        f"Over these settings the estimated gain runs from {number(min(gains))} to "
        f"{number(max(gains))}."
    )
    if values[-1] - values[0] > 0.1 * max(1e-12, *map(abs, values)):
        text += (
            f" The memories disagree even on what the old controller "
            f"{'costs' if costs else 'is worth'} ({number(values[0])} to {number(values[-1])}): "
            "a sign that memory matters here."
        )
    return text


def _thin(made: Decisions) -> list[tuple[str, ...]]:
    """What to try, one line per history state for all that was never tried there."""
    actions = made.improvement.controller.actions
    groups: dict[tuple[int, int], list[Thin]] = {}
    for item in made.thin():
        groups.setdefault((item.h, item.a if item.tried else -1), []).append(item)
    rows = []
    for items in islice(groups.values(), MOST_THIN):
        first = items[0]
        looks = "never tried"
        if first.promise is not None:
            better = "better" if first.promise > 0 else "worse"
            looks = f"{number(abs(first.promise))} {better}" if first.promise else "no different"
        rows.append(
            (
                *made.history_state(first.h),
                listing([shown(actions[item.a]) for item in items], 4),
                f"{first.visits:,}",
                f"{first.tried:,}",
                f"{first.missing:,}" + (" each" if len(items) > 1 else ""),
                looks,
            )
        )
    return rows


def _thin_text(made: Decisions) -> str:
    visits, most = made.improvement.mdp.visits, int(made.threshold)
    thin = int((visits <= most).sum())
    if thin == 0:
        if most == 0:
            return "Nowhere: in every history state every action was tried."
        return f"Nowhere: every pair was tried more than {times(most)}."
    were = "was" if thin == 1 else "were"
    said = f"{thin:,} of {counted(visits.size, 'pair')} (history state and action) {were} "
    said += f"tried at most {times(most)}, which is too seldom" if most else "never tried"
    return f"{said}. If you can afford to try something, start here."


def _log(assessment: Assessment) -> str:
    log = assessment.result.log
    source = shown(log.origin.source, 200) if log.origin else "a log in memory"
    return f"{source}: {counted(len(log), 'episode')}, {counted(log.n_steps, 'step')}"
