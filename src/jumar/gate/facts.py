"""What a gate must know of a log as a whole: how long episodes are, how they end, what they pay.

They add up (`RunningFacts`): parts of a log are looked at apart, in any order, and the sums are the
same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import ALIKE, Bools, Codes, Floats, Ints
from jumar.core.errors import LogError
from jumar.evidence.consistency import check_horizon, rewards_seen
from jumar.evidence.rewards import RewardRange
from jumar.gate.dealing import FOLDS, HALVES, DealtPart, part_of
from jumar.log.episodes import Episodes

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
        half = part // FOLDS
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
            of_step = np.repeat(half, lengths)
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

    # ---- what is asked --------------------------------------------------------------------------

    @property
    def facts(self) -> LogFacts:
        """How long episodes are, how they end, what steps pay."""
        if not self.episodes.any():
            raise LogError("The log is empty: it has no steps. Give at least one episode.")
        on, end = (self.ends[0], self.ends[1]), (self.ends[2], self.ends[3])
        ended = math.isfinite(end[0])
        return LogFacts(
            episodes=int(self.episodes.sum()),
            shortest=int(self.lengths[0]),
            longest=int(self.lengths[1]),
            cut=self.cut,
            shortest_cut=int(self.cut_lengths[0]) if self.cut else 0,
            longest_cut=int(self.cut_lengths[1]),
            rewards=RewardRange(
                # every episode is one step long: nothing else is known
                continuing=_floats(on if math.isfinite(on[0]) else end),
                ending=_floats(end) if ended else None,
                declared=False,
            ),
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


def _floats(pair: Ends) -> Ends:
    return float(pair[0]), float(pair[1])


def facts_of(log: Episodes, horizon: int | None = None) -> LogFacts:
    """Of a log in memory; an episode longer than the declared horizon is refused, with its place.

    >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [0, 1], [0, 1, 2], [-1, -1], [1, 1])
    >>> facts_of(log).common_length
    1
    """
    if horizon is not None:
        check_horizon(log, horizon)
    lengths = log.lengths
    cut = lengths[~log.terminated]
    return LogFacts(
        episodes=len(log),
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        cut=len(cut),
        shortest_cut=int(cut.min()) if len(cut) else 0,
        longest_cut=int(cut.max()) if len(cut) else 0,
        rewards=rewards_seen(log),
    )


def returns_of(log: Episodes, discount: float) -> Returns:
    """Of a log in memory."""
    whole = log.returns(discount)
    ends = float(np.min(whole)), float(np.max(whole))
    return Returns(float(whole.mean()), *ends, log.beyond_cut(discount))
