"""What every memory can do.

A new kind of memory is a frozen dataclass that says three things: the first node (`initial`), where
a node goes (`step`), and how a node is written in names (`form`). Given a `word`, it can stand in
controller files. All else has a default that works by stepping or by listing the nodes; a kind that
knows better overrides it: `replay`, `has`, `count_nodes` and `onto` for speed, `span` and `resized`
if it comes in lengths, `machine` if it has too many nodes for a table.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from jumar.core.arrays import Bools, Frozen, Ints, RowIndex, closure, number_rows
from jumar.core.errors import ControllerError, MemoryMismatch, ParameterError, TooLarge
from jumar.core.text import Shown
from jumar.memory import forms
from jumar.memory.forms import ANY, Form

if TYPE_CHECKING:
    from jumar.policy.files.entries import Entry

Projection: TypeAlias = Callable[[Ints], Ints]
ENUMERABLE = 200_000  # nodes that may be listed one by one
KINDS: dict[str, type[Memory]] = {}  # by the word that stands for a kind in files


class Machine(NamedTuple):
    """A memory for a program that runs without jumar. `data` and nodes are plain literals: tuples
    and whole numbers."""

    next: Callable[[Any, Any, int, int], Any]  # next(data, node, z, a): its source is copied
    data: Any
    first: Any  # the first node
    nodes: Callable[[Ints], list[Any]]  # from (N, W) words to nodes as `next` knows them


@dataclass(frozen=True, repr=False)
class Memory(Frozen, Shown, ABC):
    """A deterministic automaton over observations and actions.

    It is written down without an alphabet (``window(3)``) and bound to one with `on`. A class with
    a `word` can be read from files, where the word stands for the kind.
    """

    n_observations: int | None = field(default=None, kw_only=True)
    n_actions: int | None = field(default=None, kw_only=True)
    word: ClassVar[str] = ""

    def __init_subclass__(cls, word: str = "", **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.word = word
        if not word:
            return
        known = KINDS.get(word, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError(
                f"memory {cls.__name__}: the word {word!r} already stands for "
                f"{known.__name__} in files. Choose another."
            )
        KINDS[word] = cls  # a class that is defined again, as in a notebook, takes its own place

    def __str__(self) -> str:
        own = (str(getattr(self, f.name)) for f in self._own())
        return " ".join([self.word or type(self).__name__, *own])

    @property
    def summary(self) -> str:
        if self.n_observations is None:
            return str(self)
        return f"{self}, on {self.n_observations} observations and {self.n_actions} actions"

    # ---- the alphabet -----------------------------------------------------------------------

    def on(self, n_observations: int, n_actions: int) -> Self:
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

    # ---- what a kind must say ---------------------------------------------------------------

    @abstractmethod
    def initial(self) -> Ints:
        """(W,) the first node."""

    @abstractmethod
    def step(self, nodes: Ints, z: Ints, a: Ints) -> Ints:
        """(N, W) where each node goes when a is done on seeing z."""

    @abstractmethod
    def form(self, observations: Sequence[str], actions: Sequence[str]) -> Form:
        """How a node is written in names. Unless `to_fields` says otherwise, the words of a node
        are the numbers of the names in the leaves, from left to right."""

    # ---- nodes ------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Words per node."""
        return len(self.initial())

    @property
    def parts(self) -> tuple[Memory, ...]:
        """The memories that stand side by side in it."""
        return (self,)

    def split(self, nodes: Ints) -> list[Ints]:
        """The words of each part."""
        return np.split(nodes, np.cumsum([part.width for part in self.parts])[:-1], axis=1)

    def replay(self, z: Ints, a: Ints, start: Ints, first: Ints | None = None) -> Ints:
        """(N, W) the node at every step of a log. With `first` the first episode does not begin but
        goes on, from that node."""
        nodes = np.empty((len(z), self.width), np.int64)
        at, end = start[:-1][np.diff(start) > 0], start[1:][np.diff(start) > 0]
        now = np.repeat(self.initial()[None, :], len(at), 0)
        if first is not None and len(at):
            now[0] = first
        while len(at):  # all episodes side by side, a step at a time
            nodes[at] = now
            now = self.step(now, z[at], a[at])
            at = at + 1
            goes_on = at < end
            at, end, now = at[goes_on], end[goes_on], now[goes_on]
        return nodes

    def enumerate(self, limit: int = ENUMERABLE) -> Ints:
        """(M, W) every node that can be reached, in lexicographic order."""
        return closure(self.initial()[None, :], self.successors, limit, f"Nodes of a {self}")

    def successors(self, nodes: Ints) -> Ints:
        """(N·O·A, W) where each node goes, for every ⟨z, a⟩ in order."""
        (O, A), times = self.alphabet, len(nodes)
        z, a = np.divmod(np.arange(O * A), A)
        return self.step(np.repeat(nodes, O * A, 0), np.tile(z, times), np.tile(a, times))

    @cached_property
    def _listed(self) -> Ints | None:
        try:
            return self.enumerate()
        except TooLarge:
            return None

    def count_nodes(self) -> int:
        """How many nodes can be reached at most; a huge number where they cannot be listed."""
        return sys.maxsize if self._listed is None else len(self._listed)

    def has(self, nodes: Ints) -> Bools:
        """(N,) is each row of words a node of this memory?"""
        if self._listed is None:
            raise TooLarge(f"{self}: has too many nodes to list. Its class must define 'has'.")
        found: Bools = RowIndex(self._listed).find(nodes) >= 0
        return found

    # ---- among other memories ---------------------------------------------------------------

    @property
    def span(self) -> int | None:
        """How many observations it holds, the current one included, if its kind comes in
        lengths."""
        return None

    @property
    def knows(self) -> str:
        """What it knows of the past, as words in a sentence."""
        return str(self)

    def resized(self, span: int) -> Memory | None:
        """The same kind with another span; None where there is none. A longer one refines a
        shorter one."""
        return None

    def onto(self, coarse: Memory) -> Projection | None:
        """The map from its nodes to those of a memory of one part; None if there is none."""
        if self.count_nodes() <= ENUMERABLE:
            return walk_together(self, coarse)
        if self.span is None or type(coarse) is type(self):
            return None
        # what the longest one that can be listed knows, a longer one knows too
        span, shorter = self.span - 1, self.resized(self.span - 1)
        while span > 1 and shorter is not None and shorter.count_nodes() > ENUMERABLE:
            span, shorter = span - 1, self.resized(span - 1)
        if shorter is None:
            return None
        inner, shorten = find_projection(shorter, coarse), self.onto(shorter)
        return (lambda nodes: inner(shorten(nodes))) if inner and shorten else None

    # ---- in names ---------------------------------------------------------------------------

    def to_fields(self, nodes: Ints) -> Ints:
        """(N, F) for each leaf of the form the number of its name."""
        return nodes

    def from_fields(self, rows: Ints) -> Ints:
        """(N, W) the nodes with these fields."""
        return rows

    def possible(self, rows: Ints) -> Bools:
        """(N,) whether these fields make a node."""
        nodes = self.from_fields(rows)
        found: Bools = self.has(nodes) & (self.to_fields(nodes) == rows).all(1)
        return found

    def read_node(
        self, words: Sequence[int] | Ints, observations: Sequence[str], actions: Sequence[str]
    ) -> Any:
        """A node in names, as it stands in files."""
        row = self.to_fields(np.array(words, np.int64).reshape(1, self.width))[0]
        return forms.write(self.form(observations, actions), row.tolist())

    def write_node(
        self, value: Any, observations: Sequence[str], actions: Sequence[str]
    ) -> list[int]:
        """The words of a node given in names."""
        try:
            row = np.array([forms.read(self.form(observations, actions), value)], np.int64)
        except ControllerError as error:
            raise self.refused(str(error)) from error
        if ANY in row or not self.possible(row)[0]:
            raise self.refused(f"node {value!r} does not exist in a {self}.")
        words: list[int] = self.from_fields(row)[0].tolist()
        return words

    def refused(self, fact: str) -> ControllerError:
        """The error for a node that does not exist."""
        return ControllerError(f"{fact} {self.node_help}".rstrip())

    @property
    def node_help(self) -> str:
        """What is remembered, to help a person who wrote a wrong node; a sentence, or nothing."""
        return ""

    @property
    def head(self) -> str:
        """The head of a column of nodes."""
        return "memory"

    def speak(self, value: Any) -> str:
        """How people read a node that is given as files write it."""
        return forms.speak(value)

    def moves(self, observations: Sequence[str], actions: Sequence[str]) -> list[dict[str, str]]:
        """The moves, for people; empty if the name of the memory says them already."""
        return []

    # ---- in files and programs --------------------------------------------------------------

    @classmethod
    def file_keys(cls) -> tuple[str, ...]:
        """What may stand beside the word in a file: the fields of the dataclass after the first,
        for which the word stands."""
        return cls.word, *(f.name for f in cls._own()[1:])

    @classmethod
    def _own(cls) -> list[Field[Any]]:
        return [f for f in fields(cls) if not f.kw_only]

    def to_document(self, observations: Sequence[str], actions: Sequence[str]) -> dict[str, Any]:
        """As it stands in a controller file; what has its default value is left out."""
        if not self.word:
            raise ControllerError(
                f"A {self} has no form in files: its class has no word there. Write "
                f'class {type(self).__name__}(Memory, word="...").'
            )
        own = [(f, getattr(self, f.name)) for f in self._own()]
        rest = {f.name: value for f, value in own[1:] if value != f.default}
        return {self.word: own[0][1] if own else True, **rest}

    @classmethod
    def from_document(cls, entry: Entry) -> Memory:
        """The memory of an entry in a controller file. The constructor refuses wrong values."""
        keys = zip(cls.file_keys(), cls._own(), strict=False)  # without fields, only the word
        return cls(**{f.name: entry.value(key, f.type) for key, f in keys if key in entry})

    def machine(self) -> Machine:
        """As part of a program; here a table of all nodes."""
        if self._listed is None:
            raise ControllerError(
                f"A {self} cannot be written as a program: it has too many nodes for a table. Its "
                "class must define 'machine'."
            )
        nodes, moves, first = self.as_table()
        index = RowIndex(nodes)
        return Machine(look_up, as_tuples(moves), first, lambda words: index.find(words).tolist())

    def as_table(self) -> tuple[Ints, Ints, int]:
        """(M, W) the nodes that can be reached, sorted; (M, O, A) the number of the one that each
        goes to; and the number of the first. TooLarge where they are too many to list."""
        nodes = self.enumerate()
        index = RowIndex(nodes)
        moves = index.find(self.successors(nodes)).reshape(-1, *self.alphabet)
        return nodes, moves, int(index.find(self.initial()[None, :])[0])


def history_states(nodes: Ints, n_observations: int) -> Ints:
    """(M·O, W+1) every ⟨n, z⟩ at these nodes, in order."""
    z = np.tile(np.arange(n_observations, dtype=np.int64), len(nodes))
    return np.column_stack([np.repeat(nodes, n_observations, 0), z])


def look_up(moves: Any, node: int, z: int, a: int) -> Any:
    return moves[node][z][a]


def as_tuples(table: Ints) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """(M, O, A) moves as a literal."""
    return tuple(tuple(map(tuple, rows)) for rows in table.tolist())


# ---- among other memories -----------------------------------------------------------------------


@lru_cache(maxsize=64)  # it may take a walk through both automata
def find_projection(fine: Memory, coarse: Memory) -> Projection | None:
    """The map from nodes of `fine` to nodes of `coarse`; None if there is none."""
    if fine.alphabet != coarse.alphabet:
        return None
    if fine == coarse:
        return lambda nodes: nodes
    if coarse.count_nodes() == 1:
        return lambda nodes: np.repeat(coarse.initial()[None, :], len(nodes), 0)
    if coarse.parts[0] is coarse:
        return fine.onto(coarse)
    known = [p for part in coarse.parts if (p := find_projection(fine, part))]
    if len(known) < len(coarse.parts):
        return None
    return lambda nodes: np.concatenate([p(nodes) for p in known], axis=1)


def walk_together(fine: Memory, coarse: Memory) -> Projection | None:
    """Run both automata over every word; p exists iff no fine node meets two coarse ones."""
    W = fine.width

    def successors(pairs: Ints) -> Ints:
        moved = fine.successors(pairs[:, :W]), coarse.successors(pairs[:, W:])
        return np.concatenate(moved, axis=1)

    first = np.concatenate([fine.initial(), coarse.initial()])[None, :]
    try:
        pairs = closure(first, successors, fine.count_nodes(), "Pairs of nodes")
    except TooLarge:
        return None  # some fine node met two coarse ones
    if len(number_rows(pairs[:, :W])[0]) < len(pairs):
        return None
    index, images = RowIndex(pairs[:, :W]), pairs[:, W:]

    def image(nodes: Ints) -> Ints:
        at = index.find(nodes)
        if (at < 0).any():
            raise MemoryMismatch(f"A node of a {fine} that no history leads to was asked for.")
        found: Ints = images[at]
        return found

    return image
