"""When one memory knows all that another knows.

Memory f *refines* memory c when the node of f always determines the node of c: there is a map p
with p(f₀) = c₀ and p(step_f(n, z, a)) = step_c(p(n), z, a). A controller over c is then also one
over f, with ψ(n, z) = ψ_c(p(n), z), and has exactly the same value on every model. `projection`
finds p, first by the shape of the two memories and then, where f can be enumerated, by walking
both automata together; `join` makes a memory that refines two given ones, `one_more` one that
remembers an observation more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jumar.core.arrays import Ints, RowIndex, closure, number_rows
from jumar.core.errors import MemoryMismatch, TooLarge
from jumar.core.memory import ENUMERABLE, LONGEST_WINDOW, Memory, Product, Window, product, window

Projection = Callable[[Ints], Ints]
_FARTHEST = 12  # observations that a hand-written memory may know by heart


def projection(fine: Memory, coarse: Memory) -> Projection:
    """The map from nodes of `fine` to nodes of `coarse`; an error if there is none.

    >>> from jumar.core.memory import window
    >>> p = projection(window(3).on(2, 2), window(2).on(2, 2))
    >>> p(window(3).on(2, 2).step(np.array([[0]]), np.array([1]), np.array([0]))).tolist()
    [[2]]
    """
    found = _projection(fine, coarse)
    if found is None:
        raise MemoryMismatch(
            f"Memory '{fine}' does not refine '{coarse}': it does not always determine what the "
            f"other remembers. Use the product of the two, join(coarse, fine)."
        )
    return found


def refines(fine: Memory, coarse: Memory) -> bool:
    """Does the node of `fine` always determine the node of `coarse`?

    >>> from jumar.core.memory import window
    >>> refines(window(3).on(2, 2), window(2).on(2, 2)), refines(window(2).on(2, 2),
    ...         window(3).on(2, 2))
    (True, False)
    """
    return _projection(fine, coarse) is not None


def join(coarse: Memory, fine: Memory) -> Memory:
    """A memory that refines both: `fine` itself when it already does, else the product.

    >>> from jumar.core.memory import window
    >>> str(join(window(2).on(2, 2), window(3).on(2, 2)))
    'window of 3'
    """
    if refines(fine, coarse):
        return fine
    if refines(coarse, fine):
        return coarse
    return product(coarse, fine).on(*coarse.alphabet)


def one_more(memory: Memory) -> Memory | None:
    """The memory that also knows one observation further back; None where there is no such.

    >>> str(one_more(window(2).on(3, 2)))
    'window of 3'
    >>> str(one_more(window(2, actions=True).on(3, 2)))
    'window of 3 with actions'
    """
    if isinstance(memory, Window):
        k = memory.length
        return replace(memory, length=k + 1) if k < LONGEST_WINDOW else None
    if isinstance(memory, Product):
        parts = list(memory.parts)
        windows = [i for i, part in enumerate(parts) if isinstance(part, Window)]
        if windows:
            longest = max(windows, key=lambda i: getattr(parts[i], "length", 0))
            longer = one_more(parts[longest])
            parts[longest] = longer or parts[longest]
            finer = product(*parts).on(*memory.alphabet)
            if not refines(memory, finer):
                return finer
    for k in range(2, _FARTHEST):
        older = window(k).on(*memory.alphabet)
        if not refines(memory, older):
            return older if refines(older, memory) else product(memory, older).on(*memory.alphabet)
    return None


def _projection(fine: Memory, coarse: Memory) -> Projection | None:
    if fine.alphabet != coarse.alphabet:
        return None
    if fine == coarse:
        return lambda nodes: nodes
    if coarse.count_nodes() == 1:
        return lambda nodes: np.repeat(coarse.initial()[None, :], len(nodes), 0)
    if isinstance(coarse, Product):
        return _onto_product(fine, coarse)
    if isinstance(fine, Product):
        for i, part in enumerate(fine.parts):
            inner = _projection(part, coarse)
            if inner is not None:
                return _after_split(fine, i, inner)
    if isinstance(fine, Window) and isinstance(coarse, Window):
        return _shorten(fine, coarse)
    if fine.count_nodes() <= ENUMERABLE:
        return _walk_together(fine, coarse)
    if isinstance(fine, Window):
        return _through_shorter(fine, coarse)
    return None


def _through_shorter(fine: Window, coarse: Memory) -> Projection | None:
    """What the longest window that can be enumerated knows, a longer one knows too."""
    length = fine.length - 1
    while length > 1 and replace(fine, length=length).count_nodes() > ENUMERABLE:
        length -= 1
    shorter = replace(fine, length=length)
    inner, shorten = _projection(shorter, coarse), _shorten(fine, shorter)
    if inner is None or shorten is None:
        return None
    return lambda nodes: inner(shorten(nodes))


def _onto_product(fine: Memory, coarse: Product) -> Projection | None:
    inner = [_projection(fine, part) for part in coarse.parts]
    known = [p for p in inner if p is not None]
    if len(known) < len(inner):
        return None
    return lambda nodes: np.concatenate([p(nodes) for p in known], axis=1)


def _after_split(fine: Product, i: int, inner: Projection) -> Projection:
    return lambda nodes: inner(fine.split(nodes)[i])


def _shorten(fine: Window, coarse: Window) -> Projection | None:
    A = fine.alphabet[1]
    if fine.length < coarse.length or (coarse.actions and not fine.actions and A > 1):
        return None

    def shorten(nodes: Ints) -> Ints:
        digits = fine.digits(nodes)[:, : coarse.length - 1]
        if fine.actions and not coarse.actions:
            digits = np.where(digits == 0, 0, (digits - 1) // A + 1)
        return coarse.pack(digits)

    return shorten


def _walk_together(fine: Memory, coarse: Memory) -> Projection | None:
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
