"""A log cut into steps between the histories of a base memory, and other logs made of them.

With x a history of the base memory, y the history of a finer one that is a part of x, and o what
follows a step (the next observation or the end, with the class of its reward),

    G = 2 Σ n(y, a, o) log( n(y, a, o) n(x, a) / (n(y, a) n(x, a, o)) )

is what the finer memory explains beyond the base. How far the laws are apart is told by the
visit-weighted means over the pairs (y, a),

    law    = Σ n(y, a) ½‖p(· | y, a) - p(· | x, a)‖₁ / n      of the next observation and the end,
    reward = Σ n(y, a) |r(y, a) - r(x, a)| / n                of the mean reward.

All are above 0 by chance alone; how much, other logs made of the same steps tell.

A reward enters G as a class: its value where a pair (x, a) knows few values, else the quarter of
the pair's rewards it lies in. The classes depend on nothing that y could tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import ROUNDING, Bools, Floats, Ints, number_rows
from jumar.log.episodes import UNKNOWN, Episodes
from jumar.tally.replay import Replay

FEW = 6  # distinct rewards of a pair up to which each is a class of its own
QUARTERS = 4


@dataclass(frozen=True, eq=False)
class Tally:
    """How often a log had what. L cells (x, a, y, o), of which those of one (x, a, y) are together.

    Amounts are (L,) or (L, R) for R logs at once.
    """

    pair: Ints  # (Y,) the pair (x, a) of each pair (y, a)
    fine_pair: Ints  # (L,) the pair (y, a) of each cell
    fine_move: Ints  # (L,) the (y, a, next observation or end) of each cell
    cell: Ints  # (L,) the (x, a, o) of each cell
    move: Ints  # (K,) the (x, a, next observation or end) of each fine move
    move_owner: Ints  # (K,) the pair (y, a) of each fine move
    times: Floats  # (L,)
    rewards: Floats  # (L,) summed

    def statistic(self) -> float:
        """G of this log."""
        pairs = _sum(self.fine_pair, self.times, len(self.pair))
        within = x_log_x(self.times).sum() - x_log_x(pairs).sum()
        cells, base = _sum(self.cell, self.times), _sum(self.pair, pairs)
        across = x_log_x(cells).sum() - x_log_x(base).sum()
        return float(max(0.0, 2 * (within - across)))

    def gaps(self, times: Floats | None = None, rewards: Floats | None = None) -> Floats:
        """(2,) the mean gaps of law and reward; (2, R) for (L, R) amounts instead of the log's."""
        n = self.times if times is None else times
        r = self.rewards if rewards is None else rewards
        fine = _sum(self.fine_pair, n, len(self.pair))
        base = _sum(self.pair, fine)
        some = np.maximum(base, 1)
        moves = _sum(self.fine_move, n, len(self.move))
        p = _sum(self.move, moves)[self.move] / some[self.pair[self.move_owner]]
        # distances in probability are sums of what is more than it should be
        law = np.maximum(moves - fine[self.move_owner] * p, 0).sum(0)
        law = np.where(law > ROUNDING * n.sum(0), law, 0)
        paid = _sum(self.fine_pair, r, len(self.pair))
        mean = (_sum(self.pair, paid) / some)[self.pair]
        reward = np.abs(paid - fine * mean).sum(0)
        reward = np.where(reward > ROUNDING * np.abs(paid).sum(0), reward, 0)
        return np.asarray(np.stack([law, reward]) / np.maximum(fine.sum(0), 1))


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a log over a base memory. N steps, C cells (x, a, o)."""

    base: Replay
    finer: Replay  # of the same log
    cells: Ints  # (C, 3) the pair, next observation or |Z| for the end, class of reward; sorted
    cell: Ints  # (N,) that of each step; UNKNOWN where nobody knows

    @property
    def log(self) -> Episodes:
        return self.base.log

    @property
    def known(self) -> Bools:
        """(N,) is it known what followed?"""
        return np.asarray(self.cell != UNKNOWN)

    @cached_property
    def moves(self) -> Ints:
        """(C,) the (pair, next observation or end) of each cell, numbered."""
        return number_rows(self.cells[:, :2])[1]

    def as_logged(self) -> tuple[Tally, Ints]:
        """What the log has, and the cell of every step with known outcome."""
        i = np.flatnonzero(self.known)
        return self._tally(i, self.finer.states[self.finer.at[i], :-1])

    def tally(self, i: Ints, start: Ints) -> Tally:
        """What another log has, made of these steps, with episodes that start there."""
        log, known = self.log, self.known[i]
        nodes = self.finer.memory.replay(log.observation[i], log.action[i], start)
        return self._tally(i[known], nodes[known])[0]

    def _tally(self, i: Ints, nodes: Ints) -> tuple[Tally, Ints]:
        """Of steps with known outcome, each at a node of the finer memory."""
        c = self.cell[i]
        rows, which = number_rows(np.column_stack([nodes, c]))
        nodes, c = rows[:, :-1], rows[:, -1]
        pair, move = self.cells[c, 0], self.moves[c]
        other = (nodes[1:] != nodes[:-1]).any(1)
        new_pair = np.append(True, other | (pair[1:] != pair[:-1]))[: len(rows)]
        new_move = np.append(True, other | (move[1:] != move[:-1]))[: len(rows)]
        fine_pair, fine_move = np.cumsum(new_pair) - 1, np.cumsum(new_move) - 1
        return Tally(
            pair=pair[new_pair],
            fine_pair=fine_pair,
            fine_move=fine_move,
            cell=c,
            move=move[new_move],
            move_owner=fine_pair[new_move],
            times=np.bincount(which, minlength=len(rows)).astype(np.float64),
            rewards=np.bincount(which, self.log.reward[i], len(rows)).astype(
                np.float64, copy=False
            ),
        ), which

    # ---- other logs ---------------------------------------------------------------------------

    def shuffles(self, times: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
        """(N,) the same steps in another order, each beginning where the one before it ended, and
        (E+1,) where each episode starts; one may be empty.

        If episodes were cut off, steps soon after the start of an episode stay there: otherwise
        lengths would be free, and histories that have just begun would become rarer. How soon, the
        finer memory says.
        """
        from jumar.evidence.loops import reorder

        log = self.log
        N, E = log.n_steps, len(log)
        cut = np.flatnonzero(log.final_observation != UNKNOWN)
        # steps after which the memory is full, as far as its parts say; one where they do not
        soon = max((part.span or 2) - 1 for part in self.finer.memory.parts)
        soon = 0 if log.terminated.all() else soon
        age = np.append(np.arange(N) - np.repeat(log.start[:-1], log.lengths), log.lengths[cut])
        x = np.append(self.base.at, self.base.after[cut])
        points, point = number_rows(np.column_stack([x, np.minimum(age, soon)]))
        root = len(points)
        after = np.append(point[1:N], root)
        after[log.last] = root
        after[log.last[cut]] = point[N:]
        tail = np.concatenate([point, np.full(E, root)])
        head = np.concatenate([after, np.full(len(cut), root), point[log.start[:-1]]])
        step = np.concatenate([np.arange(N), np.full(len(cut) + E, -1)])
        order = np.argsort(tail, kind="stable")
        pointer = np.searchsorted(tail[order], np.arange(root + 2))
        head, step = head[order], step[order]
        for _ in range(times):
            yield reorder(pointer, head, step, root, rng)


def cut_into_steps(base: Replay, finer: Replay, rewards: bool = True) -> Steps:
    """The steps of a log over a base memory; their rewards take part in G if asked for."""
    log, known = base.log, np.flatnonzero(base.known)
    pair = base.pair[known]
    kind = _reward_classes(pair, log.reward[known]) if rewards else np.zeros(len(known), np.int64)
    cells, number = number_rows(np.column_stack([pair, base.outcome[known], kind]))
    cell = np.full(log.n_steps, UNKNOWN, np.int64)
    cell[known] = number
    return Steps(base, finer, cells, cell)


def _reward_classes(pair: Ints, reward: Floats) -> Ints:
    """(N,) the class of every reward among those of its pair."""
    order = np.lexsort([reward, pair])
    new_pair = np.diff(pair[order], prepend=-1) != 0
    sorted_rewards = reward[order]
    new_value = new_pair.copy()
    new_value[1:] |= sorted_rewards[1:] != sorted_rewards[:-1]
    owner = np.cumsum(new_pair) - 1
    first = np.flatnonzero(new_pair)
    rank = np.cumsum(new_value) - 1
    rank -= rank[first][owner]  # which of the pair's distinct values
    distinct, size = np.bincount(owner, new_value), np.bincount(owner)
    where = np.arange(len(order)) - first[owner]
    smaller = where[np.flatnonzero(new_value)[np.cumsum(new_value) - 1]]
    quarter = QUARTERS * smaller // np.maximum(size[owner], 1)
    found = np.empty(len(order), np.int64)
    found[order] = np.where(distinct[owner] <= FEW, rank, quarter)
    return found


def _sum(group: Ints, amounts: Floats, size: int | None = None) -> Floats:
    """(size,) or (size, R) the sum of the amounts of each group."""
    size = int(group.max(initial=-1)) + 1 if size is None else size
    if amounts.ndim == 1:
        return np.bincount(group, amounts, size).astype(np.float64, copy=False)
    from scipy.sparse import csr_array

    chosen: Any = csr_array(
        (np.ones(len(group)), (group, np.arange(len(group)))), shape=(size, len(group))
    )
    return np.asarray(chosen @ amounts)


def x_log_x(counts: Floats | Ints) -> Floats:
    """n log n, which is 0 at 0."""
    from scipy.special import xlogy

    return np.asarray(xlogy(counts, counts))
