"""Candidates: improved policies fitted on some episodes, and their scores on others.

A candidate is a table of rows over the history states of a board, with what a model of the same
episodes expects of it and of the behavior. Two families are made: the behavior *tilted* with
several strengths (`jumar.algorithms.tilt`), whose weights stay light, for the proved gate; and
SPIBB (which keeps what is unknown as it was) and SPIBB≤b (which may drop it), mixed with the
behavior as λπ + (1-λ)π_b, for the asymptotic one.

Expected values are kept within what the returns allow. Where recordings stop after a known number
of steps they count the steps that are left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from jumar import algorithms
from jumar.algorithms.auto.board import Board, too_long
from jumar.algorithms.auto.dealing import Dealt
from jumar.algorithms.auto.fitting import Numbered, fit, steps_of
from jumar.algorithms.auto.limits import Limits
from jumar.algorithms.auto.trials import Setting
from jumar.core.arrays import Floats, Ints
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.replay import Replays
from jumar.solve.solver import action_values, policy_value, solve

STRENGTHS = (2.0, 5.0, 10.0, 20.0, 40.0, 100.0, 1000.0)
TILT_THRESHOLDS = (5, 20)
ALGORITHMS = ("spibb", "spibb_leq")
THRESHOLDS = (5, 10, 20, 50, 100)
MIXTURES = (1.0, 0.5, 0.25, 0.1)
UNBOUNDED = 1e300  # as a floor: a score may fall as far as it likes
MOST_VALUES = 4_000_000  # numbers in a table of values by step


@dataclass(frozen=True, eq=False)
class Fitted:
    """A candidate, and what a model of the same episodes expects. H history states of the board."""

    setting: Setting
    rows: Floats  # (H, A)
    above: Floats  # (T', H, A) Q̂ of the candidate above the least return
    below: Floats  # (T', H, A) Q̂ of the behavior below the greatest
    promised: float  # gain by that model


@dataclass(frozen=True, eq=False)
class Workbench:
    """Where candidates are fitted and scored."""

    board: Board
    numbered: tuple[Numbered, ...]
    dealt: Dealt
    limits: Limits
    sizes: Mapping[Memory, int] = field(default_factory=dict)  # history states seen in a half

    def learning_from(self, own: Ints) -> Workbench:
        """The same for candidates of one half: which memories are not too long for it, and what a
        table may hold, is decided by that half alone."""
        at = self.board.replay.at[steps_of(self.board, own)]
        sizes = {n.memory: len(np.unique(n.of[at])) for n in self.numbered}
        first = self.numbered[0]
        kept = [n for n in self.numbered if n is first or not too_long(sizes[n.memory])]
        return replace(self, numbered=tuple(kept), sizes=sizes)

    def size(self, numbered: Numbered) -> int:
        """The number of history states of a memory; of one half, where that is learned from."""
        return self.sizes.get(numbered.memory, len(numbered.states))

    def tilted(self, own: Ints, thinned: float = 1.0) -> Iterator[Fitted]:
        """The behavior, tilted; thresholds shrink with a log that was thinned out."""
        from jumar.algorithms.tilt import tilts

        for mdp, numbered in self.models(own):
            for n_wedge in TILT_THRESHOLDS:
                rows, q = tilts(mdp, numbered.behavior, STRENGTHS, math.floor(n_wedge * thinned))
                settings = (
                    Setting(numbered.memory, "tilt", (("n_wedge", n_wedge), ("strength", strength)))
                    for strength in STRENGTHS
                )
                yield from self._fitted(mdp, numbered, rows, q, settings)

    def spibb_grid(
        self,
        own: Ints,
        *,
        families: Sequence[str] = ALGORITHMS,
        thresholds: Sequence[int] = THRESHOLDS,
        mixtures: Sequence[float] = MIXTURES,
    ) -> Iterator[Fitted]:
        """Every distinct policy of the SPIBB family."""
        seen = {self.board.behavior_rows.tobytes()}
        for mdp, numbered in self.models(own):
            old = numbered.behavior
            policies, settings = [old], []
            for name, n_wedge in itertools.product(families, thresholds):
                rule = algorithms.algorithm(name).rule
                assert rule is not None, f"{name} is no rule"
                new = solve(mdp, old, rule(n_wedge=n_wedge)).policy
                for share in mixtures:
                    rows = new if share == 1 else share * new + (1 - share) * old
                    if (mark := rows[numbered.of].tobytes()) not in seen:
                        seen.add(mark)
                        policies.append(rows)
                        settings.append(
                            Setting(numbered.memory, name, (("n_wedge", n_wedge),), share)
                        )
            q = [action_values(mdp, policy_value(mdp, rows)) for rows in policies]
            yield from self._fitted(mdp, numbered, policies, q, settings)

    def learned(
        self, algorithm: str, parameters: Mapping[str, object], delta: float
    ) -> Callable[[Ints, float], Iterator[Fitted]]:
        """A maker of one candidate: what an algorithm learns from some episodes, as it would learn
        from a log of nothing else. None where it keeps the behavior."""

        def make(own: Ints, thinned: float = 1.0) -> Iterator[Fitted]:
            (mdp, numbered), board = next(self.models(own)), self.board
            found = algorithms.learn(
                algorithm,
                Replays.holding(board.replay.part(own)),
                board.behavior,
                numbered.memory,
                discount=board.discount,
                rewards=self.limits.rewards,
                delta=delta,
                **parameters,
            )
            new = found.controller.lift(numbered.memory).rows_at(numbered.states)
            policies = [numbered.behavior, new]
            q = [action_values(mdp, policy_value(mdp, rows)) for rows in policies]
            setting = Setting(numbered.memory, algorithm, tuple(parameters.items()))
            yield from self._fitted(mdp, numbered, policies, q, [setting])

        return make

    def scores(self, candidate: Fitted, episodes: Ints, floor: float) -> tuple[Floats, Ints]:
        """(u,) the scores of the units of some episodes, none below -floor, and (u,) their
        blocks."""
        from jumar.algorithms.auto.scoring import floored_differences

        board, log = self.board, self.board.log
        found = floored_differences(
            board.replay.at,
            log.action,
            log.reward,
            log.start,
            episodes,
            candidate.rows,
            board.taken,
            board.behaviors,
            board.row_of,
            candidate.above,
            candidate.below,
            self.limits.low,
            self.limits.high,
            floor,
            board.discount,
        )
        return self.dealt.by_unit(episodes, found)

    def weights(self, rows: Floats, episodes: Ints) -> Floats:
        """(n,) how much likelier each episode is than under the behavior, its steps counting as
        they do in a discounted return: what happens late neither pays nor weighs much. Their mean
        is 1."""
        from jumar.core import kernels

        board = self.board
        return kernels.episode_weights(
            board.replay.at,
            board.log.action,
            board.log.start,
            episodes,
            np.ascontiguousarray(rows),
            board.taken,
            board.discount,
        )

    def models(self, episodes: Ints) -> Iterator[tuple[HistoryMdp, Numbered]]:
        """Of some episodes, one for every memory."""
        steps = steps_of(self.board, episodes)
        for numbered in self.numbered:
            yield fit(self.board, numbered, steps), numbered

    def _fitted(
        self,
        mdp: HistoryMdp,
        numbered: Numbered,
        rows: Sequence[Floats] | Floats,
        q: Sequence[Floats] | Floats,
        settings: Iterator[Setting] | Sequence[Setting],
    ) -> Iterator[Fitted]:
        """Candidates with their expectations; the first row and value are the behavior's."""
        below = self._tables(mdp, numbered, rows[0], q[0], of_behavior=True)
        base = float(mdp.start @ (rows[0] * q[0]).sum(1))
        for i, setting in enumerate(settings, 1):
            if np.array_equal(rows[i], rows[0]):
                continue
            yield Fitted(
                setting,
                np.ascontiguousarray(rows[i][numbered.of]),
                self._tables(mdp, numbered, rows[i], q[i], of_behavior=False),
                below,
                float(mdp.start @ (rows[i] * q[i]).sum(1)) - base,
            )

    def _tables(
        self, mdp: HistoryMdp, numbered: Numbered, rows: Floats, q: Floats, *, of_behavior: bool
    ) -> Floats:
        """(T', H, A) the values of a policy above the least return, or below the greatest."""
        from jumar.solve.iteration import model_of
        from jumar.solve.sweeps import values_by_step

        limits, T = self.limits, 1
        values = q[None]
        size = self.size(self.numbered[-1]) * q.shape[1]
        if limits.steps is not None and limits.steps * size <= MOST_VALUES:
            T = limits.steps
            rows = np.ascontiguousarray(rows)
            values = values_by_step(model_of(mdp), rows, mdp.discount, T)
        low, high = limits.low[:T, None, None], limits.high[:T, None, None]
        found: Floats = high - values if of_behavior else values - low
        return np.ascontiguousarray(np.clip(found, 0.0, high - low)[:, numbered.of])
