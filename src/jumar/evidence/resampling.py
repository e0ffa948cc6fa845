"""How much the estimated gain hangs on the episodes that happened to be logged.

Episodes are drawn again with replacement (they are independent; the steps of one are not), or whole
clusters of episodes where the log has these. The model is estimated anew from each draw, and both
controllers, the behavior and the improved one as they stand, are evaluated in it. The spread of the
differences is the bootstrap distribution of the gain. Two things it does not see: the controller
was chosen by the same log, so its centre is optimistic; and if the memory is too short every draw
is wrong in the same way.

A long log is first dealt at random into blocks of episodes, and blocks are drawn: one pass over the
log, whatever the number of draws. A pair that a draw happens to miss keeps what the whole log says.

A draw differs little from the log, so in a large model its values are found from the values of the
log (`solve_near`), to a relative residual of 1e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints
from jumar.core.episodes import Episodes
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Improvement
from jumar.core.randomness import Seed, generator
from jumar.core.replay import Replay, Replays
from jumar.core.shown import Shown
from jumar.evidence.order.gaps import BLOCKS
from jumar.solve.linear import solve_near

_DRAWS = ((300, 1000), (2000, 300), (20_000, 100))  # history states, and draws up to there


@dataclass(frozen=True, eq=False, repr=False)
class Resampled(Frozen, Shown):
    """Performances in B models estimated from draws of the episodes."""

    behavior: Floats  # (B,)
    improved: Floats  # (B,)

    @property
    def summary(self) -> str:
        low, high = self.interval()
        return f"{len(self.gains):,} draws, 90 % of the gains from {low:.4g} to {high:.4g}"

    @property
    def gains(self) -> Floats:
        """(B,)"""
        return self.improved - self.behavior

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """The middle `level` of the gains."""
        low, high = np.quantile(self.gains, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    @property
    def worse(self) -> float:
        """The share of draws in which the improved controller does not win."""
        return float((self.gains <= 0).mean())


def resample(
    log: Episodes | Replays,
    improvement: Improvement,
    *,
    seed: Seed = 1,
    draws: int | None = None,
) -> Resampled:
    """The bootstrap distribution of an improvement's gain.

    Parameters
    ----------
    log
        The log it was learned from, or its `Replays`.
    improvement
        What an algorithm returned.
    seed
        A whole number or a generator.
    draws
        How many. Without it, what the size of the model allows.

    Returns
    -------
    Resampled
        The performances in all draws, and their `interval`.

    Examples
    --------
    >>> from jumar import improve, models, simulate
    >>> from jumar.core.controller import Controller
    >>> tiger = models.tiger()
    >>> behavior = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = simulate(tiger, behavior, episodes=500, seed=1)
    >>> better = improve(log, behavior, discount=0.95).improvement
    >>> again = resample(log, better, seed=1, draws=200)
    >>> low, high = again.interval()
    >>> low < better.gain < high
    True
    """
    rng = generator(seed, "bootstrap")
    mdp = improvement.mdp
    draws = draws or next((d for size, d in _DRAWS if len(mdp) <= size), 30)
    tallies = _Tallies(Replays.of(log).over(mdp.memory), mdp, rng)
    policies = (
        (improvement.behavior_policy, improvement.behavior_values),
        (improvement.policy, improvement.values),
    )
    found = np.empty((2, draws))
    for i in range(draws):
        weights = np.bincount(rng.integers(tallies.n, size=tallies.n), minlength=tallies.n)
        model = tallies.model(weights.astype(np.float64))
        for j, (policy, near) in enumerate(policies):
            found[j, i] = model.performance(policy, improvement.unseen_value, near)
    return Resampled(found[0], found[1])


@dataclass(frozen=True)
class _Model:
    """An estimated model on the outcomes that the whole log has."""

    mdp: HistoryMdp
    probability: Floats  # (L,) of the outcomes of `mdp`
    reward: Floats  # (H, A)
    start: Floats  # (H,)

    def performance(self, policy: Floats, unseen: float, near: Floats) -> float:
        """Of a policy whose values in the log's own model are `near`."""
        mdp = self.mdp
        r = np.where(mdp.visits > 0, self.reward, unseen)
        weight = mdp.discount * self.probability * policy.ravel()[mdp.pair]
        source = mdp.pair // len(mdp.actions)
        right = (policy * r).sum(1)
        return float(self.start @ solve_near(source, mdp.successor, weight, right, near))


class _Tallies:
    """What each block of episodes adds to the counts, so that a draw is a weighted sum."""

    def __init__(self, replay: Replay, mdp: HistoryMdp, rng: np.random.Generator) -> None:
        log, self.mdp = replay.log, mdp
        H, A = mdp.shape
        unit = np.arange(len(log)) if log.cluster is None else log.cluster.present[1]
        U = int(unit.max()) + 1
        self.n = min(U, BLOCKS)
        block = (rng.permutation(U) % self.n if self.n < U else np.arange(U))[unit]
        assert np.array_equal(replay.states, mdp.states), "the log is not the one the model is of"
        known, step_block = replay.known, np.repeat(block, log.lengths)
        pair = replay.pair[known]
        self.visits = _table(step_block[known], pair, self.n, H * A)
        self.rewards = _table(step_block[known], pair, self.n, H * A, log.reward[known])
        moves, move = replay.moves
        assert np.array_equal(moves[:, 0], mdp.pair), "the log is not the one the model is of"
        self.times = _table(step_block[move >= 0], move[move >= 0], self.n, len(moves))
        self.starts = _table(block, replay.at[log.start[:-1]], self.n, H)

    def model(self, weights: Floats) -> _Model:
        mdp = self.mdp
        visits = (self.visits @ weights).reshape(mdp.shape)
        rewards = (self.rewards @ weights).reshape(mdp.shape)
        missed = visits == 0
        n = np.where(missed, 1, visits)
        times = self.times @ weights
        starts = self.starts @ weights
        lost = missed.ravel()[mdp.pair]
        return _Model(
            mdp,
            np.where(lost, mdp.probability, times / n.ravel()[mdp.pair]),
            np.where(missed, mdp.reward, rewards / n),
            starts / starts.sum(),
        )


def _table(block: Ints, key: Ints, n: int, size: int, amount: Floats | None = None) -> Any:
    """(size, n) how often, or how much, each key has in each block."""
    from scipy.sparse import csr_array

    data = np.ones(len(key)) if amount is None else amount
    return csr_array((data, (block, key)), shape=(n, size)).T
