"""A result in a terminal: the verdict first, then what changes, what it rests on, what it
promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from jumar.core.text import counted, shown, visible
from jumar.show.remedies import next_command
from jumar.show.terminal.look import (
    LONGEST,
    STATES,
    assumed,
    beside_states,
    facts,
    listed,
    notices_view,
    plain_table,
    rest,
)
from jumar.verdict.assessing import Assessment
from jumar.verdict.verdicts import Carried, claim

if TYPE_CHECKING:
    from jumar.evidence.claims import Certificate

COLORS = {"good": "green", "warn": "yellow", "accent": "cyan", "bad": "red"}


def result_view(assessment: Assessment, most: int = 20) -> RenderableType:
    """A result: the verdict first, then what changes, what it rests on and what it promises."""
    return Group(*result_parts(assessment, most))


def result_parts(
    assessment: Assessment, most: int = 20, typed: Sequence[str] = ()
) -> list[RenderableType]:
    """The same, part by part, so that a line can be printed whole. `typed` is the command, from
    which those that remedy what was noticed are made."""
    result, terms = assessment.result, assessment.verdict.terms
    improvement, counts = result.improvement, result.counts
    episodes, steps = int(counts.starts.sum()), int(counts.visits.sum())
    log = f"{counted(episodes, 'episode')}, {counted(steps, 'step')} counted"
    if counts.unfinished:
        log += f"; {counts.unfinished:,} left out: the log does not say what followed"
    settings = ", ".join(f"{name}={value}" for name, value in improvement.parameters.items())
    said = assessment.verdict.lead
    lines: list[tuple[str, str | Text]] = [("log", log)]
    if terms.decides or improvement.changed == 0:  # else what was learned is not to be used
        changed = f"{improvement.changed:,} of {counted(len(improvement.mdp), 'situation')}"
        lines += [
            ("memory", _memory(assessment)),
            *_evidence(assessment),
            ("algorithm", f"{improvement.algorithm}({settings})"),
            ("changed", changed),
            *_simple(assessment),
        ]
    lines += [*_numbers(assessment), *_checks(assessment)]
    parts: list[RenderableType] = [
        *_verdict(assessment, typed),
        *notices_view([n for n in assessment.notices if n.fact != said], typed),
        facts(lines),
        Text(),
    ]
    if terms.decides:
        parts += _changes(assessment, most)
    return [*parts, *_certificates(assessment)]


def _memory(assessment: Assessment) -> str:
    """What the new policy remembers."""
    result = assessment.result
    said, test = str(result.improvement.mdp.memory), result.selection
    if test is not None and test.chosen is not None and test.remembers_learned:
        said += f", learned from half {test.chosen.half + 1} of the log"
    return f"{said}; {len(result.improvement.mdp):,} situations seen"


def _verdict(assessment: Assessment, typed: Sequence[str]) -> list[RenderableType]:
    """The verdict, what to do now, and what could make it wrong."""
    verdict = assessment.verdict
    style = f"bold {COLORS[verdict.terms.colour]}"
    parts: list[RenderableType] = [
        Text(visible(verdict.headline), style=style),
        *(Text(visible(text)) for text in (verdict.lead, *assessment.also)),
        Text(),
        Text.assemble(("Next: ", "bold"), visible(verdict.next_step)),
    ]
    if command := next_command(verdict, typed):
        parts.append(Text(f"  {shown(command, LONGEST)}", no_wrap=True))  # to be pasted
    return [*parts, Text(), facts(listed("could be wrong", map(str, verdict.doubts))), Text()]


def _numbers(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """What an episode brings today, and where numbers may be shown what else is known."""
    today: list[tuple[str, str | Text]] = [("today", assessment.today)] if assessment.today else []
    return [*today, *_kept(assessment)] if assessment.verdict.terms.decides else today


def _simple(assessment: Assessment) -> list[tuple[str, str]]:
    """What was kept of the changes, and how many nodes it takes."""
    lines = [("", assessment.simplicity)] if assessment.simplicity else []
    if assessment.smallest is not None:
        lines.append(("nodes", assessment.smallest.summary))
    return lines


def _checks(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """One line per check that needs a look; `jumar check` tells more."""
    states = assessment.states
    passed = f"{states.count('passed')} of {len(states)} passed"
    lines: list[tuple[str, str | Text]] = [("checks", passed)]
    for _, section in assessment.check.answers:
        state, finding = section.verdict.status, section.verdict.sentence
        if state != "passed":
            lines.append(("", Text.assemble((f"{state}: ", STATES[state]), finding)))
    return lines


def _evidence(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """What an algorithm with a threshold may touch: without a choice, nothing can change."""
    threshold = assessment.threshold
    if threshold is None:
        return []
    known = assessment.result.counts.visits > threshold
    choices = int((known.sum(1) > 1).sum())
    text = (
        f"{int(known.sum()):,} of {known.size:,} pairs (situation, action) seen more than "
        f"N∧ = {threshold:g} times; situations with a choice of such actions: {choices:,}"
    )
    return [("evidence", text)]


def _changes(assessment: Assessment, most: int) -> list[RenderableType]:
    """The situations that change, in the order of their gain, as everywhere."""
    result = assessment.result
    improvement, controller = result.improvement, result.controller
    made, visits = assessment.decisions, improvement.mdp.visits.sum(1)
    order = made.order[made.changed[made.order]]
    h = order[:most]
    cells = [["\n".join(assessment.decisions.change(int(i))), f"{int(visits[i]):,}"] for i in h]
    heads = ["does: was → becomes", "visits"]
    heads, rows = beside_states(controller, improvement.mdp.states[h], heads, cells)
    table = plain_table(heads, rows, title="What changes", right=["visits"])
    return [table, *rest(len(order) - most, "situation")]


def _kept(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """One line for every signal that must not get worse."""
    kept = assessment.kept
    return [
        (
            "kept" if row.passed else "not kept",
            f"{row.signal}: {row.change} per episode; proved {row.proved}, allowed {row.allowed}",
        )
        for row in (kept[1] if kept else ())
    ]


def _certificates(assessment: Assessment) -> list[RenderableType]:
    """The most trustworthy certificate in words, those that say something as a table; under a
    verdict that carries no number, nothing."""
    best, numbers = assessment.result.certificate, assessment.verdict.terms.numbers
    if assessment.verdict.exit_code:
        return []
    parts: list[RenderableType] = []
    for certificate in (best, *assessment.result.kept):
        of = f" for {shown(certificate.signal)}" if certificate.signal else ""
        parts += [
            Text(f"Certificate{of}", style="bold"),
            facts(_said(certificate, numbers)),
            Text(),
        ]
    telling = [c for c in assessment.telling if not c.vacuous and c.zeta > 0]
    if len(telling) > 1:
        heads = ["bound", "ζ", "validity", "worth"]
        rows = [_bound_cells(c) for c in telling]
        parts += [
            plain_table(heads, rows, title="Bounds that say something", right=["ζ"]),
        ]
    more = len(assessment.result.certificates) - max(1, len(telling))
    if more:
        others = "1 more bound is vacuous or says the same"
        if more > 1:
            others = f"{more} more bounds are vacuous or say the same"
        parts.append(Text(f"{others}; --json lists them all."))
    return parts


def _said(certificate: Certificate, numbers: Carried) -> list[tuple[str, str | Text]]:
    """What a certificate says, as far as the verdict carries it."""
    said = claim(certificate, numbers)
    lines = assumed(certificate)
    if certificate.bound in ("none", "unchanged"):  # no claim, no validity
        lines = lines[1:]
    return [*([("claim", said)] if said else []), *lines]


def _bound_cells(certificate: Certificate) -> list[str]:
    worth = certificate.verdict.partition(":")[0].partition(",")[0]
    return [certificate.title, f"{certificate.zeta:.6g}", str(certificate.validity), worth]
