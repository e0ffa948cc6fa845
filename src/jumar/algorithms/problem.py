"""What an algorithm is given, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from jumar.core.errors import LogError, ParameterError
from jumar.evidence.claims import Certificate
from jumar.evidence.consistency import rewards_seen
from jumar.evidence.first_visits import FirstVisits, ReturnBounds, first_returns
from jumar.evidence.practice import Practice
from jumar.evidence.rewards import RewardRange
from jumar.memory import Memory
from jumar.memory.refinement import join
from jumar.solve.nouns import Improvement
from jumar.solve.simplifying import Simplified
from jumar.tally.history import Counts, HistoryMdp
from jumar.tally.replay import Replays, count

if TYPE_CHECKING:
    from jumar.gate.dealing import DealtLog
    from jumar.gate.makers import Makers
    from jumar.gate.objectives import Keep
    from jumar.gate.trials import Selection

OF_RETURNS = 0.9  # the part of δ for what followed the actions; the rest is for where they led


class NotKept(ParameterError):
    """Of a log that was counted, something was asked that only its episodes tell."""


@dataclass(frozen=True, eq=False)
class Material:
    """A log over one memory: what algorithms learn from. Each part is made when it is asked for,
    and once."""

    held: Replays | None  # of the log; None: only counts of it were kept
    memory: Memory
    discount: float
    rewards: RewardRange  # declared, or read off the log
    delta: float  # chance that what it says of the log's law is wrong
    counted: Counts | None = None  # over the memory, if that was done before

    @property
    def replays(self) -> Replays:
        """The episodes, step by step."""
        if self.held is None:
            raise NotKept("only counts of the log were kept")
        return self.held

    @cached_property
    def counts(self) -> Counts:
        """How often what was followed by what."""
        counts = self.counted or count(self.replays, self.memory)
        if counts.visits.sum() == 0:
            raise LogError(
                f"The log has {counts.unfinished} steps, but of none it is known what followed: "
                "every episode is one step long, cut off, without a final observation. If episodes "
                "end there, say so: ends='terminated' (--ends terminated)."
            )
        return counts

    @cached_property
    def mdp(self) -> HistoryMdp:
        """The model that the counts estimate."""
        return self.counts.mle(self.discount)

    @cached_property
    def returns(self) -> ReturnBounds:
        """Bounds on the behavior's action values, at a share of δ."""
        return self.visits.bounds(OF_RETURNS * self.delta)

    @cached_property
    def visits(self) -> FirstVisits:
        """What followed the first visit of every pair in each episode."""
        return self._first_returns(by_action=True)

    @cached_property
    def state_visits(self) -> FirstVisits:
        """What followed the first visit of every history state in each episode."""
        return self._first_returns(by_action=False)

    def _first_returns(self, *, by_action: bool) -> FirstVisits:
        return first_returns(
            self.replays,
            self.memory,
            discount=self.discount,
            rewards=self.rewards,
            by_action=by_action,
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """A log, who made it, and what is asked for."""

    practice: Practice
    discount: float
    memory: Memory | None = None  # what the new controller may remember, if that was said
    delta: float = 0.05
    rewards: RewardRange | None = None  # as declared
    horizon: int | None = None  # the most steps of an episode, as declared
    gate: str = "proved"
    seed: int = 1
    simplify: float | None = None  # the share of the gain that fewer changes must keep
    keeps: tuple[Keep, ...] = ()  # signals that must not get worse
    objective: str = ""  # what the reward is called, where signals are kept
    makers: Makers | None = None  # of candidates, for an algorithm that chooses; None: the usual
    learn_memory: bool = False  # may the new controller remember what the log teaches?
    dealt: DealtLog | None = None  # of a large log: all of it, where `practice` has a part
    thorough: bool = False  # test on all of a large log

    @property
    def estimated(self) -> bool:
        """Was the behavior itself estimated from a log?"""
        return self.practice.estimated

    @property
    def copied(self) -> bool:
        """Is what is compared with a copy of what acted, and not one known controller?"""
        return self.estimated or self.practice.only is None

    @property
    def joined(self) -> Memory:
        """The memory asked for, with what the behavior remembers."""
        own = self.practice.pooled.memory
        return own if self.memory is None else join(own, self.memory.on(*own.alphabet))

    @cached_property
    def range(self) -> RewardRange:
        """What a step can pay: declared, or read off the log."""
        if self.dealt is not None:
            return self.rewards or self.dealt.facts.facts.rewards
        return self.rewards or rewards_seen(self.practice.log)

    def material(self, memory: Memory) -> Material:
        """The log over a memory. Where the behavior is a copy, half of δ is for that."""
        share = self.delta / 2 if self.copied else self.delta
        own = memory, self.discount, self.range, share
        if self.dealt is not None:
            return Material(None, *own, self.dealt.counts(memory))
        return Material(self.practice.replays, *own)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a problem."""

    material: Material  # over the memory of the new controller
    improvement: Improvement
    test: Certificate | None = None  # on what was held out; it comes before all bounds
    selection: Selection | None = None  # what was tried
    simplified: Simplified | None = None  # what was kept of the changes, if that was asked for
    kept: tuple[Certificate, ...] = ()  # one for every signal that must not get worse
