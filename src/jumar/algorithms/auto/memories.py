"""The memories that candidates may have, laid out over a log: those that were said, the same for
both halves; or one that each half learns by itself, which the other half has no part in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jumar.algorithms.auto.board import Board, chain, lay_out, lay_out_beside
from jumar.algorithms.auto.dealing import HALVES, Dealt
from jumar.core.memory import Memory
from jumar.core.randomness import branch
from jumar.evidence.practice import Practice
from jumar.evidence.remembering.learning import memory_of


class Given(NamedTuple):
    """Memories that were said, the same for both halves."""

    memories: Sequence[Memory]  # each refines the one before

    def boards(
        self, practice: Practice, discount: float, dealt: Dealt, rng: np.random.Generator
    ) -> list[Board]:
        """One for both halves."""
        halves = [dealt.members(half) for half in range(HALVES)]
        others = None if practice.only else practice
        replays, old = practice.replays, practice.pooled
        return [lay_out(replays, old, discount, self.memories, others, halves)]


class Learned(NamedTuple):
    """Memories that each half learns by itself, and so many observations more."""

    more: int

    def boards(
        self, practice: Practice, discount: float, dealt: Dealt, rng: np.random.Generator
    ) -> list[Board]:
        """One for each half: what is held out has no part in what is learned."""
        replays, old, known = practice.replays, practice.pooled, practice.memory
        others = None if practice.only else practice
        usual, found = chain(known, None, self.more), []
        for half in range(HALVES):
            own = dealt.members(half)
            learned = known
            if len(own):
                learned = memory_of(replays.part(own), known, seed=branch(rng, half))
            found.append(lay_out_beside(replays, old, discount, usual, learned, others, own))
        return found


Memories = Given | Learned
