"""What the report says, as plain text and numbers; the page only sets it.

The order is the reader's: what to do, what it brings, how safe it is and what that rests on; then
what exactly changes, why, how sure the numbers are, and what to log next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.certificate import Certificate
from jumar.checking import QUESTIONS, Check
from jumar.decisions import Decisions, decide
from jumar.errors import listing
from jumar.pipeline import Result
from jumar.resampling import Resampled, resample
from jumar.sensitivity import Row, sensitivity
from jumar.streams import stream
from jumar.wording import percent, shown

MOST_ROWS = 1000  # decisions on the page; all of them are in decisions.csv
MOST_CHANGES = 5  # told in the answer
MOST_REASONS = 12  # situations whose actions are compared one by one
MOST_THIN = 12


@dataclass(frozen=True)
class Fact:
    """Something the answer rests on, and whether it was found to hold."""

    text: str
    state: str  # passed, look, failed, assumed
    finding: str


@dataclass(frozen=True)
class Warning:
    """Something the reader must know before the numbers."""

    title: str
    text: str


@dataclass(frozen=True)
class Change:
    """One situation with its old and its new rule."""

    situation: tuple[str, ...]
    old: str
    new: str
    visits: int
    gain: float
    share: float
    changed: bool
    why: str


@dataclass(frozen=True)
class Option:
    """One action in one situation, as the log shows it."""

    action: str
    tried: int
    old: str
    new: str
    value: float  # what it is worth against the old rule
    bar: float  # from -1 to 1, for the eye


@dataclass(frozen=True)
class Reason:
    """Why a rule changed: its actions side by side."""

    situation: tuple[str, ...]
    options: tuple[Option, ...]
    never: str  # the actions that were never tried here
    why: str


@dataclass(frozen=True)
class Content:
    """Everything on the page."""

    title: str
    verdict: str  # safe, test, keep
    headline: str
    changes: tuple[str, ...]  # the most important ones, in sentences
    more_changes: int
    gain: str
    safety: str
    safety_detail: str
    warnings: tuple[Warning, ...]
    facts: tuple[Fact, ...]
    heads: tuple[str, ...]
    decisions: tuple[Change, ...]
    all_decisions: int
    reasons: tuple[Reason, ...]
    resampled: Resampled
    interval: tuple[float, float]
    bootstrap: str
    sensitivity: tuple[Row, ...]
    sensitivity_text: str
    thin: tuple[tuple[str, ...], ...]
    thin_text: str
    certificates: tuple[Certificate, ...]
    log: str
    unit: str  # what the numbers count


def content(result: Result, check: Check | None = None, seed: int = 1) -> Content:
    """What the page says about a result."""
    improvement, made = result.improvement, decide(result.improvement)
    again = resample(result.log, improvement, rng=stream(seed, "bootstrap"))
    grid = _grid(result)
    order = made.order[:MOST_ROWS].tolist()
    sentences = [_sentence(made, h) for h in made.order.tolist() if made.changed[h]]
    costs = _costs(result)
    return Content(
        title=shown(result.behavior.name, 80),
        verdict=_verdict(result),
        headline=_headline(result),
        changes=tuple(sentences[:MOST_CHANGES]),
        more_changes=max(0, len(sentences) - MOST_CHANGES),
        gain=_gain(result, again, costs),
        safety=_safety(result),
        safety_detail=result.certificate.claim,
        warnings=tuple(_warnings(result)),
        facts=tuple(_facts(result, check)),
        heads=tuple(made.heads),
        decisions=tuple(_change(made, h) for h in order),
        all_decisions=len(made.order),
        reasons=tuple(_reason(made, h) for h in order[:MOST_REASONS] if made.changed[h]),
        resampled=again,
        interval=again.interval(),
        bootstrap=_bootstrap(again),
        sensitivity=grid,
        sensitivity_text=_sensitivity_text(result, grid),
        thin=tuple(_thin(made)),
        thin_text=_thin_text(made),
        certificates=result.certificates,
        log=_log(result),
        unit="saved" if costs else "won",
    )


def number(x: float) -> str:
    """A number as people write it.

    >>> number(-6645.71), number(0.012345), number(1234567.0), number(0.0)
    ('-6,646', '0.01234', '1,234,567', '0')
    """
    if x == 0 or not math.isfinite(x):
        return "0" if x == 0 else "unbounded"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.4g}"


def _costs(result: Result) -> bool:
    origin = result.log.origin
    return bool(origin and origin.remarks and origin.remarks.costs)


def _verdict(result: Result) -> str:
    if result.improvement.changed == 0:
        return "keep"
    best = result.certificate
    return "test" if best.vacuous or best.zeta > 0 else "safe"


def _headline(result: Result) -> str:
    changed, states = result.improvement.changed, len(result.improvement.mdp)
    if changed == 0:
        return "Keep the rule as it is: the log gives no reason to change it."
    rules = "1 rule" if changed == 1 else f"{changed:,} rules"
    found = f"The log speaks for changing {rules} of {states:,}."
    if _verdict(result) == "safe":
        return f"{found} This is, by its guarantee, not worse than today."
    return f"{found} No guarantee covers this yet: try it on a small scale first."


def _sentence(made: Decisions, h: int) -> str:
    """A change as one would say it."""
    chosen = made.improvement
    actions = chosen.controller.actions
    shift = chosen.policy[h] - chosen.behavior_policy[h]
    up, down = int(np.argmax(shift)), int(np.argmin(shift))
    before, *now = made.situation(h)[::-1]
    when = f"When you see “{before}”" + (f" (memory: {now[0]})" if now else "")
    old, new = chosen.behavior_policy[h], chosen.policy[h]
    return (
        f"{when}: “{shown(actions[up])}” {percent(float(new[up]))} of the time (was "
        f"{percent(float(old[up]))}), mostly instead of “{shown(actions[down])}” (was "
        f"{percent(float(old[down]))}, now {percent(float(new[down]))})."
    )


def _gain(result: Result, again: Resampled, costs: bool) -> str:
    improvement = result.improvement
    old, new, gain = improvement.behavior_performance, improvement.performance, improvement.gain
    if improvement.changed == 0:
        text = f"an expected cost of {number(-old)}" if costs else f"an expected {number(old)}"
        return f"The rule of today brings {text} per episode, as far as the log tells."
    low, high = again.interval()
    if costs:
        what = f"saves {number(gain)} per episode (cost {number(-old)} → {number(-new)})"
    else:
        what = f"brings {number(gain)} more per episode ({number(old)} → {number(new)})"
    return (
        f"By the estimate from the log, the new rule {what}; in 90 % of logs redrawn from this "
        f"one, between {number(low)} and {number(high)}."
    )


def _safety(result: Result) -> str:
    best = result.certificate
    if result.improvement.changed == 0:
        return "Nothing changes, so nothing can be lost."
    if best.zeta <= 0 and not best.vacuous:
        return f"Not worse than today, except with a chance of {100 * (best.delta or 0):g} %."
    if best.vacuous:
        return (
            "There is no useful guarantee at this size of log: the best bound excludes nothing. "
            "The estimate may be right, but nothing here proves it."
        )
    return (
        f"A loss of more than {number(best.zeta)} per episode is excluded, except with a chance of "
        f"{100 * (best.delta or 0):g} %."
    )


def _warnings(result: Result) -> list[Warning]:
    found = []
    remarks = result.log.origin.remarks if result.log.origin else None
    if result.estimated:
        found.append(
            Warning(
                "The behavior was estimated",
                "Nobody told which rule produced this log; it was read off the log itself. If "
                "people acted on things that are not in the log (a noise, an experience, a phone "
                "call), those things may explain both what they did and how it went "
                "(confounding), and then even endless data of this kind would mislead. No "
                "guarantee on this page excludes that.",
            )
        )
    if remarks and remarks.rewards_assumed:
        found.append(
            Warning(
                "The rewards were assumed",
                "The log does not say what anything cost or paid; the prices were given by hand. "
                "Every value on this page stands or falls with them.",
            )
        )
    open_ends = int((~result.log.terminated).sum())
    if open_ends and result.counts.unfinished:
        found.append(
            Warning(
                "Some records stop before the story ends",
                f"{open_ends:,} of {len(result.log):,} episodes were cut off (the process still "
                f"runs, or recording stopped); {result.counts.unfinished:,} last steps whose "
                "outcome is unknown were left out. That is sound as long as the cut had nothing to "
                "do with what would have come next.",
            )
        )
    return found


def _facts(result: Result, check: Check | None) -> list[Fact]:
    found = [
        Fact(QUESTIONS[name], section.verdict.status, section.verdict.sentence)
        for name, section in (check.sections.items() if check else ())
    ]
    found += [Fact(text, "assumed", "Not testable here.") for text in _assumptions(result)]
    return found


def _assumptions(result: Result) -> list[str]:
    """What the best certificate rests on; what the others do stands with them."""
    return list(result.certificate.assumptions)


def _change(made: Decisions, h: int) -> Change:
    return Change(
        situation=tuple(made.situation(h)),
        old=made.rule(h, new=False),
        new=made.rule(h, new=True),
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
        tuple(made.situation(h)),
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


def _bootstrap(again: Resampled) -> str:
    return (
        f"The episodes of the log were drawn again at random {len(again.gains):,} times, as if "
        "other logs of the same kind had been kept, and both rules were valued in each: in "
        f"{percent(again.worse)} of them the new rule is not better. Because the rule was chosen "
        "by the same log, the picture is a little too hopeful; and it cannot show what too short "
        "a memory would hide."
    )


def _grid(result: Result) -> tuple[Row, ...]:
    improvement = result.improvement
    if "n_wedge" not in improvement.parameters:
        return ()
    return sensitivity(
        result.log,
        result.behavior,
        discount=improvement.mdp.discount,
        memory=improvement.mdp.memory,
        algorithm=improvement.algorithm,
    )


def _sensitivity_text(result: Result, grid: tuple[Row, ...]) -> str:
    if not grid:
        return ""
    gains = [cell.gain for row in grid for cell in row.cells]
    values = [row.behavior for row in grid]
    spread = max(values) - min(values)
    text = (
        f"Over these settings the estimated gain runs from {number(min(gains))} to "
        f"{number(max(gains))}."
    )
    if spread > 0.1 * max(1e-12, max(map(abs, values))):
        text += (
            " The memories disagree even on what today's rule is worth "
            f"({number(min(values))} to {number(max(values))}): a sign that memory matters here."
        )
    return text


def _thin(made: Decisions) -> list[tuple[str, ...]]:
    actions = made.improvement.controller.actions
    rows = []
    for item in made.thin()[:MOST_THIN]:
        promise = "never tried"
        if item.promise is not None:
            better = "better" if item.promise > 0 else "worse"
            promise = f"{number(abs(item.promise))} {better}"
        rows.append(
            (
                *made.situation(item.h),
                shown(actions[item.a]),
                f"{item.visits:,}",
                f"{item.tried:,}",
                f"{item.missing:,}",
                promise,
            )
        )
    return rows


def _thin_text(made: Decisions) -> str:
    visits = made.improvement.mdp.visits
    thin = int((visits <= made.threshold).sum())
    return (
        f"{thin:,} of {visits.size:,} combinations of situation and action were tried "
        f"{'never' if made.threshold == 0 else f'{made.threshold:.0f} times or less'}, so the rule "
        "had to stay as it is for them. If trying is affordable, these are the ones to try first."
    )


def _log(result: Result) -> str:
    log = result.log
    source = shown(log.origin.source, 200) if log.origin else "a log in memory"
    return f"{source}: {len(log):,} episodes, {log.n_steps:,} steps"
