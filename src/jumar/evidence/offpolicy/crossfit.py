"""Q̂ and V̂ of a controller for doubly robust estimates, each episode judged by the others.

Episodes are dealt at random into folds; where the log has clusters, whole clusters are. For every
fold the history MDP is estimated from the other folds, over a memory that refines both controllers,
and a controller's Q̂ and V̂ in it are read off at the steps of the fold. So Q̂ is independent of the
episodes it is used on, which is all that unbiasedness needs: the model may be as wrong as it likes.

Where the other folds never saw a history state, Q̂ = V̂ = 0: no correction, the step counts as in
PDIS. A pair that they never tried has Q̂ = 0 as well, and V̂ = Σ_a π(a | x) Q̂(x, a) holds everywhere
exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Frozen, Ints, freeze
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.core.errors import LogError, MemoryMismatch, ParameterError
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.randomness import Seed, generator
from jumar.core.replay import Replays
from jumar.core.text import printable
from jumar.solve.solver import action_values, policy_value

MOST_DISCOUNT = 0.999  # of the model: values of an estimated model exist for certain only below 1


@dataclass(frozen=True, eq=False)
class CrossFit(Frozen):
    """One model per fold, estimated from the other folds; fitted once, for any number of
    controllers."""

    models: tuple[HistoryMdp, ...]  # (K,)
    fold: Ints  # (N,) int64, of the episode of every step
    state: Ints  # (N,) int64, the step's history state in the model of its fold, or -1
    action: Ints  # (N,) int64

    def __post_init__(self) -> None:
        for field in ("fold", "state", "action"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.int64))

    @property
    def unseen(self) -> float:
        """The share of steps whose history state the other folds never saw."""
        return float((self.state < 0).mean())

    def values(self, controller: Controller) -> tuple[Floats, Floats]:
        """(N,) Q̂(x, a) of the logged action, and (N,) V̂(x), at every step; 0 where unseen."""
        q_taken, v = np.zeros(len(self.state)), np.zeros(len(self.state))
        for model, rows, x in self._folds():
            policy = model.policy_of(controller)
            q = action_values(model, policy_value(model, policy))
            q_taken[rows] = q[x, self.action[rows]]
            v[rows] = (policy * q).sum(1)[x]  # not the solver's value: V̂ = π·Q̂ to the last bit
        return q_taken, v

    def logged_values(self, rows: Floats) -> tuple[Floats, Floats]:
        """The same for whoever made the log, given (N, A) what they may do at every step: Q̂ is that
        of what the other folds did, and V̂(x) = Σ_a rows(a) Q̂(x, a), so that V̂ is right for the
        behavior of each episode, be there one or many."""
        q_taken, v = np.zeros(len(self.state)), np.zeros(len(self.state))
        for model, at, x in self._folds():
            n = model.visits.sum(1, keepdims=True)
            done = np.where(n > 0, model.visits / np.maximum(n, 1), 1 / model.visits.shape[1])
            q = action_values(model, policy_value(model, done))
            q_taken[at] = q[x, self.action[at]]
            v[at] = (rows[at] * q[x]).sum(1)
        return q_taken, v

    def _folds(self) -> Iterator[tuple[HistoryMdp, Ints, Ints]]:
        for k, model in enumerate(self.models):
            rows = np.flatnonzero((self.fold == k) & (self.state >= 0))
            yield model, rows, self.state[rows]


def fit(
    log: Episodes | Replays,
    memory: Memory,
    *,
    discount: float,
    folds: int = 2,
    seed: Seed = 1,
) -> CrossFit:
    """Deal the episodes into folds and estimate, for each, the model of the others.

    Parameters
    ----------
    log
        Its names must be numbered as the controllers' are.
    memory
        What the models remember.
    discount
        Weight of the next step against this one.
    folds
        How many.
    seed
        A whole number or a generator. It deals the episodes.

    Returns
    -------
    CrossFit
        The models, and which one speaks of which step.

    Examples
    --------
    >>> from jumar.core.memory import window
    >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 3.0], [0, 1, 2], [-1, -1], [1, 1])
    >>> models = fit(log, window(1), discount=0.9, seed=np.random.default_rng(1))
    >>> q, v = models.values(Controller.uniform(("z",), ("a",)))
    >>> q.tolist(), v.tolist()
    ([3.0, 1.0], [3.0, 1.0])
    """
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise ParameterError(f"folds: {folds!r} must be a whole number from 2.")
    replays = Replays.of(log)
    log = replays.log
    each, unit = np.arange(len(log)), "episode"
    if log.cluster is not None:
        each, unit = log.cluster.present[1], "cluster"
    units = int(each.max()) + 1
    if units < folds:
        size = f"{units} {unit}" + "s" * (units != 1)
        raise LogError(
            f"The log has {size}; {folds} folds need at least one each. Use an "
            f"estimator that fits nothing, such as pdis, or more {unit}s."
        )
    replay = replays.over(memory)
    fold_of = (generator(seed, "folds").permutation(units) % folds)[each]
    fold = np.repeat(fold_of, log.lengths)
    state = np.empty(log.n_steps, np.int64)
    models = []
    for k in range(folds):
        model = replay.part(fold_of != k).counts.mle(min(discount, MOST_DISCOUNT))
        rows = np.flatnonzero(fold == k)
        state[rows] = model.index.find(replay.states)[replay.at[rows]]
        models.append(model)
    return CrossFit(tuple(models), fold, state, log.action)


def check_alike(target: Controller, behavior: Controller) -> None:
    """Both must number observations and actions alike."""
    for kind in ("observations", "actions"):
        ours, theirs = getattr(target, kind), getattr(behavior, kind)
        if ours != theirs:
            raise MemoryMismatch(
                f"{printable(target.name)} and {printable(behavior.name)} do not list the same "
                f"{kind} in the same order. Write the {kind} of both alike."
            )
