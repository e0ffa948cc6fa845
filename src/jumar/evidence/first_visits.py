"""What followed the first visit of a pair (h, a) in each episode, and what Q_b(h, a) can be.

Take the episodes in which the behavior b comes to h and does a, and of each the discounted return G
from the *first* such step on. Whether that step comes is decided by what happened up to it. If
⟨n, z⟩ is sufficient, what comes after depends on nothing before it: b acts by h alone, and so does
the process. So, *given which k episodes visit the pair*, their returns are independent draws of
one law with mean Q_b(h, a). An inequality for k independent draws then holds given those episodes,
hence without the condition too: that k is random costs nothing. (Later visits in one episode are
not independent of the first, and the number of them depends on the returns; they are left out.)

With returns in [lo, hi], p the mean return as a fraction of that range, s its standard deviation,
and every pair allowed to be wrong with a chance of η = δ/(X·A), half of it for each line:

    k·kl(p, q) <= ln(4/η)                                   Hoeffding 1963, Theorem 1
    |p - q|·(hi-lo) <= s √(2 ln(8/η)/k) + 7 (hi-lo) ln(8/η)/(3 (k-1))    Maurer and Pontil 2009

both sides of each; q is Q_b as a fraction of the range, kl(p, q) the relative entropy of two coins.
The first implies |p - q| <= √(ln(4/η)/(2k)) and is never wider. An interval takes the better end
of both. X·A counts *every* pair that the memory can reach, seen or not, for which ones are seen is
up to chance. A pair without a visit keeps [lo, hi].

An episode that was cut off at step T has a return known up to γ^(T-t) times something in [lo, hi].
It is taken at the middle; the interval is moved out by what the mean can be off, and s is raised to
the largest that is possible (s is a seminorm: s(G) <= s(middle) + √(Σ off²/(k-1))). This is right
whatever made the recording stop, as long as the past alone decided whether a visit was recorded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints
from jumar.core.errors import MemoryMismatch, ParameterError
from jumar.core.text import Shown
from jumar.evidence.bounds import check_delta, check_discount
from jumar.evidence.rewards import RewardRange
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.tally.history import HistoryMdp
from jumar.tally.replay import UNSEEN, Replays

HALVINGS = 60  # of an interval that is searched for a root


class _OfModel(Frozen, Shown):
    """Something known of the pairs of a log over a memory."""

    of: ClassVar[str]
    states: Ints
    discount: float

    def check(self, mdp: HistoryMdp) -> None:
        """It must be of the log and the memory that the model was estimated with."""
        if self.discount != mdp.discount:
            raise ParameterError(
                f"{self.of}: discounted by {self.discount:g}, but the model by {mdp.discount:g}. "
                "Use the same discount for both."
            )
        if not np.array_equal(self.states, mdp.states):
            raise MemoryMismatch(
                f"{self.of}: of {len(self.states)} history states, which are not the {len(mdp)} of "
                f"the model ({mdp.memory}). Use the same log and the same memory for both."
            )


@dataclass(frozen=True, eq=False, repr=False)
class ReturnBounds(_OfModel):
    """lower <= Q_b <= upper for all pairs at once, except with a chance of δ."""

    of = "returns"
    states: Ints  # (H, W+1) int64, sorted
    lower: Floats  # (H, A)
    upper: Floats  # (H, A)
    discount: float
    delta: float

    @property
    def summary(self) -> str:
        return f"{self.lower.size:,} pairs; a chance of {self.delta:g} that any is outside"

    def __post_init__(self) -> None:
        self._freeze(np.int64, "states")
        self._freeze(np.float64, "lower", "upper")


@dataclass(frozen=True, eq=False, repr=False)
class FirstVisits(_OfModel):
    """Returns from the first visit of every pair in every episode. H states, A actions."""

    of = "visits"
    states: Ints  # (H, W+1) int64, the history states seen, sorted
    count: Floats  # (H, A) episodes that visit the pair
    mean: Floats  # (H, A) return; what a cut hides is taken at the middle of the range
    slack: Floats  # (H, A) how far the mean may be off for that
    deviation: Floats  # (H, A) the largest that the standard deviation of the returns can be
    low: float  # no return is lower
    high: float  # no return is higher
    pairs: int  # X·A: all pairs that could have been visited
    discount: float

    @property
    def summary(self) -> str:
        seen = int((self.count > 0).sum())
        return f"returns of {seen:,} pairs in {len(self.states):,} history states"

    def __post_init__(self) -> None:
        self._freeze(np.int64, "states")
        self._freeze(np.float64, "count", "mean", "slack", "deviation")

    def hoeffding(self, delta: float) -> Floats:
        """(H, A) how far a mean return may be from what the behavior's actions are worth, for all
        pairs together with probability 1 - δ: (hi-lo) √(ln(2XA/δ)/(2k)), and what cuts hide.
        Infinite without a visit.

        >>> visits = FirstVisits([[0]], [[50.0]], [[1.0]], [[0.0]], [[0.0]], 0.0, 1.0, 1, 0.9)
        >>> visits.hoeffding(delta=0.05).round(6).tolist(), round(math.sqrt(math.log(40) / 100), 6)
        ([[0.192065]], 0.192065)
        """
        c = math.log(2) + math.log(self.pairs) - math.log(check_delta(delta))
        k = np.maximum(self.count, 1.0)
        off = (self.high - self.low) * np.sqrt(c / (2 * k)) + self.slack
        return np.where(self.count > 0, off, np.inf)

    def maurer_pontil(self, delta: float) -> Floats:
        """(H, A) the same by the sample variance s²: s √(2c/k) + 7 (hi-lo) c/(3(k-1)) with
        c = ln(4XA/δ), and what cuts hide. Infinite with fewer than two visits."""
        c = math.log(4) + math.log(self.pairs) - math.log(check_delta(delta))
        return self._bernstein(c, self.high - self.low) + self.slack

    def bounds(self, delta: float) -> ReturnBounds:
        """Intervals that hold for all pairs together with probability 1 - δ.

        >>> visits = FirstVisits([[0]], [[10.0]], [[1.0]], [[0.0]], [[0.0]], 0.0, 1.0, 1, 0.9)
        >>> found = visits.bounds(delta=0.05)  # ten returns, all of them 1, the highest there is
        >>> round(float(found.lower[0, 0]), 6), round((0.05 / 4) ** (1 / 10), 6)
        (0.645195, 0.645195)
        """
        share = math.log(self.pairs) - math.log(check_delta(delta))  # ln(X·A/δ)
        width = self.high - self.low
        below, above = self.mean - self.slack, self.mean + self.slack
        lower = np.full(self.count.shape, self.low)
        upper = np.full(self.count.shape, self.high)
        if width > 0:
            k = np.maximum(self.count, 1.0)
            c = (math.log(4) + share) / k
            spread = self._bernstein(math.log(8) + share, width)
            low = self.low + width * _kl_lower(np.clip((below - self.low) / width, 0, 1), c)
            high = self.high - width * _kl_lower(np.clip((self.high - above) / width, 0, 1), c)
            seen = self.count > 0
            lower[seen] = np.maximum(lower, np.maximum(low, below - spread))[seen]
            upper[seen] = np.minimum(upper, np.minimum(high, above + spread))[seen]
        return ReturnBounds(self.states, lower, upper, self.discount, delta)

    def _bernstein(self, c: float, width: float) -> Floats:
        """(H, A) infinite for fewer than two visits."""
        spread = np.full(self.count.shape, np.inf)
        enough = self.count >= 2
        k = self.count[enough]
        spread[enough] = self.deviation[enough] * np.sqrt(2 * c / k) + 7 * width * c / (3 * (k - 1))
        return spread


def first_returns(
    log: Episodes | Replays,
    memory: Memory,
    *,
    discount: float,
    rewards: RewardRange,
    by_action: bool = True,
) -> FirstVisits:
    """Replay a memory over a log and gather what followed the first visit of every pair.

    Parameters
    ----------
    log
        What `read_logs` returns, or its `Replays`.
    memory
        What is remembered, as ``window(2)``.
    discount
        Weight of the next step against this one.
    rewards
        What a step can pay, which bounds the returns.
    by_action
        Of every pair; without it, of every history state, whatever was done there: the mean return
        then estimates V_b(h), in one column.

    Returns
    -------
    FirstVisits
        Counts and mean returns; `bounds(delta)` says what the behavior's action values can be.

    Examples
    --------
    >>> from jumar.memory import window
    >>> log = Episodes(("z",), ("a", "b"), [0, 0, 0, 0], [0, 0, 1, 1], [1.0, 2.0, 4.0, 6.0],
    ...                start=[0, 3, 4], final_observation=[-1, -1], terminated=[True, True])
    >>> found = first_returns(log, window(1), discount=0.5, rewards=RewardRange.constant(0, 6))
    >>> found.count.tolist(), found.mean.tolist()  # a: 1 + 2/2 + 4/4; b: 4, and 6
    ([[1.0, 2.0]], [[3.0, 5.0]])
    """
    from jumar.core import kernels

    γ = check_discount(discount)
    low, high = rewards.returns(γ)
    replay = Replays.of(log).over(memory)
    log, memory, states = replay.log, replay.memory, replay.states
    O, A = memory.alphabet
    columns = A if by_action else 1
    count, mean, squares, slack, slack_squares, least, most = kernels.first_visit_returns(
        replay.pair if by_action else replay.pair // A,
        log.reward,
        log.start,
        log.terminated,
        replay.after != UNSEEN,
        γ,
        (low + high) / 2,
        (high - low) / 2,
        len(states) * columns,
    )
    tolerance = 1e-9 * max(abs(low), abs(high))
    if least < low - tolerance or most > high + tolerance:
        raise ParameterError(
            f"rewards: they allow returns from {low:g} to {high:g}, but the log has some from "
            f"{least:g} to {most:g}. Declare a wider range."
        )
    more = np.maximum(count - 1, 1)
    deviation = np.sqrt(squares / more) + np.sqrt(slack_squares / more)
    shape, pairs = (len(states), columns), memory.count_nodes() * O * columns
    count, mean, slack, deviation = (x.reshape(shape) for x in (count, mean, slack, deviation))
    return FirstVisits(states, count, mean, slack, deviation, low, high, pairs, γ)


def _kl_lower(p: Floats, c: Floats) -> Floats:
    """The smallest q in [0, p] with kl(p, q) <= c, from below: never larger than that."""
    from scipy.special import rel_entr

    low, high = np.zeros_like(p), p.copy()
    for _ in range(HALVINGS):
        q = (low + high) / 2
        outside = rel_entr(p, q) + rel_entr(1 - p, 1 - q) > c
        low, high = np.where(outside, q, low), np.where(outside, high, q)
    return low
