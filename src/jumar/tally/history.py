"""Counts of history states ⟨n, z⟩ in a log, and the maximum-likelihood model they give.

A replay (`tally.replay`) turns every step of a log into a move between history states. Counted are,
per pair (h, a): visits, rewards, ends, and successors. An ending is an outcome like any other, so

    visits(h, a) = Σ_h' successors(h, a, h') + ends(h, a)

holds exactly, and the model's continuing probabilities sum to 1 - P(end): an ending is never a
second factor. The last step of an episode that was cut off without a final observation has no known
outcome; it is left out and counted apart (`unfinished`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, RowIndex, freeze, sum_by
from jumar.core.errors import LogError, MemoryMismatch, ParameterError
from jumar.core.names import other_names
from jumar.core.resources import check_room
from jumar.core.text import Shown
from jumar.memory import Memory
from jumar.memory.frames import Framed, history_state_columns, named
from jumar.policy.controller import Controller


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Frozen, Shown, Framed):
    """What a log says about each history state. H states, A actions, L seen (h, a, h').

    As a table (`to_pandas`, `to_polars`, `to_arrow`) it has one row for each action in each history
    state: visits, rewards, ends.
    """

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    memory: Memory
    states: Ints  # (H, W+1) int64, the history states seen, sorted
    visits: Ints  # (H, A) int64, times a was done in h and the outcome is known
    reward_sum: Floats  # (H, A)
    ends: Ints  # (H, A) int64, times the process ended
    starts: Ints  # (H,) int64, episodes that began here
    pair: Ints  # (L,) int64, h*A + a, ascending
    successor: Ints  # (L,) int64, h', ascending within a pair
    times: Ints  # (L,) int64, how often h' followed
    unfinished: int = 0  # steps left out because what followed is unknown

    @property
    def summary(self) -> str:
        H, A = self.visits.shape
        return f"{self.memory}: {H:,} history states, {A} actions, {int(self.visits.sum()):,} steps"

    def __post_init__(self) -> None:
        self._put(memory=self.memory.on(len(self.observations), self.n_actions))
        self._freeze(np.int64, "states", "visits", "ends", "starts", "pair", "successor", "times")
        self._freeze(np.float64, "reward_sum")
        followed = np.bincount(self.pair, self.times, self.visits.size).reshape(self.visits.shape)
        if not np.array_equal(followed + self.ends, self.visits):
            raise LogError("Counts: successors and ends do not add up to the visits.")

    @property
    def n_actions(self) -> int:
        return len(self.actions)

    def to_arrow(self) -> Any:
        """The visits, rewards and ends of every action in every history state, as a table of
        pyarrow."""
        import pyarrow as pa

        H, A = self.visits.shape
        states = history_state_columns(self.memory, self.states, self.observations, self.actions, A)
        return pa.table(
            {
                **states,
                "action": named(np.tile(np.arange(A), H), self.actions),
                "visits": self.visits.ravel(),
                "reward_sum": self.reward_sum.ravel(),
                "ends": self.ends.ravel(),
            }
        )

    def mle(self, discount: float) -> HistoryMdp:
        """The maximum-likelihood model.

        A pair never tried has no reward, no successor and no ending in it; what that means is up
        to the algorithm.
        """
        n = np.maximum(self.visits, 1)
        return HistoryMdp(
            observations=self.observations,
            actions=self.actions,
            memory=self.memory,
            states=self.states,
            visits=self.visits.astype(np.float64),
            reward=self.reward_sum / n,
            ending=self.ends / n,
            start=self.starts / max(1, self.starts.sum()),
            pair=self.pair,
            successor=self.successor,
            probability=self.times / n.ravel()[self.pair],
            discount=discount,
        )


@dataclass(frozen=True, eq=False, repr=False)
class HistoryMdp(Frozen, Shown):
    """A finite-history MDP: what happens from ⟨n, z⟩ when a is done, as far as it is known."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    memory: Memory
    states: Ints  # (H, W+1) int64, sorted
    visits: Floats  # (H, A) float64, how often each pair was tried; may be inf in a limit model
    reward: Floats  # (H, A) mean reward
    ending: Floats  # (H, A) probability that the process ends
    start: Floats  # (H,) law of the first history state
    pair: Ints  # (L,) int64, h*A + a, ascending
    successor: Ints  # (L,) int64, h'
    probability: Floats  # (L,) of h' after the pair
    discount: float

    @property
    def summary(self) -> str:
        H, A = self.shape
        return f"{self.memory}: {H:,} history states, {A} actions, discount {self.discount:g}"

    def __post_init__(self) -> None:
        floats = ("visits", "reward", "ending", "start", "probability")
        self._freeze(np.float64, *floats)
        self._freeze(np.int64, "states", "pair", "successor")
        check_discount(self.discount)
        for field in floats:
            values = getattr(self, field)
            if np.isnan(values).any() or (field != "reward" and (values < 0).any()):
                raise LogError(f"History model: {field} has a negative or undefined number.")
        continuing = sum_by(self.pair, self.probability, self.visits.size)
        total = self.ending + continuing.reshape(self.visits.shape)
        off = np.abs(total - (self.visits > 0)) > 1e-9
        if off.any():
            h, a = (int(i) for i in np.argwhere(off)[0])
            raise LogError(
                f"History model: state {h}, action {self.actions[a]!r}: outcomes have probability "
                f"{total[h, a]:.12g} in all."
            )

    def __len__(self) -> int:
        return len(self.states)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of history states and actions."""
        return len(self.states), len(self.actions)

    @cached_property
    def pointer(self) -> Ints:
        """(H*A + 1,) where the successors of each pair begin."""
        return freeze(np.searchsorted(self.pair, np.arange(self.visits.size + 1)), np.int64)

    @cached_property
    def index(self) -> RowIndex:
        return RowIndex(self.states)

    def policy_of(self, controller: Controller) -> Floats:
        """(H, A) the controller's rows at the history states of this model.

        The controller may have less memory than the model; it is lifted.
        """
        for kind in other_names(self, controller):
            raise MemoryMismatch(
                f"The log's {kind} ({', '.join(getattr(self, kind))}) are not numbered like those "
                f"of {controller.name} ({', '.join(getattr(controller, kind))}). Use "
                "log.align(controller.observations, controller.actions) before counting."
            )
        return controller.lift(self.memory).rows_at(self.states)


TABLES = 12  # of states and actions that are held at the same time, more or less


def check_tables(H: int, A: int) -> None:
    """Refuse tables of states and actions for which there is no room."""
    check_room(
        f"{H:,} history states with {A:,} actions each",
        8 * TABLES * H * A,
        "Cut readings into ranges (--bins), remember less, or give actions that mean the same one "
        "name.",
    )


def check_discount(γ: float) -> None:
    """The discount of a learned model."""
    if not isinstance(γ, int | float | np.number) or not 0 <= γ < 1:
        raise ParameterError(
            f"discount: {γ!r} must lie in [0, 1). Values of a learned model are only "
            "certain to exist below 1; for undiscounted episodes use one close to 1, as 0.999."
        )
