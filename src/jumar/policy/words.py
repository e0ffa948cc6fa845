"""Controllers in words, wherever people read them: names, history states ⟨n, z⟩, and what is done
there. Names come from files and can be anything. So characters that could disturb a terminal or a
page are spelled out, and long names are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.text import percent, shown
from jumar.memory import Memory
from jumar.memory.frames import history_state_columns, named

if TYPE_CHECKING:
    from jumar.policy.controller import Controller

COLUMNS = 6  # actions up to which each is spelled out


def history_state_heads(memory: Memory) -> list[str]:
    return [memory.head, "seen now"] if memory.width else ["seen now"]


def history_state_words(controller: Controller, state: Ints) -> list[str]:
    """⟨n, z⟩ as people read it, under `history_state_heads`."""
    memory = controller.memory
    now = shown(controller.observations[int(state[-1])])
    if memory.width == 0:
        return [now]
    return [node_words(memory, controller.name_node(state[:-1])), now]


def node_words(memory: Memory, value: Any) -> str:
    """A node, given as files write it, as people read it."""
    return memory.speak(_shown_names(value))


def _shown_names(value: Any) -> Any:
    return [_shown_names(item) for item in value] if isinstance(value, list) else shown(value)


def action_lines(
    actions: Sequence[str], row: Floats, old: Floats | None = None, most: int = COLUMNS
) -> list[str]:
    """What is done in a history state, the likeliest action first; with `old`, what it was.

    >>> action_lines(("keep", "repair"), np.array([0.25, 0.75]))
    ['repair 75%', 'keep 25%']
    >>> now, was = np.array([0.5, 0.5, 0]), np.array([0.5, 0.25, 0.25])
    >>> action_lines(("keep", "repair", "sell"), now, was)
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


def table_of(controller: Controller) -> Any:
    """See `Controller.to_arrow`."""
    import pyarrow as pa

    A, tables = len(controller.actions), []
    for number, layer in enumerate(controller.layers):
        K, names = len(layer.rows), (layer.observations, layer.actions)
        states = history_state_columns(layer.memory, layer.states, *names, A)
        columns = {
            "layer": np.full(K * A, number),
            **states,
            "action": named(np.tile(np.arange(A), K), layer.actions),
            "probability": layer.rows.ravel(),
        }
        tables.append(pa.table(columns))
    default = {
        "layer": np.full(A, len(controller.layers)),
        "node": pa.nulls(A, pa.string()),
        "observation": named(np.zeros(A), controller.observations, np.ones(A, np.bool_)),
        "action": named(np.arange(A), controller.actions),
        "probability": controller.default,
    }
    return pa.concat_tables([*tables, pa.table(default)]).unify_dictionaries()
