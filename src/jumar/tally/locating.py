"""Where the steps of some episodes are among history states that are known."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from jumar.core.arrays import Ints, RowIndex
from jumar.core.jit import compiled
from jumar.memory import Memory
from jumar.tally.running import MOST_CELLS


class Locator:
    """Numbers the history states of a log as they are numbered in a list."""

    def __init__(self, memory: Memory, states: Ints) -> None:
        self.memory, self.states = memory, states

    @cached_property
    def _small(self) -> bool:
        O, A = self.memory.alphabet
        return self.memory.count_nodes() * O * A <= MOST_CELLS

    @cached_property
    def _table(self) -> tuple[Ints, Ints, int]:
        """Where each node goes, the number of each node and observation, and the first node."""
        O = self.memory.alphabet[0]
        nodes, table, first = self.memory.as_table()
        rows = np.column_stack([np.repeat(nodes, O, 0), np.tile(np.arange(O), len(nodes))])
        return table, self._index.find(rows), first

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.states)

    def at(self, z: Ints, a: Ints, start: Ints) -> Ints:
        """(N,) the number of the history state at every step of whole episodes; -1 where it is not
        in the list."""
        if self._small:
            return _along(z, a, start, *self._table)
        nodes = self.memory.replay(z, a, start)
        return self._index.find(np.column_stack([nodes, z]))


@compiled
def _along(z: Ints, a: Ints, start: Ints, table: Ints, number: Ints, first: int) -> Ints:
    _M, O, _A = table.shape
    at = np.empty(len(z), np.int64)
    for e in range(len(start) - 1):
        node = first
        for t in range(start[e], start[e + 1]):
            at[t] = number[node * O + z[t]]
            node = table[node, z[t], a[t]]
    return at
