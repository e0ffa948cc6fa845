"""Finding the map from the nodes of one memory to those of another that knows less."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from jumar.core.arrays import Ints, RowIndex, closure, number_rows
from jumar.core.errors import MemoryMismatch, TooLarge

if TYPE_CHECKING:
    from jumar.memory.base import Memory

Projection: TypeAlias = Callable[[Ints], Ints]


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
    inner = [find_projection(fine, part) for part in coarse.parts]
    known = [p for p in inner if p is not None]
    if len(known) < len(inner):
        return None
    return lambda nodes: np.concatenate([p(nodes) for p in known], axis=1)


def walk_together(fine: Memory, coarse: Memory) -> Projection | None:
    """Run both automata over every word; p exists iff no fine node meets two coarse ones."""
    O, A = fine.alphabet
    W = fine.width
    z, a = np.divmod(np.arange(O * A), A)

    def successors(pairs: Ints) -> Ints:
        zs, as_ = np.tile(z, len(pairs)), np.tile(a, len(pairs))
        pairs = np.repeat(pairs, O * A, 0)
        moved = fine.step(pairs[:, :W], zs, as_), coarse.step(pairs[:, W:], zs, as_)
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
