"""The kinds of memory: the last few observations, named nodes, and several side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Bools, Frozen, Ints, freeze
from jumar.core.documents import whole
from jumar.core.errors import ControllerError, MemoryMismatch, ParameterError, TooLarge
from jumar.core.names import NOTHING, check_names
from jumar.memory.base import (
    ENUMERABLE,
    Machine,
    Memory,
    Projection,
    as_tuples,
    find_projection,
    look_up,
)
from jumar.memory.forms import Form, OneOf

if TYPE_CHECKING:
    from jumar.policy.files.entries import Entry

LONGEST_WINDOW = 1000
MOST_MOVES = 100_000_000  # read from a file: nodes × observations × actions
NOW = "the current observation"

# ---- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Window(Memory, word="window"):
    """The last `length` observations including the current one; with `actions`, also what was
    done on each of the earlier ones."""

    length: int
    actions: bool = False

    def __post_init__(self) -> None:
        self._put(length=whole(self.length, "window", ParameterError, 1, LONGEST_WINDOW))

    def __str__(self) -> str:
        return f"window of {self.length}" + (" with actions" if self.actions else "")

    @property
    def _digits(self) -> int:
        return self.length - 1

    @cached_property
    def _base(self) -> int:
        O, A = self.alphabet
        return (O * A if self.actions else O) + 1

    @cached_property
    def _per_word(self) -> int:
        """How many digits one 63-bit word holds."""
        return next(k for k in count() if self._base ** (k + 1) >= 2**63)

    @cached_property
    def _word_sizes(self) -> tuple[int, ...]:
        """Digits in each word; the newest digits stand in the first word."""
        full, rest = divmod(self._digits, self._per_word)
        return (self._per_word,) * full + ((rest,) if rest else ())

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """(length-1,) the word of each digit, newest first, and what a 1 is worth there."""
        word, j = np.divmod(np.arange(self._digits), self._per_word)
        return word, self._base**j

    @property
    def width(self) -> int:
        return len(self._word_sizes)

    def initial(self) -> Ints:
        return np.zeros(self.width, np.int64)

    def symbol(self, z: Ints, a: Ints) -> Ints:
        """The digit that remembers z (and a); 0 is kept for 'nothing yet'."""
        return z * self.alphabet[1] + a + 1 if self.actions else z + 1

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        moved = np.empty_like(nodes)
        newest = self.symbol(z, a)
        for w, size in enumerate(self._word_sizes):
            top = self._base ** (size - 1)
            moved[:, w] = nodes[:, w] % top * self._base + newest
            newest = nodes[:, w] // top
        return moved

    def replay(self, z: Ints, a: Ints, start: Ints, first: Ints | None = None) -> Ints:
        from jumar.core import kernels

        sizes = np.array(self._word_sizes, np.int64)
        first = self.initial() if first is None else first
        return kernels.window_nodes(self.symbol(z, a), start, self._base, sizes, first)

    def has(self, nodes: Ints) -> Bools:
        tops = [self._base**size for size in self._word_sizes]
        inside = ((nodes >= 0) & (nodes < np.array(tops, np.int64))).all(1)
        empty = self.digits(nodes) == 0  # newest first: once there is nothing, nothing is older
        fits: Bools = inside & (empty[:, :-1] <= empty[:, 1:]).all(1)
        return fits

    def count_nodes(self) -> int:
        symbols = self._base - 1
        return self.length if symbols == 1 else (symbols**self.length - 1) // (symbols - 1)

    def enumerate(self, limit: int = ENUMERABLE) -> Ints:
        if self.count_nodes() > limit:  # known without walking
            raise TooLarge(f"Nodes of a {self}: {self.count_nodes()} of them; too many to list.")
        return super().enumerate(limit)

    def digits(self, nodes: Ints) -> Ints:
        """(N, length-1) the digits of every node, newest first."""
        word, worth = self._places
        found: Ints = nodes[:, word] // worth % self._base
        return found

    def pack(self, digits: Ints) -> Ints:
        """(N, W) the nodes with these digits, newest first."""
        word, worth = self._places
        nodes = np.zeros((self.width, len(digits)), np.int64)
        np.add.at(nodes, word, (digits * worth).T)
        return nodes.T.copy()

    def to_fields(self, nodes: Ints) -> Ints:
        """Oldest first, per remembered step: 0 for nothing yet, else 1 + the observation; with
        actions a second field, 0 or 1 + the action."""
        digits = self.digits(nodes)[:, ::-1]
        if not self.actions:
            return digits
        z, a = np.divmod(digits - 1, self.alphabet[1])
        pairs = np.where(digits[:, :, None] == 0, 0, np.stack([z, a], 2) + 1)
        return pairs.reshape(len(nodes), 2 * self._digits)

    def from_fields(self, rows: Ints) -> Ints:
        if not self.actions:
            return self.pack(rows[:, ::-1])
        z, a = rows[:, ::2], rows[:, 1::2]
        return self.pack(np.where(z == 0, 0, (z - 1) * self.alphabet[1] + a)[:, ::-1])

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        z = OneOf("observation", (NOTHING, *observations))
        if not self.actions:
            return [z] * self._digits
        return [[z, OneOf("action", (NOTHING, *actions))]] * self._digits

    @property
    def node_help(self) -> str:
        what = "[observation, action] pairs" if self.actions else "observations"
        nothing = '["", ""]' if self.actions else '""'
        return (
            f"A {self} needs a list of the {self._digits} earlier {what}, oldest first; "
            f"{nothing} (nothing yet) can only stand before the first."
        )

    @property
    def head(self) -> str:
        return "seen and done before" if self.actions else "seen before"

    @property
    def span(self) -> int:
        return self.length

    @property
    def knows(self) -> str:
        told = f"the last {self.length} observations" + " and actions" * self.actions
        return NOW if self.length == 1 else told

    def resized(self, span: int) -> Window | None:
        return replace(self, length=span) if 1 <= span <= LONGEST_WINDOW else None

    def onto(self, coarse: Memory) -> Projection | None:
        if not isinstance(coarse, Window):
            return super().onto(coarse)
        A = self.alphabet[1]
        if self.length < coarse.length or (coarse.actions and not self.actions and A > 1):
            return None

        def shorten(nodes: Ints) -> Ints:
            digits = self.digits(nodes)[:, : coarse.length - 1]
            if self.actions and not coarse.actions:
                digits = np.where(digits == 0, 0, (digits - 1) // A + 1)
            return coarse.pack(digits)

        return shorten

    def machine(self) -> Machine:
        def nodes(words: Ints) -> list[Any]:  # digit 0 is "nothing yet" here and -1 there
            return [tuple(row) for row in (self.digits(words)[:, ::-1] - 1).tolist()]

        return Machine(push, self.alphabet[1] * self.actions, (-1,) * self._digits, nodes)


def push(n_actions: int, node: Any, z: int, a: int) -> Any:
    """The oldest is forgotten; without actions `n_actions` is 0."""
    return (*node, z * n_actions + a if n_actions else z)[1:]


# ---- tables -------------------------------------------------------------------------------------


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
        self._put(nodes=check_names("node", self.nodes, ControllerError))
        self._put(next=freeze(self.next, np.int64, "memory table: next", ControllerError))
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
        every = (_moves_from(n, self, observations, actions) for n in range(len(self.nodes)))
        return list(chain.from_iterable(every))

    @classmethod
    def file_keys(cls) -> tuple[str, ...]:
        return cls.word, "start", "moves"

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        moves = self.moves(observations, actions)
        return {self.word: list(self.nodes), "start": self.nodes[self.start], "moves": moves}

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
        moves, first = as_tuples(self.next), int(self.start)
        return Machine(look_up, moves, first, lambda nodes: nodes[:, 0].tolist())


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
        where = np.ix_(*map(move.fitting, keys, numbers))
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
    n: int, memory: NamedNodes, observations: Sequence[str], actions: Sequence[str]
) -> list[dict[str, str]]:
    """One move where all go the same way, else one per observation; where actions go different
    ways, one for each that goes another way than most, and then one for the rest."""
    nodes, table = memory.nodes, memory.next[n]
    if (table == table[0, 0]).all():
        return [{"node": nodes[n], "to": nodes[table[0, 0]]}]
    moves = []
    for z, row in enumerate(table):
        here = {"node": nodes[n], "observation": observations[z]}
        most = int(np.bincount(row).argmax())
        if (row == most).sum() == 1 < len(row):
            most = -1  # each goes its own way
        others = [(a, m) for a, m in enumerate(row.tolist()) if m != most]
        moves += [{**here, "action": actions[a], "to": nodes[m]} for a, m in others]
        moves += [{**here, "to": nodes[most]}] if most >= 0 else []
    return moves


# ---- products -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Product(Memory, word="product"):
    """Several memories side by side: remembers what each of them remembers."""

    memories: tuple[Memory, ...]

    def __post_init__(self) -> None:
        flat = [part for memory in self.memories for part in memory.parts]
        if self.n_observations is not None and self.n_actions is not None:
            flat = [part.on(self.n_observations, self.n_actions) for part in flat]
        self._put(memories=tuple(flat))

    def __str__(self) -> str:
        return " × ".join(str(part) for part in self.parts)

    @property
    def parts(self) -> tuple[Memory, ...]:
        return self.memories

    def initial(self) -> Ints:
        return np.concatenate([part.initial() for part in self.parts])

    def _pieces(self, nodes: Ints) -> Iterator[tuple[Memory, Ints]]:
        return zip(self.parts, self.split(nodes), strict=True)

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        moved = [part.step(piece, z, a) for part, piece in self._pieces(nodes)]
        return np.concatenate(moved, axis=1)

    def replay(self, z: Ints, a: Ints, start: Ints, first: Ints | None = None) -> Ints:
        first = self.initial() if first is None else first
        pieces = self._pieces(first[None, :])
        return np.concatenate([part.replay(z, a, start, node[0]) for part, node in pieces], axis=1)

    def has(self, nodes: Ints) -> Bools:
        fits: Bools = np.all([part.has(piece) for part, piece in self._pieces(nodes)], axis=0)
        return fits

    def count_nodes(self) -> int:
        return math.prod(part.count_nodes() for part in self.parts)

    def onto(self, coarse: Memory) -> Projection | None:
        for i, part in enumerate(self.parts):
            if inner := find_projection(part, coarse):
                return partial(self._through, i, inner)
        return super().onto(coarse)

    def _through(self, i: int, inner: Projection, nodes: Ints) -> Ints:
        return inner(self.split(nodes)[i])

    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        return [part.form(observations, actions) for part in self.parts]

    def to_fields(self, nodes: Ints) -> Ints:
        fields = [part.to_fields(piece) for part, piece in self._pieces(nodes)]
        return np.concatenate(fields, axis=1)

    def from_fields(self, rows: Ints) -> Ints:
        sizes = [part.to_fields(part.initial()[None, :]).shape[1] for part in self.parts]
        pieces = zip(self.parts, np.split(rows, np.cumsum(sizes)[:-1], axis=1), strict=True)
        return np.concatenate([part.from_fields(piece) for part, piece in pieces], axis=1)

    @property
    def node_help(self) -> str:
        return " ".join(dict.fromkeys(part.node_help for part in self.parts if part.node_help))

    def speak(self, value: Any) -> str:
        pairs = zip(self.parts, value, strict=True)
        return " | ".join(part.speak(item) for part, item in pairs if part.width)

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        return {self.word: [part.to_document(observations, actions) for part in self.parts]}

    @classmethod
    def from_document(cls, entry: Entry) -> Memory:
        return cls(tuple(entry.memories(cls.word)))
