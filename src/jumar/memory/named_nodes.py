"""Memory written out by hand: named nodes and where each goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Bools, Frozen, Ints, freeze
from jumar.core.errors import ControllerError, MemoryMismatch
from jumar.core.names import check_names
from jumar.memory.base import Machine, Memory, as_tuples, look_up
from jumar.memory.forms import Form, OneOf

if TYPE_CHECKING:
    from jumar.policy.files.entries import Entry

MOST_MOVES = 100_000_000  # read from a file: nodes × observations × actions


@dataclass(frozen=True, eq=False, repr=False)
class NamedNodes(Memory, word="nodes"):
    """A memory written out by hand: named nodes and where each goes.

    >>> odd_even = NamedNodes(("even", "odd"), [[[1]], [[0]]])
    >>> odd_even.on(1, 1).count_nodes()
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

    __eq__ = Frozen.__eq__
    __hash__ = Frozen.__hash__

    def __str__(self) -> str:
        return f"table of {len(self.nodes)} nodes"

    def initial(self) -> Ints:
        return np.array([self.start], np.int64)

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        moved: Ints = self.next[nodes[:, 0], z, a][:, None]
        return moved

    def replay(self, z: Ints, a: Ints, start: Ints, first: Ints | None = None) -> Ints:
        from jumar.core import kernels

        goes_on = self.start if first is None else int(first[0])
        return kernels.table_nodes(z, a, start, self.next, self.start, goes_on)[:, None]

    def has(self, nodes: Ints) -> Bools:
        fits: Bools = (nodes[:, 0] >= 0) & (nodes[:, 0] < len(self.nodes))
        return fits

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        return OneOf("node", self.nodes)

    def moves(self, observations: Sequence[str], actions: Sequence[str]) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        for n, table in enumerate(self.next):
            found += _moves_from(self.nodes, n, table, observations, actions)
        return found

    @classmethod
    def file_keys(cls) -> tuple[str, ...]:
        return cls.word, "start", "moves"

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        start = self.nodes[self.start]
        return {
            self.word: list(self.nodes),
            "start": start,
            "moves": self.moves(observations, actions),
        }

    @classmethod
    def from_document(cls, entry: Entry) -> Memory:
        nodes = entry.names(cls.word, "node")
        number = {node: i for i, node in enumerate(nodes)}
        start = entry.number("start", "node", number) if "start" in entry else 0
        shape = len(nodes), len(entry.observations), len(entry.actions)
        if math.prod(shape) > MOST_MOVES:
            raise entry.error(
                f"{shape[0]} nodes, {shape[1]} observations and {shape[2]} actions make "
                f"more than {MOST_MOVES} moves. Use fewer nodes, or a window."
            )
        return cls(nodes, _read_moves(entry, nodes, number, shape), start)

    def machine(self) -> Machine:
        return Machine(
            look_up, as_tuples(self.next), int(self.start), lambda nodes: nodes[:, 0].tolist()
        )


def _read_moves(
    entry: Entry, nodes: Sequence[str], number: dict[str, int], shape: tuple[int, ...]
) -> Ints:
    """(M, O, A) where the first move that fits goes; some move must fit every ⟨n, z, a⟩."""
    keys = ("node", "observation", "action")
    numbers = (number, entry.observations, entry.actions)
    decided_by = np.full(shape, -1, np.int32)
    to = []
    for i, move in enumerate(entry.items("moves", "move", (*keys, "to"))):
        if "to" not in move:
            raise move.error(f'does not say where to go. Add to = "{nodes[0]}".')
        to.append(move.number("to", "node", number))
        where = np.ix_(
            *(move.fitting(key, known) for key, known in zip(keys, numbers, strict=True))
        )
        block = decided_by[where]
        if (block >= 0).all():
            raise entry.never("move", i, np.unique(block))
        block[block < 0] = i
        decided_by[where] = block
    for n, z, a in np.argwhere(decided_by < 0)[:1]:
        raise entry.error(
            f"no move fits node {nodes[n]!r}, observation {list(entry.observations)[z]!r}, "
            f"action {list(entry.actions)[a]!r}. Add one at the end, such as "
            f'{{ node = "{nodes[n]}", to = "{nodes[n]}" }}.'
        )
    moves: Ints = np.array(to, np.int64)[decided_by]
    return moves


def _moves_from(
    nodes: Sequence[str], n: int, table: Ints, observations: Sequence[str], actions: Sequence[str]
) -> list[dict[str, str]]:
    """One move where all go the same way, else one per observation; where actions go different
    ways, one for each that goes another way than most, and then one for the rest."""
    if (table == table[0, 0]).all():
        return [{"node": nodes[n], "to": nodes[table[0, 0]]}]
    moves = []
    for z, row in enumerate(table):
        here = {"node": nodes[n], "observation": observations[z]}
        if (row == row[0]).all():
            moves.append({**here, "to": nodes[row[0]]})
        else:
            most = int(np.bincount(row).argmax())
            if (row == most).sum() == 1:
                most = -1  # each goes its own way
            moves += [
                {**here, "action": actions[a], "to": nodes[m]}
                for a, m in enumerate(row.tolist())
                if m != most
            ]
            moves += [{**here, "to": nodes[most]}] if most >= 0 else []
    return moves
