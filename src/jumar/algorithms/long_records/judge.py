"""Candidates for long records, and what held-out records say of them, rung by rung.

A candidate is fitted on one half of the records and judged on the other, with the weights and
values of the half it was fitted on (`weights`). It is judged not once but on a
ladder: rung j weighs the last j + 1 steps exactly and trusts the memory only for what was before
them. If the memory suffices, all rungs have the same mean. If it does not, they drift, and the
drift is just the error that matters: how much better or worse things go after a past that looks
like the candidate's own than the memory lets expect.

The weights of a bold candidate die out after a few steps. So each candidate is also judged in a
*gentle* version, which takes a small share of its steps: its ladder reaches far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jumar import algorithms
from jumar.algorithms.auto.board import Board
from jumar.algorithms.auto.dealing import Dealt
from jumar.algorithms.auto.trials import Setting
from jumar.algorithms.long_records.weights import FittedWeights, Values, steps_of
from jumar.core.arrays import Bools, Floats, Ints
from jumar.evidence.offpolicy.weights import effective_size
from jumar.solve.simplifying import Simplified, measured, settled
from jumar.solve.simplifying import simplify as simplify_rows
from jumar.solve.solver import solve

MIXTURES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
GENTLE = 0.1
DIRECTIONS = 3  # policies per half whose mixtures are judged
EXACT = (0, 1, 2, 4, 8, 16)
MOST_STATES = 1000  # a memory that sees more is used to judge, but nothing is fitted with it


@dataclass(frozen=True, eq=False)
class Reading:
    """What held-out records say of a gain with some weights: one difference per record."""

    exact: int  # j: steps weighed exactly before the one that is judged
    differences: Floats  # (n,)
    effective: float  # how many records the weights are worth

    @cached_property
    def gain(self) -> float:
        return float(self.differences.mean())

    @cached_property
    def error(self) -> float:
        return float(self.differences.std(ddof=1)) / math.sqrt(len(self.differences))

    def against(self, other: Reading) -> float:
        """How many standard errors of the difference this gain lies above another one."""
        apart = self.differences - other.differences
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        tiny = 1e-9 * (abs(self.gain) + abs(other.gain))
        return 0.0 if abs(apart.mean()) <= tiny else float(apart.mean()) / max(error, tiny / 10)


class Judge:
    """Judges policies on held-out records with one memory of a fitted half."""

    def __init__(self, fitted: FittedWeights, held_out: Ints, dealt: Dealt) -> None:
        self.fitted, self.held_out, self.dealt = fitted, held_out, dealt
        self.board = fitted.board
        self.behavior = fitted.values(self.board.behavior_rows)
        self._scores: dict[int, Floats] = {}

    def behavior_scores(self, exact: int) -> Floats:
        if exact not in self._scores:
            self._scores[exact] = self.fitted.scores(self.behavior, self.held_out, exact)[0]
        return self._scores[exact]

    def read(self, values: Values, exact: int) -> Reading:
        """The gain of a policy on one rung."""
        scores, mass = self.fitted.scores(values, self.held_out, exact)
        differences = self._by_unit(scores - self.behavior_scores(exact))
        # a change in a rare history state leaves most weights as they were: only records that
        # show what is to be done more often count
        sizes = [effective_size(self._by_unit(column)) for column in mass.T]
        return Reading(exact, differences, min(sizes))

    def _by_unit(self, values: Floats) -> Floats:
        """Records of one cluster count as one: their mean."""
        return self.dealt.by_unit(self.held_out, values)[0]

    def unseen(self, values: Values) -> float:
        """Discounted visits of pairs that the fitted or the held-out half never saw, as far as
        they are more than the behavior's: each may be worth anything."""
        lost = (self.fitted.mdp.visits == 0) | ~self._pairs_seen
        more = np.maximum(values.pairs - self.behavior.pairs, 0.0)
        return float(more[lost].sum())

    @cached_property
    def _pairs_seen(self) -> Bools:
        """(K, A) did the held-out half see the pair?"""
        f, board = self.fitted, self.board
        steps = steps_of(board, self.held_out)
        h, a = f.at[board.replay.at[steps]], board.log.action[steps]
        seen = np.zeros(f.mdp.shape, np.bool_)
        seen[h[h >= 0], a[h >= 0]] = True
        return seen


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy fitted on one half, and its readings on the other."""

    setting: Setting
    half: int  # that it was fitted on
    rows: Floats  # (H, A)
    promised: float  # gain by the half it was fitted on
    rungs: tuple[Reading, ...]  # with the judging memory, j = 0 first
    longer: Reading  # with the next longer memory, j = 0
    gentle: tuple[Reading, ...]  # the gentle version, with the judging memory
    unseen: float  # discounted visits that the log shows nothing of
    simplified: Simplified | None = None  # what was kept of its changes, if that was asked for


def reaches(board: Board) -> tuple[int, ...]:
    """The rungs j a log allows: usual records must hold two stretches of j + 1 steps. A record that
    ended by itself holds all there is; its rungs reach the weight of the whole record."""
    longest = int(board.length.max(initial=0))
    usual = float(np.median(np.where(board.log.terminated, longest, board.length)))
    return tuple(j for j in EXACT if j == 0 or j + 2 <= usual)


def fit(board: Board, records: Ints, memories: int) -> list[FittedWeights]:
    """The models of the first memories of a board, each leaning on the one before."""
    counts = board.replay.part(records).counts
    models: list[FittedWeights] = []
    for memory in board.memories[:memories]:
        models.append(FittedWeights(board, counts, records, memory, models[-1] if models else None))
    return models


def candidates(
    models: list[FittedWeights],
    held_out: Ints,
    half: int,
    dealt: Dealt,
    simplify: float | None = None,
) -> tuple[list[Candidate], int]:
    """Policies of all but the last of the fitted memories, shortlisted (and simplified) by the
    fitted half alone and judged on the other with the last but one; and how many there were."""
    board = models[0].board
    own = Judge(models[-2], models[0].episodes, dealt)
    judge, longer = (Judge(model, held_out, dealt) for model in models[-2:])
    listed, tried = _shortlist(own, models[:-1])
    reach = reaches(board)
    found = []
    for setting, rows, promised in listed:
        simpler = None
        if simplify is not None:
            setting = replace(setting, simplified=simplify)
            simpler = _Simpler(own, models, setting, rows, simplify)
            rows, promised = simpler.rows, simpler.promised
        slight = judge.fitted.values(mixed(board, rows, GENTLE))
        gentle = tuple(judge.read(slight, j) for j in reach)
        for share in MIXTURES:
            table = mixed(board, rows, share)
            if simpler:
                table = settled(board.behavior_rows, table)
            values = judge.fitted.values(table)
            found.append(
                Candidate(
                    replace(setting, mixture=share),
                    half,
                    table,
                    share * promised,
                    tuple(judge.read(values, j) for j in reach),
                    longer.read(longer.fitted.values(table), 0),
                    gentle,
                    judge.unseen(values),
                    simpler.at(share) if simpler else None,
                )
            )
    return found, tried * len(MIXTURES)


class _Simpler:
    """A policy with fewer changes, by the model it was found with."""

    def __init__(
        self, own: Judge, models: list[FittedWeights], setting: Setting, rows: Floats, share: float
    ) -> None:
        self.model = next(model for model in models if model.memory == setting.memory)
        mdp, board, known = self.model.mdp, self.model.board, self.model.known
        self.share, self.old = share, mdp.policy_of(board.behavior)
        self.new = self.old.copy()
        self.new[self.model.at[known]] = rows[known]
        self.kept = simplify_rows(mdp, self.old, self.new, share)[0]
        self.rows = self.model.spread(self.kept, board.behavior_rows)
        self.promised = own.read(own.fitted.values(self.rows), 0).gain

    def at(self, mixture: float) -> Simplified:
        """What is kept of the gain where a share of the steps follows the new rows."""
        new, kept = (
            settled(self.old, mixture * rows + (1 - mixture) * self.old)
            for rows in (self.new, self.kept)
        )
        return measured(self.model.mdp, self.old, new, kept, self.share)


def mixed(board: Board, rows: Floats, share: float) -> Floats:
    """(H, A) a share of new rows, the rest the behavior's."""
    return rows if share == 1 else share * rows + (1 - share) * board.behavior_rows


def _shortlist(
    own: Judge, models: list[FittedWeights]
) -> tuple[list[tuple[Setting, Floats, float]], int]:
    """The policies that promise most by the half they were fitted on, less twice the error."""
    seen = {own.board.behavior_rows.tobytes()}
    found = []
    for setting, rows in _policies(models):
        if rows.tobytes() not in seen:
            seen.add(rows.tobytes())
            reading = own.read(own.fitted.values(rows), 0)
            found.append((reading.gain - 2 * reading.error, setting, rows, reading.gain))
    found.sort(key=lambda item: -item[0])
    return [(s, rows, gain) for low, s, rows, gain in found[:DIRECTIONS] if low > 0], len(found)


def _policies(models: list[FittedWeights]) -> Iterator[tuple[Setting, Floats]]:
    """The policies of every memory, as tables of the board; some may be equal."""
    for model in models:
        if len(model.mdp) > MOST_STATES and model is not models[0]:
            continue
        mdp, board = model.mdp, model.board
        old = mdp.policy_of(board.behavior)
        for entry in algorithms.tried_by("long"):
            assert entry.admitted is not None, f"{entry.name}: must say which rows it admits"
            for setting in entry.grids["long"].settings:
                found = solve(mdp, old, entry.admitted(**dict(setting)))
                rows = model.spread(found.policy, board.behavior_rows)
                yield Setting(model.memory, entry.name, setting), rows
