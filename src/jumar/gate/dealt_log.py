"""A log as the gate sees it: counted, dealt by hashes, with some or all episodes at hand.

Most logs are held in memory, and then all episodes are at hand. A log of more than `LARGE` steps
is not: it is counted where it lies (`jumar.log.shards`), and at hand are the episodes whose hashes
come first. The gate asks the same questions of both. Candidates are made of counts. Shortlists are
judged by a sample, and the test begins with the first units of each half; more are scored only
where these leave the choice open. What is large is decided by the number of steps alone: neither
the kind of file nor the number of files makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Codes, Ints, RowIndex
from jumar.core.errors import LogError
from jumar.evidence.practice import Practice
from jumar.gate.dealing import FOLDS, HALVES, Dealt, DealtPart, codes_of, salt_of
from jumar.gate.facts import RunningFacts
from jumar.log.episodes import Episodes, Labels
from jumar.memory import Memory
from jumar.tally.history import Counts
from jumar.tally.replay import Replays
from jumar.tally.tally import LogTally

if TYPE_CHECKING:
    from jumar.gate.staging import Rescored, Shortlist
    from jumar.tally.counted import Counted

LARGE = 10_000_000  # steps; a log of more is not held
FIRST = 1 << 17  # units of every half that the test of a large log begins with
FIRST_STEPS = 1_000_000  # no more steps than these, some 25 MB
SAMPLED = 2_500  # units of every fold that shortlists and checks look at
SAMPLED_STEPS = 125_000
LEAST_KEPT = 16  # units of a group, however long they are

# the shortlists of both halves, scored on the other episodes of a log that is not at hand
Rescore = Callable[["list[Shortlist]"], "list[Rescored]"]


@dataclass(frozen=True, eq=False)
class DealtLog:
    """A log, dealt. E episodes at hand, in the order of their hashes."""

    practice: Practice  # who made the episodes at hand
    dealt: Dealt  # where these belong
    place: Ints  # (E,) where each stood in the log: numbers that rise
    facts: RunningFacts  # of the whole log
    first: Ints  # of those at hand, with which the test begins
    sample: Ints  # of those at hand, by which shortlists are judged
    counted: tuple[Counted, ...] = ()  # every fold of both halves, where not all are at hand
    rescore: Rescore | None = None  # how to score the episodes that are not
    _over: dict[Memory, tuple[LogTally, Ints]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, practice: Practice, rng: np.random.Generator, discount: float) -> DealtLog:
        """With all episodes at hand; `rng` gives the salt of the hashes, nothing else."""
        code = codes_of(practice.log, salt_of(rng))
        order = np.argsort(code, kind="stable")
        practice, dealt = practice.select(order), Dealt(code[order])
        facts = RunningFacts.of(practice.log, dealt.code, discount)
        first = sample = np.arange(len(order))
        if facts.n_steps > LARGE:
            lengths = practice.log.lengths
            first = among_first(dealt.code, lengths, dealt.half, FIRST, FIRST_STEPS)
            sample = among_first(dealt.code, lengths, dealt.part, SAMPLED, SAMPLED_STEPS)
        return cls(practice, dealt, order, facts, first, sample)

    @property
    def log(self) -> Episodes:
        """The episodes at hand."""
        return self.practice.log

    @property
    def large(self) -> bool:
        return self.facts.n_steps > LARGE

    @property
    def looked_at(self) -> Practice:
        """What is shown and checked of a large log, in the order of the log."""
        chosen = self.sample[np.argsort(self.place[self.sample])]
        found = self.practice.select(chosen)
        if found.log.cluster is None:
            return found
        # where they are counted only hashes of clusters are kept: these number them everywhere
        codes, number = np.unique(self.dealt.code[chosen], return_inverse=True)
        names = tuple(str(i + 1) for i in range(len(codes)))
        log = replace(found.log, cluster=Labels(names, number))
        return replace(found, replays=Replays(log))

    def units(self, part: DealtPart) -> int:
        """How many independent units a part of the log has."""
        return self.facts.units_in(part)

    def over(self, memory: Memory) -> tuple[LogTally, Ints]:
        """The tally of every fold over a memory, and (N,) the history state of every step at
        hand."""
        if memory not in self._over:
            replay = self.practice.replays.over(memory)
            if not self.counted:
                tally = LogTally.of(replay, self.dealt.part, HALVES * FOLDS)
                self._over[memory] = tally, replay.at
            else:
                from jumar.tally.counted import tally_of

                tally = tally_of(self.counted, memory)
                at = RowIndex(tally.states).find(replay.states)[replay.at]
                if len(at) and at.min() < 0:
                    raise LogError(CHANGED)
                self._over[memory] = tally, at
        return self._over[memory]

    def counts(self, memory: Memory) -> Counts:
        """Of the whole log."""
        tally = self.over(memory)[0]
        unfinished = self.facts.n_steps - int(tally.visits.sum())
        return tally.counts(range(HALVES * FOLDS), unfinished)

    def seen(self, memory: Memory, half: int) -> int:
        """The history states of a memory in which a half did something."""
        return int(self.over(memory)[0].seen(DealtPart(half).numbers).sum())


CHANGED = (
    "A history came up that was not there when the log was counted. Has the log changed since? "
    "Run again."
)


def among_first(code: Codes, lengths: Ints, group: Ints, units: int, steps: int) -> Ints:
    """The episodes among the first units of each group, in the order of hashes."""
    kept = np.ones(len(code), np.bool_)
    for g in np.unique(group):
        own = group == g
        last = last_of_first(code[own], lengths[own], units, steps)
        if last is not None:
            kept &= ~own | (code <= last)
    return np.flatnonzero(kept)


def last_of_first(code: Codes, lengths: Ints, units: int, steps: int) -> np.uint64 | None:
    """The last hash of a group that is let in, right before the first unit that is not; None if
    all are. (Units that lie elsewhere may have hashes between the last that is kept and that one.)
    """
    codes, unit = np.unique(code, return_inverse=True)
    reached = np.cumsum(np.bincount(unit, lengths, len(codes)))
    number = np.arange(1, len(codes) + 1)
    kept = int(((number <= units) & ((reached <= steps) | (number <= LEAST_KEPT))).sum())
    if kept < len(codes):
        return np.uint64(codes[kept] - np.uint64(1))
    return codes[-1] if len(codes) and kept == units else None
