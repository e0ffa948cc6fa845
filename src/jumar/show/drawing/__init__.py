"""Controllers as pictures: boxes and arrows where there is room for them, else a table.

`draw` decides what to say (`graph`), writes it as DOT (`dot`), and lets Graphviz lay that out
(`svg`, or `images` for PNG and PDF). A picture holds the memory nodes the controller can reach, or
those of them that a log has visited; beyond `most` of them, arrows can no longer be followed, and
the picture becomes a table of the most important history states: first what changed, then what was
met most often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jumar.core.arrays import Ints, RowIndex, freeze
from jumar.core.errors import ParameterError, TooLarge
from jumar.core.text import counted, shown
from jumar.memory import ENUMERABLE, history_states
from jumar.memory.reach import reachable
from jumar.policy.controller import Controller
from jumar.policy.words import action_lines, history_state_heads, history_state_words
from jumar.show.differences import on_one_memory, written_out
from jumar.show.drawing.dot import CHANGED, START, graph_dot, table_dot
from jumar.show.drawing.graph import DrawnStates, drawn_states, graph_of
from jumar.show.drawing.images import image
from jumar.show.drawing.svg import render

__all__ = ["Drawing", "draw"]

MOST_NODES = 30
MOST_ROWS = 40  # of a table
ARROWS = 3  # per node that may be drawn, beyond which they can no longer be followed
TOLD = 12  # changes in the text alternative


@dataclass(frozen=True)
class Drawing:
    """A picture of a controller."""

    dot: str
    svg: str
    kind: Literal["graph", "table"]
    description: str  # the text alternative, also inside the SVG

    @property
    def width(self) -> int:
        """Of the SVG in its natural size, in pixels."""
        return int(self.svg.partition('width="')[2].partition('"')[0])

    def image(self, kind: str) -> bytes:
        """The same as a file of the kind png or pdf."""
        return image(self.dot, kind)


def draw(
    controller: Controller,
    *,
    behavior: Controller | None = None,
    visits: tuple[Ints, Ints] | None = None,
    most: int = MOST_NODES,
    where: str = "the file of the policy",
    note: str = "",
) -> Drawing:
    """Draw a controller; where it differs from `behavior`, this is marked.

    `visits` are history states ⟨n, z⟩ of the controller's memory, (K, W+1), and how often a log
    met each, (K,). `where` names the place of the history states that a table has no room for.
    `note` is written below. Ids inside the SVG are made from what the drawing shows, so that two
    on one page do not clash.

    >>> keep = Controller.constant(("good", "worn"), ("keep", "repair"), [1, 0], name="keep")
    >>> careful = keep.except_at(np.array([[1]]), np.array([[0.5, 0.5]]), name="careful")
    >>> drawing = draw(careful, behavior=keep)
    >>> drawing.kind, "keep 100% → 50%" in drawing.svg
    ('graph', True)
    >>> print(drawing.description)
    Policy careful: 1 memory node, 2 situations. 1 of them changed.
    On seeing worn: keep 100% → 50%, repair 0% → 50%.
    """
    if most < 1:
        raise ParameterError(f"most: {most} nodes cannot be drawn. Give 1 or more.")
    was, now = (None, controller) if behavior is None else on_one_memory(behavior, controller)
    visits = None if visits is None else _checked(visits, now)
    title = shown(controller.name, 80)
    graph = None
    notes: list[str] = []
    said = [note] if note else []
    try:
        nodes = reachable(now, most, _met(visits))
        drawn = drawn_states(history_states(nodes, len(now.observations)), now, was, visits)
        graph = graph_of(nodes, drawn)
    except TooLarge:
        drawn, notes = _states_of_many(now, was, visits)
    kind: Literal["graph", "table"]
    if graph is not None and len(graph[1]) <= ARROWS * most:
        kind, memory = "graph", counted(len(nodes), "memory node")
        dot = graph_dot(*graph, title, [*_notes(nodes, drawn, was, visits), *said])
    else:
        kind, memory = "table", str(now.memory)
        dot = _table(drawn, title, where, [*notes, *said])
    description = "\n".join([_description(title, drawn, memory), *said])
    prefix = f"jumar-{hashlib.sha256(dot.encode()).hexdigest()[:8]}"
    return Drawing(dot, render(dot, title, description, prefix), kind, description)


def _checked(visits: tuple[Ints, Ints], controller: Controller) -> tuple[Ints, Ints]:
    states = freeze(visits[0], np.int64, "visits: states")
    count = freeze(visits[1], np.int64, "visits: counts")
    wanted = (len(states), controller.memory.width + 1)
    if states.shape != wanted or count.shape != wanted[:1]:
        raise ParameterError(
            f"visits: states of shape {states.shape} with counts of shape {count.shape}; for a "
            f"{controller.memory} expected {wanted} and {wanted[:1]}."
        )
    return states, count


def _states_of_many(
    now: Controller, was: Controller | None, visits: tuple[Ints, Ints] | None
) -> tuple[DrawnStates, list[str]]:
    """The history states of a controller with too many nodes to draw: those the log met; else those
    it can come to; else those written out in its file, with a note about all others."""
    notes = []
    states = _met(visits)
    if states is None:
        try:
            states = _states_in_reach(now)
        except TooLarge:
            layers = [written_out(c) for c in (now, was) if c is not None]
            states, below = np.concatenate([found for found, _ in layers]), layers[0][1]
            if isinstance(below, Controller):
                notes.append(f"Everywhere else it does the same as {shown(below.name)}.")
            else:
                notes.append(f"Everywhere else: {', '.join(action_lines(now.actions, below))}")
    return drawn_states(np.unique(states, axis=0), now, was, visits), notes


def _met(visits: tuple[Ints, Ints] | None) -> Ints | None:
    """The history states a log has met, if there is a log."""
    return None if visits is None else visits[0][visits[1] > 0]


def _states_in_reach(controller: Controller) -> Ints:
    O = len(controller.observations)
    return history_states(reachable(controller, ENUMERABLE // O), O)


def _notes(
    nodes: Ints, drawn: DrawnStates, was: Controller | None, visits: tuple[Ints, Ints] | None
) -> list[str]:
    """How to read the picture, and what changed that is not in it."""
    notes = []
    if len(nodes) > 1:
        notes.append(f"{START} begins here")
    if drawn.changed.any():
        changed = f"{int(drawn.changed.sum()):,} of {counted(len(drawn.states), 'situation')}"
        notes.append(f"{CHANGED} changed ({changed}): was → is")
    if drawn.count is not None:
        notes.append("arrows only where the log has been")
    lines = [" · ".join(notes)] if notes else []
    left = 0 if was is None else _left_behind(nodes, drawn.controller, was, visits)
    if left:
        lines.append(f"{left:,} more changed where this policy never comes")
    return lines


def _left_behind(
    nodes: Ints, now: Controller, was: Controller, visits: tuple[Ints, Ints] | None
) -> int:
    """How many history states changed that only the behavior comes to, not the controller."""
    states = _met(visits)
    try:
        states = _states_in_reach(was) if states is None else np.unique(states, axis=0)
    except TooLarge:
        return 0
    states = states[RowIndex(nodes).find(states[:, :-1]) < 0]
    return int(drawn_states(states, now, was).changed.sum())


def _table(drawn: DrawnStates, title: str, where: str, notes: Sequence[str]) -> str:
    """The most important history states, and how many others there are."""
    K = len(drawn.states)
    rows = []
    for i in drawn.order[:MOST_ROWS].tolist():
        words = history_state_words(drawn.controller, drawn.states[i])
        rows.append((words, drawn.line(i, words[-1])))
    changed, notes = int(drawn.changed.sum()), list(notes)
    if changed:
        notes.insert(0, f"{CHANGED} changed ({changed:,} of {counted(K, 'situation')}): was → is")
    if len(rows) < K:
        hidden = max(0, changed - MOST_ROWS)
        left = [f"{hidden:,} more that changed"] * (hidden > 0)
        kept = "that stay as they were" if changed else "more"
        left += [f"{K - len(rows) - hidden:,} {kept}"] * (K - len(rows) > hidden)
        notes.append(f"Not shown: {' and '.join(left)}. They stand in {shown(where, 80)}.")
    return table_dot(history_state_heads(drawn.controller.memory), rows, title, notes)


def _description(title: str, drawn: DrawnStates, memory: str) -> str:
    """The picture in sentences."""
    changed = drawn.order[: int(drawn.changed.sum())]
    sentences = [f"Policy {title}: {memory}, {counted(len(drawn.states), 'situation')}."]
    if len(changed):
        sentences[0] += f" {len(changed):,} of them changed."
    for i in changed[:TOLD]:
        pieces = action_lines(drawn.controller.actions, drawn.rows[i], drawn.old[i])
        words: Sequence[str] = history_state_words(drawn.controller, drawn.states[i])
        before = f"In {words[0]}, on" if len(words) > 1 else "On"
        sentences.append(f"{before} seeing {words[-1]}: {', '.join(pieces)}.")
    if len(changed) > TOLD:
        sentences.append(f"And {len(changed) - TOLD:,} more.")
    return "\n".join(sentences)
