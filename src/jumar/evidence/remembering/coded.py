"""A log as memories are learned from it, and the evidence that steps follow one law.

What followed an action is one of C outcomes: those that the log ever has after it. If all laws are
equally likely beforehand but for a slight preference for clear ones (Dirichlet with α = 1/2), then
steps with n_c outcomes of each kind have the probability

    log p(n) = log Γ(Cα) - log Γ(Cα + Σn) + Σ_c log Γ(α + n_c) - log Γ(α) ,

and log p(n + m) - log p(n) - log p(m) tells how much likelier it is that two sets of steps have one
law than that each has its own. It needs no table of critical values and is right for counts of any
size: where there are few, it speaks for one law, but hardly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Bools, Floats, Ints
from jumar.evidence.steps import cut_into_steps
from jumar.tally.replay import Replay

PRIOR = 0.5  # α
MOST_SYMBOLS = 250  # (z, a) that are told apart, the most frequent ones; all others are one
MOST_CELLS = 4000  # that are counted, those of the most frequent (x, a)
RARE = -1  # stands for the z and the a of what is rare


@dataclass(frozen=True, eq=False)
class CodedLog:
    """A log as memories are learned from it. N steps, E episodes, S symbols (z, a), U cells
    (x, a, o): a history state of the behavior, an action, and what followed (with the class of the
    reward)."""

    symbol: Ints  # (N,)
    cell: Ints  # (N,) which cell; -1 where nobody knows what followed, or it tells nothing
    start: Ints  # (E+1,)
    seen: Ints  # (S,) the z of every symbol; RARE: of many
    done: Ints  # (S,) its a
    symbols: Ints  # (O, A) the symbol of each (z, a)
    pair: Ints  # (U,) the (x, a) of each cell, numbered
    outcomes: Ints  # (P,) how many outcomes each (x, a) has

    @classmethod
    def of(cls, replay: Replay) -> CodedLog:
        """A log over the memory of its behavior."""
        log, (O, A) = replay.log, replay.memory.alphabet
        symbols, seen, done = _symbols(log.observation * A + log.action, O, A)
        steps = cut_into_steps(replay, replay)
        cells = steps.cells[:, 0]
        times = np.bincount(steps.cell[steps.known], minlength=len(cells))
        kept = _that_tell(cells, times)
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # of -1 too
        pair = np.unique(cells[kept], return_inverse=True)[1].reshape(-1)
        return cls(
            symbol=symbols.reshape(-1)[log.observation * A + log.action],
            cell=number[steps.cell],
            start=log.start,
            seen=seen,
            done=done,
            symbols=symbols,
            pair=pair,
            outcomes=np.bincount(pair),
        )

    def nodes(self, moves: Ints) -> Ints:
        """(N,) the node of an automaton, (K, S) `moves`, at every step."""
        from jumar.core import kernels

        return kernels.table_nodes(
            self.symbol, np.zeros_like(self.symbol), self.start, moves[:, :, None], 0, 0
        )

    def counts(self, nodes: Ints, size: int) -> Floats:
        """(K, U) how often each node had each cell."""
        known, U = self.cell >= 0, len(self.pair)
        flat = nodes[known] * U + self.cell[known]
        return np.bincount(flat, minlength=size * U).reshape(size, U).astype(np.float64)

    def used(self, moves: Ints) -> Ints:
        """(K, S) how often the log makes every move and goes on."""
        flat = self.nodes(moves) * moves.shape[1] + self.symbol
        flat = np.delete(flat, self.start[1:] - 1)  # nothing follows the last step of an episode
        return np.bincount(flat, minlength=moves.size).reshape(moves.shape)


def _symbols(made: Ints, O: int, A: int) -> tuple[Ints, Ints, Ints]:
    """(O, A) the symbol of each (z, a), and (S,) the z and the a of each symbol."""
    times = np.bincount(made, minlength=O * A)
    order = np.argsort(-times, kind="stable")
    own = np.sort(order[times[order] > 0][:MOST_SYMBOLS])
    symbols = np.full(O * A, len(own))
    symbols[own] = np.arange(len(own))
    z, a = np.divmod(own, A)
    if len(own) < O * A:
        z, a = np.append(z, RARE), np.append(a, RARE)
    return symbols.reshape(O, A), z, a


def _that_tell(pair: Ints, times: Ints) -> Bools:
    """Which cells can tell laws apart: those of pairs with several outcomes, the most frequent
    pairs first, as many as are counted."""
    number = np.unique(pair, return_inverse=True)[1].reshape(-1)
    size, visits = np.bincount(number), np.bincount(number, times)
    order = np.argsort(-visits, kind="stable")
    order = order[size[order] > 1]
    tells = np.zeros(len(size), np.bool_)
    tells[order[np.cumsum(size[order]) <= MOST_CELLS]] = True
    return tells[number]
