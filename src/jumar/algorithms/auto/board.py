"""A log laid out once for many candidates: replayed over the longest memory, with every shorter one
a projection of it.

Memories M_0, M_1, ... each refine the one before; M_0 is the behavior's. A candidate of any of them
is a table of rows over the history states of the longest, so that trying one more costs a table
look-up per step and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.controller import Controller
from jumar.core.episodes import UNKNOWN, Episodes
from jumar.core.history import ENDED, Counts, HistoryMdp, count, trace
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join, ladder, projection
from jumar.evidence.practice import Practice
from jumar.solve.solver import action_values, policy_value

MOST_STATES = 5000  # a memory that sees more history states than this is not tried


@dataclass(frozen=True, eq=False)
class Board:
    """A log, its behavior, and the memories to try. H history states of the longest memory."""

    log: Episodes
    behavior: Controller
    discount: float
    memories: tuple[Memory, ...]  # each refines the one before
    states: Ints  # (H, W+1)
    at: Ints  # (N,) the history state of every step
    follows: Ints  # (N,) the one that followed it, ENDED or UNSEEN
    after: Ints  # (E,) the history state an episode was cut off in, ENDED where it ended
    length: Ints  # (E,) steps of each episode whose outcome is known
    practice: Practice | None = None  # who acted, where that is not one controller

    @cached_property
    def behavior_rows(self) -> Floats:
        """(H, A)"""
        return self.behavior.lift(self.memories[-1]).rows_at(self.states)

    @cached_property
    def taken(self) -> Floats:
        """(N,) the probability of every logged action under the behavior that took it."""
        if self.practice is not None:
            return self.practice.taken
        return self.behavior_rows[self.at, self.log.action]

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
            return self.at
        N = self.log.n_steps
        return np.full(N, -1) if self.practice.rows is None else np.arange(N)

    @cached_property
    def projected(self) -> dict[Memory, Ints]:
        """For every memory, the (H, w+1) states that the longest memory's states become."""
        nodes, z = self.states[:, :-1], self.states[:, -1:]
        return {
            memory: np.concatenate([projection(self.memories[-1], memory)(nodes), z], axis=1)
            for memory in self.memories
        }

    @cached_property
    def returns(self) -> Floats:
        """(E,) the logged discounted return of every episode."""
        return self.log.returns(self.discount)

    def count(self, episodes: Ints) -> Counts:
        """The counts of some episodes, over the longest memory."""
        return count(self.log.select(episodes), self.memories[-1])


class View:
    """A model of one of a board's memories, and where the board's states stand in it."""

    def __init__(self, board: Board, mdp: HistoryMdp) -> None:
        self.board, self.mdp = board, mdp
        self.at = mdp.index.find(board.projected[mdp.memory])  # (H,) or -1
        self.seen = np.flatnonzero(self.at >= 0)
        self.behavior = self.gather(board.behavior_rows)

    def as_table(self, rows: Floats) -> Floats:
        """(H, A) a policy of the model as a table; the behavior where the model knows nothing."""
        table = self.board.behavior_rows.copy()
        table[self.seen] = rows[self.at[self.seen]]
        return table

    def gather(self, table: Floats) -> Floats:
        """(K, A) the rows of a table at the states of the model."""
        rows = np.empty((len(self.mdp), table.shape[1]))
        rows[self.at[self.seen]] = table[self.seen]
        return rows

    def performance(self, table: Floats) -> float:
        """What the model says a policy is worth."""
        return float(self.mdp.start @ policy_value(self.mdp, self.gather(table)))

    def values(self, table: Floats) -> tuple[Floats, Floats]:
        """(H, A) Q̂ and (H,) V̂ = Σ_a π Q̂ of a policy; 0 where the model knows nothing."""
        own = action_values(self.mdp, policy_value(self.mdp, self.gather(table)))
        q = np.zeros(table.shape)
        q[self.seen] = own[self.at[self.seen]]
        return q, (table * q).sum(1)


def lay_out(
    log: Episodes,
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
    kept = list(memories)
    steps = [steps_in(log, part) for part in parts]
    while True:
        states, at, follows = trace(log, kept[-1])
        sizes = [len(np.unique(at[chosen])) for chosen in steps] or [len(states)]
        if not too_long(min(sizes)) or len(kept) == 1:
            break
        kept.pop()
    last = log.last
    unknown = ~log.terminated & (log.final_observation == UNKNOWN)
    # nobody knows what the last step led to: the episode counts up to the state before it
    after = np.where(log.terminated, ENDED, np.where(unknown, at[last], follows[last]))
    length = log.lengths - unknown
    return Board(log, behavior, discount, tuple(kept), states, at, follows, after, length, practice)


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
