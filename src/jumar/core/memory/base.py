"""What every memory can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Frozen, Ints, closure
from jumar.core.errors import MemoryMismatch

ENUMERABLE = 200_000  # nodes that may be listed one by one


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

        return closure(self.initial()[None, :], successors, limit, f"Nodes of a {self}")
