"""Several memories side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Bools, Ints
from jumar.core.errors import ControllerError
from jumar.core.memory.base import Memory


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
