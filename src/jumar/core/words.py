"""How controllers are put into words, wherever people read them: names, probabilities, situations
⟨n, z⟩ and rules. Names come from files and can be anything, so what could disturb a terminal or a
page is spelled out, and long ones are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.memory import Memory, Product, Window
from jumar.core.names import NOTHING
from jumar.core.text import percent, shown

COLUMNS = 6  # actions up to which each is spelled out


def situation_heads(memory: Memory) -> list[str]:
    if memory.width == 0:
        return ["seen now"]
    if isinstance(memory, Window):
        return ["seen and done before" if memory.actions else "seen before", "seen now"]
    return ["memory", "seen now"]


def situation(controller: Controller, state: Ints) -> list[str]:
    """⟨n, z⟩ as people read it, under `situation_heads`."""
    memory = controller.memory
    now = shown(controller.observations[int(state[-1])])
    if memory.width == 0:
        return [now]
    words = [int(w) for w in state[:-1]]
    return [
        node_words(memory, memory.read_node(words, controller.observations, controller.actions)),
        now,
    ]


def node_words(memory: Memory, value: Any) -> str:
    if isinstance(memory, Product):
        pairs = zip(memory.parts, value, strict=True)
        return " | ".join(node_words(part, item) for part, item in pairs if part.width)
    if isinstance(memory, Window):
        moments = [_moment(item) for item in value]
        begun = moments.count("")  # nothing yet: said once, however long
        return " → ".join(["(start)"] * (begun > 0) + moments[begun:])
    return shown(value)


def _moment(item: Any) -> str:
    if not isinstance(item, list):
        return "" if item == NOTHING else shown(item)
    return "" if item[0] == NOTHING else f"{shown(item[0])}: {shown(item[1])}"


def rule_lines(
    actions: Sequence[str], row: Floats, old: Floats | None = None, most: int = COLUMNS
) -> list[str]:
    """A rule as text, the likeliest action first; with what it was, where that is another.

    >>> rule_lines(("keep", "repair"), np.array([0.25, 0.75]))
    ['repair 75%', 'keep 25%']
    >>> rule_lines(("keep", "repair", "sell"), np.array([0.5, 0.5, 0]), np.array([0.5, 0.25, 0.25]))
    ['keep 50%', 'repair 25% → 50%', 'dropped: sell 25%']
    """
    before = row if old is None else old

    def texts(chosen: Ints, rows: Floats) -> list[str]:
        found = []
        for a in chosen[:most]:
            was = f"{percent(before[a])} → " if before[a] != rows[a] else ""
            found.append(f"{shown(actions[a])} {was}{percent(rows[a])}")
        return found + ["..."] * (len(chosen) > most)

    done = np.argsort(-row, kind="stable")
    dropped = np.argsort(-before, kind="stable")
    dropped = dropped[(row[dropped] == 0) & (before[dropped] > 0)]
    lines = texts(done[row[done] > 0], row)
    return [*lines, "dropped: " + ", ".join(texts(dropped, before))] if len(dropped) else lines
