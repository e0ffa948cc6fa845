"""The value of the best policy of all, with any memory, on a known model: a proven bracket.

The best policy acts on the belief b alone, and its value V solves the Bellman equation on beliefs

    V(b) = max_a r(b, a) + γ Σ_z' P(z' | b, a) V(b').

Only beliefs that can be reached matter, but there may be infinitely many. So a finite part of them
is expanded, and what follows the others is bounded from both sides:

    max_a Σ_s b(s) α_a(s)  ≤  V(b)  ≤  max_a Σ_s b(s) Q(s, a)

with α_a the value of doing a for ever, and Q the best value when the state is seen from the next
step on. Solving the expanded part with one bound, then with the other, gives lower and upper values
everywhere. With w(b) the discounted probability that the policy greedy for the upper values reaches
b, and 0 where b is expanded,

    upper - lower  ≤  Σ_b w(b) (upper(b) - lower(b)),

so it suffices to expand where that sum is large. Beliefs at which both bounds agree, such as
those where ending at once is surely best, are never expanded.

`lower` and `upper` are true bounds up to the rounding of one linear solve: what policy iteration
leaves over, residual/(1-γ), and what merging equal beliefs can change, ½ ‖b - b'‖₁ times the
span of the values over 1-γ, is added to the bracket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ModelError, NotConverged, ParameterError, TooLarge
from jumar.solve.linear import solve_discounted
from jumar.solve.solver import iterate_policy
from jumar.truth.belief import MOST_BELIEFS, BeliefGraph, Explorer
from jumar.truth.pomdp import END, Pomdp

STRICTLY = 1e-14  # of the scale of the values: a bracket may be asked for that is as narrow
_NO_GUESS: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Optimum:
    """The best value lies between `lower` and `upper`.

    `exact` says that the expanded beliefs are all that the best policy can reach before its value
    is settled, so that nothing but rounding keeps the two apart.
    """

    lower: float
    upper: float
    n_beliefs: int
    exact: bool


def optimum(pomdp: Pomdp, tolerance: float = 1e-9, most: int = MOST_BELIEFS) -> Optimum:
    """A bracket around the value of the best policy of all, for ever.

    Parameters
    ----------
    pomdp
        The model.
    tolerance
        Width of the bracket at most.
    most
        Beliefs to look at, at most. NotConverged is raised where they do not do.

    Returns
    -------
    Optimum
        `lower` and `upper`, and whether they are `exact`.

    Examples
    --------
    >>> from jumar import models
    >>> best = optimum(models.tiger())
    >>> round(best.lower, 6), round(best.upper, 6), best.exact
    (5.021252, 5.021252, True)
    """
    if not tolerance > 0:
        raise ParameterError(f"tolerance: {tolerance} must be positive.")
    if pomdp.discount >= 1:
        raise ModelError(
            f"Model {pomdp.name!r} has discount 1, where the bounds of the optimum need not "
            "exist. Use a discount close to 1, such as 0.999."
        )
    bounds = _bounds(pomdp)
    explorer = Explorer(pomdp, most)
    policies = _NO_GUESS, _NO_GUESS  # each round starts from the policies of the last one
    while True:
        found, worst, policies = _bracket(
            pomdp.discount, explorer.graph(), bounds, tolerance, policies
        )
        if found.upper - found.lower <= tolerance:
            return found
        if len(worst) == 0:
            raise NotConverged(
                f"{_reached(pomdp, found)} Rounding keeps the bounds apart; ask for a tolerance "
                f"of {found.upper - found.lower:.2g} or more."
            )
        try:
            explorer.expand(worst)
        except TooLarge as error:
            raise TooLarge(f"{_reached(pomdp, found)} {error}") from error


def _reached(pomdp: Pomdp, found: Optimum) -> str:
    return (
        f"Optimum of {pomdp.name}: between {found.lower:.10g} and {found.upper:.10g} after "
        f"{found.n_beliefs} beliefs."
    )


@dataclass(frozen=True)
class _Bounds:
    below: Floats  # (A, S) value of doing a for ever
    above: Floats  # (S, A) best value when the state is seen from the next step on
    span: float  # between the values of any two policies in any two states


def _bounds(pomdp: Pomdp) -> _Bounds:
    A, γ = len(pomdp.actions), pomdp.discount
    pair, target = pomdp.pair_of_outcome, pomdp.next_state
    weight, reward = γ * pomdp.probability, pomdp.expected_reward
    blind = []
    for a in range(A):
        chosen = pair % A == a
        blind.append(
            solve_discounted(pair[chosen] // A, target[chosen], weight[chosen], reward[:, a])
        )
    go = target != END
    pair, target, weight = pair[go], target[go], weight[go]
    best, slack, _ = _policy_iteration(pair, target, weight, reward, γ)
    least, more_slack, _ = _policy_iteration(pair, target, weight, -reward, γ)
    above = _backup(pair, target, weight, reward, best + slack)
    span = float(best.max() + least.max()) + slack + more_slack
    return _Bounds(np.array(blind), above, span)


def _bracket(
    γ: float, graph: BeliefGraph, bounds: _Bounds, tolerance: float, guesses: tuple[Ints, Ints]
) -> tuple[Optimum, Ints, tuple[Ints, Ints]]:
    """The bracket this graph gives, which beliefs keep it wide, and the policies behind it."""
    A = graph.reward.shape[1]
    below = (graph.beliefs @ bounds.below.T).max(1)
    above = np.maximum((graph.beliefs @ bounds.above).max(1), below)
    weight = γ * graph.probability
    steps = graph.pair, graph.successor, weight
    unknown = ~graph.expanded[:, None]  # have no steps: whatever is done there pays the bound
    pays = [np.where(unknown, bound[:, None], graph.reward) for bound in (below, above)]
    low, low_slack, low_policy = _policy_iteration(*steps, pays[0], γ, guesses[0])
    high, high_slack, high_policy = _policy_iteration(*steps, pays[1], γ, guesses[1])
    merging = graph.merged / 2 * bounds.span / (1 - γ)

    taken = high_policy[graph.pair // A] == graph.pair % A
    w = solve_discounted(
        graph.pair[taken] // A, graph.successor[taken], weight[taken], graph.start, transpose=True
    )
    rounding = 1e-14 * max(1.0, float(np.abs(above).max()))
    open_ = ~graph.expanded & (w > 0) & (above - below > rounding)
    share = w * (above - below)
    worst = np.flatnonzero(open_ & (share > tolerance / (2 * max(1, open_.sum()))))
    found = Optimum(
        lower=float(graph.start @ low) - low_slack - merging,
        upper=float(graph.start @ high) + high_slack + merging,
        n_beliefs=len(graph),
        exact=not open_.any(),
    )
    return found, worst, (low_policy, high_policy)


def _policy_iteration(
    pair: Ints,
    successor: Ints,
    weight: Floats,
    reward: Floats,
    γ: float,
    guess: Ints = _NO_GUESS,
) -> tuple[Floats, float, Ints]:
    """(N,) the value v of a policy, how far at most the best value is above it, the policy.

    `weight` is γ·p. The number in the middle bounds the rounding of v as well. The search starts
    from `guess`, which may leave out the last states.
    """
    N, A = reward.shape
    state, one_hot = pair // A, np.eye(A)
    first = np.zeros(N, np.int64)
    first[: len(guess)] = guess

    def value_of(policy: Floats) -> Floats:
        taken = policy.ravel()[pair] > 0
        right = (policy * reward).sum(1)
        return solve_discounted(state[taken], successor[taken], weight[taken], right)

    found = iterate_policy(
        one_hot[first],
        value_of,
        lambda v: _backup(pair, successor, weight, reward, v),
        lambda q: one_hot[q.argmax(1)],
        discount=γ,
        strictly=STRICTLY,
    )
    v, q = found.values, found.q
    now = (found.policy * q).sum(1)
    # tighter than the gap of the trace, which leaves room for ties
    residual = float(np.abs(now - v).max()) + float((q.max(1) - now).max())
    return v, residual / (1 - γ), found.policy.argmax(1)


def _backup(pair: Ints, successor: Ints, weight: Floats, reward: Floats, v: Floats) -> Floats:
    """(N, A) reward now and the discounted value of what follows."""
    follows = np.bincount(pair, weight * v[successor], reward.size)
    q: Floats = reward + follows.reshape(reward.shape)
    return q
