"""The memories that candidates may have, laid out over a log: those that were said, the same for
both halves; or one that each half learns by itself, which the other half has no part in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jumar.core.randomness import branch
from jumar.evidence.remembering import memory_of
from jumar.gate.dealing import HALVES
from jumar.gate.dealt_log import DealtLog
from jumar.memory import Memory
from jumar.memory.refinement import join, ladder

MOST_STATES = 5000  # a memory that sees more history states than this is not tried


class Laid(NamedTuple):
    """Memories to try on a log. The last refines all others."""

    memories: tuple[Memory, ...]
    untried: tuple[Memory, ...] = ()  # laid out for the others' sake: no candidate has them
    learned: Memory | None = None  # that the log taught; None: nothing beyond the behavior's
    beside: Memory | None = None  # the same, unless it is one of the others

    @property
    def tried(self) -> tuple[Memory, ...]:
        """The memories that candidates may have."""
        return tuple(memory for memory in self.memories if memory not in self.untried)


class Given(NamedTuple):
    """Memories that were said, the same for both halves."""

    memories: Sequence[Memory]  # each refines the one before

    def lay_out(self, log: DealtLog, rng: np.random.Generator) -> list[Laid]:
        """Once for both halves, without those that are too long for one of them."""
        return [Laid(_short_enough(log, self.memories, range(HALVES)))]


class Learned(NamedTuple):
    """Memories that each half learns by itself, and so many observations more."""

    more: int

    def lay_out(self, log: DealtLog, rng: np.random.Generator) -> list[Laid]:
        """Once for each half: what is held out has no part in what is learned."""
        known, found = log.practice.memory, []
        for half in range(HALVES):
            own, learned = log.dealt.members(half), known
            if len(own):
                replays = log.practice.replays.part(own)
                learned = memory_of(replays, known, seed=branch(rng, half))
            found.append(_beside(log, chain(known, None, self.more), learned, half))
        return found


Memories = Given | Learned


def chain(behavior: Memory, memory: Memory | None, more: int) -> list[Memory]:
    """The memories to try: the behavior's, then the one asked for; or, if none is asked for, with
    one observation more, and so on, `more` times."""
    if memory is not None:
        wider = join(behavior, memory.on(*behavior.alphabet))
        return [behavior] if wider == behavior else [behavior, wider]
    return ladder(behavior, more)


def too_long(size: int) -> bool:
    """Is a memory that sees so many history states not to be tried?"""
    return size > MOST_STATES


def _short_enough(
    log: DealtLog, memories: Sequence[Memory], halves: Iterable[int]
) -> tuple[Memory, ...]:
    """Without the last ones, as long as they are too long for each of the halves."""
    kept = list(memories)
    while len(kept) > 1 and too_long(min(log.seen(kept[-1], half) for half in halves)):
        kept.pop()
    return tuple(kept)


def _beside(log: DealtLog, usual: Sequence[Memory], learned: Memory, half: int) -> Laid:
    """Memories that each refine the one before and, beside them, one that was learned from a half.
    It need not refine the others: a log is laid out over the longest and the learned one side by
    side, which itself is not tried. Of the others, those are left out with which that is too
    long."""
    kept = list(usual)
    while True:
        wanted, both = [*kept, learned], join(kept[-1], learned)
        every = [*dict.fromkeys(m for m in wanted if m != both), both]
        memories = _short_enough(log, every, [half])
        if len(memories) == len(every) or len(kept) == 1:
            untried = tuple(m for m in memories if m not in wanted)
            taught = learned in memories and learned != usual[0]
            beside = learned if taught and learned not in kept else None
            return Laid(memories, untried, learned if taught else None, beside)
        kept.pop()
