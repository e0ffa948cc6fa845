"""What people look at in a terminal: controllers, improvements and certificates as tables.

Functions here return rich renderables; only the command line prints them. Names come from files,
so they are never handed to rich as markup, and what could disturb a terminal is spelled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jumar.assessment.assessing import Assessment
from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.memory import history_states
from jumar.core.text import counted, percent, plural, shown, visible
from jumar.core.words import (
    COLUMNS,
    action_lines,
    history_state_heads,
    history_state_words,
    node_words,
)
from jumar.show.differences import Difference
from jumar.show.remedies import command_of

if TYPE_CHECKING:
    from jumar.evidence.claims import Certificate
    from jumar.evidence.noticing import Notice

LONGEST = 5000  # letters of a command
MOST_ROWS = 40
COLORS = {
    "safe": "green",
    "tested": "green",
    "test": "yellow",
    "doubtful": "red",
    "keep": "cyan",
    "unreliable": "red",
}


def as_text(view: RenderableType, width: int = 100) -> str:
    """A view as plain text, for `print`."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(view, markup=False, highlight=False)
    file: Any = console.file
    lines: str = file.getvalue()
    return "\n".join(line.rstrip() for line in lines.splitlines())


# ---- the look all tables share ------------------------------------------------------------------


def plain_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
) -> RenderableType:
    """Rows of text under headers; the columns called in `right` hold numbers. Whatever a log put
    into them, a terminal is not disturbed."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        number = header in right
        justify: Any = "right" if number else "left"
        table.add_column(_harmless(header), justify=justify, no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*map(_harmless, row))
    parts: list[RenderableType] = [Padding(table, (0, 0, 0, 1))]
    return Group(Text(title, style="bold"), *parts) if title else parts[0]


def facts(pairs: Iterable[tuple[str, str | Text]]) -> RenderableType:
    """Labels and what belongs to them."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in pairs:
        grid.add_row(_harmless(label), text if isinstance(text, Text) else _harmless(text))
    return Padding(grid, (0, 0, 0, 2))


def _harmless(text: str) -> Text:
    return Text(visible(text))


def beside_states(
    controller: Controller, states: Ints, columns: Sequence[str], cells: Iterable[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of history states in words, with columns beside them."""
    rows = [[*history_state_words(controller, s), *c] for s, c in zip(states, cells, strict=True)]
    return [*history_state_heads(controller.memory), *columns], rows


def rest(more: int, noun: str) -> list[RenderableType]:
    """A line about what is not shown, if there is any."""
    text = f"  ... and {more:,} more {plural(noun, more)}"
    return [Text(text, style="dim")] if more > 0 else []


# ---- controllers --------------------------------------------------------------------------------


def controller_view(controller: Controller, most: int = MOST_ROWS) -> RenderableType:
    """A controller as text: its memory, what it does in each history state, and everywhere else."""
    parts: list[RenderableType] = [
        Text(shown(controller.name, 200), style="bold"),
        facts(
            [
                ("memory", str(controller.memory)),
                ("observations", _names(controller.observations)),
                ("actions", _names(controller.actions)),
            ]
        ),
    ]
    states, complete = _states_to_show(controller, most)
    if len(states):
        parts.append(_choices(controller, states[:most]))
    parts += rest(len(states) - most, "history state")
    if isinstance(controller.otherwise, Controller):
        where = "Everywhere else" if len(states) else "Everywhere"
        parts.append(Text(f"{where} it does the same as:"))
        parts.append(Padding(controller_view(controller.otherwise, most), (0, 0, 0, 2)))
    elif not complete:
        done = ", ".join(action_lines(controller.actions, controller.otherwise))
        parts.append(Text(f"Everywhere else: {done}"))
    parts += _moves(controller, most)
    return Group(*parts)


def _names(names: Sequence[str], most: int = 12) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def _states_to_show(controller: Controller, most: int) -> tuple[Ints, bool]:
    """The ⟨n, z⟩ that get a line, and whether these are all."""
    if isinstance(controller.otherwise, Controller):
        return controller.states, False
    O = len(controller.observations)
    try:
        nodes = controller.memory.enumerate(limit=max(1, most // O))
    except TooLarge:
        return controller.states, False
    return history_states(nodes, O), True


def _choices(controller: Controller, states: Ints) -> RenderableType:
    actions, rows, behavior = controller.actions, controller.rows_at(states), controller.otherwise
    columns = ["does"]
    if isinstance(behavior, Controller):
        columns = ["does: was → is"]
        cells = _changed(actions, rows, behavior.lift(controller.memory).rows_at(states))
    elif len(actions) <= COLUMNS:
        columns = [shown(action) for action in actions]
        cells = [[percent(p) if p else "·" for p in row] for row in rows]
    else:
        cells = [[", ".join(action_lines(actions, row))] for row in rows]
    return plain_table(*beside_states(controller, states, columns, cells))


def _changed(actions: Sequence[str], new: Floats, old: Floats) -> list[list[str]]:
    """What is done in each history state, and what was."""
    pairs = zip(new, old, strict=True)
    return [["\n".join(action_lines(actions, is_, was))] for is_, was in pairs]


def _moves(controller: Controller, most: int) -> list[RenderableType]:
    """How the tables of the memory move, unless the controller it falls back on shows them."""
    below = controller.otherwise
    known = below.memory.parts if isinstance(below, Controller) else ()
    views: list[RenderableType] = []
    names = controller.observations, controller.actions
    for part in controller.memory.parts:
        moves = part.moves(*names)
        if not moves or part in known:
            continue
        rows = [
            [shown(move[key]) if key in move else "anything" for key in _MOVE] for move in moves
        ]
        heads = ["memory", "on seeing", "after doing", "goes to"]
        start = node_words(part, part.read_node(part.initial(), *names))
        title = f"How the memory moves; it starts with {start!r}"
        views += [plain_table(heads, rows[:most], title=title), *rest(len(rows) - most, "move")]
    return views


_MOVE = ("node", "observation", "action", "to")


# ---- differences --------------------------------------------------------------------------------


def difference_view(found: Difference, most: int = MOST_ROWS) -> RenderableType:
    """A difference as text: where the two differ, and what each does there."""
    if most < 1:
        raise ParameterError(f"most: {most} rows cannot show a difference. Give 1 or more.")
    title = f"From {shown(found.was.name, 200)} to {shown(found.now.name, 200)}"
    told = facts([("compared over", str(found.memory)), ("differ", _how_many(found))])
    return Group(Text(title, style="bold"), told, *_differences(found, most))


def _how_many(found: Difference) -> str:
    if found.same:
        return "nowhere: they behave the same everywhere"
    K = len(found.states)
    if found.compared is not None:
        return f"{K:,} of {found.compared:,} history states that one of them can come to"
    return f"{counted(K, 'history state')} listed in one of the files"


def _differences(found: Difference, most: int) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if len(found.states):
        cells = _changed(found.now.actions, found.new[:most], found.old[:most])
        heads = ["does: was → is"]
        parts.append(plain_table(*beside_states(found.now, found.states[:most], heads, cells)))
    parts += rest(len(found.states) - most, "history state")
    if found.rest is not None:
        below = f"Everywhere else they fall back on controllers over a {found.rest.memory}. These"
        parts.append(Text(f"{below} differ in {_how_many(found.rest)}:"))
        parts.append(Padding(Group(*_differences(found.rest, most)), (0, 0, 0, 2)))
    return parts


# ---- improvements -------------------------------------------------------------------------------


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
                (
                    "memory",
                    f"{improvement.mdp.memory}; {len(improvement.mdp):,} history states seen",
                ),
                *_evidence(assessment),
                ("algorithm", f"{improvement.algorithm}({settings})"),
                ("changed", f"{improvement.changed:,} of {len(improvement.mdp):,} history states"),
                *_gain(assessment),
                *_split(assessment),
                *_checks(assessment),
            ]
        ),
        Text(),
    ]
    if improvement.changed:
        parts += _changes(assessment, most)
    return [*parts, *_certificates(assessment)]


def _verdict(assessment: Assessment) -> list[RenderableType]:
    """The verdict and what must be known before the numbers."""
    verdict, color = assessment.verdict, COLORS[assessment.verdict.word]
    badge = Text(f" {verdict.badge.upper()} ", style=f"bold reverse {color}")
    parts: list[RenderableType] = [Text.assemble(badge, " ", verdict.headline), Text()]
    for warning in assessment.warnings:
        loud = "bold red" if verdict.word == "unreliable" else "yellow"
        parts += [Text.assemble((warning.title, loud), " ", warning.text), Text()]
    return parts


def _split(assessment: Assessment) -> list[tuple[str, str | Text]]:
    """How much of the gain is fewer slips, and how much new decisions."""
    split = assessment.split
    if split is None or split.share is None:
        return []
    return [
        ("", f"{split.slips:.6g} of it by fewer slips, {split.decisions:.6g} by new decisions"),
    ]


def notices_view(notices: Sequence[Notice], typed: Sequence[str]) -> list[RenderableType]:
    """What was noticed, each with its remedy, and the command on a line of its own."""
    parts: list[RenderableType] = []
    for notice in notices:
        parts.append(Text.assemble(("Notice: ", "bold yellow"), (notice.fact, "yellow")))
        parts.append(Text(notice.remedy))
        if command := command_of(notice, typed, notices):
            parts.append(Text(f"  {shown(command, LONGEST)}", no_wrap=True))  # to be pasted
        parts.append(Text())
    return parts


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


def _certificates(assessment: Assessment) -> list[RenderableType]:
    """The most trustworthy certificate in words, those that say something as a table."""
    best, result = assessment.certificate, assessment.result
    worth = Text(best.verdict, style="yellow" if best.vacuous else "green")
    lines: list[tuple[str, str | Text]] = [
        ("claim", best.claim),
        ("worth", worth),
    ]
    if best.bound != "none":  # no claim, no validity
        lines.append(("validity", f"{best.validity}. {best.validity.meaning}"))
    labels = ["assumes"] + [""] * len(best.assumptions)
    lines += list(zip(labels, (f"- {text}" for text in best.assumptions), strict=False))
    parts: list[RenderableType] = [Text("Certificate", style="bold"), facts(lines)]
    telling = [c for c in assessment.telling if not c.vacuous]
    if len(telling) > 1:
        heads = ["bound", "ζ", "validity", "worth"]
        rows = [_bound_cells(c) for c in telling]
        parts += [
            Text(),
            plain_table(heads, rows, title="Bounds that say something", right=["ζ"]),
        ]
    more = len(result.certificates) - max(1, len(telling))
    if more:
        others = "1 more bound is vacuous or says the same"
        if more > 1:
            others = f"{more} more bounds are vacuous or say the same"
        parts += [Text(), Text(f"{others}; --json lists them all.")]
    return parts


def _bound_cells(certificate: Certificate) -> list[str]:
    worth = certificate.verdict.partition(":")[0].partition(",")[0]
    return [certificate.title, f"{certificate.zeta:.6g}", str(certificate.validity), worth]
