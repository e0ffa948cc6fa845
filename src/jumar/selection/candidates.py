"""Candidates: improved policies fitted on one part of a log, and how another part judges them.

A candidate is SPIBB with a memory, a threshold N∧ and a share λ of the new rows, the rest staying
the behavior's: λπ + (1-λ)π_b at every history state.

It is judged by doubly robust estimates of its value minus the behavior's, one number per episode
(`jumar.offpolicy.estimators`), with Q̂ and V̂ from the part it was fitted on: unbiased whether or not
the memory suffices, because the model only takes noise away. An episode that was cut off is scored
as if the behavior took over there, with the value the fitted part gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jumar import algorithms
from jumar.arrays import Floats, Ints
from jumar.history import HistoryMdp
from jumar.memory import Memory
from jumar.selection.board import Board
from jumar.solver import action_values, policy_value

THRESHOLDS = (5, 10, 20, 50, 100)
MIXTURES = (1.0, 0.5)


@dataclass(frozen=True)
class Setting:
    """How a candidate was made."""

    memory: Memory
    algorithm: str
    n_wedge: int
    mixture: float  # share of the new rows

    def __str__(self) -> str:
        share = "" if self.mixture == 1 else f", mixed {self.mixture:g} with the behavior"
        return f"{self.algorithm}, N∧ = {self.n_wedge}, {self.memory}{share}"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fitted policy, as a table over the history states of a board."""

    setting: Setting
    rows: Floats  # (H, A)
    promised: float  # gain by the fitted part's own model of the longest memory
    own: Floats  # (n,) differences on the episodes it was fitted on: optimistic
    held_out: Floats  # (m,) differences on the other episodes


def candidates(
    board: Board,
    fitted: Ints,
    held_out: Ints,
    *,
    algorithm: str = "spibb",
    thresholds: Sequence[int] = THRESHOLDS,
    mixtures: Sequence[float] = MIXTURES,
) -> list[Candidate]:
    """Every distinct candidate fitted on some episodes, judged on those and on the others."""
    counts = board.count(fitted)
    finest = counts.mle(board.discount)
    behavior = board.gather(finest, board.behavior_rows)
    base = finest.start @ policy_value(finest, behavior)
    found: list[Candidate] = []
    seen = {board.behavior_rows.tobytes()}
    for memory in board.memories:
        last = memory == board.memories[-1]
        mdp = finest if last else counts.coarsen(memory).mle(board.discount)
        judges = [_Judge(board, mdp, episodes) for episodes in (fitted, held_out)]
        for setting, rows in _policies(board, mdp, algorithm, thresholds, mixtures):
            if rows.tobytes() in seen:
                continue
            seen.add(rows.tobytes())
            value = finest.start @ policy_value(finest, board.gather(finest, rows))
            own, other = (judge(rows) for judge in judges)
            found.append(Candidate(setting, rows, float(value - base), own, other))
    return found


def _policies(
    board: Board,
    mdp: HistoryMdp,
    algorithm: str,
    thresholds: Sequence[int],
    mixtures: Sequence[float],
) -> Iterator[tuple[Setting, Floats]]:
    for n_wedge in thresholds:
        better = algorithms.run(algorithm, mdp, board.behavior, n_wedge=n_wedge)
        if better.changed == 0:
            continue
        table = board.spread(mdp, better.policy)
        for share in mixtures:
            rows = table if share == 1 else share * table + (1 - share) * board.behavior_rows
            yield Setting(mdp.memory, algorithm, n_wedge, share), rows


class _Judge:
    """Doubly robust differences to the behavior on some episodes, by one fitted model."""

    def __init__(self, board: Board, mdp: HistoryMdp, episodes: Ints) -> None:
        self.board, self.mdp, self.episodes = board, mdp, episodes
        q, v = self._values(board.behavior_rows)
        ended = board.after[episodes] < 0
        self.tail = np.where(ended, 0.0, v[np.maximum(board.after[episodes], 0)])
        self.behavior = self._scores(board.behavior_rows, q, v)

    def __call__(self, rows: Floats) -> Floats:
        return self._scores(rows, *self._values(rows)) - self.behavior

    def _values(self, rows: Floats) -> tuple[Floats, Floats]:
        """(H, A) Q̂ and (H,) V̂ = Σ_a π Q̂ of a policy; 0 where the fitted part saw nothing."""
        board, mdp = self.board, self.mdp
        own = action_values(mdp, policy_value(mdp, board.gather(mdp, rows)))
        at = board.states_in(mdp)
        q = np.zeros(rows.shape)
        q[at >= 0] = own[at[at >= 0]]
        return q, (rows * q).sum(1)

    def _scores(self, rows: Floats, q: Floats, v: Floats) -> Floats:
        from jumar import kernels

        board, old = self.board, self.board.behavior_rows
        ratio = np.divide(rows, old, out=np.zeros_like(rows), where=old > 0)
        log = board.log
        scores: Floats = kernels.doubly_robust(
            board.at, log.action, log.reward, log.start, board.length, self.episodes, self.tail,
            ratio, q, v, board.discount,
        )  # fmt: skip
        return scores
