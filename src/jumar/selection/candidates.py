"""Candidates: improved policies fitted on one part of a log, and how another part judges them.

A candidate is made by SPIBB (which keeps what is unknown as it was) or SPIBB≤b (which may drop it),
with a memory, a threshold N∧ and a share λ of the new rows, the rest staying the behavior's:
λπ + (1-λ)π_b at every history state.

It is judged by doubly robust estimates of its value minus the behavior's, one number per episode
(`jumar.offpolicy.estimators`), with Q̂ and V̂ from the part it was fitted on: unbiased whether or
not the memory suffices, because the model only takes noise away. An episode that was cut off is
scored as if the behavior took over there, with the value the fitted part gives it: that value is a
model's, and right only if the memory suffices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jumar import algorithms
from jumar.arrays import Floats, Ints
from jumar.history import ENDED
from jumar.memory import Memory
from jumar.selection.board import Board, View
from jumar.solver import solve

ALGORITHMS = ("spibb", "spibb_leq")
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
    families: Sequence[str] = ALGORITHMS,
    thresholds: Sequence[int] = THRESHOLDS,
    mixtures: Sequence[float] = MIXTURES,
) -> list[Candidate]:
    """Every distinct candidate fitted on some episodes, judged on those and on the others."""
    counts = board.count(fitted)
    finest = View(board, counts.mle(board.discount))
    base = finest.performance(board.behavior_rows)
    found: list[Candidate] = []
    seen = {board.behavior_rows.tobytes()}
    for memory in board.memories:
        view = finest
        if memory != board.memories[-1]:
            view = View(board, counts.coarsen(memory).mle(board.discount))
        judges = [Judge(view, episodes) for episodes in (fitted, held_out)]
        for setting, rows in _policies(view, families, thresholds, mixtures):
            if rows.tobytes() in seen:
                continue
            seen.add(rows.tobytes())
            own, other = (judge(rows) for judge in judges)
            promised = finest.performance(rows) - base
            found.append(Candidate(setting, rows, promised, own, other))
    return found


def _policies(
    view: View, families: Sequence[str], thresholds: Sequence[int], mixtures: Sequence[float]
) -> Iterator[tuple[Setting, Floats]]:
    """The candidates of one memory, as tables; some may be equal."""
    old = view.board.behavior_rows
    for name, n_wedge in itertools.product(families, thresholds):
        rule = algorithms.algorithm(name).rule
        assert rule is not None, f"{name} is no rule"
        table = view.as_table(solve(view.mdp, view.behavior, rule(n_wedge=n_wedge)).policy)
        for share in mixtures:
            rows = table if share == 1 else share * table + (1 - share) * old
            yield Setting(view.mdp.memory, name, n_wedge, share), rows


class Judge:
    """Doubly robust differences to the behavior on some episodes, by one fitted model."""

    def __init__(self, view: View, episodes: Ints) -> None:
        self.view, self.board, self.episodes = view, view.board, episodes
        q, v = view.values(self.board.behavior_rows)
        after = self.board.after[episodes]
        self.tail = np.where(after == ENDED, 0.0, v[np.maximum(after, 0)])
        self.behavior = self._scores(self.board.behavior_rows, q, v)

    def __call__(self, rows: Floats) -> Floats:
        return self._scores(rows, *self.view.values(rows)) - self.behavior

    def _scores(self, rows: Floats, q: Floats, v: Floats) -> Floats:
        from jumar import kernels

        board, log = self.board, self.board.log
        scores: Floats = kernels.doubly_robust(
            board.at,
            log.action,
            log.reward,
            log.start,
            board.length,
            self.episodes,
            self.tail,
            ratios(board, rows),
            q,
            v,
            board.discount,
        )
        return scores


def ratios(board: Board, rows: Floats) -> Floats:
    """(H, A) how much likelier each action is than under the behavior."""
    old = board.behavior_rows
    ratio: Floats = np.divide(rows, old, out=np.zeros_like(rows), where=old > 0)
    return ratio


def weights(board: Board, rows: Floats, episodes: Ints) -> Floats:
    """(n,) how much likelier each episode is than under the behavior, its steps counting as they do
    in a discounted return: what happens late neither pays nor weighs much. Their mean is 1."""
    from jumar import kernels

    log = board.log
    found: Floats = kernels.episode_weights(
        board.at,
        log.action,
        log.start,
        board.length,
        episodes,
        ratios(board, rows),
        board.discount,
    )
    return found
