"""A log laid out once for many candidates: replayed over the longest memory, with every shorter one
a projection of it.

Memories M_0, M_1, ... each refine the one before; M_0 is the behavior's. (One that was learned may
stand beside them; then the longest is the last of them and the learned one side by side.) A
candidate of any of them is a table of rows over the history states of the longest, so that trying
one more costs a table look-up per step and nothing else.

Counting the steps of some episodes is a sum over numbers that are the same for every part: the pair
of a step, and the move it made. So a model of a part costs a few passes over the log's columns, and
all models of a memory have the same history states in the same order, with or without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, sum_by
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join, ladder
from jumar.core.replay import ENDED, UNSEEN, Replay, Replays
from jumar.evidence.practice import Practice

MOST_STATES = 5000  # a memory that sees more history states than this is not tried


@dataclass(frozen=True, eq=False)
class Board:
    """A log, its behavior, and the memories to try. H history states of the longest memory."""

    replay: Replay  # of the log, over the longest memory
    behavior: Controller
    discount: float
    memories: tuple[Memory, ...]  # the last refines all others
    practice: Practice | None = None  # who acted, where that is not one controller
    untried: tuple[Memory, ...] = ()  # laid out for the others' sake: no candidate has them
    learned: Memory | None = None  # that the log taught; None: nothing beyond the behavior's
    beside: Memory | None = None  # the same, unless it is one of the others

    @property
    def tried(self) -> tuple[Memory, ...]:
        """The memories that candidates may have."""
        return tuple(memory for memory in self.memories if memory not in self.untried)

    @property
    def log(self) -> Episodes:
        return self.replay.log

    @cached_property
    def behavior_rows(self) -> Floats:
        """(H, A)"""
        return self.behavior.lift(self.memories[-1]).rows_at(self.replay.states)

    @cached_property
    def taken(self) -> Floats:
        """(N,) the probability of every logged action under the behavior that took it."""
        if self.practice is not None:
            return self.practice.taken
        return self.behavior_rows[self.replay.at, self.log.action]

    @cached_property
    def behaviors(self) -> Floats:
        """(K, A) the rows that were followed."""
        if self.practice is None:
            return self.behavior_rows
        rows = self.practice.rows
        return np.zeros((1, len(self.log.actions))) if rows is None else rows

    @cached_property
    def row_of(self) -> Ints:
        """(N,) which of them was followed at every step; -1 where that is not known."""
        if self.practice is None:
            return self.replay.at
        N = self.log.n_steps
        return np.full(N, -1) if self.practice.rows is None else np.arange(N)


def improved(behavior: Controller, memory: Memory, states: Ints, rows: Floats) -> Controller:
    """The behavior with more memory, and with other rows in some history states."""
    return behavior.lift(memory).except_at(states, rows, f"{behavior.name}, improved")


def first_of(of: Ints, size: int) -> Ints:
    """(size,) where each number comes first."""
    first = np.empty(size, np.int64)
    first[of[::-1]] = np.arange(len(of) - 1, -1, -1)
    return first


def lay_out(
    log: Episodes | Replays,
    behavior: Controller,
    discount: float,
    memories: Sequence[Memory],
    practice: Practice | None = None,
    parts: Sequence[Ints] = (),
) -> Board:
    """Replay a log over the longest of the memories, leaving out those that are too long for it, or
    for each of the `parts` (episodes) that are learned from.

    `practice` says who acted, where that is not `behavior` alone.
    """
    replays, kept = Replays.of(log), list(memories)
    steps = [steps_in(replays.log, part) for part in parts]
    while True:
        replay = replays.over(kept[-1])
        sizes = [len(np.unique(replay.at[chosen])) for chosen in steps] or [len(replay.states)]
        if not too_long(min(sizes)) or len(kept) == 1:
            break
        kept.pop()
    return Board(replay, behavior, discount, tuple(kept), practice)


def too_long(size: int) -> bool:
    """Is a memory that sees so many history states not to be tried?"""
    return size > MOST_STATES


def steps_in(log: Episodes, episodes: Ints) -> Bools:
    """(N,) the steps of some episodes."""
    chosen = np.zeros(len(log), np.bool_)
    chosen[episodes] = True
    return np.repeat(chosen, log.lengths)


def chain(behavior: Memory, memory: Memory | None, more: int) -> list[Memory]:
    """The memories to try: the behavior's, then the one asked for; or, if none is asked for, with
    one observation more, and so on, `more` times."""
    if memory is not None:
        wider = join(behavior, memory.on(*behavior.alphabet))
        return [behavior] if wider == behavior else [behavior, wider]
    return ladder(behavior, more)


def lay_out_beside(
    log: Episodes | Replays,
    behavior: Controller,
    discount: float,
    memories: Sequence[Memory],
    learned: Memory,
    practice: Practice | None,
    part: Ints,
) -> Board:
    """The same for memories that each refine the one before and, beside them, one that was learned
    from a part of the log. It need not refine the others: a log is laid out over the longest and
    the learned one side by side, which itself is not tried. Of the others, those are left out with
    which that is too long."""
    replays, kept = Replays.of(log), list(memories)
    while True:
        wanted, both = [*kept, learned], join(kept[-1], learned)
        every = [*dict.fromkeys(m for m in wanted if m != both), both]
        board = lay_out(replays, behavior, discount, every, practice, [part])
        if len(board.memories) == len(every) or len(kept) == 1:
            untried = tuple(m for m in board.memories if m not in wanted)
            taught = learned in board.memories and learned != memories[0]
            beside = learned if taught and learned not in kept else None
            learned_too = learned if taught else None
            return replace(board, untried=untried, learned=learned_too, beside=beside)
        kept.pop()


# ---- models of any part of the log --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Numbered:
    """The history states of a log over one memory, and its moves: the same for every part of the
    log. K history states, L distinct moves, H history states of the longest memory."""

    memory: Memory
    states: Ints  # (K, w+1)
    of: Ints  # (H,) the state that each of the longest memory's becomes
    moves: Ints  # (L, 2) pair and successor, ascending
    behavior: Floats  # (K, A) the behavior's rows

    @property
    def first(self) -> Ints:
        """(K,) the first of the longest memory's states that becomes each state."""
        return first_of(self.of, len(self.states))


@dataclass(frozen=True, eq=False)
class NumberedSteps(Numbered):
    """The same, with every step of the log."""

    pair: Ints  # (N,) k·A + a at every step
    move: Ints  # (N,) which move was made; -1: it ended, or nobody knows


def number(board: Board) -> tuple[NumberedSteps, ...]:
    """The log over every memory of a board, shortest first."""
    found = []
    for memory in board.memories:
        replay, (states, of) = board.replay.onto(memory), board.replay.project(memory)
        moves, move = replay.moves
        behavior = board.behavior_rows[first_of(of, len(states))]
        found.append(NumberedSteps(memory, states, of, moves, behavior, replay.pair, move))
    return tuple(found)


def fit(board: Board, numbered: NumberedSteps, steps: Bools) -> HistoryMdp:
    """The maximum-likelihood model of some steps."""
    log, follows, (K, A) = board.log, board.replay.follows, numbered.behavior.shape
    known = steps & (follows != UNSEEN)
    pair = numbered.pair[known]
    visits = np.bincount(pair, minlength=K * A).astype(np.float64)
    n = np.maximum(visits, 1.0)
    ended = np.bincount(pair[follows[known] == ENDED], minlength=K * A)
    moved = numbered.move[steps & (numbered.move >= 0)]
    times = np.bincount(moved, minlength=len(numbered.moves))
    first = numbered.pair[log.start[:-1][steps[log.start[:-1]]]] // A
    starts = np.bincount(first, minlength=K)
    return HistoryMdp(
        observations=log.observations,
        actions=log.actions,
        memory=numbered.memory,
        states=numbered.states,
        visits=visits.reshape(K, A),
        reward=(sum_by(pair, log.reward[known], K * A) / n).reshape(K, A),
        ending=(ended / n).reshape(K, A),
        start=starts / max(1, starts.sum()),
        pair=numbered.moves[:, 0],
        successor=numbered.moves[:, 1],
        probability=times / n[numbered.moves[:, 0]],
        discount=board.discount,
    )
