"""When one memory knows all that another knows.

Memory f *refines* memory c when the node of f always determines the node of c: there is a map p
with p(f₀) = c₀ and p(step_f(n, z, a)) = step_c(p(n), z, a). A controller over c is then also one
over f, with ψ(n, z) = ψ_c(p(n), z), and has exactly the same value on every model. `projection`
finds p: a memory knows it by shape, or both automata are walked together where f can be listed.
`join` makes a memory that refines two given ones, `one_more` one that remembers an observation
more, `ladder` one after the other.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Ints
from jumar.core.errors import MemoryMismatch
from jumar.memory import Memory, product, window
from jumar.memory.base import Projection, find_projection

_FARTHEST = 12  # observations that a hand-written memory may know by heart


def projection(fine: Memory, coarse: Memory) -> Projection:
    """The map from nodes of `fine` to nodes of `coarse`; an error if there is none.

    >>> import numpy as np
    >>> p = projection(window(3).on(2, 2), window(2).on(2, 2))
    >>> p(window(3).on(2, 2).step(np.array([[0]]), np.array([1]), np.array([0]))).tolist()
    [[2]]
    """
    found = find_projection(fine, coarse)
    if found is None:
        raise MemoryMismatch(
            f"Memory '{fine}' does not refine '{coarse}': it does not always determine what the "
            f"other remembers. Use the product of the two, join(coarse, fine)."
        )
    return found


def project_states(fine: Memory, coarse: Memory, states: Ints) -> Ints:
    """(H, w+1) what each of (H, W+1) history states becomes for a memory that knows less."""
    return np.column_stack([projection(fine, coarse)(states[:, :-1]), states[:, -1]])


def refines(fine: Memory, coarse: Memory) -> bool:
    """Does the node of `fine` always determine the node of `coarse`?

    >>> refines(window(3).on(2, 2), window(2).on(2, 2)), refines(window(2).on(2, 2),
    ...         window(3).on(2, 2))
    (True, False)
    """
    return find_projection(fine, coarse) is not None


def join(coarse: Memory, fine: Memory) -> Memory:
    """A memory that refines both: `fine` itself when it already does, else the product.

    Parameters
    ----------
    coarse
        A memory.
    fine
        Another one.

    Returns
    -------
    Memory
        One that knows all that either of them knows.

    Examples
    --------
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
    parts = list(memory.parts)
    spans = [part.span or 0 for part in parts]
    longest = spans.index(max(spans))
    if spans[longest] and (longer := parts[longest].resized(spans[longest] + 1)):
        parts[longest] = longer
        finer = product(*parts).on(*memory.alphabet)
        if not refines(memory, finer):
            return finer
    for k in range(2, _FARTHEST):
        older = window(k).on(*memory.alphabet)
        if not refines(memory, older):
            return older if refines(older, memory) else product(memory, older).on(*memory.alphabet)
    return None


def ladder(base: Memory, more: int) -> list[Memory]:
    """A memory, and up to `more` longer ones, each of which knows one observation more.

    >>> [str(memory) for memory in ladder(window(1).on(3, 2), 2)]
    ['window of 1', 'window of 2', 'window of 3']
    """
    found = [base]
    while len(found) <= more and (longer := one_more(found[-1])) is not None:
        found.append(longer)
    return found
