"""Estimators of what a controller is worth, from episodes that another one made.

With the weights w_t of `evidence.offpolicy.weights`, Q̂ any function of the past and of actions,
V̂(x) = Σ_a π(a | x) Q̂(x, a), and V̂ = 0 after the last step:

    PDIS      Σ_t γ^t w_t r_t
    DR        V̂(x_0) + Σ_t γ^t w_t (r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t))

are one number per episode with mean ρ(π), whatever Q̂ is: E[w_t (Q̂_t)] = E[w_{t-1} V̂_t], so what DR
adds to PDIS is 0 on average, and where Q̂ is close to the truth it takes most of the noise away.
Q̂ must not have seen the episode it is used on (`jumar.evidence.offpolicy.crossfit`).

The weighted one divides by the weight that is there instead of the number of episodes,

    WDR       mean V̂(x_0) + Σ_t γ^t Σ_i w_it (r_it + γ V̂_{i,t+1} - Q̂_it) / Σ_i w_it,

episodes that are over keep their last weight in the denominator. It is biased at any finite size
and consistent. It is the mean of an offset, and a weighted mean of some amounts x at every step
(`Weighted`). An episode that was cut off counts up to the cut.

Where a log has clusters (a person, plant or machine each), these are what is independent (see the
documentation, Off-policy). The mean over episodes is a ratio of two means when sizes differ, and
its intervals are right as the number of clusters grows, and only then. The mean over clusters of
their means is one of independent values at every size, each between the least and the greatest
value of one episode: what is proved for means of independent values in a range is proved for it,
however much the episodes of a cluster depend on each other. Intervals that are proved use it.

Each estimator is one entry of `ESTIMATORS`; ``ESTIMATORS.add(name, entry)`` enters one from
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Floats, Ints, sum_by
from jumar.core.registry import Registry
from jumar.evidence.offpolicy.weights import cumulative, step_of

if TYPE_CHECKING:
    from jumar.evidence.offpolicy.ranges import Possible
    from jumar.evidence.offpolicy.sample import Sample


@dataclass(frozen=True, eq=False)
class Weighted:
    """Σ_i offset_i / Σ_i size_i + Σ_t γ^t Σ_i w_it x_it / Σ_i w_it, over E episodes with N steps;
    or over E clusters of episodes, which have sizes."""

    weight: Floats  # (N,) w_t of every step
    x: Floats  # (N,) what is averaged there
    start: Ints  # (E+1,)
    offset: Floats  # (E,) what is added with equal weights
    discount: float
    size: Floats | None = None  # (E,) episodes that each stands for; None: one

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
    def live(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Of the steps that have weight: the number within the episode, the episode, w and x. The
        others say nothing, and in a long log they may be most."""
        live = np.flatnonzero(self.weight)
        episode = np.searchsorted(self.start, live, side="right") - 1
        return live - self.start[episode], episode, self.weight[live], self.x[live]

    @cached_property
    def _by_step(self) -> tuple[Floats, Floats]:
        """(T,) the weighted mean of x, and γ^t over the mean weight, at every step t."""
        length = np.diff(self.start)
        T = int(length.max())
        t, _, w, x = self.live
        over = sum_by(length, self.weight[self.start[1:] - 1], T + 1)[:T]
        weight = sum_by(t, w, T) + np.cumsum(over)
        there = weight > 0  # no weight at all: no episode follows the target so far
        total, power = sum_by(t, w * x, T), self.discount ** np.arange(T)
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
        t, episode, w, x = self.live
        mean, scale = self._by_step
        over = self._pull_when_over(mean, scale, np.diff(self.start))
        within = sum_by(episode, scale[t] * w * (x - mean[t]), len(self))
        own = (self.offset - self._base * self.sizes) / self.sizes.mean()
        return np.asarray(own + within - over)

    def _pull_when_over(self, mean: Floats, scale: Floats, length: Ints) -> Floats:
        """(E,) w Σ_{s>=T} mean_s scale_s for an episode of T steps that has w in the end."""
        weight: Floats = self.weight[self.start[1:] - 1]
        with np.errstate(over="ignore", invalid="ignore"):
            later = np.append(np.cumsum((mean * scale)[::-1])[::-1], 0.0)  # (T+1,) Σ_{s>=t}
        if np.isfinite(later).all():
            return np.asarray(weight * later[length])
        over = np.zeros(len(self))  # where all weights are tiny: w scale_s is never large
        for s in range(len(mean)):
            over += np.where(length <= s, weight * scale[s], 0.0) * mean[s]
        return over


def _surprise(reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float) -> Floats:
    """(N,) r_t + γ V̂(x_{t+1}) - Q̂(x_t, a_t); nothing is expected after the last step."""
    follows = np.append(v[1:], 0.0)
    follows[start[1:] - 1] = 0.0
    return np.asarray(reward + discount * follows - q_taken)


# ---- the three ----------------------------------------------------------------------------------


def pdis(ratio: Floats, reward: Floats, start: Ints, discount: float) -> Floats:
    """(E,) PDIS: every reward, times the weight of the steps up to it.

    >>> pdis(np.array([2.0, 0.5]), np.array([1.0, 2.0]), np.array([0, 2]), 0.5).tolist()
    [3.0]
    """
    weighed = discount ** step_of(start) * (cumulative(ratio, start) * reward)
    return np.asarray(np.add.reduceat(weighed, start[:-1]))


def floored_pdis(
    ratio: Floats, reward: Floats, start: Ints, discount: float, least: Floats
) -> Floats:
    """(E,) PDIS of what comes above the worst, and the worst: never below least[0].

    least[t] (H,) is the least return from step t on. It is used as a Q̂ that knows nothing else, so
    the mean is that of PDIS, and no surprise is negative.
    """
    known = np.asarray(least[step_of(start)])
    return doubly_robust(ratio, reward, known, known, start, discount)


def doubly_robust(
    ratio: Floats, reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float
) -> Floats:
    """(E,) DR: PDIS of what Q̂ did not expect, and what it expects at the start.

    `q_taken` (N,) is Q̂(x_t, a_t), `v` (N,) is V̂(x_t) = Σ_a π(a | x_t) Q̂(x_t, a).

    >>> one = np.array([0, 1])
    >>> doubly_robust(np.array([2.0]), np.array([5.0]), np.array([4.0]), np.array([3.0]), one, 0.9)
    array([5.])
    """
    surprise = _surprise(reward, q_taken, v, start, discount)
    return v[start[:-1]] + pdis(ratio, surprise, start, discount)


def weighted_doubly_robust(
    ratio: Floats, reward: Floats, q_taken: Floats, v: Floats, start: Ints, discount: float
) -> Weighted:
    """WDR: what Q̂ expects at the start, and step by step the weighted mean of what it
    did not expect."""
    surprise = _surprise(reward, q_taken, v, start, discount)
    return Weighted(cumulative(ratio, start), surprise, start, v[start[:-1]], discount)


# ---- clusters -----------------------------------------------------------------------------------


def cluster_means(values: Floats, of: Ints) -> Floats:
    """(K,) the mean of the values of each cluster."""
    K = int(of.max()) + 1
    return sum_by(of, values, K) / np.bincount(of, minlength=K)


def by_cluster(values: Floats | Weighted, of: Ints) -> Floats | Weighted:
    """One value per cluster whose mean, or ratio of means, is that over episodes."""
    from jumar.core import kernels

    size = np.bincount(of)
    K = len(size)
    if not isinstance(values, Weighted):
        if (size == size[0]).all():
            return cluster_means(values, of)
        no, start, sums = np.zeros(K), np.arange(K + 1), sum_by(of, values, K)
        return Weighted(no, no, start, sums, 1.0, size.astype(np.float64))
    # at step t a cluster is one episode with the weight Σ_i w_it, and with the weighted mean of x
    longest = np.zeros(K, np.int64)
    np.maximum.at(longest, of, np.diff(values.start))
    start = np.concatenate([[0], np.cumsum(longest)])
    weight, total = kernels.together(values.weight, values.x, values.start, of, start)
    x = np.divide(total, weight, out=np.zeros(len(total)), where=weight > 0)
    sums = sum_by(of, values.offset, K)
    return Weighted(weight, x, start, sums, values.discount, sum_by(of, values.sizes, K))


# ---- what is known of each ----------------------------------------------------------------------


@dataclass(frozen=True)
class Estimator:
    """One estimator, and all that is known of it."""

    title: str
    values: Callable[[Sample], Floats | Weighted]  # (E,) with mean ρ(π), or a weighted mean
    rank: int  # of several, the one with the least is gone by: steady ones and plain means first
    # a ratio of means: intervals for independent values do not serve it; without a whole episode
    # of the target there is no weight to divide by
    weighted: bool = False
    # (E,) of the behavior, taken off within each episode where a difference is asked for
    baseline: Callable[[Sample], Floats] = lambda sample: sample.returns
    interval: str = "t"  # by default
    # where these are known before the log is: the least and the greatest of its values, and (E,)
    # values of the same mean that never fall below the least return; least[t] is that from step t
    range: Callable[[Possible], tuple[float, float]] | None = None
    floored: Callable[[Sample, Floats], Floats] | None = None


# the order is that of the random streams, so append only
ESTIMATORS: Registry[Estimator] = Registry(
    "estimator",
    {
        "pdis": Estimator(
            "importance sampling step by step",
            lambda sample: pdis(*sample.data),
            rank=2,
            interval="bootstrap-t",  # its values are more skewed than those of dr
            range=lambda possible: possible.pdis_range(),
            floored=lambda sample, least: floored_pdis(*sample.data, least),
        ),
        "dr": Estimator(
            "doubly robust",
            lambda sample: doubly_robust(*sample.data_with_values),
            rank=1,
            baseline=lambda sample: sample.behavior_dr,
        ),
        "wdr": Estimator(
            "weighted doubly robust",
            lambda sample: weighted_doubly_robust(*sample.data_with_values),
            rank=3,
            weighted=True,
            baseline=lambda sample: sample.behavior_dr,
            interval="bootstrap-t",
        ),
    },
)
