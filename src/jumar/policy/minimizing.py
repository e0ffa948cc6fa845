"""The fewest memory nodes with which a controller does the same.

Two nodes are *equivalent* if no history can tell them apart:

    n ~ m    iff    ψ(· | n, z) = ψ(· | m, z) for every z, bit for bit, and
                    step(n, z, a) ~ step(m, z, a) for every z and every a with ψ(a | n, z) > 0.

Nodes with equal rows can do the same actions. So what an action that is never done would lead to
need not be told, "equivalent" stays an equivalence relation, and a controller with one node for
each class is the smallest there is: in any other that does the same, two nodes that some history
tells apart are two nodes as well (Myhill and Nerode).

The classes are found by partition refinement (Moore 1956): begin with the nodes that have equal
rows; split every class by the classes that its nodes lead to; stop when nothing splits. There are
at most M rounds of sorting M rows; for a window of k, k of them.

Only nodes that the controller can come to count: from the first node, for any observation, by
actions that it does with a probability above 0. Nothing is asked of a log, so histories that no log
has shown are treated as all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, RowIndex, number_rows
from jumar.core.names import NOTHING
from jumar.core.text import shown
from jumar.memory import ENUMERABLE, Memory, NamedNodes, history_states, window
from jumar.memory.forms import speak
from jumar.memory.reach import reachable

if TYPE_CHECKING:
    from jumar.policy.controller import Controller

LONGEST_MOMENT = 100  # letters
LONGEST_NAME = 40  # letters: what a terminal shows of a name


def minimized(controller: Controller, any_action: bool = False) -> Controller:
    """See `Controller.minimized`."""
    memory, (O, A) = controller.memory, controller.memory.alphabet
    nodes = memory.enumerate() if any_action else reachable(controller, ENUMERABLE)
    M = len(nodes)
    rows = controller.rows_at(history_states(nodes, O)).reshape(M, O, A) + 0.0  # no minus zero
    can = np.ones((M, O, A), np.bool_) if any_action else rows > 0
    index = RowIndex(nodes)
    moves = _moves(memory, nodes, index, can)
    first = int(index.find(memory.initial()[None, :])[0])
    group = _in_order(_refined(_alike(rows), moves), moves, first)
    K = int(group.max()) + 1
    chosen = np.empty(K, np.int64)
    chosen[group[::-1]] = np.arange(M - 1, -1, -1)  # of every class its first node
    small: Memory = window(1).on(O, A)
    if K > 1:
        goes = _filled(np.where(can, group[moves], -1)[chosen], rows[chosen])
        small = NamedNodes(tuple(_names(controller, nodes, group)), goes).on(O, A)
    states, own = history_states(small.enumerate(), O), rows[chosen].reshape(K * O, A)
    usual, other = _usual(own)
    explores = {layer.exploration for layer in controller.layers}
    return replace(
        controller,
        memory=small,
        states=states[other],
        rows=own[other],
        otherwise=usual,
        exploration=explores.pop() if len(explores) == 1 else 0.0,
    )


def _moves(memory: Memory, nodes: Ints, index: RowIndex, can: Bools) -> Ints:
    """(M, O, A) the number of the node each goes to; where it cannot, its own."""
    moves = np.broadcast_to(np.arange(len(nodes))[:, None, None], can.shape).copy()
    n, z, a = np.nonzero(can)
    moves[n, z, a] = index.find(memory.step(nodes[n], z, a))
    return moves


# ---- classes ------------------------------------------------------------------------------------


def _alike(rows: Floats) -> Ints:
    """(M,) the class of every node by its rows alone."""
    M, O, A = rows.shape
    row = number_rows(np.ascontiguousarray(rows.reshape(M * O, A)).view(np.int64))[1]
    return number_rows(row.reshape(M, O))[1]


def _refined(group: Ints, moves: Ints) -> Ints:
    """(M,) the coarsest classes within `group` whose nodes lead to the same classes. Nodes of one
    class can do the same; what they cannot do leads to themselves, and never splits a class."""
    M = len(group)
    goes = moves.reshape(M, -1)
    while True:
        finer = number_rows(np.column_stack([group, group[goes]]))[1]
        if finer.max() == group.max():
            return group
        group = finer


def _in_order(group: Ints, moves: Ints, first: int) -> Ints:
    """(M,) the same classes, numbered in the order in which they are met from the first node on,
    so that controllers that do the same get the same machine."""
    K, number = int(group.max()) + 1, 0
    chosen = np.empty(K, np.int64)
    chosen[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    found = np.full(K, -1)
    frontier = group[[first]]
    while len(frontier):
        found[frontier] = number + np.arange(len(frontier))
        number += len(frontier)
        met = group[moves[chosen[frontier]].ravel()]
        fresh, at = np.unique(met[found[met] < 0], return_index=True)
        frontier = fresh[np.argsort(at)]
    return found[group]


def _filled(goes: Ints, rows: Floats) -> Ints:
    """(K, O, A) the moves; an action that is never done leads where the likeliest one does."""
    likeliest = np.take_along_axis(goes, rows.argmax(2)[:, :, None], 2)
    return np.where(goes >= 0, goes, likeliest)


def _usual(rows: Floats) -> tuple[Floats, Bools]:
    """The row that is met most often, and where another one is."""
    number = number_rows(np.ascontiguousarray(rows).view(np.int64))[1]
    most = int(np.bincount(number).argmax())
    return rows[number.tolist().index(most)], number != most


# ---- names --------------------------------------------------------------------------------------


def _names(controller: Controller, nodes: Ints, group: Ints) -> list[str]:
    """A name for every class, made of the histories it stands for: the shortest endings of the past
    that tell it from all others."""
    memory = controller.memory
    pasts = [_past(memory, controller.name_node(node)) for node in nodes]
    found: list[list[str]] = [[] for _ in range(int(group.max()) + 1)]
    patterns = sorted(_patterns(pasts, group), key=lambda found: -found[0])  # general ones first
    for _, here, pattern in patterns:
        found[here].append(_said(pattern))
    names: list[str] = []
    for texts in found:
        told = len(texts)
        while told > 1 and len(_joined(texts, told)) > LONGEST_NAME:
            told -= 1
        name, number = _joined(texts, told), 2
        while name in names:
            name, number = f"{_joined(texts, told)} ({number})", number + 1
        names.append(name)
    return names


def _joined(texts: Sequence[str], told: int) -> str:
    rest = [f"{len(texts) - told:,} more"] if told < len(texts) else []
    return " or ".join([*texts[:told], *rest])


# (the memory's part, what it holds), from the newest moment to the oldest
Past = tuple[tuple[int, str], ...]


def _past(memory: Memory, value: Any) -> Past:
    """A node as moments, the newest first, part by part."""
    values = [value] if len(memory.parts) == 1 else value
    found: list[tuple[int, str]] = []
    for part, held in enumerate(values):
        moments = [held] if isinstance(held, str) else [_moment(item) for item in held]
        found += [(part, shown(moment, LONGEST_MOMENT)) for moment in reversed(moments)]
    return tuple(found)


def _moment(item: Any) -> str:
    flat = isinstance(item, list) and all(isinstance(name, str) for name in item)
    return item if isinstance(item, str) else ": ".join(filter(None, item)) if flat else speak(item)


def _patterns(pasts: Sequence[Past], group: Ints) -> Iterator[tuple[int, int, Past]]:
    """The shortest endings of the past after which the class is known: how many nodes have it, the
    class, and the ending."""
    todo: list[tuple[Past, list[int]]] = [((), list(range(len(pasts))))]
    while todo:
        pattern, some = todo.pop()
        classes, depth = np.unique(group[some]), len(pattern)
        if len(classes) == 1 or depth == len(pasts[some[0]]):  # names that were cut can be alike
            yield from ((len(some), int(here), pattern) for here in classes)
            continue
        by_moment: dict[tuple[int, str], list[int]] = {}
        for i in some:
            by_moment.setdefault(pasts[i][depth], []).append(i)
        todo += [((*pattern, moment), those) for moment, those in reversed(by_moment.items())]


def _said(pattern: Past) -> str:
    parts = []
    for part in sorted({part for part, _ in pattern}):
        moments = [moment for number, moment in reversed(pattern) if number == part]
        begun = [moment for moment in moments if moment != NOTHING]
        parts.append(" → ".join(["(start)"] * (len(begun) < len(moments)) + begun))
    return " | ".join(parts)
