"""What a picture of a controller says, before it has a shape.

A box is a memory node with one line for each observation; observations that are treated alike
share a line. An arrow n → n' stands for all ⟨z, a⟩ of positive probability that lead from n to n',
and carries the shortest true description of them: nothing if they are all there are at n, the
observations if these decide, the actions if these do, and otherwise both. With a log, the ⟨z, a⟩
of history states that it has never met do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, RowIndex, number_rows
from jumar.core.text import shown
from jumar.memory import history_states
from jumar.policy.controller import Controller
from jumar.policy.words import action_lines, node_words
from jumar.show.differences import settled

MOST_LINES = 12  # in one box
MOST_NAMES = 3  # observations in one line, descriptions on one arrow
MOST_ACTIONS = 4  # actions in one line


@dataclass(frozen=True)
class StateLine:
    """One line of a box: on seeing this, do that."""

    seen: str
    done: tuple[str, ...]  # the pieces of `action_lines`
    changed: bool
    count: int | None  # times the log met it; None where there is no log


@dataclass(frozen=True)
class Box:
    """A memory node."""

    name: str
    initial: bool
    lines: tuple[StateLine, ...]
    more: int  # lines that are left out


@dataclass(frozen=True)
class Arrow:
    """A move of the memory."""

    source: int  # box number
    target: int  # box number
    when: tuple[str, ...]  # descriptions, one below the other; none: always


@dataclass(frozen=True, eq=False)
class DrawnStates:
    """K history states of a controller, with all that a picture says about them."""

    controller: Controller
    states: Ints  # (K, W+1) int64, the ⟨n, z⟩
    rows: Floats  # (K, A) float64, what is done there
    old: Floats  # (K, A) float64, what was done there; the same where nothing is compared
    changed: Bools  # (K,) does it differ?
    count: Ints | None  # (K,) int64, times the log met it

    @property
    def order(self) -> Ints:
        """(K,) what changed first, the most visited on top."""
        count = np.zeros(len(self.states), np.int64) if self.count is None else self.count
        return np.lexsort([-count, ~self.changed])

    def line(self, i: int, seen: str) -> StateLine:
        """History state i as a line."""
        old = self.old[i] if self.changed[i] else None
        pieces = action_lines(self.controller.actions, self.rows[i], old, MOST_ACTIONS)
        count = None if self.count is None else int(self.count[i])
        return StateLine(seen, tuple(pieces), bool(self.changed[i]), count)


def drawn_states(
    states: Ints,
    controller: Controller,
    behavior: Controller | None = None,
    visits: tuple[Ints, Ints] | None = None,
) -> DrawnStates:
    """What a controller does in these history states, what a behavior over the same memory did, and
    how often a log met them."""
    rows = controller.rows_at(states)
    old, changed = settled(rows if behavior is None else behavior.rows_at(states), rows)
    count = None
    if visits is not None:
        distinct, number = number_rows(visits[0])  # a state may be listed twice: its visits add
        times = np.zeros(len(distinct) + 1, np.int64)  # the last one is for states never met
        np.add.at(times, number, visits[1])
        count = times[RowIndex(distinct).find(states)]
    return DrawnStates(controller, states, rows, old, changed, count)


def graph_of(nodes: Ints, drawn: DrawnStates) -> tuple[list[Box], list[Arrow]]:
    """Boxes for the given nodes, and arrows; `drawn` holds their history states, node by node."""
    controller, M = drawn.controller, len(nodes)
    boxes = [_box(nodes, n, drawn) for n in range(M)]
    arrows: list[Arrow] = []
    O = len(controller.observations)
    goes_to = _moves(controller, nodes)  # (M, O, A)
    for n in range(M):
        here = slice(n * O, (n + 1) * O)
        possible = drawn.rows[here] > 0
        if drawn.count is not None:  # the log never went this way
            possible &= drawn.count[here, None] > 0
        targets = goes_to[n]
        for m in np.unique(targets[possible]):
            if m >= 0 and M > 1:  # without memory there is no arrow to draw
                goes = possible & (targets == m)
                when = describe(goes, possible, controller.observations, controller.actions)
                arrows.append(Arrow(n, int(m), when))
    return boxes, arrows


def _moves(controller: Controller, nodes: Ints) -> Ints:
    """(M, O, A) the number of the node each node goes to, -1 for one that is not drawn."""
    O, A = len(controller.observations), len(controller.actions)
    states = np.repeat(history_states(nodes, O), A, 0)
    a = np.tile(np.arange(A, dtype=np.int64), len(nodes) * O)
    moved = controller.memory.step(states[:, :-1], states[:, -1], a)
    return RowIndex(nodes).find(moved).reshape(len(nodes), O, A)


def _box(nodes: Ints, n: int, drawn: DrawnStates) -> Box:
    controller = drawn.controller
    O = len(controller.observations)
    alike: dict[tuple[object, ...], list[int]] = {}
    for i in range(n * O, (n + 1) * O):
        met = None if drawn.count is None else bool(drawn.count[i])
        alike.setdefault((*drawn.rows[i], *drawn.old[i], met), []).append(i)
    groups = list(alike.values())
    if len(groups) > MOST_LINES:  # what changed is never left out for what did not
        groups.sort(key=lambda group: not drawn.changed[group[0]])
    lines = []
    for group in groups[:MOST_LINES]:
        names = [shown(controller.observations[i - n * O]) for i in group]
        everything = len(group) == O > 1
        line = drawn.line(group[0], "anything" if everything else ", ".join(cut(names)))
        count = None if drawn.count is None else int(drawn.count[group].sum())
        lines.append(replace(line, count=count))
    initial = bool((nodes[n] == controller.memory.initial()).all())
    more = len(groups) - len(lines)
    memory, node = controller.memory, controller.name_node(nodes[n])
    name = node_words(memory, node) if memory.width else "no memory"
    return Box(name, initial, tuple(lines), more)


def cut(items: Sequence[str], most: int = MOST_NAMES) -> list[str]:
    """The first few, and how many there are beside them.

    >>> cut(["a", "b", "c"]), cut(["a", "b", "c", "d"]), cut(["a", "b", "c", "d", "e"], 2)
    (['a', 'b', 'c'], ['a', 'b', 'c', 'd'], ['a', 'b', '+3 more'])
    """
    if len(items) <= most + 1:  # "+1 more" takes the place of the one
        return list(items)
    return [*items[:most], f"+{len(items) - most} more"]


def describe(
    goes: Bools, possible: Bools, observations: Sequence[str], actions: Sequence[str]
) -> tuple[str, ...]:
    """The shortest true description of some of the possible (O, A) pairs ⟨z, a⟩.

    >>> seen, done = ("good", "worn"), ("keep", "repair")
    >>> can = np.array([[True, False], [True, True]])
    >>> describe(can, can, seen, done)  # always
    ()
    >>> describe(can & [[True], [False]], can, seen, done), describe(can & [True, False], can, seen,
    ...     done), describe(can & [[True, False], [False, False]], can, seen, done)
    (('good',), ('after keep',), ('good',))
    >>> describe(np.array([[True, False], [False, True]]), can, seen, done)
    ('good', 'worn / repair')
    """
    if (goes == possible).all():
        return ()
    some: Bools = np.any(goes, axis=1)
    if np.array_equal(goes, possible & some[:, None]):
        others = np.flatnonzero(possible.any(1) & ~some)
        if len(others) == 1 and some.sum() > 2:  # all but one
            return (f"not {shown(observations[int(others[0])])}",)
        return tuple(cut(_named(some, observations)))
    used: Bools = np.any(goes, axis=0)
    if np.array_equal(goes, possible & used):
        return (f"after {', '.join(cut(_named(used, actions)))}",)
    whole: Bools = np.all(goes == possible, axis=1)
    return tuple(cut(_pairs(goes, whole, observations, actions)))


def _pairs(
    goes: Bools, whole: Bools, observations: Sequence[str], actions: Sequence[str]
) -> list[str]:
    """Observation / action, those with the same actions together."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for z in np.flatnonzero(goes.any(1)).tolist():
        done = () if whole[z] else tuple(_named(goes[z], actions))
        alike.setdefault(done, []).append(z)
    texts = []
    for done, seen in alike.items():
        text = ", ".join(cut([shown(observations[z]) for z in seen]))
        texts.append(f"{text} / {', '.join(cut(done))}" if done else text)
    return texts


def _named(chosen: Bools, names: Sequence[str]) -> list[str]:
    return [shown(name) for name, yes in zip(names, chosen, strict=True) if yes]
