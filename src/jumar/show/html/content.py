"""What the report says beyond the assessment, as plain text and numbers; the page only sets it.

The order is the reader's: what to do, what it brings, how safe it is and what that rests on; then
what exactly changes, why, how sure the numbers are, and what to log next.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from jumar.core.text import counted, listing, percent, shown, times
from jumar.verdict.advice import Rule, advised, certain, done_today, rules
from jumar.verdict.assessing import Assessment
from jumar.verdict.decisions import Decisions, Thin

MOST_ROWS = 1000  # decisions on the page; all of them are in decisions.csv
MOST_CHANGES = 8  # told in the answer
MOST_RULES = 24  # that fit one sheet
MOST_REASONS = 12  # history states whose actions are compared one by one
MOST_THIN = 12


@dataclass(frozen=True)
class Option:
    """One action in one history state, as the log shows it."""

    action: str
    tried: int
    old: str
    new: str
    bar: float  # from -1 to 1: better or worse than the old policy, for the eye


def title(assessment: Assessment) -> str:
    """The user's names: of the file, and of the policy."""
    result = assessment.result
    origin, name = result.log.origin, shown(result.behavior.name, 80)
    practice = result.practice
    if practice is not None and practice.only is None and not result.estimated:
        # what is compared with is a copy with a name of its own
        name = shown(practice.name, 80) if practice.controllers else "policy known by propensities"
    return f"{shown(origin.source, 80)}: {name}" if origin else name


def checks_text(states: list[str]) -> str:
    """How the checks of the log went, in one line."""
    said = f"{states.count('passed')} of {counted(len(states), 'check')} of the log passed"
    if look := states.count("look"):
        said += f", {look} {'is' if look == 1 else 'are'} worth a look"
    if failed := states.count("failed"):
        said += f", {failed} failed"
    return said


def now_and_new(made: Decisions, h: int) -> list[str]:
    """A change as a row: the situation, what is done there today, and what is to be done."""
    return [*made.history_state(h), done_today(made, h), advised(made, h)]


def rules_of(assessment: Assessment) -> list[Rule]:
    """The new policy as rules, where that was asked for, it holds one action for each situation,
    and the verdict lets it be shown; none where they fill more than a sheet."""
    made, result = assessment.decisions, assessment.result
    if not (assessment.verdict.terms.decides and result.simplified and made.changed.any()):
        return []
    if not certain(made):
        return []
    found = rules(made, result.log.origin.reading if result.log.origin else None)
    return found if len(found) <= MOST_RULES else []


def options(made: Decisions, h: int) -> tuple[list[Option], str]:
    """The actions of history state h that were tried, side by side; and the names of the others."""
    chosen = made.improvement
    actions, visits = chosen.controller.actions, chosen.mdp.visits[h]
    value = made.q[h] - made.worth[h]
    tried = np.flatnonzero(visits > 0).tolist()
    scale = max((abs(value[a]) for a in tried), default=0.0) or 1.0
    old, new = chosen.behavior_policy[h].tolist(), chosen.policy[h].tolist()
    found = [
        Option(
            action=shown(actions[a]),
            tried=int(visits[a]),
            old=percent(old[a]),
            new=percent(new[a]),
            bar=float(value[a] / scale),
        )
        for a in tried
    ]
    return found, listing([shown(name) for a, name in enumerate(actions) if a not in tried])


def thin(made: Decisions) -> list[tuple[str, ...]]:
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
            looks = better if first.promise else "no different"
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


def thin_text(made: Decisions) -> str:
    """How much was tried too seldom."""
    visits, most = made.improvement.mdp.visits, int(made.threshold)
    seldom = int((visits <= most).sum())
    if seldom == 0:
        if most == 0:
            return "Nowhere: in every situation every action was tried."
        return f"Nowhere: every pair was tried more than {times(most)}."
    were = "was" if seldom == 1 else "were"
    said = f"{seldom:,} of {counted(visits.size, 'pair')} (situation and action) {were} "
    said += f"tried at most {times(most)}, which is too seldom" if most else "never tried"
    return f"{said}. If you can afford to try something, start here."


def log_line(assessment: Assessment) -> str:
    """What was read."""
    result = assessment.result
    origin = result.log.origin
    source = shown(origin.source, 200) if origin else "a log in memory"
    return f"{source}: {counted(result.episodes, result.episode)}, {counted(result.steps, 'step')}"
