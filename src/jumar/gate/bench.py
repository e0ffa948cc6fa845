"""Where candidates are fitted and scored: a log over every memory that they may have.

These are memories that were said, the same for both halves (`given`); or one that each half learns
by itself, which the other half has no part in (`taught`). Memories M_0, M_1, ... each refine the
one before; M_0 is the behavior's. (One that was learned may stand beside them; then the longest is
the last of them and the learned one side by side.) A candidate of any of them is a table of rows
over the history states of the longest, so that trying one more costs a look-up per step and nothing
else.

All models of a memory come from one tally of the log (`tally.tally`): they have the same history
states in the same order, with or without data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jumar.algorithms.problem import Material
from jumar.core.arrays import Bools, Floats, Ints
from jumar.core.randomness import branch
from jumar.evidence.practice import Practice
from jumar.evidence.remembering import memory_of
from jumar.gate.bets import LARGEST_WEIGHT, Scores
from jumar.gate.dealing import HALVES, DealtLog, DealtPart
from jumar.gate.limits import Limits, limits_of
from jumar.gate.makers import Makers
from jumar.gate.trials import Setting
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.memory.refinement import join, ladder
from jumar.policy.controller import Controller
from jumar.solve.simplifying import Simplified
from jumar.tally.history import HistoryMdp
from jumar.tally.replay import Replays
from jumar.tally.tally import LogTally

UNBOUNDED = 1e300  # as a floor: a score may fall as far as it likes
MOST_STATES = 5000  # a memory that sees more history states than this is not tried


class Laid(NamedTuple):
    """Memories to try on a log. The last refines all others."""

    memories: tuple[Memory, ...]
    untried: tuple[Memory, ...] = ()  # laid out for the others' sake: no candidate has them
    learned: Memory | None = None  # that the log taught; None: nothing beyond the behavior's
    beside: Memory | None = None  # the same, unless it is one of the others

    @property
    def tried(self) -> tuple[Memory, ...]:
        """The memories that candidates may have."""
        return tuple(memory for memory in self.memories if memory not in self.untried)


def given(log: DealtLog, memories: Sequence[Memory]) -> list[Laid]:
    """Memories that were said, each refining the one before: once for both halves, without those
    that are too long for one of them."""
    return [Laid(_short_enough(log, memories, range(HALVES)))]


def taught(log: DealtLog, more: int, rng: np.random.Generator) -> list[Laid]:
    """A memory that each half learns by itself, and so many observations more: once for each."""
    known, found = log.practice.memory, []
    for half in range(HALVES):
        own, learned = log.dealt.members(half), known
        if len(own):
            # what is held out has no part in what is learned: a memory is part of a candidate
            learned = memory_of(log.practice.replays.part(own), known, seed=branch(rng, half))
        found.append(_beside(log, chain(known, None, more), learned, half))
    return found


def chain(behavior: Memory, memory: Memory | None, more: int) -> list[Memory]:
    """The memories to try: the behavior's, then the one asked for; or, if none is asked for, with
    one observation more, and so on, `more` times."""
    if memory is not None:
        wider = join(behavior, memory.on(*behavior.alphabet))
        return [behavior] if wider == behavior else [behavior, wider]
    return ladder(behavior, more)


def _short_enough(
    log: DealtLog, memories: Sequence[Memory], halves: Iterable[int]
) -> tuple[Memory, ...]:
    """Without the last ones, as long as they are too long for each of the halves."""
    kept = list(memories)
    while len(kept) > 1 and min(log.seen(kept[-1], half) for half in halves) > MOST_STATES:
        kept.pop()
    return tuple(kept)


def _beside(log: DealtLog, usual: Sequence[Memory], learned: Memory, half: int) -> Laid:
    """Memories that each refine the one before and, beside them, one that was learned from a half.
    It need not refine the others: a log is laid out over the longest and the learned one side by
    side, which itself is not tried. Of the others, those are left out with which that is too
    long."""
    kept = list(usual)
    while True:
        wanted, both = [*kept, learned], join(kept[-1], learned)
        every = [*dict.fromkeys(m for m in wanted if m != both), both]
        memories = _short_enough(log, every, [half])
        if len(memories) == len(every) or len(kept) == 1:
            untried = tuple(m for m in memories if m not in wanted)
            taught = learned in memories and learned != usual[0]
            beside = learned if taught and learned not in kept else None
            return Laid(memories, untried, learned if taught else None, beside)
        kept.pop()


@dataclass(frozen=True, eq=False)
class Fitted:
    """A candidate, and what a model of the same episodes expects. H history states of the longest
    memory."""

    setting: Setting
    rows: Floats  # (H, A)
    above: Floats  # (T', H, A) Q̂ of the candidate above the least return
    below: Floats  # (T', H, A) Q̂ of the behavior below the greatest
    promised: float  # gain by that model
    simplified: Simplified | None = None  # what was kept of its changes, if that was asked for


# the scores of some units, none below -floor, given a candidate and floors: (u,) for each floor
Scorer = Callable[[Fitted, Sequence[float]], list[Floats]]


@dataclass(frozen=True, eq=False)
class LoggedSteps:
    """Whole episodes, step by step, as scores ask for them. N steps, E episodes, B rows."""

    at: Ints  # (N,) history states of the longest memory
    action: Ints  # (N,)
    reward: Floats  # (N,)
    start: Ints  # (E+1,)
    terminated: Bools  # (E,) ended by itself
    taken: Floats  # (N,) the probability of each action under the behavior that took it
    behaviors: Floats  # (B, A) rows that were followed
    row_of: Ints  # (N,) which of them, at every step; -1 where that is not known

    @classmethod
    def of(cls, practice: Practice, at: Ints, behavior_rows: Floats) -> LoggedSteps:
        """The episodes of a log; the (H, A) rows are those of the behavior, where it is one."""
        log = practice.log
        own = log.action, log.reward, log.start, log.terminated
        if practice.only is not None:
            return cls(at, *own, behavior_rows[at, log.action], behavior_rows, at)
        rows, N = practice.rows, log.n_steps
        if rows is None:
            nothing = np.zeros((1, len(log.actions)))
            return cls(at, *own, practice.taken, nothing, np.full(N, -1))
        return cls(at, *own, practice.taken, rows, np.arange(N))

    def scores(
        self,
        candidate: Fitted,
        floors: Sequence[float],
        episodes: Ints,
        limits: Limits,
        discount: float,
    ) -> Floats:
        """(F, n) the scores of some episodes, for every floor."""
        from jumar.gate.scoring import floored_differences

        steps = self.at, self.action, self.reward, self.start, episodes
        behavior = self.taken, self.behaviors, self.row_of
        ends = limits.low, limits.high, np.array(floors)
        tables = candidate.above, candidate.below
        found: Floats = floored_differences(
            *steps, candidate.rows, *behavior, *tables, *ends, discount
        )
        return found

    def weights(self, rows: Floats, episodes: Ints, discount: float) -> Floats:
        """(n,) how much likelier each episode is than under the behavior, its steps counting as
        they do in a discounted return: what happens late neither pays nor weighs much. Their mean
        is 1."""
        from jumar.core.kernels import episode_weights

        steps = self.at, self.action, self.start, episodes
        found = episode_weights(*steps, np.ascontiguousarray(rows), self.taken, discount)
        weights: Floats = np.minimum(found, LARGEST_WEIGHT)
        return weights

    def beyond(self, rows: Floats, episodes: Ints, discount: float) -> Floats:
        """(n,) the weight of each that lies beyond its cut."""
        from jumar.gate.scoring import weights_beyond

        steps = self.at, self.action, self.start, self.terminated, episodes
        found: Floats = weights_beyond(*steps, np.ascontiguousarray(rows), self.taken, discount)
        return found


@dataclass(frozen=True, eq=False)
class Numbered:
    """The log over one memory: the same numbers for every part. K history states, H of the longest
    memory."""

    tally: LogTally
    of: Ints  # (H,) the state that each of the longest memory's becomes
    behavior: Floats  # (K, A) the behavior's rows

    @property
    def memory(self) -> Memory:
        return self.tally.memory

    @property
    def states(self) -> Ints:
        """(K, w+1)"""
        return self.tally.states

    @cached_property
    def first(self) -> Ints:
        """(K,) the first of the longest memory's states that becomes each state."""
        return first_of(self.of, len(self.states))


def first_of(of: Ints, size: int) -> Ints:
    """(size,) where each number comes first."""
    first = np.empty(size, np.int64)
    first[of[::-1]] = np.arange(len(of) - 1, -1, -1)
    return first


@dataclass(frozen=True, eq=False, kw_only=True)
class Bench:
    """Where candidates are fitted and scored. H history states of the longest memory."""

    log: DealtLog
    discount: float
    longest: Memory  # over which all is laid out
    episodes: Episodes  # at hand, with the rewards that count here
    steps: LoggedSteps  # of them
    numbered: tuple[Numbered, ...]  # over every memory that is tried, shortest first
    behavior: Controller  # that candidates start from
    behavior_rows: Floats  # (H, A)
    limits: Limits
    delta: float = 0.05  # for what algorithms want to be sure of
    sizes: Mapping[Memory, int] = field(default_factory=dict)  # history states seen in a half
    simplify: float | None = None  # the share of the gain that fewer changes must keep
    makers: Makers | None = None  # of candidates; None: the usual ones
    untried: tuple[Memory, ...] = ()  # laid out, but no candidate has them
    beside: Memory | None = None  # that was learned, and is none of the usual ones
    centre: float = 0.0  # that rewards are counted from

    @classmethod
    def on(cls, log: DealtLog, laid: Laid, discount: float, limits: Limits, **more: Any) -> Bench:
        """For a log and the memories that were laid out over it."""
        longest, behavior, numbered = laid.memories[-1], log.practice.pooled, []
        whole, at = log.over(longest)
        rows = behavior.lift(longest).rows_at(whole.states)
        for memory in laid.memories:
            tally, of = whole, np.arange(len(whole.states))
            if memory != longest:
                tally, of = whole.onto(memory)
            numbered.append(Numbered(tally, of, rows[first_of(of, len(tally.states))]))
        return cls(
            log=log,
            discount=discount,
            longest=longest,
            episodes=log.log,
            steps=LoggedSteps.of(log.practice, at, rows),
            numbered=tuple(numbered),
            behavior=behavior,
            behavior_rows=rows,
            limits=limits,
            untried=laid.untried,
            beside=laid.beside,
            **more,
        )

    @property
    def by_propensities(self) -> bool:
        """Is the policy that acted known only by the propensities in the log?"""
        return not self.log.practice.controllers

    def size(self, numbered: Numbered) -> int:
        """The history states of a memory; of one half, where that is learned from."""
        return self.sizes.get(numbered.memory, len(numbered.states))

    def models(self, part: DealtPart) -> Iterator[tuple[HistoryMdp, Numbered]]:
        """Of a part of the log, one for every memory."""
        for numbered in self.numbered:
            yield numbered.tally.counts(part.numbers).mle(self.discount), numbered

    def material(self, numbered: Numbered, part: DealtPart) -> Material:
        """A part of the log as a log of nothing else, to learn from."""
        held, memory = None, numbered.memory
        if not self.log.large:
            replay = replace(self.log.practice.replays.over(self.longest), log=self.episodes)
            held = Replays.holding(replay.part(self.log.dealt.episodes(part)))
        counts = numbered.tally.only(part.numbers).counts([0])
        return Material(held, memory, self.discount, self.limits.rewards, self.delta, counts)

    def scorer(self, part: DealtPart, most: int) -> Scorer:
        """A maker of scores of the first so many units of a part."""
        dealt = self.log.dealt
        first = dealt.of_first_units(dealt.episodes(part, self.log.sample), most)

        def scores(candidate: Fitted, floors: Sequence[float]) -> list[Floats]:
            found = self.steps.scores(candidate, floors, first, self.limits, self.discount)
            return [dealt.by_unit(first, x)[0] for x in found]

        return scores

    def scores(self, candidate: Fitted, part: DealtPart, floor: float) -> Scores:
        """The scores of the units of a part with which a test begins, none below -floor."""
        episodes = self.log.dealt.episodes(part, self.log.first)
        found = self.steps.scores(candidate, [floor], episodes, self.limits, self.discount)[0]
        return Scores(*self.log.dealt.by_unit(episodes, found))

    def weights(self, rows: Floats, part: DealtPart) -> Floats:
        """(n,) the weights of the same episodes."""
        episodes = self.log.dealt.episodes(part, self.log.first)
        return self.steps.weights(rows, episodes, self.discount)

    def controller(self, candidate: Fitted) -> Controller:
        """What is handed over: the behavior, except where a candidate differs."""
        # In the history states of the whole log it has the rows that were scored; in all others the
        # behavior's, as every candidate has in those that only held-out episodes show. So what was
        # scored and what is handed over are one policy, which the held-out episodes had no part in:
        # the test is of this one and of no other.
        memory = candidate.setting.memory
        numbered = next(n for n in self.numbered if n.memory == memory)
        name = f"{self.behavior.name}, improved"
        rows = candidate.rows[numbered.first]
        return self.behavior.lift(memory).except_at(numbered.states, rows, name)

    def paying(self, log: Episodes, limits: Limits) -> Bench:
        """The same with other rewards: those of `log`, which differs in nothing else."""
        replay = replace(self.log.practice.replays.over(self.longest), log=log)
        part = self.log.dealt.part
        numbered = tuple(
            replace(n, tally=n.tally.paying(replay.onto(n.memory), part)) for n in self.numbered
        )
        steps = replace(self.steps, reward=log.reward)
        return replace(self, episodes=log, steps=steps, numbered=numbered, limits=limits)

    # ---- for one half ---------------------------------------------------------------------------

    def learning_from(self, half: int) -> Bench:
        """The same for candidates of one half."""
        # What a candidate is, that half alone decides (memories, tables, the behavior it starts
        # from, the centre of rewards): the test's supermartingale needs a candidate that is fixed
        # before the first held-out unit is seen.
        bench = self._less_memory(half)._starting_from(half)
        return bench._less(bench.mean_reward(half)) if bench.limits.fixed else bench

    def mean_reward(self, half: int) -> float:
        """Of a step in a half of the log."""
        from jumar.core.exact import exact_mean

        if self.log.counted:
            return self.log.facts.mean_reward(half)
        return exact_mean(self.episodes.select(self.log.dealt.members(half)).reward)

    def _less_memory(self, half: int) -> Bench:
        """Which memories are not too long for a half, and what a table may hold."""
        parts = DealtPart(half).numbers
        sizes = {n.memory: int(n.tally.seen(parts).sum()) for n in self.numbered}
        first = self.numbered[0]
        kept = [n for n in self.numbered if n is first or sizes[n.memory] <= MOST_STATES]
        return replace(self, numbered=tuple(kept), sizes=sizes)

    def _starting_from(self, half: int) -> Bench:
        """The same, with the behavior that candidates start from made of this half, where it is not
        one controller that is known."""
        # a mix of several, or an estimate, of the whole log would do in held-out episodes what was
        # done there, and be paid for it
        practice = self.log.practice
        if practice.only is not None:
            return self
        behavior = practice.select(self.log.dealt.members(half)).pooled
        rows = behavior.lift(self.longest).rows_at(self.log.over(self.longest)[0].states)
        numbered = tuple(replace(n, behavior=rows[n.first]) for n in self.numbered)
        return replace(self, behavior=behavior, behavior_rows=rows, numbered=numbered)

    def _less(self, centre: float) -> Bench:
        """The same with so much less for every step."""
        horizon = self.limits.steps if self.limits.declared_steps else None
        rewards = self.limits.rewards.less(centre)
        episodes = replace(self.episodes, reward=self.episodes.reward - centre)
        return replace(
            self,
            episodes=episodes,
            limits=limits_of(self.log.facts.facts, self.discount, rewards, horizon),
            steps=replace(self.steps, reward=episodes.reward),
            numbered=tuple(replace(n, tally=n.tally.less(centre)) for n in self.numbered),
            centre=centre,
        )
