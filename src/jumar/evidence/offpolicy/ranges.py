"""What is possible before a log is looked at: how far a return, and a weighted one, can go. These
are the ranges that proved intervals need.

The two memories together are an automaton, so the extremes over everything that could ever be
logged are found exactly, by going backwards through the horizon: with ρ the ratio of a step, the
greatest PDIS value of h more steps from node n is

    U_h(n) = max over z, a    ρ(n, z, a) · max(ending reward, reward + γ max(0, U_{h-1}(n')))

(the recording may be cut after any step), the least one likewise, and the largest weight of t steps
is W_t(n) = max ρ(n, z, a) · W_{t-1}(n'). They grow like the largest ratio to the power of the
horizon: where that is astronomical, so is the range, and the interval says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from jumar.core.arrays import ROUNDING, Bools, Floats, Ints, RowIndex, closure
from jumar.core.errors import MemoryMismatch, TooLarge
from jumar.core.names import other_names
from jumar.core.text import counted, printable
from jumar.evidence.consistency import check_horizon, check_rewards, rewards_seen
from jumar.evidence.rewards import RewardRange
from jumar.memory.refinement import join
from jumar.policy.controller import Controller

if TYPE_CHECKING:
    from jumar.evidence.offpolicy.sample import Sample

MOST_NODES = 20_000  # of both memories together; beyond, a cruder range is used


@dataclass(frozen=True, eq=False)
class KnownSteps:
    """Every step that can be logged while the target follows: M joint nodes, K pairs (z, a)."""

    ratio: Floats  # (M, K) of a step; 0: the target does not do that
    next: Ints  # (M, K) int64, the joint node after it
    possible: Bools  # (M, K) the behavior may do that
    first: int
    covered: bool  # the behavior may do whatever the target may

    def largest_weights(self, horizon: int) -> Floats:
        """(horizon,) the largest weight after 1, 2, ... steps; infinite where it overflows."""
        found, w = np.empty(horizon), np.ones(len(self.ratio))
        with np.errstate(over="ignore"):
            for t in range(horizon):
                w = self._most(self._times(w[self.next]))
                found[t] = w[self.first]
        return found

    def pdis_range(
        self, rewards: RewardRange, discount: float, horizon: int
    ) -> tuple[float, float]:
        """The least and the greatest value of PDIS over at most `horizon` steps."""
        (low, high), ending = rewards.continuing, rewards.ending or (np.inf, -np.inf)
        least, most = np.zeros(len(self.ratio)), np.zeros(len(self.ratio))
        with np.errstate(over="ignore"):
            for _ in range(horizon):
                after = np.minimum(least, 0.0)[self.next], np.maximum(most, 0.0)[self.next]
                down = np.minimum(ending[0], low + discount * after[0])
                up = np.maximum(ending[1], high + discount * after[1])
                least, most = -self._most(-self._times(down)), self._most(self._times(up))
        return float(least[self.first]), float(most[self.first])

    def _times(self, amount: Floats) -> Floats:
        """ratio · amount, where 0 · ∞ is 0: what the target does not do adds nothing."""
        return np.multiply(self.ratio, amount, out=np.zeros_like(amount), where=self.ratio > 0)

    def _most(self, amount: Floats) -> Floats:
        return np.asarray(np.where(self.possible, amount, -np.inf).max(1))


def check_alike(target: Controller, behavior: Controller) -> None:
    for kind in other_names(target, behavior):
        raise MemoryMismatch(
            f"{printable(target.name)} and {printable(behavior.name)} do not list the same "
            f"{kind} in the same order. Write the {kind} of both alike."
        )


def steps_of(target: Controller, behavior: Controller) -> KnownSteps:
    """The joint automaton, as far as the target can follow the behavior."""
    check_alike(target, behavior)
    memory = join(behavior.memory, target.memory)
    O, A = memory.alphabet
    z, a = np.divmod(np.arange(O * A), A)
    new, old = target.lift(memory), behavior.lift(memory)

    def laws(nodes: Ints) -> tuple[Floats, Floats]:
        """(M, K) π and π_b of every pair at every node."""
        states = np.column_stack([np.repeat(nodes, O, 0), np.tile(np.arange(O), len(nodes))])
        return tuple(c.rows_at(states).reshape(len(nodes), O * A) for c in (new, old))  # type: ignore[return-value]

    def successors(nodes: Ints) -> Ints:
        π, π_b = laws(nodes)
        n, k = np.nonzero((π > 0) & (π_b > 0))
        return memory.step(nodes[n], z[k], a[k])

    try:
        nodes = closure(memory.initial()[None, :], successors, MOST_NODES, "Joint nodes")
    except TooLarge:
        return _crude(behavior)
    π, π_b = laws(nodes)
    M = len(nodes)
    moved = memory.step(np.repeat(nodes, O * A, 0), np.tile(z, M), np.tile(a, M))
    index = RowIndex(nodes)
    possible = π_b > 0
    return KnownSteps(
        ratio=np.divide(π, π_b, out=np.zeros_like(π), where=possible),
        # a node that the target never comes to is behind a ratio of 0, so any number will do
        next=np.maximum(index.find(moved), 0).reshape(M, O * A),
        possible=possible,
        first=int(index.find(memory.initial()[None, :])[0]),
        covered=bool((possible | (π <= 0)).all()),
    )


def _crude(behavior: Controller) -> KnownSteps:
    """One node whose ratio is 0 or 1 over the rarest thing the behavior ever does."""
    rarest = min(float(rows[rows > 0].min()) for rows in layers_of(behavior))
    return KnownSteps(
        ratio=np.array([[0.0, 1 / rarest]]),
        next=np.zeros((1, 2), np.int64),
        possible=np.ones((1, 2), np.bool_),
        first=0,
        covered=never_zero(behavior),
    )


def never_zero(controller: Controller) -> bool:
    """Does it do everything at least sometimes, everywhere? Then it covers whatever there is."""
    return all(bool((rows > 0).all()) for rows in layers_of(controller))


def layers_of(controller: Controller) -> Iterator[Floats]:
    """All rows a controller is made of, its own and those it falls back on."""
    layer: Controller | Floats = controller
    while isinstance(layer, Controller):
        if len(layer.rows):
            yield layer.rows
        layer = layer.otherwise
    yield layer


def return_ranges(rewards: RewardRange, discount: float, horizon: int) -> tuple[Floats, Floats]:
    """(horizon,) the least and (horizon,) the greatest return of episodes of 1, 2, ... steps.

    >>> low, high = return_ranges(RewardRange((-1, -1), (-100, 10)), 1.0, 3)
    >>> low.tolist(), high.tolist()
    ([-100.0, -101.0, -102.0], [10.0, 9.0, 8.0])
    """
    (low, high), ending = rewards.continuing, rewards.ending or rewards.continuing
    power = discount ** np.arange(horizon)
    before = np.append(0.0, np.cumsum(power)[:-1])
    return (
        before * low + power * min(low, ending[0]),
        before * high + power * max(high, ending[1]),
    )


def least_returns(rewards: RewardRange, discount: float, horizon: int) -> Floats:
    """(horizon,) the least return from step t on, of episodes with at most `horizon` steps.

    >>> least_returns(RewardRange((-1, -1), (-100, 10)), 1.0, 3).tolist()
    [-102.0, -101.0, -100.0]
    """
    ending = np.inf if rewards.ending is None else rewards.ending[0]
    least, after = np.empty(horizon), 0.0
    for t in range(horizon - 1, -1, -1):  # the recording may be cut after any step
        after = least[t] = min(ending, rewards.continuing[0] + discount * min(0.0, after))
    return least


# ---- of one log and one estimator ---------------------------------------------------------------


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

    def possible(self, *, proved: bool) -> tuple[float, float]:
        """What could be estimated at all. Where nothing is to be proved, also by what the log shows
        of the behavior's return, and of a length that all episodes have."""
        low, high = self.returns
        if proved:
            return (low - high, high - low) if self.difference else (low, high)
        if not self.declared_horizon and (self.sample.log.lengths == self.horizon).all():
            low, high = float(self.low[-1]), float(self.high[-1])
        # no mean of returns lies outside, but for rounding
        logged = min(max(float(self.sample.returns.mean()), low), high) if self.difference else 0.0
        return low - logged, high - logged

    def without_rounding(self, value: float, possible: tuple[float, float]) -> float:
        """A value that only rounding, of numbers as large as returns, took beyond what is
        possible is at its end."""
        at = min(max(value, possible[0]), possible[1])
        return at if abs(at - value) <= ROUNDING * np.abs([self.low, self.high]).max() else value

    def without_dust(self, value: float) -> float:
        """A difference that only rounding, of numbers as large as returns, took from 0 is 0."""
        largest = float(np.abs(self.sample.returns).max())
        return 0.0 if self.difference and abs(value) <= ROUNDING * largest else value

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
        return (
            f"Over {counted(self.horizon, 'step')} an episode's weight could be as large as "
            f"{size}; proved intervals must allow for it.",
        )

    def floored(self, values: Callable[[Sample, Floats], Floats] | None) -> tuple[Floats, float]:
        """(E,) values with the mean of an estimator, or (K,) where the log has clusters; and what
        none of them falls short of."""
        assert values is not None, "_serves said so"
        least = least_returns(self.rewards, self.sample.discount, self.horizon)
        found, floor = values(self.sample, least), float(least[0])
        if self.difference:
            found, floor = found - self.sample.returns, floor - self.returns[1]
        return self.sample.mean_of_units(found), floor


def possible_of(
    sample: Sample, rewards: RewardRange | None, horizon: int | None, difference: bool
) -> Possible:
    """As declared, else as the log shows it."""
    log = sample.log
    if rewards is not None:
        check_rewards(log, rewards)
    rewards, most = rewards or rewards_seen(log), horizon or int(log.lengths.max())
    check_horizon(log, most)
    ends = return_ranges(rewards, sample.discount, most)
    return Possible(sample, difference, rewards, most, horizon is not None, *ends)
