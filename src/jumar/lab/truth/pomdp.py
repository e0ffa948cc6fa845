"""Pomdp: a process that is only partly observed, with its endings written out.

From hidden state s under action a one of finitely many *outcomes* happens: with probability p the
process moves to s', shows z' and pays r, or it pays r and the episode ends. Outcomes of all (s, a)
are stored one after the other; those of state s and action a stand at
``pointer[s*A + a] : pointer[s*A + a + 1]``. Their probabilities sum to one *with* the endings, so
probability cannot get lost. The first observation is drawn from its own law, before any action.
`max_steps` cuts an episode off; that is truncation, not an ending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from jumar.core.arrays import Floats, Frozen, Ints
from jumar.core.errors import ModelError
from jumar.core.names import check_names
from jumar.core.text import Shown
from jumar.log.episodes import LARGEST_REWARD, SMALLEST_REWARD
from jumar.policy.chances import SUM_TOLERANCE

if TYPE_CHECKING:
    from jumar.evidence.rewards import RewardRange
    from jumar.lab.truth.cassandra.given import Laws

END = -1  # stands where an outcome has no next state and no next observation
MOST_STEPS = 10_000_000  # of an episode: nobody has logged a longer one


@dataclass(frozen=True)
class Factors:
    """T and O apart, as a `.POMDP` file has them. Outcomes are their products; from these alone
    the last bit of T and O cannot be told, and a file could not be written as it was read."""

    transition: Laws  # row a*S + s: the law of s'
    observation: Laws  # row a*S + s': the law of z'
    n_observations: int  # of the file; the model may have one more, which is only seen first
    cost: bool  # are rewards written as costs?


@dataclass(frozen=True, eq=False, repr=False)
class Pomdp(Frozen, Shown):
    """A model. S states, A actions, O observations, K outcomes in all."""

    name: str
    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: Floats  # (S,) law of the first state
    first_observation: Floats  # (S, O) law of the first observation, given the first state
    pointer: Ints  # (S*A + 1,) where the outcomes of each (s, a) begin
    probability: Floats  # (K,)
    next_state: Ints  # (K,) or END
    next_observation: Ints  # (K,) or END
    reward: Floats  # (K,)
    discount: float
    max_steps: int | None = None
    factors: Factors | None = field(default=None, compare=False)  # of a .POMDP file

    @property
    def summary(self) -> str:
        S, A, O = len(self.states), len(self.actions), len(self.observations)
        return f"{self.name}: {S} states, {A} actions, {O} observations, discount {self.discount:g}"

    def __post_init__(self) -> None:
        for kind in ("state", "action", "observation"):
            names = check_names(kind, getattr(self, f"{kind}s"), ModelError)
            self._put(**{f"{kind}s": names})
        self._freeze(np.float64, "start", "first_observation", "probability", "reward")
        self._freeze(np.int64, "pointer", "next_state", "next_observation")
        self._check()

    def _check(self) -> None:
        S, A, O = len(self.states), len(self.actions), len(self.observations)
        place = f"Model {self.name!r}"
        if self.start.shape != (S,) or self.first_observation.shape != (S, O):
            raise ModelError(
                f"{place}: start has shape {self.start.shape} and first_observation "
                f"{self.first_observation.shape}; expected ({S},) and ({S}, {O})."
            )
        K = len(self.probability)
        for name in ("next_state", "next_observation", "reward"):
            if (found := len(getattr(self, name))) != K:
                raise ModelError(f"{place}: {found} entries in {name}, but {K} outcomes.")
        fits = self.pointer.shape == (S * A + 1,) and self.pointer[0] == 0
        if not fits or self.pointer[-1] != K or (np.diff(self.pointer) < 0).any():
            raise ModelError(f"{place}: pointer does not cut {K} outcomes into {S}x{A} groups.")
        _check_law(f"{place}: the law of the first state", self.start)
        for s in np.flatnonzero(self.start > 0):
            where = f"{place}: the first observation in state {self.states[s]!r}"
            _check_law(where, self.first_observation[s])
        if (self.probability < 0).any() or not np.isfinite(self.probability).all():
            raise ModelError(f"{place}: an outcome has a negative or undefined probability.")
        ends = self.next_state == END
        inside = (self.next_state >= 0) & (self.next_state < S)
        seen = (self.next_observation >= 0) & (self.next_observation < O)
        if not (ends | (inside & seen)).all() or (self.next_observation[ends] != END).any():
            raise ModelError(f"{place}: an outcome names a state or observation out of range.")
        self._check_rewards(place)
        sums = np.bincount(self.pair_of_outcome, self.probability, S * A)
        for lost in np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE).tolist():
            state, action = self.states[lost // A], self.actions[lost % A]
            raise ModelError(
                f"{place}: state {state!r}, action {action!r}: outcomes have "
                f"probability {sums[lost]:.12g} in all, not 1. If the episode can end here, "
                "declare the missing mass as an ending."
            )
        # 1 is a discount also where episodes never end: values then exist for a horizon only
        if not 0 <= self.discount <= 1:
            raise ModelError(f"{place}: discount {self.discount} must lie in [0, 1].")
        if self.max_steps is not None and not 1 <= self.max_steps <= MOST_STEPS:
            raise ModelError(
                f"{place}: max_steps is {self.max_steps}. Use a whole number from 1 to "
                f"{MOST_STEPS:,}, or leave it out."
            )

    def _check_rewards(self, place: str) -> None:
        if not np.isfinite(self.reward).all():
            raise ModelError(f"{place}: rewards must be finite numbers.")
        largest = float(np.abs(self.reward).max(initial=0.0))
        if largest != 0 and not SMALLEST_REWARD <= largest <= LARGEST_REWARD:
            k, A = int(np.abs(self.reward).argmax()), len(self.actions)
            pair = int(self.pair_of_outcome[k])
            extreme = "too large" if largest > 1 else "the largest of all, and too small"
            raise ModelError(
                f"{place}: state {self.states[pair // A]!r}, action {self.actions[pair % A]!r}: "
                f"reward {self.reward[k]:g} is {extreme} to compute with. Use another unit."
            )

    @property
    def pair_of_outcome(self) -> Ints:
        """(K,) s*A + a of every outcome."""
        pairs = len(self.states) * len(self.actions)
        return np.repeat(np.arange(pairs), np.diff(self.pointer))

    @property
    def episodic(self) -> bool:
        """Can an episode end at all?"""
        return bool(((self.next_state == END) & (self.probability > 0)).any())

    @property
    def expected_reward(self) -> Floats:
        """(S, A)"""
        S, A = len(self.states), len(self.actions)
        paid = np.zeros(S * A)
        np.add.at(paid, self.pair_of_outcome, self.probability * self.reward)
        return paid.reshape(S, A)

    def reward_extremes(self, *, ending: bool) -> tuple[float, float] | None:
        """Least and greatest reward of a step that ends (does not end) the episode."""
        chosen = self.reward[((self.next_state == END) == ending) & (self.probability > 0)]
        return (float(chosen.min()), float(chosen.max())) if len(chosen) else None

    @property
    def reward_range(self) -> RewardRange:
        """What a step can pay, as somebody who knows the process would declare it. Where every step
        ends the episode, a step that goes on pays nothing."""
        from jumar.evidence.rewards import RewardRange

        going, ending = (self.reward_extremes(ending=over) for over in (False, True))
        return RewardRange(going or (0.0, 0.0), ending)


def check_it_stops_mattering(pomdp: Pomdp, what: str) -> None:
    """Refuse a model whose steps all count for ever, where an end of them is needed."""
    if pomdp.discount == 1 and not pomdp.episodic and pomdp.max_steps is None:
        raise ModelError(
            f"Model {pomdp.name!r} has discount 1 and never ends, so there is no end to {what}. "
            "Give a discount below 1 or a limit: FILE:discount=0.95, or FILE:max_steps=100."
        )


def _check_law(where: str, law: Floats) -> None:
    if (law < 0).any() or not np.isfinite(law).all() or abs(law.sum() - 1) > SUM_TOLERANCE:
        raise ModelError(f"{where}: probabilities sum to {law.sum():.12g}, not 1 (or are negative)")


def from_arrays(
    *,
    name: str,
    states: Sequence[str],
    actions: Sequence[str],
    observations: Sequence[str],
    transition: ArrayLike,
    observation: ArrayLike,
    reward: ArrayLike,
    start: ArrayLike,
    first_observation: ArrayLike,
    discount: float,
    ending: ArrayLike = 0.0,
    max_steps: int | None = None,
) -> Pomdp:
    """A Pomdp from dense arrays, the way textbooks write one.

    transition (A, S, S) to the *next* state, sub-stochastic where `ending` (A, S) takes the rest;
    observation (A, S, O) of the next state; reward (A, S), or (A, S, S) where it depends on the
    next state and nothing ends; first_observation (S, O).

    >>> coin = from_arrays(name="coin", states=["heads", "tails"], actions=["toss"],
    ...     observations=["h", "t"], transition=[[[.5, .5], [.5, .5]]],
    ...     observation=[[[1, 0], [0, 1]]], reward=[[1, 0]], start=[1, 0],
    ...     first_observation=[[1, 0], [0, 1]], discount=0.9)
    >>> coin.expected_reward.ravel().tolist(), coin.episodic
    ([1.0, 0.0], False)
    """
    S, A, O = len(states), len(actions), len(observations)
    T, Z = np.asarray(transition, float), np.asarray(observation, float)
    R, E = np.asarray(reward, float), np.asarray(ending, float)
    E = np.full((A, S), E) if E.ndim == 0 else E
    by_next = R.ndim == 3 and not E.any()
    for what, array, shape in (
        ("transition", T, (A, S, S)),
        ("observation", Z, (A, S, O)),
        ("reward", R, (A, S, S) if by_next else (A, S)),
        ("ending", E, (A, S)),
    ):
        if array.shape != shape:
            raise ModelError(f"Model {name!r}: {what} has shape {array.shape}, not {shape}.")
    for a, s in np.argwhere(np.abs(Z.sum(2) - 1) > SUM_TOLERANCE):
        if T[a, :, s].any():
            raise ModelError(
                f"Model {name!r}: action {actions[a]!r} into state {states[s]!r}: observations "
                f"have probability {Z[a, s].sum():.12g} in all, not 1."
            )
    # every triple (s', z') with positive probability, and one more outcome where the episode ends
    joint = np.einsum("ast,atz->satz", T, Z)
    s, a, t, z = np.nonzero(joint)
    s_end, a_end = np.nonzero(E.T)
    pair = np.concatenate([s * A + a, s_end * A + a_end])
    order = np.argsort(pair, kind="stable")
    nothing = np.full(len(s_end), END)
    return Pomdp(
        name=name,
        states=tuple(states),
        actions=tuple(actions),
        observations=tuple(observations),
        start=np.asarray(start, float),
        first_observation=np.asarray(first_observation, float),
        pointer=np.searchsorted(pair[order], np.arange(S * A + 1)),
        probability=np.concatenate([joint[s, a, t, z], E[a_end, s_end]])[order],
        next_state=np.concatenate([t, nothing])[order],
        next_observation=np.concatenate([z, nothing])[order],
        reward=(R[a, s, t] if by_next else np.concatenate([R[a, s], R[a_end, s_end]]))[order],
        discount=discount,
        max_steps=max_steps,
    )
