"""Splitting: nodes of which the past tells what follows become two.

Every visit of a node has an *entry*: the move by which it was entered, from node m with (z, a), or
the start of an episode. Entries are put together by any of m, z and a, and each such kind of entry
is compared with all others of its node: does the same follow (`laws`)? Where it does not, and more
clearly so than anywhere else in the node, entries of this kind lead to a new node from then on,
which goes where the old one goes. So the automaton stays deterministic, and the next round can
look one step further into the past: with one node "worn was seen before" comes out, with two
"worn, and before that", with "running" split again and again "how long since".

What differs may show later only. If no node is split by what follows at once, what follows in the
next steps is compared too, farther and farther.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Floats, Ints, number_rows
from jumar.evidence.remembering.laws import CodedLog, for_one_law

KINDS = [c for size in (1, 2, 3) for c in combinations(range(3), size)]  # of m, z and a
AHEAD = (0, 1, 3, 7)  # steps after the entry up to which what follows is compared
ENOUGH = 2  # steps on each side of a comparison, per outcome
CLEAR = 3.0  # log evidence for a split, beyond what so many comparisons bring about by chance


class _Split(NamedTuple):
    """A node, and the moves into it that are to lead to a new one."""

    node: int
    into: Ints  # numbers m·S + (z, a)
    evidence: float


def split_nodes(log: CodedLog, moves: Ints, most: int) -> Ints:
    """(K, S) the moves of an automaton with at most so many nodes; 0 is the first."""
    while len(moves) < most:
        found = sorted(_splits(log, moves), key=lambda split: -split.evidence)
        if not found:
            break
        for split in found[: most - len(moves)]:
            moves = _done(moves, split)
    return moves


def _done(moves: Ints, split: _Split) -> Ints:
    """The automaton with one node more."""
    K, S = moves.shape
    moves = np.vstack([moves, moves[split.node]])
    moves.reshape(-1)[split.into] = K
    own = split.into[split.into // S == split.node] % S
    moves[K, own] = K  # a move from the node to itself that is split goes on from the new one
    return moves


def _splits(log: CodedLog, moves: Ints) -> list[_Split]:
    """The clearest split of every node that has one, by what follows as soon as possible."""
    nodes = log.nodes(moves)
    entries = _Entries.of(log, nodes)
    evidence = [np.zeros(len(kind.node)) for kind in entries.kinds]
    for ahead in range(AHEAD[-1] + 1):
        following = _Following.after(log, nodes, ahead)
        if following is None:
            break
        for kind, found in zip(entries.kinds, evidence, strict=True):
            found += following.differs(kind)
        if ahead in AHEAD and (clear := entries.clear(evidence)):
            return [entries.split(log, moves, *which) for which in clear]
    return []


class _Kind(NamedTuple):
    """Entries put together by some of m, z and a."""

    node: Ints  # (L,) that entries of each label lead to
    label: Ints  # (N,) of every step


@dataclass(frozen=True, eq=False)
class _Entries:
    """How every step came to its node."""

    nodes: Ints  # (N,)
    before: Ints  # (N,) the node of the step before; -1: there is none
    kinds: list[_Kind]

    @classmethod
    def of(cls, log: CodedLog, nodes: Ints) -> _Entries:
        first = log.start[:-1][np.diff(log.start) > 0]
        last = np.roll(log.symbol, 1)
        columns = [np.roll(nodes, 1), log.seen[last] + 1, log.done[last] + 1]
        for column in columns:
            column[first] = -1
        kinds = []
        for kind in KINDS:
            rows, label = number_rows(np.column_stack([nodes, *(columns[c] + 1 for c in kind)]))
            kinds.append(_Kind(rows[:, 0], label))
        return cls(nodes, columns[0], kinds)

    def clear(self, evidence: Sequence[Floats]) -> list[tuple[int, int, int, float]]:
        """For every node that is clearly to be split: the node, the kind, the label and the
        evidence."""
        least = CLEAR + math.log(sum(map(len, evidence)))
        best: dict[int, tuple[int, int, int, float]] = {}
        for k, (kind, found) in enumerate(zip(self.kinds, evidence, strict=True)):
            for i in np.flatnonzero(found > least).tolist():
                n = int(kind.node[i])
                if n not in best or found[i] > best[n][3]:
                    best[n] = (n, k, i, float(found[i]))
        return list(best.values())

    def split(
        self, log: CodedLog, moves: Ints, n: int, kind: int, label: int, found: float
    ) -> _Split:
        """The moves that are to lead elsewhere."""
        chosen = self.kinds[kind].label == label
        if (self.before[chosen] < 0).any():  # the start keeps its node, all else leaves it
            chosen = (self.nodes == n) & (self.before >= 0)
        steps = np.flatnonzero(chosen)
        return _Split(
            n, np.unique(self.before[steps] * moves.shape[1] + log.symbol[steps - 1]), found
        )


@dataclass(frozen=True, eq=False)
class _Following:
    """What followed some steps after each entry. C cells: a node, the node some steps later, and
    the cell there. Each node, later node and (x, a) has one law."""

    steps: Ints  # (n,) those of which it is known
    cell: Ints  # (n,) number of the cell
    times: Floats  # (C,)
    law: Ints  # (C,) number of the law
    law_steps: Floats  # (G,)
    outcomes: Ints  # (G,)

    @classmethod
    def after(cls, log: CodedLog, nodes: Ints, ahead: int) -> _Following | None:
        N = len(log.symbol)
        end = np.repeat(log.start[1:], np.diff(log.start))
        steps = np.flatnonzero(np.arange(N) + ahead < end)
        steps = steps[log.cell[steps + ahead] >= 0]
        if not len(steps):
            return None
        then = steps + ahead
        cells, cell = number_rows(np.column_stack([nodes[steps], nodes[then], log.cell[then]]))
        times = np.bincount(cell).astype(np.float64)
        pair = log.pair[cells[:, 2]]
        laws, law = number_rows(np.column_stack([cells[:, :2], pair]))
        law_steps = np.bincount(law, times).astype(np.float64, copy=False)
        return cls(steps, cell, times, law, law_steps, log.outcomes[laws[:, 2]])

    def differs(self, kind: _Kind) -> Floats:
        """(L,) log evidence that entries of each label are followed by something else than the
        others of their node."""
        cells, which = number_rows(np.column_stack([kind.label[self.steps], self.cell]))
        few = np.bincount(which).astype(np.float64)
        groups, group = number_rows(np.column_stack([cells[:, 0], self.law[cells[:, 1]]]))
        one = for_one_law(
            few,
            self.times[cells[:, 1]],
            group,
            self.outcomes[groups[:, 1]],
            self.law_steps[groups[:, 1]],
        )
        here = np.bincount(group, few)
        rest = self.law_steps[groups[:, 1]] - here
        # of few steps with many outcomes any two sets look different
        one[np.minimum(here, rest) < ENOUGH * self.outcomes[groups[:, 1]]] = 0.0
        found = np.bincount(groups[:, 0], one, len(kind.node))
        return -found.astype(np.float64, copy=False)
