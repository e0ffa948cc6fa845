"""A result in a terminal: the verdict first, then what changes, what it rests on, what it
promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from jumar.assessment.assessing import Assessment
from jumar.core.text import counted, shown
from jumar.show.terminal.look import beside_states, facts, plain_table, rest
from jumar.show.terminal.notices import notices_view

if TYPE_CHECKING:
    from jumar.evidence.claims import Certificate

COLORS = {
    "safe": "green",
    "tested": "green",
    "test": "yellow",
    "doubtful": "red",
    "keep": "cyan",
    "unreliable": "red",
}


def result_view(assessment: Assessment, most: int = 20) -> RenderableType:
    """A result: the verdict first, then what changes, what it rests on and what it promises."""
    return Group(*result_parts(assessment, most))


def result_parts(
    assessment: Assessment, most: int = 20, typed: Sequence[str] = ()
) -> list[RenderableType]:
    """The same, part by part, so that a line can be printed whole. `typed` is the command, from
    which those that remedy what was noticed are made."""
    result = assessment.result
    improvement, counts = result.improvement, result.counts
    episodes, steps = int(counts.starts.sum()), int(counts.visits.sum())
    log = f"{counted(episodes, 'episode')}, {counted(steps, 'step')} counted"
    if counts.unfinished:
        log += f"; {counts.unfinished:,} left out: the log does not say what followed"
    settings = ", ".join(f"{name}={value}" for name, value in improvement.parameters.items())
    parts: list[RenderableType] = [
        *_verdict(assessment),
        *notices_view(assessment.notices, typed),
        facts(
            [
                ("log", log),
                ("memory", _memory(assessment)),
                *_evidence(assessment),
                ("algorithm", f"{improvement.algorithm}({settings})"),
                ("changed", f"{improvement.changed:,} of {len(improvement.mdp):,} history states"),
                *_simple(assessment),
                *_gain(assessment),
                *_kept(assessment),
                *_split(assessment),
                *_checks(assessment),
            ]
        ),
        Text(),
    ]
    if improvement.changed:
        parts += _changes(assessment, most)
    return [*parts, *_certificates(assessment)]


def _memory(assessment: Assessment) -> str:
    """What the new controller remembers."""
    result = assessment.result
    said, test = str(result.improvement.mdp.memory), result.selection
    if test is not None and test.chosen is not None and test.remembers_learned:
        said += f", learned from half {test.chosen.half + 1} of the log"
    return f"{said}; {len(result.improvement.mdp):,} history states seen"


def _verdict(assessment: Assessment) -> list[RenderableType]:
    """The verdict and what must be known before the numbers."""
    verdict, color = assessment.verdict, COLORS[assessment.verdict.word]
    badge = Text(f" {verdict.badge.upper()} ", style=f"bold reverse {color}")
    parts: list[RenderableType] = [Text.assemble(badge, " ", verdict.headline), Text()]
    for warning in assessment.warnings:
        loud = "bold red" if verdict.word == "unreliable" else "yellow"
        parts += [Text.assemble((warning.title, loud), " ", warning.text), Text()]
    return parts


def _simple(assessment: Assessment) -> list[tuple[str, str]]:
    """What was kept of the changes, and how many nodes it takes."""
    lines = [("", assessment.simplicity)] if assessment.simplicity else []
    if assessment.smallest is not None:
        lines.append(("nodes", assessment.smallest.summary))
    return lines


def _split(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """How much of the gain is fewer slips, and how much new decisions."""
    split = assessment.split
    if split is None or split.share is None:
        return []
    return [
        ("", f"{split.slips:.6g} of it by fewer slips, {split.decisions:.6g} by new decisions"),
    ]


def _checks(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """One line per check that needs a look; `jumar check` tells more."""
    asked = assessment.facts
    passed = sum(fact.state == "passed" for fact in asked)
    lines: list[tuple[str, str | Text]] = [("checks", f"{passed} of {len(asked)} passed")]
    for fact in asked:
        if fact.state != "passed":
            color = "red" if fact.state == "failed" else "yellow"
            lines.append(("", Text.assemble((f"{fact.state}: ", color), fact.finding)))
    return lines


def _evidence(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """What an algorithm with a threshold may touch: without a choice, nothing can change."""
    threshold = assessment.threshold
    if threshold is None:
        return []
    known = assessment.result.counts.visits > threshold
    choices = int((known.sum(1) > 1).sum())
    text = (
        f"{int(known.sum()):,} of {known.size:,} pairs (history state, action) seen more than "
        f"N∧ = {threshold:g} times; history states with a choice of such actions: {choices:,}"
    )
    return [("evidence", text)]


def _changes(assessment: Assessment, most: int) -> list[RenderableType]:
    """The history states that change, most visited first."""
    result = assessment.result
    improvement, controller = result.improvement, result.controller
    changed = np.flatnonzero((improvement.policy != improvement.behavior_policy).any(1))
    visits = improvement.mdp.visits.sum(1)
    order = changed[np.argsort(-visits[changed], kind="stable")]
    h = order[:most]
    cells = [["\n".join(assessment.decisions.change(int(i))), f"{int(visits[i]):,}"] for i in h]
    heads = ["does: was → becomes", "visits"]
    heads, rows = beside_states(controller, improvement.mdp.states[h], heads, cells)
    table = plain_table(heads, rows, title="What changes", right=["visits"])
    return [table, *rest(len(order) - most, "history state")]


def _gain(assessment: Assessment) -> list[tuple[str, str]]:
    """The gain, and what the model says where that is another number."""
    improvement, gain = assessment.result.improvement, assessment.gain
    solved = f"(solved to {improvement.trace.gap:.1e})"
    values = f"{improvement.behavior_performance:.6g} → {improvement.performance:.6g}"
    if improvement.changed == 0:
        return [("old controller", f"{gain.money(gain.old)} per episode {solved}")]
    lines = [("gain", gain.sentence)]
    return [*lines, ("in the model", f"{values}, estimated from the whole log {solved}")]


def _kept(assessment: Assessment) -> list[tuple[str, str]]:
    """One line for every signal that must not get worse."""
    kept = assessment.kept
    return [
        (
            "kept" if row.passed else "not kept",
            f"{row.signal}: {row.change} per episode; proved {row.proved}, allowed {row.allowed}",
        )
        for row in (kept.rows if kept else ())
    ]


def _certificates(assessment: Assessment) -> list[RenderableType]:
    """The most trustworthy certificate in words, those that say something as a table."""
    best = assessment.certificate
    worth = Text(best.verdict, style="yellow" if best.vacuous else "green")
    lines: list[tuple[str, str | Text]] = [
        ("claim", best.claim),
        ("worth", worth),
    ]
    if best.bound != "none":  # no claim, no validity
        lines.insert(1, ("about", best.about))
        lines.append(("validity", f"{best.validity}. {best.validity.meaning}"))
    labels = ["assumes"] + [""] * len(best.assumptions)
    lines += list(zip(labels, (f"- {text}" for text in best.assumptions), strict=False))
    parts: list[RenderableType] = [Text("Certificate", style="bold"), facts(lines)]
    for kept in assessment.result.kept:
        said: list[tuple[str, str | Text]] = [
            ("claim", kept.claim),
            ("worth", Text(kept.verdict, style="yellow" if kept.vacuous else "green")),
            ("validity", str(kept.validity)),
        ]
        new = [text for text in kept.assumptions if text not in best.assumptions]
        said += zip(["assumes", *[""] * len(new)], (f"- {text}" for text in new), strict=False)
        head = Text(f"Certificate for {shown(kept.signal)}", style="bold")
        parts += [Text(), head, facts(said)]
    telling = [c for c in assessment.telling if not c.vacuous]
    if len(telling) > 1:
        heads = ["bound", "ζ", "validity", "worth"]
        rows = [_bound_cells(c) for c in telling]
        parts += [
            Text(),
            plain_table(heads, rows, title="Bounds that say something", right=["ζ"]),
        ]
    more = len(assessment.certificates) - max(1, len(telling))
    if more:
        others = "1 more bound is vacuous or says the same"
        if more > 1:
            others = f"{more} more bounds are vacuous or say the same"
        parts += [Text(), Text(f"{others}; --json lists them all.")]
    return parts


def _bound_cells(certificate: Certificate) -> list[str]:
    worth = certificate.verdict.partition(":")[0].partition(",")[0]
    return [certificate.title, f"{certificate.zeta:.6g}", str(certificate.validity), worth]
