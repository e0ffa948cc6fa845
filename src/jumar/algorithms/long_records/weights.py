"""Marginal importance weights: how often a policy is where the log was.

Let x be the history state of the judging memory, d(x) = Σ_t γ^t P(x_t = x) the discounted visits
of the new policy π, m(x) the mean number of visits of the behavior b in one record (no discount),
both read off a fitted part of the log. If x tells all of the past that matters, a step of the log
at (x, a) stands for

    ω(x, a) = d(x) π(a | x) / (m(x) b(a | x))

steps of the new policy, however the record came to x: the product of all ratios since the beginning
is not needed (Kallus and Uehara 2020). Between the two lies the SOPE spectrum (Yuan et al. 2021):
the step t is weighed by

    γ^j · d(x_{t-j}) / m_j(x_{t-j}) · ∏_{i=t-j..t} π(a_i | x_i) / b(a_i | x_i),

which trusts x only j steps ago; m_j counts the visits after which the record goes on for j steps or
ends by itself. The first j steps of a record are weighed by γ^t and the product from the start.

With V̂, Q̂ of the fitted part, V̂(x) = Σ_a π(a | x) Q̂(x, a), a record has the score

    φ = V̂(x_0) + Σ_t weight_t · (r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t)).

If x suffices, its mean is the value of π for ever as soon as either the weights or Q̂ are exact, and
errors of both only multiply. It is made of single steps, so records may be cut off anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.board import Board
from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.history import Counts
from jumar.core.memory import Memory
from jumar.solve.linear import solve_discounted


@dataclass(frozen=True, eq=False)
class Values:
    """What a fitted part says of one policy, at the H history states of a board."""

    rows: Floats  # (H, A) the policy
    ratio: Floats  # (H, A) how much likelier each action is than under the behavior
    q: Floats  # (H, A)
    v: Floats  # (H,)
    visits: Floats  # (K,) discounted, in the fitted model
    pairs: Floats  # (K, A) discounted


class FittedWeights:
    """The model of one memory, from a part of the log; where it never saw an action, what the next
    coarser memory says. K history states of the memory, H of the board."""

    def __init__(
        self,
        board: Board,
        counts: Counts,
        episodes: Ints,
        memory: Memory,
        coarser: FittedWeights | None,
    ) -> None:
        self.board, self.memory, self.coarser, self.episodes = board, memory, coarser, episodes
        finest = memory == board.memories[-1]
        self.counts = counts if finest else counts.coarsen(memory)
        self.mdp = self.counts.mle(board.discount)
        states, of = board.replay.project(memory)
        self.at = self.mdp.index.find(states)[of]  # (H,) or -1
        self.known = np.flatnonzero(self.at >= 0)
        seen = np.maximum(sum_by_states(board, episodes), 1e-9)[self.known]
        self._share = seen / sum_by(self.at[self.known], seen, len(self.mdp))[self.at[self.known]]

    def gather(self, table: Floats) -> Floats:
        """(K, A) the mean rows of a table at the states of the model."""
        rows = np.zeros((len(self.mdp), table.shape[1]))
        np.add.at(rows, self.at[self.known], table[self.known] * self._share[:, None])
        return rows

    def spread(self, own: Floats, elsewhere: Floats) -> Floats:
        """A table of the model as one of the board, with `elsewhere` where it knows nothing."""
        table = elsewhere.copy()
        table[self.known] = own[self.at[self.known]]
        return table

    def action_values(self, rows: Floats) -> Floats:
        """(H, A) Q̂ of a policy."""
        return self._solved(rows)[0]

    def _solved(self, rows: Floats) -> tuple[Floats, Floats]:
        coarse = self._floor(rows) if self.coarser is None else self.coarser.action_values(rows)
        mdp, policy = self.mdp, self.gather(rows)
        A = len(mdp.actions)
        seen = mdp.visits > 0
        r = np.where(seen, mdp.reward, self.gather(coarse))
        weight = mdp.discount * mdp.probability * policy.ravel()[mdp.pair]
        v = solve_discounted(mdp.pair // A, mdp.successor, weight, (policy * r).sum(1))
        follows = sum_by(mdp.pair, mdp.probability * v[mdp.successor], mdp.visits.size)
        own = r + np.where(seen, mdp.discount * follows.reshape(mdp.shape), 0.0)
        return self.spread(own, coarse), policy

    def _floor(self, rows: Floats) -> Floats:
        """(H, A) the same for all: the mean step, for ever."""
        c = self.counts
        n = max(1, int(c.visits.sum()))
        goes_on = 1 - c.ends.sum() / n
        return np.full(rows.shape, c.reward_sum.sum() / n / (1 - self.mdp.discount * goes_on))

    def values(self, rows: Floats) -> Values:
        """Q̂, V̂ and the discounted visits of a policy."""
        q, policy = self._solved(rows)
        mdp, A = self.mdp, rows.shape[1]
        weight = mdp.discount * mdp.probability * policy.ravel()[mdp.pair]
        d = solve_discounted(mdp.pair // A, mdp.successor, weight, mdp.start, transpose=True)
        old = self.board.behavior_rows
        ratio = np.divide(rows, old, out=np.zeros_like(rows), where=old > 0)
        return Values(rows, ratio, q, (rows * q).sum(1), d, d[:, None] * policy)

    def visits_per_record(self, exact: int = 0) -> Floats:
        """(K,) m_j: mean visits in one fitted record after which j steps are known or it ends."""
        steps = steps_of(self.board, self.episodes)
        steps = steps[steps_left(self.board)[steps] >= exact]
        found = np.bincount(self.at[self.board.replay.at[steps]], minlength=len(self.mdp))
        return found / len(self.episodes)

    def base(self, values: Values, exact: int = 0) -> Floats:
        """(H,) d/m_j at the states of the board; 0 where the fitted part has no visit."""
        m = self.visits_per_record(exact)
        own = np.divide(values.visits, m, out=np.zeros_like(m), where=m > 0)
        return self.spread(own, np.zeros(len(self.board.replay.states)))

    def scores(self, values: Values, episodes: Ints, exact: int = 0) -> tuple[Floats, Floats]:
        """(n,) scores and (n, 2) weights of some records, trusting the memory `exact` steps ago."""
        from jumar.algorithms.long_records.loops import marginal_scores

        board, log = self.board, self.board.log

        return marginal_scores(
            board.replay.at,
            log.action,
            log.reward,
            log.start,
            board.length,
            board.after,
            episodes,
            self.base(values, exact),
            values.ratio,
            values.q,
            values.v,
            board.discount,
            exact,
        )


def steps_of(board: Board, episodes: Ints) -> Ints:
    """The steps of some records whose outcome is known."""
    length = board.length[episodes]
    begin = np.repeat(board.log.start[episodes] - (np.cumsum(length) - length), length)
    return begin + np.arange(int(length.sum()))


def steps_left(board: Board) -> Ints:
    """(N,) how many known steps follow each; without end where the process ended by itself."""
    log = board.log
    end = np.repeat(log.start[:-1] + board.length, log.lengths)
    left = end - 1 - np.arange(log.n_steps)
    ended: Ints = np.where(np.repeat(log.terminated, log.lengths), np.iinfo(np.int64).max, left)
    return ended


def sum_by_states(board: Board, episodes: Ints) -> Floats:
    """(H,) visits of some records."""
    steps = steps_of(board, episodes)
    return np.bincount(board.replay.at[steps], minlength=len(board.replay.states)).astype(
        np.float64
    )
