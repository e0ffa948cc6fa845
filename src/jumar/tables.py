"""What people look at in a terminal: controllers, improvements and certificates as tables.

Functions here return rich renderables; only the command line prints them.
"""

from __future__ import annotations

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jumar.arrays import Floats, Ints
from jumar.controller import Controller
from jumar.errors import TooLarge
from jumar.memory import Product, Window
from jumar.memory import Table as MemoryTable
from jumar.names import NOTHING
from jumar.pipeline import Result

MOST_ROWS = 40
COLUMNS = 6  # actions up to which each has a column of its own


def plain_table(*headers: str, title: str | None = None) -> Table:
    """The one look all tables share."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for header in headers:
        table.add_column(escape(header))
    return table


def node_text(controller: Controller, words: Ints) -> str:
    """A memory node as people read it."""
    value = controller.memory.read_node(
        [int(w) for w in words], controller.observations, controller.actions
    )
    return _node_words(value) or "-"


def _node_words(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    if value and all(isinstance(item, list) for item in value):
        return "  ".join(_node_words(item) or "-" for item in value)
    return " → ".join("(start)" if item == NOTHING else str(item) for item in value)


def row_cells(actions: tuple[str, ...], row: Floats) -> list[str]:
    """A rule as cells: one per action while they are few, else one text."""
    if len(actions) <= COLUMNS:
        return [percent(p) for p in row]
    order = np.argsort(-row, kind="stable")[:COLUMNS]
    return [", ".join(f"{escape(actions[a])} {percent(row[a])}" for a in order if row[a] > 0)]


def percent(p: float) -> str:
    """A probability as people write it.

    >>> percent(0.5), percent(0.0), percent(0.0004), percent(1.0), percent(0.99996)
    ('50 %', '·', '<0.1 %', '100 %', '>99.9 %')
    """
    if p == 0:
        return "·"
    if p < 0.0005:
        return "<0.1 %"
    if 0.9995 <= p < 1:
        return ">99.9 %"
    return f"{100 * p:.3g} %"


def controller_view(controller: Controller, most: int = MOST_ROWS) -> RenderableType:
    """A controller as text: its memory, its rules, and what it does everywhere else."""
    parts: list[RenderableType] = [
        Text.assemble(
            (controller.name, "bold"),
            f"  ·  memory: {controller.memory}  ·  actions: {', '.join(controller.actions)}",
        )
    ]
    states, complete = _states_to_show(controller, most)
    if len(states):
        parts.append(_rules(controller, states[:most]))
    if len(states) > most:
        parts.append(Text(f"  ... and {len(states) - most} more rules", style="dim"))
    if isinstance(controller.otherwise, Controller):
        parts.append(Text("Everywhere else as:", style="bold"))
        parts.append(controller_view(controller.otherwise, most))
    elif not complete:
        cells = row_cells(controller.actions, controller.otherwise)
        texts = [f"{a} {c}" for a, c in zip(controller.actions, cells, strict=False) if c != "·"]
        if len(controller.actions) > COLUMNS:
            texts = cells
        parts.append(Text("Everywhere else: " + ", ".join(texts)))
    moves = _moves(controller)
    if moves is not None:
        parts.append(moves)
    return Group(*parts)


def _states_to_show(controller: Controller, most: int) -> tuple[Ints, bool]:
    """The ⟨n, z⟩ worth a line, and whether they are all there are."""
    if isinstance(controller.otherwise, Controller):
        return controller.states, False
    O = len(controller.observations)
    try:
        nodes = controller.memory.enumerate(limit=max(1, most // O))
    except TooLarge:
        return controller.states, False
    n, z = np.divmod(np.arange(len(nodes) * O), O)
    return np.column_stack([nodes[n], z]), True


def _memory_header(controller: Controller) -> str:
    memory = controller.memory
    if isinstance(memory, Window):
        return "earlier observations" + (" and actions" if memory.actions else "")
    return "memory parts" if isinstance(memory, Product) else "memory"


def _rules(controller: Controller, states: Ints) -> Table:
    actions = controller.actions
    heads = list(actions) if len(actions) <= COLUMNS else ["actions"]
    replaced = isinstance(controller.otherwise, Controller)
    table = plain_table(_memory_header(controller), "observation", *heads)
    if replaced:
        table.add_column("instead of")
    rows = controller.rows_at(states)
    old = _behavior_rows(controller, states) if replaced else None
    for i, state in enumerate(states):
        cells = [
            escape(node_text(controller, state[:-1])),
            escape(controller.observations[int(state[-1])]),
            *row_cells(actions, rows[i]),
        ]
        if old is not None:
            cells.append(rule_text(actions, old[i]))
        table.add_row(*cells)
    return table


def _behavior_rows(controller: Controller, states: Ints) -> Floats:
    assert isinstance(controller.otherwise, Controller)
    return controller.otherwise.lift(controller.memory).rows_at(states)


def rule_text(actions: tuple[str, ...], row: Floats, most: int = 3) -> str:
    """A rule in one line: the likeliest actions.

    >>> rule_text(("keep", "repair"), np.array([0.25, 0.75]))
    'repair 75 %, keep 25 %'
    """
    order = np.argsort(-row, kind="stable")
    shown = [a for a in order if row[a] > 0]
    text = ", ".join(f"{escape(actions[a])} {percent(row[a])}" for a in shown[:most])
    return text + (", ..." if len(shown) > most else "")


def _moves(controller: Controller) -> Table | None:
    memory = controller.memory
    if not isinstance(memory, MemoryTable):
        return None
    table = plain_table("memory", "on seeing", "after doing", "goes to", title="Memory")
    document = memory.to_document(controller.observations, controller.actions)
    for move in document["moves"]:
        cells = (move["node"], move.get("observation", "anything"), move.get("action", "anything"))
        table.add_row(*(escape(cell) for cell in cells), escape(move["to"]))
    return table


def result_view(result: Result, most: int = 20) -> RenderableType:
    """An improvement: what was learned from, what changes, what it promises."""
    improvement, counts = result.improvement, result.counts
    facts = plain_table("", "", title="Improvement")
    facts.show_header = False
    parameters = ", ".join(f"{k}={v}" for k, v in improvement.parameters.items())
    known = ""
    n_wedge = improvement.parameters.get("n_wedge")
    if isinstance(n_wedge, int):
        tried = int((counts.visits > n_wedge).sum())
        known = f", {tried} of {counts.visits.size} pairs seen more than {n_wedge} times"
    for label, text in (
        (
            "log",
            f"{counts.starts.sum():,} episodes, {counts.visits.sum():,} steps counted"
            + (f", {counts.unfinished:,} left out" if counts.unfinished else ""),
        ),
        ("memory", f"{improvement.mdp.memory}: {len(improvement.mdp):,} history states{known}"),
        ("algorithm", f"{improvement.algorithm}({parameters})"),
        ("changed", f"{improvement.changed:,} of {len(improvement.mdp):,} history states"),
        (
            "value in the estimated model",
            f"{improvement.behavior_performance:.6g} → {improvement.performance:.6g} "
            f"(gain {improvement.gain:.6g}; solver gap {improvement.trace.gap:.1e})",
        ),
    ):
        facts.add_row(label, escape(text))
    parts: list[RenderableType] = [facts]
    if improvement.changed:
        parts.append(_changes(result, most))
    parts.append(certificates_view(result))
    return Group(*parts)


def _changes(result: Result, most: int) -> RenderableType:
    """The changed rules, most visited first."""
    improvement, controller = result.improvement, result.controller
    changed = np.flatnonzero((improvement.policy != improvement.behavior_policy).any(1))
    visits = improvement.mdp.visits.sum(1)
    order = changed[np.argsort(-visits[changed], kind="stable")]
    table = plain_table(
        _memory_header(controller), "observation", "was", "becomes", "seen", title="What changes"
    )
    table.columns[-1].justify = "right"
    for h in order[:most]:
        state = improvement.mdp.states[h]
        table.add_row(
            escape(node_text(controller, state[:-1])),
            escape(controller.observations[int(state[-1])]),
            rule_text(controller.actions, improvement.behavior_policy[h]),
            rule_text(controller.actions, improvement.policy[h]),
            f"{int(visits[h]):,}",
        )
    if len(order) <= most:
        return table
    return Group(table, Text(f"  ... and {len(order) - most} more", style="dim"))


def certificates_view(result: Result) -> RenderableType:
    """The most trustworthy certificate in words, the others as a table."""
    best = result.certificate
    lines: list[RenderableType] = [
        Text("Certificate", style="bold"),
        Text(f"  {best.claim}"),
        Text(f"  Worth: {best.verdict}.", style="yellow" if best.vacuous else "green"),
        Text(f"  Validity: {best.validity}. {best.validity.meaning}"),
    ]
    for assumption in best.assumptions:
        lines.append(Text(f"  Assumes: {assumption}", style="dim"))
    if len(result.certificates) > 1:
        table = plain_table("bound", "ζ", "validity", "worth", title="Every bound that applies")
        for c in result.certificates:
            worth = "vacuous" if c.vacuous else c.verdict
            table.add_row(c.title, f"{c.zeta:.6g}", str(c.validity), worth)
        lines.append(table)
    return Group(*lines)
