"""Models of any part of a log, for every memory of a board, from one replay.

Counting the steps of some episodes is a sum over numbers that are the same for every part: the pair
of a step, and the move it made. So a fold costs a few passes over the log's columns, and all models
of a memory have the same history states in the same order, with or without data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.board import Board, first_of
from jumar.core.arrays import Bools, Floats, Ints, sum_by
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.replay import ENDED, UNSEEN


@dataclass(frozen=True, eq=False)
class Numbered:
    """A log over one memory of its board. K history states, L distinct moves."""

    memory: Memory
    states: Ints  # (K, w+1)
    of: Ints  # (H,) the state that each of the board's becomes
    pair: Ints  # (N,) k·A + a at every step
    move: Ints  # (N,) which move was made; -1: it ended, or nobody knows
    moves: Ints  # (L, 2) pair and successor, ascending
    behavior: Floats  # (K, A) the behavior's rows

    @property
    def first(self) -> Ints:
        """(K,) the first of the board's states that becomes each state."""
        return first_of(self.of, len(self.states))


def number(board: Board) -> tuple[Numbered, ...]:
    """The log over every memory of a board, shortest first."""
    found = []
    for memory in board.memories:
        replay, (states, of) = board.replay.onto(memory), board.replay.project(memory)
        moves, move = replay.moves
        behavior = board.behavior_rows[first_of(of, len(states))]
        found.append(Numbered(memory, states, of, replay.pair, move, moves, behavior))
    return tuple(found)


def fit(board: Board, numbered: Numbered, steps: Bools) -> HistoryMdp:
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
