"""Memory: what a controller remembers, as a rule n' = step(n, z, a).

A node is a row of `width` non-negative integers ("words"), and a memory is a rule on such rows,
not a table of all of them: a window of 8 on a 7-observation maze has two million nodes, of which
a log visits a few thousand, and only those are ever numbered. A memory without any nodes to tell
apart (a window of 1) has width 0; a product sets the words of its parts side by side; a window
puts as many base-(|Z|+1) digits into a word as 63 bits hold and then starts another word. So
nothing overflows, nothing is interned, and a node means the same in every log and every process.

`window(k)` counts observations including the current one: k=1 is memoryless, and the node holds
the last k-1 observations (or observation-action pairs), with "nothing yet" before the start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jumar.arrays import Bools, Frozen, Ints, closure, freeze
from jumar.errors import ControllerError, MemoryMismatch, ParameterError, TooLarge
from jumar.names import NOTHING, check_names, position_of

ENUMERABLE = 200_000  # nodes that may be listed one by one
LONGEST_WINDOW = 1000


@dataclass(frozen=True)
class Memory(Frozen, ABC):
    """A deterministic automaton over observations and actions.

    It is written down without an alphabet (``window(3)``) and bound to one with `on`.
    """

    n_observations: int | None = field(default=None, kw_only=True)
    n_actions: int | None = field(default=None, kw_only=True)

    def on(self, n_observations: int, n_actions: int) -> Memory:
        """The same memory, bound to an alphabet."""
        if (self.n_observations, self.n_actions) == (n_observations, n_actions):
            return self
        if self.n_observations is not None:
            raise MemoryMismatch(
                f"{self}: made for {self.n_observations} observations and {self.n_actions} "
                f"actions, but used with {n_observations} and {n_actions}."
            )
        return replace(self, n_observations=n_observations, n_actions=n_actions)

    @property
    def alphabet(self) -> tuple[int, int]:
        """Numbers of observations and actions."""
        if self.n_observations is None or self.n_actions is None:
            raise MemoryMismatch(f"{self}: not bound to an alphabet yet; call .on(|Z|, |A|) first.")
        return self.n_observations, self.n_actions

    @property
    @abstractmethod
    def width(self) -> int:
        """Words per node."""

    @abstractmethod
    def initial(self) -> Ints:
        """(W,) the first node."""

    @abstractmethod
    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        """(N, W) where each node goes when a is done on seeing z."""

    @abstractmethod
    def replay(self, z: Ints, a: Ints, start: Ints) -> Ints:
        """(N, W) the node at every step of a log."""

    @abstractmethod
    def has(self, nodes: Ints) -> Bools:
        """(N,) is each row of words a node of this memory?"""

    @abstractmethod
    def count_nodes(self) -> int:
        """How many nodes can be reached at most; may be astronomically large."""

    @abstractmethod
    def read_node(
        self, words: Sequence[int], observations: Sequence[str], actions: Sequence[str]
    ) -> Any:
        """A node in names, as it stands in files."""

    @abstractmethod
    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str], place: str = ""
    ) -> list[int]:
        """The words of a node given in names."""

    @abstractmethod
    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        """As it stands in a controller file."""

    def enumerate(self, limit: int = ENUMERABLE) -> Ints:
        """(M, W) every node that can be reached, in lexicographic order."""
        O, A = self.alphabet
        z, a = np.divmod(np.arange(O * A), A)

        def successors(nodes: Ints) -> Ints:
            times = len(nodes)
            return self.step(np.repeat(nodes, O * A, 0), np.tile(z, times), np.tile(a, times))

        if isinstance(self, Window) and self.count_nodes() > limit:
            raise TooLarge(f"Nodes of a {self}: {self.count_nodes()} of them; too many to list.")
        return closure(self.initial()[None, :], successors, limit, f"Nodes of a {self}")


@dataclass(frozen=True)
class Window(Memory):
    """The last `length` observations including the current one; with `actions`, also what was
    done on each of the earlier ones."""

    length: int
    actions: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.length, int | np.integer) and not isinstance(self.length, bool)
        if whole:
            object.__setattr__(self, "length", int(self.length))
        if not whole or not 1 <= self.length <= LONGEST_WINDOW:
            raise ParameterError(
                f"window: length {self.length!r} must be a whole number from 1 (only the current "
                f"observation) to {LONGEST_WINDOW}."
            )

    def __str__(self) -> str:
        return f"window of {self.length}" + (" with actions" if self.actions else "")

    @property
    def _digits(self) -> int:
        return self.length - 1

    @property
    def _base(self) -> int:
        O, A = self.alphabet
        return (O * A if self.actions else O) + 1

    @property
    def _per_word(self) -> int:
        """How many digits one 63-bit word holds."""
        count, room = 0, 2**63 - 1
        while room >= self._base:
            room //= self._base
            count += 1
        return count

    @property
    def _word_sizes(self) -> list[int]:
        """Digits in each word; the newest digits stand in the first word."""
        full, rest = divmod(self._digits, self._per_word)
        return [self._per_word] * full + ([rest] if rest else [])

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

    def replay(self, z: Ints, a: Ints, start: Ints) -> Ints:
        from jumar import kernels

        sizes = np.array(self._word_sizes, np.int64)
        return kernels.window_nodes(self.symbol(z, a), start, self._base, sizes)

    def has(self, nodes: Ints) -> Bools:
        fits = np.ones(len(nodes), np.bool_)
        for w, size in enumerate(self._word_sizes):
            fits &= (nodes[:, w] >= 0) & (nodes[:, w] < self._base**size)
        empty = self.digits(nodes) == 0  # newest first: once there is nothing, nothing is older
        fits &= (empty[:, :-1] <= empty[:, 1:]).all(1)
        return fits

    def count_nodes(self) -> int:
        symbols = self._base - 1
        return self.length if symbols == 1 else (symbols**self.length - 1) // (symbols - 1)

    def digits(self, nodes: Ints) -> Ints:
        """(N, length-1) the digits of every node, newest first."""
        columns = [
            nodes[:, w] // self._base**j % self._base
            for w, size in enumerate(self._word_sizes)
            for j in range(size)
        ]
        return np.stack(columns, 1) if columns else np.zeros((len(nodes), 0), np.int64)

    def pack(self, digits: Ints) -> Ints:
        """(N, W) the nodes with these digits, newest first."""
        nodes = np.zeros((len(digits), self.width), np.int64)
        column = 0
        for w, size in enumerate(self._word_sizes):
            for j in range(size):
                nodes[:, w] += digits[:, column] * self._base**j
                column += 1
        return nodes

    def read_node(
        self, words: Sequence[int], observations: Sequence[str], actions: Sequence[str]
    ) -> list[Any]:
        newest_first = self.digits(np.array([words], np.int64).reshape(1, self.width))[0]
        return [self._read_digit(int(d), observations, actions) for d in newest_first[::-1]]

    def _read_digit(self, digit: int, observations: Sequence[str], actions: Sequence[str]) -> Any:
        if not self.actions:
            return observations[digit - 1] if digit else NOTHING
        if not digit:
            return [NOTHING, NOTHING]
        z, a = divmod(digit - 1, len(actions))
        return [observations[z], actions[a]]

    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str], place: str = ""
    ) -> list[int]:
        what = "[observation, action] pairs" if self.actions else "observations"
        nothing = '["", ""]' if self.actions else '""'
        if not isinstance(value, list) or len(value) != self._digits:
            raise ControllerError(
                f"{place}node {value!r}: a {self} needs a list of the {self._digits} earlier "
                f"{what}, oldest first; write {nothing} for nothing yet."
            )
        digits = [self._write_digit(item, observations, actions, place) for item in value]
        began = False
        for digit in digits:
            if began and not digit:
                raise ControllerError(
                    f'{place}node {value!r}: "" (nothing yet) can only stand before the first '
                    "observation."
                )
            began = began or bool(digit)
        packed = self.pack(np.array([digits[::-1]], np.int64).reshape(1, -1))[0]
        return [int(word) for word in packed]

    def _write_digit(
        self, item: Any, observations: Sequence[str], actions: Sequence[str], place: str
    ) -> int:
        if not self.actions:
            if item == NOTHING:
                return 0
            return position_of("observation", item, observations, ControllerError, place) + 1
        if not isinstance(item, list) or len(item) != 2:
            raise ControllerError(f"{place}{item!r} is not an [observation, action] pair.")
        if item == [NOTHING, NOTHING]:
            return 0
        z = position_of("observation", item[0], observations, ControllerError, place)
        a = position_of("action", item[1], actions, ControllerError, place)
        return z * len(actions) + a + 1

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        return {"window": self.length, **({"actions": True} if self.actions else {})}


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
        from jumar import kernels

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


@dataclass(frozen=True)
class Product(Memory):
    """Several memories side by side: remembers what each of them remembers."""

    parts: tuple[Memory, ...]

    def __post_init__(self) -> None:
        flat: list[Memory] = []
        for part in self.parts:
            flat += part.parts if isinstance(part, Product) else [part]
        if self.n_observations is not None and self.n_actions is not None:
            flat = [part.on(self.n_observations, self.n_actions) for part in flat]
        object.__setattr__(self, "parts", tuple(flat))

    def __str__(self) -> str:
        return " × ".join(str(part) for part in self.parts)

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def split(self, nodes: Ints) -> list[Ints]:
        """The words of each part."""
        return np.split(nodes, np.cumsum([part.width for part in self.parts])[:-1], axis=1)

    def initial(self) -> Ints:
        return np.concatenate([part.initial() for part in self.parts])

    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        pieces = zip(self.parts, self.split(nodes), strict=True)
        return np.concatenate([part.step(piece, z, a) for part, piece in pieces], axis=1)

    def replay(self, z: Ints, a: Ints, start: Ints) -> Ints:
        return np.concatenate([part.replay(z, a, start) for part in self.parts], axis=1)

    def has(self, nodes: Ints) -> Bools:
        pieces = zip(self.parts, self.split(nodes), strict=True)
        fits: Bools = np.all([part.has(piece) for part, piece in pieces], axis=0)
        return fits

    def count_nodes(self) -> int:
        count = 1
        for part in self.parts:
            count *= part.count_nodes()
        return count

    def read_node(
        self, words: Sequence[int], observations: Sequence[str], actions: Sequence[str]
    ) -> list[Any]:
        pieces = self.split(np.array([words], np.int64).reshape(1, self.width))
        return [
            part.read_node(piece[0].tolist(), observations, actions)
            for part, piece in zip(self.parts, pieces, strict=True)
        ]

    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str], place: str = ""
    ) -> list[int]:
        if not isinstance(value, list) or len(value) != len(self.parts):
            raise ControllerError(
                f"{place}node {value!r}: a product needs a list with one entry for each of its "
                f"{len(self.parts)} parts."
            )
        words: list[int] = []
        for part, item in zip(self.parts, value, strict=True):
            words += part.write_node(item, observations, actions, place)
        return words

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        return {"product": [part.to_document(observations, actions) for part in self.parts]}


def window(length: int, actions: bool = False) -> Window:
    """Remember the last `length` observations, the current one included.

    >>> str(window(3)), str(window(2, actions=True))
    ('window of 3', 'window of 2 with actions')
    """
    return Window(length, actions)


def product(*parts: Memory) -> Memory:
    """Remember what each part remembers.

    >>> str(product(window(2), window(2, actions=True)))
    'window of 2 × window of 2 with actions'
    """
    if not parts:
        raise ParameterError("product: give at least one memory.")
    return parts[0] if len(parts) == 1 else Product(parts)
