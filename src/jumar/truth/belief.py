"""Beliefs: what a history says about the hidden state of a known model.

The belief b(s) = P(s | z₀ a₀ z₁ … z_t) is all that a history knows about the future. From b, action
a leads to observation z' without ending with probability and new belief

    P(z' | b, a) = Σ_s b(s) Σ_s' P(s', z' | s, a)
    b'(s')       = Σ_s b(s) P(s', z' | s, a) / P(z' | b, a)

and the episode ends with probability 1 - Σ_z' P(z' | b, a). Rewards are not observed: a belief
depends on what was seen and done, never on what was paid.

`limit_mdp` is what counting converges to, as a `HistoryMdp`, so that everything that works on
counts of a log works on it. With d the behavior's expected visits in an episode and
b(s | n, z) ∝ d(s, n, z), the pair (⟨n, z⟩, a) gets the average of what a does in s. Where histories
with different beliefs share ⟨n, z⟩, that average depends on the behavior, and no amount of data
makes it the truth.

Beliefs that agree to 12 digits are one; `BeliefGraph.merged` says how far apart they were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jumar.core.arrays import Bools, Floats, Ints, freeze, number_rows, sum_by
from jumar.core.controller import Controller
from jumar.core.errors import ModelError, ParameterError, TooLarge
from jumar.core.history import HistoryMdp
from jumar.core.memory import Memory
from jumar.core.memory.refinement import join
from jumar.truth.chain import Chain, unroll
from jumar.truth.evaluation import occupancy
from jumar.truth.pomdp import END, Pomdp

DIGITS = 12
MOST_BELIEFS = 200_000
_CHUNK = 10_000_000  # numbers held at once while beliefs are updated


def first_beliefs(pomdp: Pomdp) -> tuple[Floats, Floats]:
    """(O,) the law of the first observation and (O, S) the belief after it.

    The row of an observation that cannot come first is zero.

    >>> from jumar import models
    >>> law, beliefs = first_beliefs(models.tiger())
    >>> law.round(9).tolist(), beliefs.round(9).tolist()
    ([0.5, 0.5], [[0.85, 0.15], [0.15, 0.85]])
    """
    joint = (pomdp.start[:, None] * pomdp.first_observation).T
    law = joint.sum(1)
    return law, np.divide(joint, law[:, None], out=np.zeros_like(joint), where=law[:, None] > 0)


def predict(pomdp: Pomdp, beliefs: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """For each of (B, S) beliefs and every action: the law of the next observation (B, A, O), the
    probability to end (B, A) and the expected reward (B, A). Law and ending sum to 1.

    >>> from jumar import models
    >>> law, ending, reward = predict(models.tiger(), [[0.85, 0.15]])
    >>> law[0, 2].round(3).tolist(), ending[0].tolist(), reward[0].round(9).tolist()
    ([0.745, 0.255], [1.0, 1.0, 0.0], [-83.5, -6.5, -1.0])
    """
    b = np.atleast_2d(np.asarray(beliefs, np.float64))
    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    pair, p, ends = pomdp.pair_of_outcome, pomdp.probability, pomdp.next_state == END
    shown = np.zeros((S, A * O))
    s, a = np.divmod(pair[~ends], A)
    np.add.at(shown, (s, a * O + pomdp.next_observation[~ends]), p[~ends])
    ending = sum_by(pair[ends], p[ends], S * A).reshape(S, A)
    return (b @ shown).reshape(len(b), A, O), b @ ending, b @ pomdp.expected_reward


@dataclass(frozen=True, eq=False)
class BeliefGraph:
    """B distinct beliefs and L possible steps between them."""

    beliefs: Floats  # (B, S), in the order they were found
    first: Ints  # (O,) the belief after first observation z; -1 where z cannot come first
    first_law: Floats  # (O,) of the first observation
    depth: Ints  # (B,) actions in the history that first led there
    expanded: Bools  # (B,) are its successors in the graph?
    reward: Floats  # (B, A) expected
    pair: Ints  # (L,) b*A + a, ascending; only of expanded beliefs
    observation: Ints  # (L,) what is seen, ascending within a pair
    successor: Ints  # (L,) the belief after it
    probability: Floats  # (L,)
    merged: float  # largest ‖b - b'‖₁ between a belief and the one that stands for it

    def __post_init__(self) -> None:
        for field in ("beliefs", "first_law", "reward", "probability"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.float64))
        for field in ("first", "depth", "pair", "observation", "successor"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.int64))
        object.__setattr__(self, "expanded", freeze(self.expanded, np.bool_))

    def __len__(self) -> int:
        return len(self.beliefs)

    @property
    def start(self) -> Floats:
        """(B,) probability that it is the first belief."""
        return sum_by(self.first[self.first >= 0], self.first_law[self.first >= 0], len(self))


class Explorer:
    """Finds beliefs step by step; the caller says which to expand."""

    def __init__(self, pomdp: Pomdp, most: int = MOST_BELIEFS) -> None:
        self.pomdp, self.most = pomdp, most
        self._number: dict[bytes, int] = {}
        self._beliefs = np.zeros((0, len(pomdp.states)))
        self._depth = np.zeros(0, np.int64)
        self._merged = 0.0
        self._steps = [np.zeros((0, 3), np.int64)]  # pair, observation, successor
        self._probability = [np.zeros(0)]
        self._law, beliefs = first_beliefs(pomdp)
        self._first = np.full(len(self._law), -1)
        possible = np.flatnonzero(self._law > 0)
        self._first[possible] = self._find(beliefs[possible], 0 * possible)
        self._expanded = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._beliefs)

    def expand(self, which: Ints) -> Ints:
        """Add the successors of some beliefs; returns the numbers of those not met before."""
        before, A = len(self), len(self.pomdp.actions)
        source, action, z, after, p = posteriors(self.pomdp, self._beliefs[which])
        successor = self._find(after, self._depth[which[source]] + 1)
        self._steps.append(np.column_stack([which[source] * A + action, z, successor]))
        self._probability.append(p)
        self._expanded = np.append(self._expanded, which)
        return np.arange(before, len(self))

    def graph(self) -> BeliefGraph:
        """What was found so far."""
        steps = np.concatenate(self._steps)
        order = np.argsort(steps[:, 0], kind="stable")
        pair, observation, successor = steps[order].T
        _, _, reward = predict(self.pomdp, self._beliefs)
        return BeliefGraph(
            beliefs=self._beliefs,
            first=self._first,
            first_law=self._law,
            depth=self._depth,
            expanded=np.isin(np.arange(len(self)), self._expanded),
            reward=reward,
            pair=pair,
            observation=observation,
            successor=successor,
            probability=np.concatenate(self._probability)[order],
            merged=self._merged,
        )

    def _find(self, beliefs: Floats, depth: Ints) -> Ints:
        """The number of each belief; those not met before get the next ones."""
        number, fresh = np.empty(len(beliefs), np.int64), list[int]()
        for i, key in enumerate(np.rint(beliefs * 10.0**DIGITS).astype(np.int64)):
            known = len(self._number)
            number[i] = self._number.setdefault(key.tobytes(), known)
            if number[i] == known:
                fresh.append(i)
        if len(self._number) > self.most:
            raise TooLarge(
                f"Beliefs of {self.pomdp.name}: more than {self.most} after {depth.max()} actions. "
                "Ask for fewer actions, or allow more beliefs."
            )
        self._beliefs = np.concatenate([self._beliefs, beliefs[fresh]])
        self._depth = np.append(self._depth, depth[fresh])
        apart = np.abs(beliefs - self._beliefs[number]).sum(1)
        self._merged = max(self._merged, float(apart.max(initial=0.0)))
        return number


def reachable_beliefs(
    pomdp: Pomdp, depth: int | None = None, most: int = MOST_BELIEFS
) -> BeliefGraph:
    """Every belief that some history of at most `depth` actions leads to, whatever is done.

    Beliefs first met after `depth` actions are not expanded. Without a depth the search goes on
    until there is no new belief, or TooLarge says that there are more than `most`.

    >>> from jumar import models
    >>> len(reachable_beliefs(models.cheese_maze())), len(reachable_beliefs(models.tiger(), 3))
    (14, 9)
    """
    explorer = Explorer(pomdp, most)
    level, last = 0, math.inf if depth is None else check_depth(depth)
    frontier = np.arange(len(explorer))
    while len(frontier) and level < last:
        frontier = explorer.expand(frontier)
        level += 1
    return explorer.graph()


def posteriors(pomdp: Pomdp, beliefs: Floats) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Every step that can follow (B, S) beliefs: the belief's number, the action, the observation,
    the belief after it, the probability of the observation."""
    from scipy.sparse import csr_array

    S, A, O = len(pomdp.states), len(pomdp.actions), len(pomdp.observations)
    go = pomdp.next_state != END
    s, a = np.divmod(pomdp.pair_of_outcome[go], A)
    column = (a * O + pomdp.next_observation[go]) * S + pomdp.next_state[go]
    joint = csr_array((pomdp.probability[go], (s, column)), shape=(S, A * O * S))
    parts = []
    step = max(1, _CHUNK // (A * O * S))
    for i in range(0, len(beliefs), step):
        mass = (beliefs[i : i + step] @ joint).reshape(-1, A, O, S)
        p = mass.sum(3)
        source, action, z = np.nonzero(p > 0)
        p = p[source, action, z]
        parts.append((source + i, action, z, mass[source, action, z] / p[:, None], p))
    if not parts:
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros((0, S)), np.zeros(0)
    source, action, z, after, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    return source, action, z, after, p


def limit_mdp(
    pomdp: Pomdp, behavior: Controller, memory: Memory, horizon: int | None = None
) -> HistoryMdp:
    """What the maximum-likelihood model of infinitely many episodes of the behavior converges to.

    The model's memory is `memory` where that refines the behavior's, else the join of both. Pairs
    the behavior tries count as visited infinitely often, all others never. Episodes run until they
    end, or for `horizon` steps, the last of which still shows its observation. For a behavior that
    may go on for ever, the model's `max_steps` takes the place of a missing horizon.

    >>> from jumar import models, window
    >>> voicemail = models.voicemail()
    >>> anything = Controller.uniform(voicemail.observations, voicemail.actions)
    >>> limit = limit_mdp(voicemail, anything, window(1))
    >>> limit.states.tolist(), limit.reward[:, 1].round(4).tolist()  # of saving
    ([[0], [1]], [2.48, -4.8])
    """
    O, A = len(pomdp.observations), len(pomdp.actions)
    memory = join(behavior.memory, memory.on(O, A))
    chain = unroll(pomdp, behavior.lift(memory))
    visits = _visits(pomdp, chain, horizon)
    times = visits[chain.source] * chain.probability  # (L,) how often each step is taken
    taken = times > 0
    source, target, times = chain.source[taken], chain.target[taken], times[taken]
    goes_on = target != END
    seen = np.unique(chain.history[np.concatenate([np.flatnonzero(visits > 0), target[goes_on]])])
    X = len(seen)
    at = np.searchsorted(seen, chain.history)  # only read at triples that were seen
    pair = at[source] * A + chain.action[taken]
    total = sum_by(pair, times, X * A)
    share = times / total[pair]
    moves, which = number_rows(np.column_stack([pair[goes_on], at[target[goes_on]]]))
    return HistoryMdp(
        pomdp.observations,
        pomdp.actions,
        memory,
        chain.states[seen],
        visits=np.where(total > 0, np.inf, 0.0).reshape(X, A),
        reward=sum_by(pair, share * chain.reward[taken], X * A).reshape(X, A),
        ending=sum_by(pair[~goes_on], share[~goes_on], X * A).reshape(X, A),
        start=sum_by(chain.history, chain.start, len(chain.states))[seen],
        pair=moves[:, 0],
        successor=moves[:, 1],
        probability=sum_by(which, share[goes_on], len(moves)),
        discount=pomdp.discount,
    )


def _visits(pomdp: Pomdp, chain: Chain, horizon: int | None) -> Floats:
    """(K,) expected visits to every triple in an episode."""
    try:
        return occupancy(chain, 1.0, horizon)
    except ModelError as error:  # it may never end
        if pomdp.max_steps is None:
            raise ModelError(
                f"Model {pomdp.name!r}: the behavior may never end an episode, so its log never "
                "ends either. Give a horizon."
            ) from error
        return occupancy(chain, 1.0, pomdp.max_steps)


def check_depth(depth: int) -> int:
    """A depth is a whole number of actions, at least one."""
    if depth < 1:
        raise ParameterError(f"depth: {depth} actions; at least 1 is needed.")
    return depth
