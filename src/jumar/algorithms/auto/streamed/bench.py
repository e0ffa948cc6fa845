"""A bench for a log that was counted: models of its parts are made of counts, and only a sample of
its episodes is at hand.

Counts of all folds are brought onto the same numbers: the history states and the moves of the whole
log. So a model of any part is a sum over its folds, as `board` does it with steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from jumar.algorithms.auto.board import Numbered, too_long
from jumar.algorithms.auto.candidates import Bench, Fitted, Scorer
from jumar.algorithms.auto.dealing import FOLDS, HALVES, DealtPart, fold_of, half_of
from jumar.algorithms.auto.limits import limits_of
from jumar.algorithms.auto.streamed.first_pass import LogTally
from jumar.algorithms.auto.streamed.second_pass import Ground, PlacedSteps, mean_by_unit
from jumar.algorithms.problem import CountsAlone, Material
from jumar.core.arrays import Codes, Floats, Ints, RowIndex
from jumar.core.controller import Controller
from jumar.core.history import Counts, HistoryMdp
from jumar.core.memory import Memory

Cells = Mapping[tuple[int, int], Counts]  # (half, fold) -> counts


@dataclass(frozen=True, eq=False)
class NumberedCounts(Numbered):
    """The log over one memory, counted. P folds of both halves, K history states, L moves."""

    visits: Ints  # (P, K, A) times an action was done and it is known what followed
    reward: Floats  # (P, K, A) sums
    ends: Ints  # (P, K, A)
    starts: Ints  # (P, K)
    times: Ints  # (P, L) each move was made

    def seen(self, half: int) -> int:
        """How many history states a half has in which something was done."""
        folds = slice(half * FOLDS, (half + 1) * FOLDS)
        acted = self.visits[folds].any((0, 2)) | self.starts[folds].any(0)
        return int(acted.sum())

    def model(self, part: DealtPart, actions: Counts, discount: float, centre: float) -> HistoryMdp:
        """The maximum-likelihood model of a part, with so much less for every step."""
        chosen = [part.half * FOLDS + fold for fold in part.folds]
        visits = self.visits[chosen].sum(0).astype(np.float64)
        n = np.maximum(visits, 1.0)
        starts = self.starts[chosen].sum(0)
        paid = self.reward[chosen].sum(0) - centre * visits
        return HistoryMdp(
            observations=actions.observations,
            actions=actions.actions,
            memory=self.memory,
            states=self.states,
            visits=visits,
            reward=paid / n,
            ending=self.ends[chosen].sum(0) / n,
            start=starts / max(1, starts.sum()),
            pair=self.moves[:, 0],
            successor=self.moves[:, 1],
            probability=self.times[chosen].sum(0) / n.ravel()[self.moves[:, 0]],
            discount=discount,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedBench(Bench):
    """Where candidates are fitted and scored, with the log elsewhere."""

    numbered: tuple[NumberedCounts, ...]
    whole: Counts  # of all folds, over the longest memory
    cells: Cells  # each fold alone, over the longest memory
    controller_known: Controller  # that made the log
    ground: Ground
    tally: LogTally
    sampled: PlacedSteps | None  # the sample; None where there is none
    sampled_code: Codes  # (E,) hashes of the sample
    centre: float = 0.0  # that rewards are counted from

    @property
    def behavior(self) -> Controller:
        return self.controller_known

    @property
    def behavior_rows(self) -> Floats:
        return self.ground.behavior

    def units(self, part: DealtPart) -> int:
        return self.tally.units_in(part)

    def models(self, part: DealtPart) -> Iterator[tuple[HistoryMdp, Numbered]]:
        for numbered in self.numbered:
            yield numbered.model(part, self.whole, self.ground.discount, self.centre), numbered

    def scorer(self, part: DealtPart, most: int) -> Scorer:
        code, steps = self.sampled_code, self.sampled
        inside = (half_of(code) == part.half) & np.isin(fold_of(code), part.folds)
        units = np.unique(code[inside])
        last = units[min(most, len(units)) - 1]
        episodes = np.flatnonzero(inside & (code <= last))
        episodes = episodes[np.argsort(code[episodes], kind="stable")]
        own, alone = code[episodes], min(most, len(units)) == len(episodes)

        def scores(candidate: Fitted, floors: Sequence[float]) -> list[Floats]:
            assert steps is not None  # or there would be no units
            found = steps.scores(self.ground, self.limits, candidate, floors, episodes)
            return [x if alone else mean_by_unit(x, own) for x in found]

        return scores

    def material(self, numbered: Numbered, part: DealtPart) -> Material:
        own = [
            self.cells[part.half, fold] for fold in part.folds if (part.half, fold) in self.cells
        ]
        counts = reduce(add, own).coarsen(numbered.memory)
        if self.centre:
            counts = replace(counts, reward_sum=counts.reward_sum - self.centre * counts.visits)
        return CountsAlone(counts, self.ground.discount, self.limits.rewards, self.delta)

    def learning_from(self, half: int) -> CountedBench:
        """The same for candidates of one half: what a candidate is, that half alone decides."""
        sizes = {n.memory: n.seen(half) for n in self.numbered}
        first = self.numbered[0]
        kept = [n for n in self.numbered if n is first or not too_long(sizes[n.memory])]
        bench = replace(self, numbered=tuple(kept), sizes=sizes)
        return bench._less(self.tally.mean_reward(half)) if self.limits.fixed else bench

    def _less(self, centre: float) -> CountedBench:
        """The same with so much less for every step (`workbench`)."""
        horizon = self.limits.steps if self.limits.declared_steps else None
        rewards = self.limits.rewards.less(centre)
        limits = limits_of(self.tally.facts, self.ground.discount, rewards, horizon)
        steps = self.sampled and replace(self.sampled, reward=self.sampled.reward - centre)
        return replace(self, limits=limits, sampled=steps, centre=centre)


def memories_kept(counts: Cells, memories: Sequence[Memory]) -> tuple[list[Memory], Cells]:
    """The memories that are not too long for each half, and the counts over the longest of
    them."""
    kept = list(memories)
    while True:
        longest = kept[-1]
        found = {at: one.coarsen(longest) for at, one in sorted(counts.items())}
        sizes = []
        for half in range(HALVES):
            own = [one for (h, _), one in found.items() if h == half]
            sizes.append(_acted(reduce(add, own)) if own else 0)
        if not too_long(min(sizes)) or len(kept) == 1:
            return kept, found
        kept.pop()


def _acted(counts: Counts) -> int:
    """The history states in which something was done. (In memory those count too in which only the
    last step of a recording was done and nobody knows what followed: counts do not tell them.)"""
    return int((counts.visits.any(1) | (counts.starts > 0)).sum())


def number_counts(
    counts: Cells, memories: Sequence[Memory], behavior: Controller
) -> tuple[tuple[NumberedCounts, ...], Counts, Floats]:
    """The log over every memory, the counts of the whole, and the behavior's rows over the longest
    memory."""
    whole = reduce(add, [counts[at] for at in sorted(counts)])
    rows = behavior.lift(memories[-1]).rows_at(whole.states)
    found = []
    for memory in memories:
        coarse = {at: one.coarsen(memory) for at, one in counts.items()}
        total = whole.coarsen(memory)
        of = _projected(whole, total)
        found.append(_aligned(coarse, total, of, behavior))
    return tuple(found), whole, rows


def _projected(fine: Counts, coarse: Counts) -> Ints:
    """(H,) the coarse state that each fine one becomes."""
    from jumar.core.memory.refinement import projection

    onto = projection(fine.memory, coarse.memory)
    rows = np.concatenate([onto(fine.states[:, :-1]), fine.states[:, -1:]], axis=1)
    return RowIndex(coarse.states).find(rows)


def _aligned(counts: Cells, total: Counts, of: Ints, behavior: Controller) -> NumberedCounts:
    (K, A), L, P = total.visits.shape, len(total.pair), HALVES * FOLDS
    visits, ends = np.zeros((2, P, K, A), np.int64)
    reward, starts = np.zeros((P, K, A)), np.zeros((P, K), np.int64)
    times = np.zeros((P, L), np.int64)
    index = RowIndex(total.states)
    moves = total.pair * K + total.successor  # ascending
    for (half, fold), one in counts.items():
        p, at = half * FOLDS + fold, index.find(one.states)
        visits[p, at], ends[p, at] = one.visits, one.ends
        reward[p, at], starts[p, at] = one.reward_sum, one.starts
        pair = at[one.pair // A] * A + one.pair % A
        times[p, np.searchsorted(moves, pair * K + at[one.successor])] = one.times
    return NumberedCounts(
        memory=total.memory,
        states=total.states,
        of=of,
        moves=np.column_stack([total.pair, total.successor]),
        behavior=behavior.lift(total.memory).rows_at(total.states),
        visits=visits,
        reward=reward,
        ends=ends,
        starts=starts,
        times=times,
    )
