"""What one pass over a log leaves for the gate: counts, facts of the whole, a sample of episodes.

All of it adds up: parts of a log are looked at apart, in any order, and the sums are the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jumar.algorithms.auto.dealing import FOLDS, HALVES, DealtPart, fold_of, half_of
from jumar.algorithms.auto.facts import LogFacts, Returns
from jumar.algorithms.auto.streamed import kernels
from jumar.algorithms.auto.streamed.keeping import FirstUnits
from jumar.core.arrays import Bools, Codes, Floats, Ints
from jumar.core.errors import LogError
from jumar.core.exact import ExactSums
from jumar.core.history import Counts
from jumar.evidence.rewards import RewardRange

RETURN, BEYOND, REWARD = 0, 1, 2  # sums; the rewards of each half stand apart
Ends = tuple[float, float]  # the least and the greatest


@dataclass(frozen=True, eq=False)
class FirstPass:
    """What is known of a log that was read once."""

    # (half, fold) -> what its episodes say, over the longest memory; folds without episodes are
    # left out
    counts: Mapping[tuple[int, int], Counts]
    tally: LogTally
    looked_at: FirstUnits  # of every fold: to choose shortlists by, and for checks
    held: FirstUnits  # of every half: what the test begins with


class LogTally:
    """Facts of the whole log, added up.

    `discount` is that of the returns. With `together`, episodes with the same hash are one unit
    (clusters, or pieces of an episode that a gap split), and the hashes are kept: eight bytes for
    every unit. Without it every episode is a unit.
    """

    def __init__(self, discount: float, *, together: bool = False) -> None:
        self.discount = discount
        self.together = together
        self.episodes: Ints = np.zeros((HALVES, FOLDS), np.int64)
        self.steps: Ints = np.zeros(HALVES, np.int64)
        self.cut = 0
        self.lengths: Ends = (math.inf, 0)  # the shortest and the longest episode
        self.cut_lengths: Ends = (math.inf, 0)
        self.returns: Ends = (math.inf, -math.inf)
        self.ends = np.array([math.inf, -math.inf] * 2)  # of rewards: going on, ending
        self.sums = ExactSums(REWARD + HALVES)
        self.units: Codes = np.zeros(0, np.uint64)

    def add(self, reward: Floats, start: Ints, terminated: Bools, code: Codes) -> None:
        """Some more whole episodes: (N,) rewards, (E+1,) where each begins, (E,) whether it ended
        by itself, (E,) its hash."""
        if len(code) == 0:
            return
        E, half, lengths = len(code), half_of(code), np.diff(start)
        in_fold = np.bincount(half * FOLDS + fold_of(code), minlength=HALVES * FOLDS)
        self.episodes += in_fold.reshape(HALVES, FOLDS)
        self.lengths = _wider(self.lengths, lengths)
        cut = lengths[~terminated]
        if len(cut):
            self.cut += len(cut)
            self.cut_lengths = _wider(self.cut_lengths, cut)
        returns, beyond = np.empty(E), np.empty(E)
        kernels.episode_facts(reward, start, terminated, self.discount, returns, beyond, self.ends)
        self.returns = _wider(self.returns, returns)
        self.sums.add(np.full(E, RETURN), returns)
        self.sums.add(np.full(E, BEYOND), beyond)
        if self.lengths[0] == self.lengths[1]:  # only then anybody asks for the mean reward
            of_step = np.repeat(half, lengths)
            self.steps += np.bincount(of_step, minlength=HALVES)
            self.sums.add(REWARD + of_step, reward[start[0] : start[-1]])
        if self.together:
            self.units = np.union1d(self.units, code)

    def merge(self, other: LogTally) -> None:
        """Add what was added up elsewhere."""
        self.episodes += other.episodes
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
            return int(self.episodes[part.half, list(part.folds)].sum())
        inside = np.isin(fold_of(self.units), part.folds) & (half_of(self.units) == part.half)
        return int(inside.sum())


def _wider(ends: Ends, values: Floats | Ints) -> Ends:
    return _joined(ends, (values.min().item(), values.max().item()))


def _joined(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1])


def _floats(pair: Ends) -> Ends:
    return float(pair[0]), float(pair[1])
