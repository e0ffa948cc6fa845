"""What a gate must know of a log as a whole: how long episodes are, how they end, what they pay.

For a log in memory these are read off its columns. For one that is read in parts they are added up
(`jumar.algorithms.auto.streamed.tally`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.episodes import Episodes
from jumar.core.errors import LogError
from jumar.evidence.consistency import check_horizon, rewards_seen
from jumar.evidence.rewards import RewardRange

ROUNDING = 1e-9  # returns that differ by less, relatively, are equal


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
        return self.greatest - self.least > ROUNDING * largest


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
