"""A log as the gate sees it: dealt into halves by hashes, its facts, and the episodes at hand.

Every episode is dealt by its own label (or that of its cluster) and the seed, and by nothing else.
So neither the order of a file nor the other episodes in it matter, episodes of one cluster stay
together, and the parts of a log that lies in several places are dealt alike. Trying several seeds
until one passes would void a promise that is made for one.

Most logs are held in memory, and then all episodes are at hand. A log of more than `LARGE` steps
is not: it is counted where it lies (`jumar.log.shards`), and at hand are the episodes whose hashes
come first. The gate asks the same questions of both. Candidates are made of counts. Shortlists are
judged by a sample, and the test begins with the first units of each half; more are scored only
where these leave the choice open. What is large is decided by the number of steps alone: neither
the kind of file nor the number of files makes a difference.

What must be known of a log as a whole (how long episodes are, how they end, what they pay) adds up
(`RunningFacts`): parts are looked at apart, in any order, and the sums are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jumar.core.arrays import ALIKE, Bools, Codes, Floats, Frozen, Ints, RowIndex, sum_by
from jumar.core.errors import LogError
from jumar.core.randomness import hash_labels
from jumar.evidence.consistency import check_horizon
from jumar.evidence.practice import Practice
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import Episodes, Labels
from jumar.log.reading.ordering import PIECE
from jumar.memory import Memory
from jumar.tally.history import Counts
from jumar.tally.replay import Replays
from jumar.tally.tally import LogTally

if TYPE_CHECKING:
    from jumar.gate.halves import Rescored, Shortlist
    from jumar.tally.counted import Counted

HALVES = 2
LEAST = 8  # units of a half, below which nothing is tried
BLOCKS = 256
FOLDS = 4  # of a half; a block belongs to one of them
HALF = 1 << 63  # hashes of a half

LARGE = 10_000_000  # steps; a log of more is not held
FIRST = 1 << 17  # units of every half that the test of a large log begins with
FIRST_STEPS = 1_000_000  # no more steps than these, some 25 MB
SAMPLED = 2_500  # units of every fold that shortlists and checks look at
SAMPLED_STEPS = 125_000
LEAST_KEPT = 16  # units of a group, however long they are

CHANGED = (
    "A history came up that was not there when the log was counted. Has the log changed since? "
    "Run again."
)


# ---- where each episode belongs -----------------------------------------------------------------


class DealtPart(NamedTuple):
    """Some of the episodes of a dealt log: a half, or some folds of it.

    >>> DealtPart(0).without(1), DealtPart(0).only(1)
    (DealtPart(half=0, folds=(0, 2, 3)), DealtPart(half=0, folds=(1,)))
    """

    half: int
    folds: tuple[int, ...] = tuple(range(FOLDS))

    def without(self, fold: int) -> DealtPart:
        """The same less one fold."""
        return DealtPart(self.half, tuple(f for f in self.folds if f != fold))

    def only(self, fold: int) -> DealtPart:
        """One fold of the same half."""
        return DealtPart(self.half, (fold,))

    @property
    def numbers(self) -> list[int]:
        """Of its folds, among those of both halves (`part_of`)."""
        return [self.half * FOLDS + fold for fold in self.folds]


@dataclass(frozen=True, eq=False)
class Dealt(Frozen):
    """Where the episodes of a log belong. E of them, in the order of their hashes: that is one log
    whatever order a file has, so that neither the first thousand episodes nor the rounding of a sum
    depend on it."""

    code: Codes  # (E,) ascending; episodes with the same hash are one independent unit

    @cached_property
    def half(self) -> Ints:
        """(E,) 0 or 1"""
        return half_of(self.code)

    @cached_property
    def block(self) -> Ints:
        """(E,) below BLOCKS: the order in which they are bet on."""
        return block_of(self.code)

    @cached_property
    def part(self) -> Ints:
        """(E,) the fold among those of both halves."""
        return part_of(self.code)

    @cached_property
    def unit(self) -> Ints:
        """(E,) which of the independent units each belongs to."""
        fresh = self.code[1:] != self.code[:-1]
        return np.concatenate([[0], np.cumsum(fresh)]) if len(self.code) else np.zeros(0, np.int64)

    def members(self, half: int) -> Ints:
        """The episodes of a half."""
        return np.flatnonzero(self.half == half)

    def episodes(self, part: DealtPart, among: Ints | None = None) -> Ints:
        """The episodes of a part; or those of them that are `among` some."""
        if among is None:
            return np.flatnonzero(np.isin(self.part, part.numbers))
        found: Ints = among[np.isin(self.part[among], part.numbers)]
        return found

    def of_first_units(self, episodes: Ints, most: int) -> Ints:
        """Those of some episodes that belong to the first units among them."""
        units = np.unique(self.unit[episodes])
        if len(units) <= most:
            return episodes
        found: Ints = episodes[self.unit[episodes] <= units[most - 1]]
        return found

    def by_unit(self, episodes: Ints, scores: Floats) -> tuple[Floats, Ints]:
        """(u,) the mean score of each unit among some episodes, and (u,) its block. What is bet on
        are units: episodes of one cluster are not independent, and Ville would not hold for them.
        """
        own = self.unit[episodes]
        if (own[1:] > own[:-1]).all():  # the usual case, and asked thousands of times
            return scores, self.block[episodes]
        units, first, number = np.unique(own, return_index=True, return_inverse=True)
        if len(units) == len(episodes):
            return scores, self.block[episodes]
        size = np.bincount(number)
        return sum_by(number, scores, len(units)) / size, self.block[episodes[first]]


def salt_of(rng: np.random.Generator) -> int:
    """What the hash of the labels is salted with."""
    return int(rng.integers(2**62))


def key_of(salt: int) -> bytes:
    """The same as the key of `hash_labels`."""
    return salt.to_bytes(8, "little")


# Label and seed alone decide half and block. If anything that an episode shows did, the held-out
# units would depend on the candidate, and their order on their scores: no bet would be fair.


def half_of(code: Codes) -> Ints:
    """The half that a hash belongs to: its first bit."""
    return (code >> np.uint64(63)).astype(np.int64)


def block_of(code: Codes) -> Ints:
    """The block that a hash belongs to: the eight bits after that."""
    return ((code >> np.uint64(55)) % np.uint64(BLOCKS)).astype(np.int64)


def part_of(code: Codes) -> Ints:
    """The fold, among those of both halves, that a hash belongs to."""
    return half_of(code) * FOLDS + block_of(code) % FOLDS


def codes_of(log: Episodes, salt: int) -> Codes:
    """(E,) the hash of every episode, or of its cluster: 64 bits, as good as random. Of labels it
    is the same in every part of a log; episodes without a label have only their number.

    >>> log = Episodes(("z",), ("a",), [0] * 50, [0] * 50, [0] * 50, range(51), [-1] * 50, [1] * 50)
    >>> sorted(set(half_of(codes_of(log, 1)).tolist()))
    [0, 1]
    """
    if log.cluster is not None:
        names, of = log.cluster.present
        return hash_labels(list(names), key_of(salt))[of]
    if log.origin is None:
        return _scramble(np.arange(len(log), dtype=np.uint64) + np.uint64(salt))
    labels = [str(label) for label in log.origin.label]
    if log.origin.remarks.gaps:  # the pieces of an episode that a gap split are one
        labels = [PIECE.sub("", label) for label in labels]
    number: dict[str, int] = {}
    unit = [number.setdefault(label, len(number)) for label in labels]
    return hash_labels(list(number), key_of(salt))[unit]


def _scramble(x: Codes) -> Codes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# ---- what the log shows as a whole --------------------------------------------------------------

RETURN, BEYOND, REWARD = 0, 1, 2  # sums; the rewards of each half stand apart
Ends = tuple[float, float]  # the least and the greatest


@dataclass(frozen=True)
class LogFacts:
    """How long the episodes of a log are, how they end, and what steps pay."""

    episodes: int
    shortest: int  # steps
    longest: int
    cut: int  # episodes that were cut off
    shortest_cut: int  # steps of those; 0 where there are none
    longest_cut: int
    rewards: RewardRange  # that occur

    @property
    def common_length(self) -> int | None:
        """The number of steps of every episode, if it is the same for all."""
        return self.longest if self.shortest == self.longest else None

    @property
    def common_cut(self) -> int | None:
        """T, if recordings that did not end all stopped after T steps, and none is longer."""
        return self.longest if self.cut and self.shortest_cut == self.longest else None

    def check_horizon(self, horizon: int) -> None:
        """No episode may have more steps than are declared possible."""
        if self.longest > horizon:
            raise LogError(
                f"Log: the longest episode has {self.longest} steps, more than the declared "
                f"horizon of {horizon}. Declare a longer one."
            )


@dataclass(frozen=True)
class Returns:
    """What whole episodes paid, discounted."""

    mean: float
    least: float
    greatest: float
    beyond: float  # share of the discounted weight that lies beyond the cuts

    @property
    def differ(self) -> bool:
        """Do returns differ by more than rounding? Where all are alike nothing can be better."""
        largest = max(abs(self.least), abs(self.greatest))
        return self.greatest - self.least > ALIKE * largest


class RunningFacts:
    """Facts of the whole log, added up as its episodes come.

    `discount` is that of the returns. With `together`, episodes with the same hash are one unit
    (clusters, or pieces of an episode that a gap split), and the hashes are kept: eight bytes for
    every unit. Without it every episode is a unit.
    """

    def __init__(self, discount: float, *, together: bool = False) -> None:
        from jumar.core.exact import ExactSums

        self.discount = discount
        self.together = together
        self.episodes: Ints = np.zeros(HALVES * FOLDS, np.int64)
        self.n_steps = 0
        self.steps: Ints = np.zeros(HALVES, np.int64)  # of each half
        self.cut = 0
        self.lengths: Ends = (math.inf, 0)  # the shortest and the longest episode
        self.cut_lengths: Ends = (math.inf, 0)
        self.returns: Ends = (math.inf, -math.inf)
        self.ends = np.array([math.inf, -math.inf] * 2)  # of rewards: going on, ending
        self.sums = ExactSums(REWARD + HALVES)
        self.units: Codes = np.zeros(0, np.uint64)

    @classmethod
    def of(cls, log: Episodes, code: Codes, discount: float) -> RunningFacts:
        """Of a log in memory, with the hashes of its episodes, ascending."""
        found = cls(discount, together=bool((code[1:] == code[:-1]).any()))
        found.add(log.reward, log.start, log.terminated, code)
        return found

    def add(self, reward: Floats, start: Ints, terminated: Bools, code: Codes) -> None:
        """Some more whole episodes: (N,) rewards, (E+1,) where each begins, (E,) whether it ended
        by itself, (E,) its hash."""
        if len(code) == 0:
            return
        from jumar.gate.scoring import episode_facts

        E, part, lengths = len(code), part_of(code), np.diff(start)
        self.episodes += np.bincount(part, minlength=HALVES * FOLDS)
        self.n_steps += int(lengths.sum())
        self.lengths = _wider(self.lengths, lengths)
        cut = lengths[~terminated]
        if len(cut):
            self.cut += len(cut)
            self.cut_lengths = _wider(self.cut_lengths, cut)
        returns, beyond = np.empty(E), np.empty(E)
        episode_facts(reward, start, terminated, self.discount, returns, beyond, self.ends)
        self.returns = _wider(self.returns, returns)
        self.sums.add(np.full(E, RETURN), returns)
        self.sums.add(np.full(E, BEYOND), beyond)
        if self.lengths[0] == self.lengths[1]:  # only then anybody asks for the mean reward
            of_step = np.repeat(part // FOLDS, lengths)
            self.steps += np.bincount(of_step, minlength=HALVES)
            self.sums.add(REWARD + of_step, reward[start[0] : start[-1]])
        if self.together:
            self.units = np.union1d(self.units, code)

    def merge(self, other: RunningFacts) -> None:
        """Add what was added up elsewhere."""
        self.episodes += other.episodes
        self.n_steps += other.n_steps
        self.steps += other.steps
        self.cut += other.cut
        self.lengths = _joined(self.lengths, other.lengths)
        self.cut_lengths = _joined(self.cut_lengths, other.cut_lengths)
        self.returns = _joined(self.returns, other.returns)
        least, most = np.minimum(self.ends, other.ends), np.maximum(self.ends, other.ends)
        self.ends = np.where([True, False, True, False], least, most)
        self.sums.merge(other.sums, np.arange(len(self.sums)))
        self.units = np.union1d(self.units, other.units)

    @property
    def facts(self) -> LogFacts:
        """How long episodes are, how they end, what steps pay."""
        if not self.episodes.any():
            raise LogError("The log is empty: it has no steps. Give at least one episode.")
        low, high, end_low, end_high = self.ends.tolist()
        ended = math.isfinite(end_low)
        # where every episode is one step long nothing else is known than what an end pays
        going_on = (low, high) if math.isfinite(low) else (end_low, end_high)
        return LogFacts(
            episodes=int(self.episodes.sum()),
            shortest=int(self.lengths[0]),
            longest=int(self.lengths[1]),
            cut=self.cut,
            shortest_cut=int(self.cut_lengths[0]) if self.cut else 0,
            longest_cut=int(self.cut_lengths[1]),
            rewards=RewardRange(going_on, (end_low, end_high) if ended else None, declared=False),
        )

    @property
    def paid(self) -> Returns:
        """What whole episodes paid."""
        total = float(self.episodes.sum())
        sums = self.sums.rounded().tolist()
        return Returns(sums[RETURN] / total, *self.returns, sums[BEYOND] / total)

    def mean_reward(self, half: int) -> float:
        """Of a step in a half of the log. Known where all episodes have one length."""
        assert self.facts.common_length is not None
        return float(self.sums.rounded()[REWARD + half] / self.steps[half])

    def units_in(self, part: DealtPart) -> int:
        """How many independent units a part has."""
        if not self.together:
            return int(self.episodes[part.numbers].sum())
        return int(np.isin(part_of(self.units), part.numbers).sum())


def _wider(ends: Ends, values: Floats | Ints) -> Ends:
    return _joined(ends, (values.min().item(), values.max().item()))


def _joined(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1])


def facts_of(log: Episodes, horizon: int | None = None) -> LogFacts:
    """Of a log in memory; an episode longer than the declared horizon is refused, with its place.

    >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [0, 1], [0, 1, 2], [-1, -1], [1, 1])
    >>> facts_of(log).common_length
    1
    """
    if horizon is not None:
        check_horizon(log, horizon)
    return RunningFacts.of(log, np.zeros(len(log), np.uint64), 0.0).facts


def returns_of(log: Episodes, discount: float) -> Returns:
    """Of a log in memory."""
    whole = log.returns(discount)
    ends = float(np.min(whole)), float(np.max(whole))
    return Returns(float(whole.mean()), *ends, log.beyond_cut(discount))


# ---- the log ------------------------------------------------------------------------------------

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
        return replace(found, replays=Replays(replace(found.log, cluster=Labels(names, number))))

    def units(self, part: DealtPart) -> int:
        """How many independent units a part of the log has."""
        return self.facts.units_in(part)

    def over(self, memory: Memory) -> tuple[LogTally, Ints]:
        """The tally of every fold over a memory, and (N,) the history state of every step at
        hand."""
        if memory not in self._over:
            replay = self.practice.replays.over(memory)
            if self.counted:
                from jumar.tally.counted import tally_of

                tally = tally_of(self.counted, memory)
                at = RowIndex(tally.states).find(replay.states)[replay.at]
                if len(at) and at.min() < 0:
                    raise LogError(CHANGED)
            else:
                tally, at = LogTally.of(replay, self.dealt.part, HALVES * FOLDS), replay.at
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
