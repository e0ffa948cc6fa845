"""Whether a test may stand on a memory, and on the one it is compared with."""

from __future__ import annotations

from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.memory import Memory
from jumar.core.memory.refinement import one_more, refines


def memories_of(
    behavior: Memory, base: Memory | None, finer: Memory | None
) -> tuple[Memory, Memory]:
    """The two memories of a test, bound to the alphabet; an error where it would mean nothing."""
    alphabet = behavior.alphabet
    base = behavior if base is None else base.on(*alphabet)
    if not refines(base, behavior):
        raise MemoryMismatch(
            f"memory: a {base} does not know all that the behavior ({behavior}) remembers. What "
            "was done would then tell the two memories apart, whatever follows. Use "
            "join(behavior.memory, memory)."
        )
    finer = one_more(base) if finer is None else finer.on(*alphabet)
    if finer is None:
        raise ParameterError(f"finer: a {base} has no obvious longer one; give the finer memory.")
    if not refines(finer, base):
        raise MemoryMismatch(
            f"finer: a {finer} does not know all that a {base} knows. Use join(memory, finer)."
        )
    if refines(base, finer):
        raise ParameterError(f"finer: a {finer} knows no more than a {base}; give a longer one.")
    return base, finer
