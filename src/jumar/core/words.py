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
from jumar.core.memory import Memory

COLUMNS = 6  # actions up to which each is spelled out
LONGEST = 40  # letters of a name that are shown


def shown(name: str, most: int = LONGEST) -> str:
    """A name that cannot disturb a terminal: control characters spelled out, long ones cut.

    >>> shown("worn"), shown("a\\nb"), shown("x" * 100) == "x" * 39 + "…"
    ('worn', 'a\\\\nb', True)
    """
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in name[: most + 1]
    )
    return text if len(text) <= most else text[: most - 1] + "…"


def percent(p: float) -> str:
    """A probability as people write it; what rounding took from 1 does not count.

    >>> percent(0.5), percent(0.0), percent(0.0004), percent(1 - 1e-15), percent(0.99996)
    ('50%', '0%', '<0.1%', '100%', '>99.9%')
    >>> percent(0.6754), percent(0.00994)
    ('67.5%', '1%')
    """
    if 0 < p < 0.0005:
        return "<0.1%"
    if 0.9995 <= p < 1 - 1e-9:
        return ">99.9%"
    return f"{round(100 * p, 1):g}%"


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "episode"), counted(2000, "episode")
    ('1 episode', '2,000 episodes')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def situation_heads(memory: Memory) -> list[str]:
    return [memory.head, "seen now"] if memory.width else ["seen now"]


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
    """A node, given as files write it, as people read it."""
    return memory.speak(_shown_names(value))


def _shown_names(value: Any) -> Any:
    return [_shown_names(item) for item in value] if isinstance(value, list) else shown(value)


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
