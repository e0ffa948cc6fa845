"""Splitting: nodes of which the past tells what follows become two.

Every visit of a node has an *entry*: the move by which it was entered, from node m with (z, a), or
the start of an episode. Entries are put together by any of m, z and a, and each such kind of entry
is compared with all others of its node: does the same follow (`coded`)? Where it does not, and more
clearly so than anywhere else in the node, entries of this kind lead to a new node from then on,
which goes where the old one goes. So the automaton stays deterministic, and the next round can
look one step further into the past: with one node "worn was seen before" comes out, with two
"worn, and before that", with "running" split again and again "how long since".

What differs may show later only. If no node is split by what follows at once, what follows in the
next steps is compared too, farther and farther.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints, number_rows
from jumar.evidence.remembering.coded import PRIOR, CodedLog

KINDS = [c for size in (1, 2, 3) for c in combinations(range(3), size)]  # of m, z and a
AHEAD = (0, 1, 3, 7)  # steps after the entry up to which what follows is compared
ENOUGH = 2  # steps on each side of a comparison, per outcome
CLEAR = 3.0  # log evidence for a split, beyond what so many comparisons bring about by chance


class _Kind(NamedTuple):
    """Entries put together by some of m, z and a."""

    node: Ints  # (L,) that entries of each label lead to
    label: Ints  # (N,) of every step


def split_nodes(log: CodedLog, moves: Ints, most: int) -> Ints:
    """(K, S) the moves of an automaton with at most so many nodes; 0 is the first."""
    while len(moves) < most:
        found = _clear_splits(log, moves)
        if not found:
            break
        for node, into in found[: most - len(moves)]:
            K, S = moves.shape
            moves = np.vstack([moves, moves[node]])
            moves.reshape(-1)[into] = K
            own = into[into // S == node] % S
            moves[K, own] = K  # a move from the node to itself that is split goes on from the new
    return moves


def _clear_splits(log: CodedLog, moves: Ints) -> list[tuple[int, Ints]]:
    """The clearest split of every node that has one, by what follows as soon as possible: the node,
    and the moves m·S + (z, a) into it that are to lead to a new one; the clearest node first."""
    nodes = log.nodes(moves)
    first = log.start[:-1][np.diff(log.start) > 0]
    last = np.roll(log.symbol, 1)
    entry = [np.roll(nodes, 1), log.seen[last] + 1, log.done[last] + 1]
    for column in entry:
        column[first] = -1  # there is no step before
    kinds = []
    for columns in KINDS:
        rows, label = number_rows(np.column_stack([nodes, *(entry[c] + 1 for c in columns)]))
        kinds.append(_Kind(rows[:, 0], label))
    evidence = [np.zeros(len(kind.node)) for kind in kinds]
    least = CLEAR + math.log(sum(map(len, evidence)))
    for ahead in range(AHEAD[-1] + 1):
        following = _Following.after(log, nodes, ahead)
        if following is None:
            break
        for kind, found in zip(kinds, evidence, strict=True):
            found += following.differs(kind)
        best: dict[int, tuple[float, int, int]] = {}
        for k, (kind, found) in enumerate(zip(kinds, evidence, strict=True)):
            for i in np.flatnonzero(found > least).tolist():
                n = int(kind.node[i])
                if n not in best or found[i] > best[n][0]:
                    best[n] = float(found[i]), k, i
        if best and ahead in AHEAD:
            order = sorted(best, key=lambda n: -best[n][0])
            labels = {n: kinds[best[n][1]].label == best[n][2] for n in order}
            return [(n, _moves_into(log, moves, nodes, entry[0], labels[n], n)) for n in order]
    return []


def _moves_into(
    log: CodedLog, moves: Ints, nodes: Ints, before: Ints, chosen: Bools, n: int
) -> Ints:
    """The moves with which chosen entries of node n are made."""
    if (before[chosen] < 0).any():  # the start keeps its node, all else leaves it
        chosen = (nodes == n) & (before >= 0)
    steps = np.flatnonzero(chosen)
    return np.unique(before[steps] * moves.shape[1] + log.symbol[steps - 1])


class _Following(NamedTuple):
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


def for_one_law(
    few: Floats,  # (L,) counts of one set of steps in each of its cells
    all_: Floats,  # (L,) of both sets, in the same cells
    owner: Ints,  # (L,) the group (law) of each cell, ascending
    outcomes: Ints,  # (G,) of each group
    all_steps: Floats,  # (G,) of both sets in the group, with cells that the first does not have
) -> Floats:
    """(G,) log evidence for one law against two, for every group.

    >>> one, two = np.array([50.0, 0.0]), np.array([0.0, 50.0])
    >>> same = for_one_law(one, 2 * one, np.zeros(2, int), np.array([2]), np.array([100.0]))
    >>> other = for_one_law(one, one + two, np.zeros(2, int), np.array([2]), np.array([100.0]))
    >>> bool(same[0] > 1), bool(other[0] < -60)
    (True, True)
    """
    from scipy.special import gammaln

    α, G = PRIOR, len(outcomes)
    rest = all_ - few
    of_cells = gammaln(α + all_) - gammaln(α + few) - gammaln(α + rest) + gammaln(α)
    steps = np.bincount(owner, few, G)
    prior, left = α * outcomes, all_steps - steps
    of_groups = gammaln(prior + steps) + gammaln(prior + left)
    of_groups -= gammaln(prior + all_steps) + gammaln(prior)
    found: Floats = np.bincount(owner, of_cells, G) + of_groups
    return found
