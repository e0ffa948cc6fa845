"""Nodes of a memory in three forms: as files write them, as fields, as words.

Nodes are read as rows of small integers, *fields* (-1 is the wildcard): one per remembered
observation or action, one per named node. Nodes whose fields are all known are turned into words
many at once; only wildcards make the memory list its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.memory import ENUMERABLE, Memory, Product, Table, Window
from jumar.core.names import NOTHING, WILDCARD
from jumar.io.documents import kind_of, show

MOST_CELLS = 10_000_000  # of a listed memory: nodes × observations × actions
ANY = -1  # the wildcard among fields and observations


@dataclass(frozen=True)
class Alphabet:
    """The names, and the number of each."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]

    @cached_property
    def z(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.observations)}

    @cached_property
    def a(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.actions)}


class Nodes:
    """Nodes of a memory in three forms: as files write them, as fields, as words."""

    def __init__(self, memory: Memory, names: Alphabet) -> None:
        self.memory, self.names = memory, names
        self.alphabet = names.observations, names.actions
        self._parts = [
            _WindowFields(part, names) if isinstance(part, Window) else _TableFields(part)
            for part in (memory.parts if isinstance(memory, Product) else (memory,))
        ]
        sizes = [part.size for part in self._parts]
        self.n_fields = sum(sizes)
        self._cuts = np.cumsum(sizes)[:-1]

    def read(self, node: Any, place: str) -> list[int]:
        """The fields of a node as it stands in a file, wildcards included."""
        if isinstance(node, str) and node == WILDCARD:
            return [ANY] * self.n_fields
        try:
            if not isinstance(self.memory, Product):
                return self._parts[0].read(node)
            if isinstance(node, list) and len(node) == len(self._parts):
                pieces = zip(self._parts, node, strict=True)
                return [field for part, item in pieces for field in part.read(item)]
        except (KeyError, TypeError):
            pass
        raise self.refused(node, place)

    def refused(self, node: Any, place: str) -> ControllerError:
        """What is wrong with a node."""
        try:
            _check_node_text(node, place)
            # write_node has the words for it; wildcards, which it does not know, are not at fault
            tame = _without_wildcards(node, self.memory, self.names)
            self.memory.write_node(tame, *self.alphabet, f"{place}: ")
        except ControllerError as error:
            return error
        return ControllerError(f"{place}: {show(node)} is no node of a {self.memory}.")

    def possible(self, fields: Ints) -> Bools:
        """(N,) whether these fields, all of them known, make a node."""
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        found: Bools = np.all([part.possible(piece) for part, piece in pieces], axis=0)
        return found

    def words(self, fields: Ints) -> Ints:
        """(N, W) the nodes with these fields, all of them known."""
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        return np.concatenate([part.words(piece) for part, piece in pieces], axis=1)

    def fields(self, words: Ints) -> Ints:
        """(N, F) the fields of nodes."""
        pieces = self.memory.split(words) if isinstance(self.memory, Product) else [words]
        both = zip(self._parts, pieces, strict=True)
        return np.concatenate([part.fields(piece) for part, piece in both], axis=1)

    def write(self, words: Ints, place: str) -> list[Any]:
        """The nodes as they stand in a file."""
        fields = self.fields(words)
        right = self.possible(fields) & (self.words(fields) == words).all(1)
        for i in np.flatnonzero(~right)[:1]:
            raise ControllerError(
                f"{place}: a row belongs to the node numbered {words[i].tolist()}, which is no "
                f"node of a {self.memory}. Make the controller's states with controller.state()."
            )
        pieces = zip(self._parts, np.split(fields, self._cuts, axis=1), strict=True)
        columns = [part.write(piece) for part, piece in pieces]
        if isinstance(self.memory, Product):
            return [list(parts) for parts in zip(*columns, strict=True)]
        return columns[0]

    def listed(self, fact: str) -> Ints:
        """(M, W) every node that can be reached; an error that begins with `fact` if too many."""
        O, A = self.memory.alphabet
        most = min(ENUMERABLE, max(1, MOST_CELLS // (O * A)))
        parts = self.memory.parts if isinstance(self.memory, Product) else (self.memory,)
        try:
            if max(part.count_nodes() for part in parts) > most:  # before any is made
                raise TooLarge
            return self.memory.enumerate(most)
        except TooLarge as error:
            raise ControllerError(
                f"{fact}, but a {self.memory} has more than {most} nodes, too many to list. "
                "Write the nodes out, use a smaller memory, or put the rule into an 'otherwise' "
                "controller with a smaller memory."
            ) from error


class _TableFields:
    """One field: the number of the node."""

    size = 1

    def __init__(self, memory: Memory) -> None:
        if not isinstance(memory, Table):
            raise ControllerError(f"A {memory} has no form in files. Use a window or a table.")
        self._nodes = memory.nodes
        self._number = {WILDCARD: ANY, **{node: i for i, node in enumerate(memory.nodes)}}

    def read(self, node: Any) -> list[int]:
        return [self._number[node]]

    def write(self, fields: Ints) -> list[Any]:
        return [self._nodes[n] for n in fields[:, 0]]

    def possible(self, fields: Ints) -> Bools:
        found: Bools = (fields[:, 0] >= 0) & (fields[:, 0] < len(self._nodes))
        return found

    def words(self, fields: Ints) -> Ints:
        return fields

    def fields(self, words: Ints) -> Ints:
        return words


class _WindowFields:
    """Oldest first, per remembered step: 0 for nothing yet, else 1 + the observation; with
    actions a second field, 0 or 1 + the action."""

    def __init__(self, memory: Window, names: Alphabet) -> None:
        self._memory, self._A = memory, len(names.actions)
        self._steps = memory.length - 1
        self.size = self._steps * (2 if memory.actions else 1)
        self._z_names, self._a_names = (NOTHING, *names.observations), (NOTHING, *names.actions)
        self._z, self._a = (
            {WILDCARD: ANY, **{name: i for i, name in enumerate(names)}}
            for names in (self._z_names, self._a_names)
        )

    def read(self, node: Any) -> list[int]:
        if isinstance(node, str) and node == WILDCARD:
            return [ANY] * self.size
        if not isinstance(node, list) or len(node) != self._steps:
            raise TypeError
        if not self._memory.actions:
            return [self._z[item] for item in node]
        fields = []
        for item in node:
            if not isinstance(item, list):
                item = [item] * 2 if item == WILDCARD else []
            if len(item) != 2:
                raise TypeError
            fields += [self._z[item[0]], self._a[item[1]]]
        return fields

    def write(self, fields: Ints) -> list[Any]:
        z = [[self._z_names[i] for i in row] for row in self._split(fields)[0].tolist()]
        if not self._memory.actions:
            return z
        a = [[self._a_names[i] for i in row] for row in self._split(fields)[1].tolist()]
        return [[list(pair) for pair in zip(*row, strict=True)] for row in zip(z, a, strict=True)]

    def _split(self, fields: Ints) -> tuple[Ints, Ints]:
        return (fields[:, ::2], fields[:, 1::2]) if self._memory.actions else (fields, fields)

    def possible(self, fields: Ints) -> Bools:
        z, a = self._split(fields)
        begun = (z[:, 1:] > 0) | (z[:, :-1] == 0)  # nothing yet only before the first step
        found: Bools = begun.all(1) & ((z == 0) == (a == 0)).all(1)
        return found

    def words(self, fields: Ints) -> Ints:
        z, a = self._split(fields)
        digits = np.where(z == 0, 0, (z - 1) * self._A + a) if self._memory.actions else z
        return self._memory.pack(digits[:, ::-1])

    def fields(self, words: Ints) -> Ints:
        digits = self._memory.digits(words)[:, ::-1]
        if not self._memory.actions:
            return digits
        z, a = np.divmod(digits - 1, self._A)
        pairs = np.where(digits[:, :, None] == 0, 0, np.stack([z, a], 2) + 1)
        return pairs.reshape(len(words), self.size)


def _check_node_text(node: Any, place: str) -> None:
    if isinstance(node, list):
        for item in node:
            _check_node_text(item, place)
    elif not isinstance(node, str):
        raise ControllerError(
            f"{place}: the node holds {kind_of(node)}. Write nodes as names in quotes and lists of "
            "them."
        )


def _without_wildcards(node: Any, memory: Memory, names: Alphabet) -> Any:
    """A node that is wrong where the given one is, with something right for every wildcard."""
    if node == WILDCARD:
        return memory.read_node(memory.initial().tolist(), names.observations, names.actions)
    if isinstance(memory, Product) and isinstance(node, list) and len(node) == len(memory.parts):
        pairs = zip(node, memory.parts, strict=True)
        return [_without_wildcards(item, part, names) for item, part in pairs]
    if (
        not isinstance(memory, Window)
        or not isinstance(node, list)
        or len(node) != memory.length - 1
    ):
        return node  # nothing to fill in, or wrong as a whole
    z, a = names.observations[0], names.actions[0]
    if not memory.actions:
        return [z if item == WILDCARD else item for item in node]
    tame: list[Any] = []
    for item in node:
        if item == WILDCARD:
            item = [z, a]
        elif isinstance(item, list) and len(item) == 2 and WILDCARD in item:
            fill = [NOTHING, NOTHING] if NOTHING in item else [z, a]
            item = [f if i == WILDCARD else i for i, f in zip(item, fill, strict=True)]
        tame.append(item)
    return tame
