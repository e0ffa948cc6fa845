"""Several memories side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.memory.base import Memory
from jumar.memory.forms import Form
from jumar.memory.projecting import Projection, find_projection

if TYPE_CHECKING:
    from jumar.policy.files.entries import Entry


@dataclass(frozen=True, repr=False)
class Product(Memory, word="product"):
    """Several memories side by side: remembers what each of them remembers."""

    memories: tuple[Memory, ...]

    def __post_init__(self) -> None:
        flat = [part for memory in self.memories for part in memory.parts]
        if self.n_observations is not None and self.n_actions is not None:
            flat = [part.on(self.n_observations, self.n_actions) for part in flat]
        object.__setattr__(self, "memories", tuple(flat))

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
            inner = find_projection(part, coarse)
            if inner is not None:
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
