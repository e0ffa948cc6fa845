"""Candidates: improved policies fitted on some episodes, and their scores on others.

A candidate is a table of rows over the history states of a board, with what a model of the same
episodes expects of it and of the behavior. Which are made for a test, the algorithms say
(`Algorithm.grids`): for the proved gate the behavior *tilted* with several strengths, whose weights
stay light; for the asymptotic one the SPIBB family, mixed with the behavior as λπ + (1-λ)π_b.

Expected values are kept within what the returns allow. Where recordings stop after a known number
of steps they count the steps that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from jumar import algorithms
from jumar.algorithms.auto.board import Board, Numbered, fit, steps_in, too_long
from jumar.algorithms.auto.dealing import Dealt
from jumar.algorithms.auto.limits import Limits
from jumar.algorithms.auto.trials import Setting
from jumar.algorithms.entry import Algorithm, Named, Proposal
from jumar.algorithms.problem import Material
from jumar.core.arrays import Floats, Ints
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.replay import Replays
from jumar.solve.solver import action_values, policy_value, solve

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
    delta: float = 0.05  # for what algorithms want to be sure of
    sizes: Mapping[Memory, int] = field(default_factory=dict)  # history states seen in a half

    def learning_from(self, own: Ints) -> Workbench:
        """The same for candidates of one half: which memories are not too long for it, and what a
        table may hold, is decided by that half alone."""
        at = self.board.replay.at[steps_in(self.board.log, own)]
        sizes = {n.memory: len(np.unique(n.of[at])) for n in self.numbered}
        first = self.numbered[0]
        kept = [n for n in self.numbered if n is first or not too_long(sizes[n.memory])]
        return replace(self, numbered=tuple(kept), sizes=sizes)

    def size(self, numbered: Numbered) -> int:
        """The number of history states of a memory; of one half, where that is learned from."""
        return self.sizes.get(numbered.memory, len(numbered.states))

    def candidates(
        self, own: Ints, test: str, thinned: float = 1.0, *, distinct: bool = False
    ) -> Iterator[Fitted]:
        """What the algorithms that have a grid for a test make of some episodes, over every memory.

        Thresholds shrink with a log that was thinned out; of `distinct` candidates no two are the
        same policy.
        """
        seen = {self.board.behavior_rows.tobytes()}
        for mdp, numbered in self.models(own):
            for entry in algorithms.tried_by(test):
                grid = entry.grids[test]
                made = self._proposals(entry, grid.settings, mdp, numbered, own, thinned)
                _, old, value = next(made)
                policies, values, settings = [old], [value], []
                for parameters, new, value in made:
                    for share in grid.mixtures:
                        rows = new if share == 1 else share * new + (1 - share) * old
                        if distinct:
                            mark = rows[numbered.of].tobytes()
                            if mark in seen:
                                continue
                            seen.add(mark)
                        policies.append(rows)
                        values.append(value if share == 1 else None)
                        settings.append(Setting(numbered.memory, entry.name, parameters, share))
                yield from self._fitted(mdp, numbered, policies, values, settings)

    def learned(
        self, entry: Algorithm, parameters: Mapping[str, object]
    ) -> Callable[[Ints, float], Iterator[Fitted]]:
        """A maker of one candidate: what an algorithm learns from some episodes, over the only
        memory there is. None where it keeps the behavior."""

        def make(own: Ints, thinned: float = 1.0) -> Iterator[Fitted]:
            for mdp, numbered in self.models(own):
                learn = self._learner(entry, numbered, own)
                both = [numbered.behavior, learn(entry.thinned(parameters, thinned))]
                setting = Setting(numbered.memory, entry.name, tuple(parameters.items()))
                yield from self._fitted(mdp, numbered, both, [None, None], [setting])

        return make

    def _proposals(
        self,
        entry: Algorithm,
        settings: Sequence[Named],
        mdp: HistoryMdp,
        numbered: Numbered,
        own: Ints,
        thinned: float,
    ) -> Iterator[Proposal]:
        """The behavior, then what an algorithm makes of every setting; as cheaply as it can be."""
        if entry.propose is not None:
            yield from entry.propose(mdp, numbered.behavior, settings, thinned)
            return
        admitted, old = entry.admitted, numbered.behavior
        learn = self._learner(entry, numbered, own) if admitted is None else None
        yield (), old, None
        for setting in settings:
            parameters = entry.thinned(dict(setting), thinned)
            if admitted is not None:
                yield setting, solve(mdp, old, admitted(**parameters)).policy, None
            elif learn is not None:
                yield setting, learn(parameters), None

    def _learner(
        self, entry: Algorithm, numbered: Numbered, own: Ints
    ) -> Callable[[Mapping[str, object]], Floats]:
        """The rows that an algorithm learns from some episodes as from a log of nothing else."""
        board, memory = self.board, numbered.memory
        part = Replays.holding(board.replay.part(own))
        material = Material(part, memory, board.discount, self.limits.rewards, self.delta)

        def learn(parameters: Mapping[str, object]) -> Floats:
            found = entry.learn(material, board.behavior, **parameters)
            return found.controller.lift(memory).rows_at(numbered.states)

        return learn

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
        steps = steps_in(self.board.log, episodes)
        for numbered in self.numbered:
            yield fit(self.board, numbered, steps), numbered

    def _fitted(
        self,
        mdp: HistoryMdp,
        numbered: Numbered,
        rows: Sequence[Floats],
        values: Sequence[Floats | None],
        settings: Sequence[Setting],
    ) -> Iterator[Fitted]:
        """Candidates with their expectations; the first row and value are the behavior's. Values
        that nobody knows yet are solved for."""
        q = [
            action_values(mdp, policy_value(mdp, policy)) if value is None else value
            for policy, value in zip(rows, values, strict=True)
        ]
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
