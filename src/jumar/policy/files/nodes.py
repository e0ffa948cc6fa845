"""Nodes of a memory in three forms: as files write them, as fields, as words.

Fields are small whole numbers (`jumar.memory.forms`), with `ANY` for a wildcard. Nodes whose
fields are all known are turned into words many at once; only wildcards make the memory list its
nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jumar.core.arrays import Ints
from jumar.core.documents import kind_of, show
from jumar.core.errors import ControllerError, TooLarge
from jumar.core.names import WILDCARD
from jumar.memory import ENUMERABLE, Memory, forms

MOST_CELLS = 10_000_000  # of a listed memory: nodes × observations × actions


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
        self._form = memory.form(*self.alphabet)
        self.n_fields = forms.size(self._form)

    def read(self, node: Any, place: str) -> list[int]:
        """The fields of a node as it stands in a file, wildcards included."""
        if node == WILDCARD:
            return [forms.ANY] * self.n_fields
        try:
            return forms.read(self._form, node)
        except (ControllerError, ValueError) as error:  # Python does not print very long numbers
            _check_node_text(node, place)
            raise self.memory.refused(f"{place}: {error}") from error

    def refused(self, node: Any, place: str) -> ControllerError:
        """The error for a node whose names are right, but which does not exist."""
        return self.memory.refused(f"{place}: node {show(node)} does not exist in a {self.memory}.")

    def write(self, words: Ints) -> list[Any]:
        """The nodes as they stand in a file."""
        return [forms.write(self._form, row) for row in self.memory.to_fields(words).tolist()]

    def listed(self, fact: str) -> Ints:
        """(M, W) every node that can be reached; an error that begins with `fact` if too many."""
        O, A = self.memory.alphabet
        most = min(ENUMERABLE, max(1, MOST_CELLS // (O * A)))
        try:
            if max(part.count_nodes() for part in self.memory.parts) > most:  # before any is made
                raise TooLarge
            return self.memory.enumerate(most)
        except TooLarge as error:
            raise ControllerError(
                f"{fact}, but a {self.memory} has more than {most} nodes, too many to list. "
                "Write the nodes out, use a smaller memory, or put the rule into an 'otherwise' "
                "controller with a smaller memory."
            ) from error


def _check_node_text(node: Any, place: str) -> None:
    if isinstance(node, list):
        for item in node:
            _check_node_text(item, place)
    elif not isinstance(node, str):
        raise ControllerError(
            f"{place}: the node holds {kind_of(node)}. Write nodes as names in quotes and lists of "
            "them."
        )
