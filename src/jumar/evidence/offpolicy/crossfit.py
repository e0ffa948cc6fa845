"""Q̂ and V̂ of a controller for doubly robust estimates, each episode judged by the others.

Episodes are dealt at random into folds; where the log has clusters, whole clusters are. For every
fold a model is estimated from the other folds, over a memory that refines both controllers, and a
controller's Q̂ and V̂ in it are read off at the steps of the fold. So Q̂ depends on other episodes
and on the past, which is all that unbiasedness needs: the model may be as wrong as it likes.

What is estimated is the return *up to the cut*, so the model knows the clock. With T the longest
episode of the other folds and c_t the share of theirs that stop after step t among those that do
not end there,

    Q̂_t(x, a) = r̂(x, a) + γ (1 - c_t) Σ_x' P̂(x' | x, a) V̂_{t+1}(x'),    V̂_t = Σ_a π(a | x) Q̂_t,

backwards from V̂_T = 0. Recordings that all stop at T have c = 0 up to the last step; those that
stop anywhere, the hazard that was seen; those that end by themselves, none. Where all episodes have
T steps the clock ends them, whatever that is called, and P̂ is that of going on.

What nobody tried is not worth 0: a pair that the other folds never tried counts as what is usual in
its history state, and a history state that they never saw, like a continuation, as what is usual at
that step. All these are means of what was paid, so no Q̂ lies outside what is possible; and a
constant that is added to every reward moves Q̂_t by what it pays from step t on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jumar.core.arrays import Bools, Floats, Frozen, Ints, RowIndex, blocks, number_rows
from jumar.core.errors import LogError, MemoryMismatch
from jumar.core.names import other_names
from jumar.core.randomness import Seed, generator
from jumar.core.text import counted, printable
from jumar.log.episodes import Episodes
from jumar.memory import Memory
from jumar.policy.controller import Controller
from jumar.tally.replay import ENDED, UNSEEN, Replay, Replays

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FOLDS = 2
SETTLED = 1e-13  # relative change of V̂ from one step to the next that is only rounding


@dataclass(frozen=True, eq=False)
class ClockModel(Frozen):
    """What some episodes tell. K history states, A actions, T steps."""

    memory: Memory
    states: Ints  # (K, w+1)
    visits: Floats  # (K, A) how often each pair was tried
    reward: Floats  # (K, A) what it paid on average
    moves: csr_array  # (K·A, K) where it led, if it is known and the recording went on
    unknown: Floats  # (K·A,) 1 where nobody knows what follows
    goes_on: Floats  # (T,) share of recordings that go on after a step that ends nothing

    @classmethod
    def of(cls, replay: Replay, chosen: Bools) -> ClockModel:
        """Estimated from the chosen episodes (E,) of a log."""
        from scipy.sparse import csr_array

        log, H, A = replay.log, len(replay.states), len(replay.log.actions)
        lengths = log.lengths[chosen]
        T, by_clock = int(lengths.max()), bool((lengths == lengths[0]).all())
        least = 0 if by_clock else ENDED  # of what follows, where it tells the model something
        visits, known, paid = np.zeros((3, H * A))
        found = []
        for episodes, steps, own in blocks(log.start):
            follows = np.append(replay.at[steps][1:], UNSEEN)
            follows[own[1:] - 1] = replay.after[episodes]
            i = np.flatnonzero(np.repeat(chosen[episodes], np.diff(own)))
            pair, then = replay.at[steps][i] * A + log.action[steps][i], follows[i]
            visits += np.bincount(pair, minlength=H * A)
            known += np.bincount(pair[then >= least], minlength=H * A)
            np.add.at(paid, pair, log.reward[steps][i])  # in order, however long the blocks are
            moves, move = number_rows((pair * H + then)[then >= 0][:, None])
            found.append((moves, np.bincount(move)))
        moves, move = number_rows(np.concatenate([moves for moves, _ in found]))
        times = np.bincount(move, np.concatenate([times for _, times in found]))
        pair, then = divmod(moves[:, 0], H)
        occurs = np.asarray(visits.reshape(H, A).any(1))
        occurs[then] = True
        number, some = np.cumsum(occurs) - 1, np.repeat(occurs, A)
        K, visits, where = int(occurs.sum()), visits[some], number[pair // A] * A + pair % A
        stops = lengths if by_clock else lengths[replay.after[chosen] != ENDED]
        cut = np.bincount(stops - 1, minlength=T)
        longer = len(lengths) - np.cumsum(np.bincount(lengths - 1, minlength=T))
        return cls(
            replay.memory,
            replay.states[occurs],
            visits.reshape(K, A),
            (paid[some] / np.maximum(visits, 1)).reshape(K, A),
            csr_array((times / known[pair], (where, number[then])), shape=(K * A, K)),
            (known[some] == 0).astype(np.float64),
            longer / np.maximum(longer + cut, 1),
        )

    def backwards(self, policy: Floats, discount: float) -> Iterator[tuple[int, Floats, float]]:
        """t from the last step to the first, (K, A) Q̂_t of a policy (K, A), and what is usual."""
        visits, tried = self.visits, self.visits > 0
        here, T = visits.sum(1), len(self.goes_on)
        v, usual, q, settled = np.zeros(len(policy)), 0.0, np.zeros(policy.shape), False
        for t in range(T - 1, -1, -1):
            if not (settled and self.goes_on[t] == self.goes_on[t + 1]):
                then = (self.moves @ v + self.unknown * usual).reshape(policy.shape)
                q = self.reward + discount * self.goes_on[t] * then
                usual = float((visits * q).sum() / here.sum())
                known = np.where(here > 0, (visits * q).sum(1) / np.maximum(here, 1), usual)
                q = np.where(tried, q, known[:, None])
                before, v = v, (policy * q).sum(1)
                settled = bool(np.abs(v - before).max() <= SETTLED * np.abs(v).max())
            yield t, q, usual


@dataclass(frozen=True, eq=False)
class CrossFit(Frozen):
    """One model per fold, estimated from the other folds; fitted once, for any number of
    controllers."""

    log: Episodes
    models: tuple[ClockModel, ...]  # (K,)
    fold: Ints  # (E,) int64, of every episode
    state: Ints  # (N,) int64, the step's history state in the model of its fold, or -1
    discount: float

    def values(self, controller: Controller, first: Ints | None = None) -> tuple[Floats, Floats]:
        """(N,) Q̂(x, a) of the logged action, and (N,) V̂(x), at every step; or at so many of the
        `first` ones of each episode (E,), with 0 elsewhere."""
        for kind in other_names(self.log, controller):
            raise MemoryMismatch(
                f"{printable(controller.name)} does not number {kind} as the log does. Use "
                "log.align(controller.observations, controller.actions) first."
            )
        policies = [controller.lift(m.memory).rows_at(m.states) for m in self.models]
        return self._values(policies, None, self.log.lengths if first is None else first)

    def logged_values(self, rows: Floats) -> tuple[Floats, Floats]:
        """The same for whoever made the log, given (N, A) what they may do at every step: Q̂ is that
        of what the other folds did, and V̂(x) = Σ_a rows(a) Q̂(x, a), so that V̂ is right for the
        behavior of each episode, be there one or many."""
        policies = []
        for model in self.models:
            n = model.visits.sum(1, keepdims=True)
            policies.append(np.where(n > 0, model.visits / np.maximum(n, 1), 1 / rows.shape[1]))
        return self._values(policies, rows, self.log.lengths)

    def _values(
        self, policies: list[Floats], rows: Floats | None, first: Ints
    ) -> tuple[Floats, Floats]:
        q_taken, v = np.zeros(len(self.state)), np.zeros(len(self.state))
        for k, (model, policy) in enumerate(zip(self.models, policies, strict=True)):
            own = np.flatnonzero(self.fold == k)
            own = own[np.argsort(-first[own], kind="stable")]
            begin, length, last = self.log.start[own], -first[own], len(model.goes_on) - 1
            for t, q, usual in model.backwards(policy, self.discount):
                # what is longer than all episodes of the other folds is at their last step for ever
                for s in range(t, max(t, -int(length[0]) - 1 if t == last else t) + 1):
                    at = begin[: np.searchsorted(length, -s)] + s  # of those that have this step
                    x = self.state[at]
                    row = policy[x] if rows is None else rows[at]
                    # V̂ must be π·Q̂ where x is known; where it is not, both are the same number
                    q_taken[at] = np.where(x < 0, usual, q[x, self.log.action[at]])
                    v[at] = np.where(x < 0, usual, (row * q[x]).sum(1))
        return q_taken, v


def fit(
    log: Episodes | Replays,
    memory: Memory,
    *,
    discount: float,
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
    seed
        A whole number or a generator. It deals the episodes.

    Returns
    -------
    CrossFit
        The models, and which one speaks of which step.

    Examples
    --------
    >>> from jumar.memory import window
    >>> log = Episodes(("z",), ("a",), [0, 0], [0, 0], [1.0, 3.0], [0, 1, 2], [-1, -1], [1, 1])
    >>> models = fit(log, window(1), discount=0.9, seed=np.random.default_rng(1))
    >>> q, v = models.values(Controller.uniform(("z",), ("a",)))
    >>> q.tolist(), v.tolist()
    ([3.0, 1.0], [3.0, 1.0])
    """
    replays = Replays.of(log)
    log = replays.log
    each, unit = np.arange(len(log)), "episode"
    if log.cluster is not None:
        each, unit = log.cluster.present[1], "cluster"
    units = int(each.max()) + 1
    if units < FOLDS:
        raise LogError(
            f"The log has {counted(units, unit)}; {FOLDS} folds need at least one each. Use an "
            f"estimator that fits nothing, such as pdis, or more {unit}s."
        )
    replay = replays.over(memory)
    fold = (generator(seed, "folds").permutation(units) % FOLDS)[each]
    models = tuple(ClockModel.of(replay, fold != k) for k in range(FOLDS))
    number = np.stack([RowIndex(model.states).find(replay.states) for model in models])
    state = np.empty(log.n_steps, np.int64)
    for episodes, steps, own in blocks(log.start):
        state[steps] = number[np.repeat(fold[episodes], np.diff(own)), replay.at[steps]]
    return CrossFit(log, models, fold, state, discount)
