"""A bench for a log in memory: every part of it is some of its episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jumar.algorithms.auto.board import (
    Board,
    Numbered,
    NumberedSteps,
    fit,
    number,
    steps_in,
    too_long,
)
from jumar.algorithms.auto.candidates import Bench, Fitted, Scorer
from jumar.algorithms.auto.dealing import Dealt, DealtPart
from jumar.algorithms.auto.limits import Limits, limits_of
from jumar.algorithms.auto.makers import Makers
from jumar.algorithms.auto.scored import LARGEST_WEIGHT, Scores
from jumar.algorithms.problem import Material
from jumar.core.arrays import Floats, Ints
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.history import HistoryMdp
from jumar.core.replay import Replays
from jumar.evidence.practice import Practice

UNBOUNDED = 1e300  # as a floor: a score may fall as far as it likes


@dataclass(frozen=True, eq=False, kw_only=True)
class Workbench(Bench):
    """Where candidates are fitted and scored."""

    board: Board
    dealt: Dealt
    numbered: tuple[NumberedSteps, ...]

    @classmethod
    def on(
        cls,
        board: Board,
        dealt: Dealt,
        limits: Limits,
        delta: float = 0.05,
        simplify: float | None = None,
        makers: Makers | None = None,
    ) -> Workbench:
        """For a log that was laid out and dealt."""
        return cls(
            board=board,
            dealt=dealt,
            numbered=number(board),
            limits=limits,
            delta=delta,
            simplify=simplify,
            makers=makers,
            untried=board.untried,
            beside=board.beside,
        )

    @property
    def behavior(self) -> Controller:
        return self.board.behavior

    @property
    def behavior_rows(self) -> Floats:
        return self.board.behavior_rows

    @property
    def by_propensities(self) -> bool:
        """Is the policy that acted known only by the propensities in the log?"""
        practice = self.board.practice
        return practice is not None and not practice.controllers

    def units(self, part: DealtPart) -> int:
        return len(np.unique(self.dealt.unit[self.dealt.episodes(part)]))

    def models(self, part: DealtPart) -> Iterator[tuple[HistoryMdp, Numbered]]:
        steps = steps_in(self.board.log, self.dealt.episodes(part))
        for numbered in self.numbered:
            yield fit(self.board, numbered, steps), numbered

    def scorer(self, part: DealtPart, most: int) -> Scorer:
        first = self.dealt.of_first_units(self.dealt.episodes(part), most)
        return lambda candidate, floors: [x.values for x in self._scores(candidate, first, floors)]

    def material(self, numbered: Numbered, part: DealtPart) -> Material:
        board = self.board
        learned_from = Replays.holding(board.replay.part(self.dealt.episodes(part)))
        return Material(
            learned_from, numbered.memory, board.discount, self.limits.rewards, self.delta
        )

    def scores(self, candidate: Fitted, part: DealtPart, floor: float) -> Scores:
        """The scores of the units of a part, none below -floor."""
        return self._scores(candidate, self.dealt.episodes(part), [floor])[0]

    def _scores(self, candidate: Fitted, episodes: Ints, floors: Sequence[float]) -> list[Scores]:
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
            np.array(floors),
            board.discount,
        )
        return [Scores(*self.dealt.by_unit(episodes, scores)) for scores in found]

    def weights(self, rows: Floats, part: DealtPart) -> Floats:
        """(n,) how much likelier each episode of a part is than under the behavior, its steps
        counting as they do in a discounted return: what happens late neither pays nor weighs much.
        Their mean is 1."""
        from jumar.core import kernels

        board = self.board
        found = kernels.episode_weights(
            board.replay.at,
            board.log.action,
            board.log.start,
            self.dealt.episodes(part),
            np.ascontiguousarray(rows),
            board.taken,
            board.discount,
        )
        weights: Floats = np.minimum(found, LARGEST_WEIGHT)
        return weights

    def unit_weights(self, rows: Floats, part: DealtPart) -> Floats:
        """(u,) the mean weight of each unit of a part."""
        return self.dealt.by_unit(self.dealt.episodes(part), self.weights(rows, part))[0]

    def beyond(self, rows: Floats, part: DealtPart) -> float:
        """The share of the discounted weight that lies beyond where recordings stop, under a
        candidate."""
        from jumar.algorithms.auto.scoring import weights_beyond

        board, episodes = self.board, self.dealt.episodes(part)
        log, rows = board.log, np.ascontiguousarray(rows)
        found = weights_beyond(
            board.replay.at, log.action, log.start, log.terminated, episodes, rows, board.taken,
            board.discount,
        )  # fmt: skip
        return min(float(self.dealt.by_unit(episodes, found)[0].mean()), 1.0)

    def paying(self, log: Episodes, limits: Limits) -> Workbench:
        """The same steps with other rewards: those of `log`, which differs in nothing else."""
        board = replace(self.board, replay=replace(self.board.replay, log=log))
        return replace(self, board=board, limits=limits)

    # ---- for one half ---------------------------------------------------------------------------

    def learning_from(self, half: int, practice: Practice) -> Workbench:
        """The same for candidates of one half: what a candidate is, that half alone decides."""
        own = self.dealt.members(half)
        bench = self._less_memory(own)._starting_from(practice, own)
        if bench.limits.fixed:
            bench = bench._less(float(bench.board.log.select(own).reward.mean()))
        return bench

    def _less_memory(self, own: Ints) -> Workbench:
        """Which memories are not too long for some episodes, and what a table may hold, is decided
        by these alone."""
        at = self.board.replay.at[steps_in(self.board.log, own)]
        sizes = {n.memory: len(np.unique(n.of[at])) for n in self.numbered}
        first = self.numbered[0]
        kept = [n for n in self.numbered if n is first or not too_long(sizes[n.memory])]
        return replace(self, numbered=tuple(kept), sizes=sizes)

    def _starting_from(self, practice: Practice, own: Ints) -> Workbench:
        """The same, with the behavior that candidates start from made of the half that is learned
        from, where it is not one controller that is known. A mix of several, or an estimate, of the
        whole log would do in held-out episodes what was done there, and be paid for it."""
        if practice.only is not None:
            return self
        board = replace(self.board, behavior=practice.select(own).pooled)
        numbered = tuple(replace(n, behavior=board.behavior_rows[n.first]) for n in self.numbered)
        return replace(self, board=board, numbered=numbered)

    def _less(self, centre: float) -> Workbench:
        """The same with so much less for every step. The mean is that of the half that is learned
        from: what is held out has no part in what a candidate is."""
        board = self.board
        log = replace(board.log, reward=board.log.reward - centre)
        horizon = self.limits.steps if self.limits.declared_steps else None
        limits = limits_of(log, board.discount, self.limits.rewards.less(centre), horizon)
        return self.paying(log, limits)
