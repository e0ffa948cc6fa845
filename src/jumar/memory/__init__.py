"""Memory: what a controller remembers, as an automaton n' = step(n, z, a).

A node is a row of `width` non-negative integers ("words"). A memory computes the next row; it is
not a table of all nodes. A window of 8 on a 7-observation maze has two million nodes. A log visits
a few thousand of them, and only those are numbered. A memory with a single node (a window of 1) has
width 0. A product puts the words of its parts side by side. A window puts as many base-(|Z|+1)
digits into a word as 63 bits hold, and then starts another word. So nothing overflows, and a node
means the same in every log and every process.

`window(k)` counts observations including the current one: k=1 is memoryless, and the node holds
the last k-1 observations (or observation-action pairs), with "nothing yet" before the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jumar.core.errors import ParameterError
from jumar.core.lazy import lazily
from jumar.memory.base import ENUMERABLE, KINDS, Machine, Memory, history_states
from jumar.memory.kinds import LONGEST_WINDOW, NamedNodes, Product, Window

if TYPE_CHECKING:
    from jumar.memory.refinement import join

__all__ = [
    "ENUMERABLE",
    "KINDS",
    "LONGEST_WINDOW",
    "Machine",
    "Memory",
    "NamedNodes",
    "Product",
    "Window",
    "history_states",
    "join",
    "product",
    "window",
]

__getattr__ = lazily(__name__, {"join": "memory.refinement"})  # which rests on this module


def window(length: int, actions: bool = False) -> Window:
    """Remember the last observations, the current one included.

    Parameters
    ----------
    length
        How many.
    actions
        Remember the actions between them, too.

    Returns
    -------
    Window
        The memory.

    Examples
    --------
    >>> str(window(3)), str(window(2, actions=True))
    ('window of 3', 'window of 2 with actions')
    """
    return Window(length, actions)


def product(*parts: Memory) -> Memory:
    """Remember what each part remembers.

    Parameters
    ----------
    *parts
        Memories.

    Returns
    -------
    Memory
        The memory.

    Examples
    --------
    >>> str(product(window(2), window(2, actions=True)))
    'window of 2 × window of 2 with actions'
    """
    if not parts:
        raise ParameterError("product: give at least one memory.")
    return parts[0] if len(parts) == 1 else Product(parts)
