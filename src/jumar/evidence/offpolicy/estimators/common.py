"""What estimators share: the entry of one, returns, surprises, and the weighted form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, freeze, sum_by

if TYPE_CHECKING:
    from jumar.evidence.offpolicy.possible import Possible
    from jumar.evidence.offpolicy.sample import Sample


@dataclass(frozen=True, eq=False)
class Weighted(Frozen):
    """Σ_i offset_i / Σ_i size_i + Σ_t γ^t Σ_i w_it x_it / Σ_i w_it, over E episodes with N steps;
    or over E clusters of episodes (`jumar.evidence.offpolicy.clusters`), which have sizes."""

    weight: Floats  # (N,) w_t of every step
    x: Floats  # (N,) what is averaged there
    start: Ints  # (E+1,)
    offset: Floats  # (E,) what is added with equal weights
    discount: float
    size: Floats | None = None  # (E,) episodes that each stands for; None: one

    def __post_init__(self) -> None:
        for field in ("weight", "x", "offset", *(("size",) if self.size is not None else ())):
            object.__setattr__(self, field, freeze(getattr(self, field), np.float64))
        object.__setattr__(self, "start", freeze(self.start, np.int64))

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def sizes(self) -> Floats:
        """(E,) how many episodes each stands for."""
        return np.ones(len(self)) if self.size is None else self.size

    @property
    def _base(self) -> float:
        return float(self.offset.mean() / self.sizes.mean())

    @cached_property
    def _by_step(self) -> tuple[Floats, Floats]:
        """(T,) the weighted mean of x, and γ^t over the mean weight, at every step t."""
        length = np.diff(self.start)
        T = int(length.max())
        t = step_of(self.start)
        over = sum_by(length, self.weight[self.start[1:] - 1], T + 1)[:T]
        weight = sum_by(t, self.weight, T) + np.cumsum(over)
        there = weight > 0  # no weight at all: no episode follows the target so far
        total, power = sum_by(t, self.weight * self.x, T), self.discount ** np.arange(T)
        mean = np.divide(total, weight, out=np.zeros(T), where=there)
        return mean, np.divide(power * len(self), weight, out=np.zeros(T), where=there)

    @property
    def value(self) -> float:
        """The estimate."""
        mean, _ = self._by_step
        return float(self._base + self.discount ** np.arange(len(mean)) @ mean)

    @cached_property
    def influence(self) -> Floats:
        """(E,) how each episode pulls at the estimate; the mean is 0, and the standard deviation
        over √E is the standard error (the delta method)."""
        t, length = step_of(self.start), np.diff(self.start)
        mean, scale = self._by_step
        pull = scale[t] * self.weight * (self.x - mean[t])
        later = np.append(np.cumsum((mean * scale)[::-1])[::-1], 0.0)  # (T+1,) Σ_{s>=t}
        over = self.weight[self.start[1:] - 1] * later[length]
        within: Floats = np.add.reduceat(pull, self.start[:-1])
        own = (self.offset - self._base * self.sizes) / self.sizes.mean()
        pulls: Floats = own + within - over
        return pulls


@dataclass(frozen=True)
class Estimator:
    """One estimator, and all that is known of it."""

    name: str
    title: str
    values: Callable[[Sample], Floats | Weighted]  # (E,) with mean ρ(π), or a weighted mean
    rank: int  # of several, the one with the least is gone by: steady ones and plain means first
    weighted: bool = False  # a ratio of means: intervals for independent values do not serve it
    from_beginnings: bool = False  # also learns from episodes that the target leaves
    # (E,) of the behavior, taken off within each episode where a difference is asked for
    baseline: Callable[[Sample], Floats] = lambda sample: sample.returns
    interval: str = "t"  # by default
    # where these are known before the log is: the least and the greatest of its values, and (E,)
    # values of the same mean that never fall below the least return; least[t] is that from step t
    range: Callable[[Possible], tuple[float, float]] | None = None
    floored: Callable[[Sample, Floats], Floats] | None = None


def returns(reward: Floats, start: Ints, discount: float) -> Floats:
    """(E,) the discounted sum of every episode.

    >>> returns(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 3]), 0.5).tolist()
    [2.0, 4.0]
    """
    sums: Floats = np.add.reduceat(discount ** step_of(start) * reward, start[:-1])
    return sums


def surprise(reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float) -> Floats:
    """(N,) r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t); nothing is expected after the last step."""
    follows = np.append(v[1:], 0.0)
    follows[start[1:] - 1] = 0.0
    expected: Floats = reward + discount * follows - q_taken
    return expected


def step_of(start: Ints) -> Ints:
    """(N,) the number of every step within its episode."""
    steps: Ints = np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
    return steps
