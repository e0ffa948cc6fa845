"""What rewards and the longest episode say of returns, before any is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from jumar.core.arrays import Floats
from jumar.evidence.consistency import check_horizon, check_rewards, rewards_seen
from jumar.evidence.offpolicy.ranges import least_returns, return_ranges
from jumar.evidence.rewards import RewardRange

if TYPE_CHECKING:
    from jumar.evidence.offpolicy.sample import Sample


@dataclass(frozen=True, eq=False)
class Possible:
    """What rewards and horizon say of returns, and of the values of an estimator."""

    sample: Sample
    difference: bool  # to the behavior, instead of a value
    rewards: RewardRange  # declared, or read off the log
    horizon: int  # the same
    declared_horizon: bool
    low: Floats  # (horizon,) least return of episodes of 1, 2, ... steps
    high: Floats  # (horizon,) greatest

    @property
    def returns(self) -> tuple[float, float]:
        """The least and the greatest return of all."""
        return float(self.low.min()), float(self.high.max())

    @property
    def possible(self) -> tuple[float, float]:
        """What could be estimated at all."""
        low, high = self.returns
        return (low - high, high - low) if self.difference else (low, high)

    def read_off(self, needs: Literal["range", "floor", "nothing"]) -> tuple[str, ...]:
        """What an interval, or what is possible at all, rests on that nobody declared."""
        # the least return of all does not depend on the horizon where going on never costs
        floor_only = needs == "floor" and not self.difference
        timeless = floor_only and self.rewards.continuing[0] >= 0
        found = {
            "rewards": not self.rewards.declared,
            "horizon": not self.declared_horizon and not timeless,
        }
        return tuple(name for name, read in found.items() if read)

    @cached_property
    def largest_weights(self) -> Floats:
        """(horizon,) of 1, 2, ... steps, over all behaviors; any, where none is known."""
        found = [steps.largest_weights(self.horizon) for steps in self.sample.steps]
        return np.max(found, axis=0) if found else np.full(self.horizon, np.inf)

    def pdis_range(self) -> tuple[float, float]:
        """The least and the greatest value of PDIS, likewise."""
        asked = self.rewards, self.sample.discount, self.horizon
        found = [steps.pdis_range(*asked) for steps in self.sample.steps] or [(-np.inf, np.inf)]
        low, high = min(low for low, _ in found), max(high for _, high in found)
        if self.difference:
            return low - self.returns[1], high - self.returns[0]
        return low, high

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.sample.practice.controllers:
            return (
                "Propensities do not tell how large a weight can get, so only truncated, which "
                "needs no such limit, is of use among the proved intervals.",
            )
        largest = float(self.largest_weights.max())
        size = f"{largest:.3g}" if np.isfinite(largest) else "more than 1e308"
        steps = "1 step" if self.horizon == 1 else f"{self.horizon:,} steps"
        return (
            f"Over {steps} an episode's weight could be as large as {size}; "
            "proved intervals must allow for it.",
        )

    def floored(self, values: Callable[[Sample, Floats], Floats]) -> tuple[Floats, float]:
        """(E,) values with the mean of an estimator, and what none of them falls short of; of
        clusters, where the log has them."""
        least = least_returns(self.rewards, self.sample.discount, self.horizon)
        found, floor = values(self.sample, least), float(least[0])
        if self.difference:
            found, floor = found - self.sample.returns, floor - self.returns[1]
        return self.sample.mean_of_units(found), floor


def possible_of(
    sample: Sample, rewards: RewardRange | None, horizon: int | None, difference: bool
) -> Possible:
    """As declared, else as the log shows it."""
    log, declared = sample.log, horizon
    if rewards is not None:
        check_rewards(log, rewards)
    rewards = rewards or rewards_seen(log)
    horizon = declared or int(log.lengths.max())
    check_horizon(log, horizon)
    ranges = return_ranges(rewards, sample.discount, horizon)
    return Possible(sample, difference, rewards, horizon, declared is not None, *ranges)
