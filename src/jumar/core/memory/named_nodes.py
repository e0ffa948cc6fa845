"""Memory written out by hand: named nodes and where each goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Ints, freeze
from jumar.core.errors import ControllerError, MemoryMismatch
from jumar.core.memory.base import Memory
from jumar.core.names import check_names, position_of


@dataclass(frozen=True, eq=False)
class Table(Memory):
    """A memory written out by hand: named nodes and where each goes.

    >>> odd_even = Table(("even", "odd"), [[[1]], [[0]]])
    >>> odd_even.count_nodes()
    2
    """

    nodes: tuple[str, ...]
    next: Ints  # (M, O, A) int64, the node after node n when a is done on seeing z
    start: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", check_names("node", self.nodes, ControllerError))
        next_ = freeze(self.next, np.int64, "memory table: next", ControllerError)
        object.__setattr__(self, "next", next_)
        if not isinstance(self.start, int | np.integer):
            raise ControllerError(f"memory table: start {self.start!r} is not a node number.")
        M = len(self.nodes)
        if self.next.ndim != 3 or len(self.next) != M or self.next.size == 0:
            raise ControllerError(
                f"memory table: next has shape {self.next.shape}; it must be "
                f"(nodes, observations, actions) with {M} nodes."
            )
        if not 0 <= self.start < M or self.next.min() < 0 or self.next.max() >= M:
            raise ControllerError(f"memory table: a node number lies outside 0 to {M - 1}.")
        shape = self.next.shape[1], self.next.shape[2]
        if self.n_observations is not None and shape != (self.n_observations, self.n_actions):
            raise MemoryMismatch(
                f"{self}: written for {shape[0]} observations and {shape[1]} actions, but used "
                f"with {self.n_observations} and {self.n_actions}."
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and (self.nodes, self.start) == (other.nodes, other.start)
            and np.array_equal(self.next, other.next)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, self.start, self.next.tobytes()))

    def __str__(self) -> str:
        return f"table of {len(self.nodes)} nodes"

    @property
    def width(self) -> int:
        return 1

    def initial(self) -> Ints:
        return np.array([self.start], np.int64)

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        moved: Ints = self.next[nodes[:, 0], z, a][:, None]
        return moved

    def replay(self, z: Ints, a: Ints, start: Ints) -> Ints:
        from jumar.core import kernels

        return kernels.table_nodes(z, a, start, self.next, self.start)[:, None]

    def has(self, nodes: Ints) -> Bools:
        fits: Bools = (nodes[:, 0] >= 0) & (nodes[:, 0] < len(self.nodes))
        return fits

    def count_nodes(self) -> int:
        seen, todo = {self.start}, [self.start]
        while todo:
            fresh = set(np.unique(self.next[todo.pop()]).tolist()) - seen
            seen |= fresh
            todo += fresh
        return len(seen)

    def read_node(
        self, words: Sequence[int], observations: Sequence[str], actions: Sequence[str]
    ) -> str:
        return self.nodes[int(words[0])]

    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str], place: str = ""
    ) -> list[int]:
        return [position_of("node", value, self.nodes, ControllerError, place)]

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        moves: list[dict[str, str]] = []
        for n, table in enumerate(self.next):
            moves += _moves_from(self.nodes, n, table, observations, actions)
        return {"nodes": list(self.nodes), "start": self.nodes[self.start], "moves": moves}


def _moves_from(
    nodes: Sequence[str], n: int, table: Ints, observations: Sequence[str], actions: Sequence[str]
) -> list[dict[str, str]]:
    """One move where all go the same way, else one per observation, else one per pair."""
    if (table == table[0, 0]).all():
        return [{"node": nodes[n], "to": nodes[table[0, 0]]}]
    moves = []
    for z, row in enumerate(table):
        here = {"node": nodes[n], "observation": observations[z]}
        if (row == row[0]).all():
            moves.append({**here, "to": nodes[row[0]]})
        else:
            moves += [{**here, "action": actions[a], "to": nodes[m]} for a, m in enumerate(row)]
    return moves
