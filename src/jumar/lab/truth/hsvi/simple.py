"""Bounds that need no search: doing one thing for ever, and always seeing the state.

A function v with v ≤ T v for the Bellman operator T of a policy is below its value, one with
v ≥ T v for all actions is above the best value. What a linear solve returns misses that by a
residual δ; v ∓ δ / (1 - γ) does not. Row sums ρ of the model may be off by rounding: then it is
1 - γρ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Floats, Ints
from jumar.core.errors import ModelError, NotConverged
from jumar.lab.truth.hsvi.tables import UNIT
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.solve.linear import solve_discounted
from jumar.solve.solver import iterate_policy

STRICTLY = 1e-14  # of the scale of the values: what is left over is added to the bounds


@dataclass(frozen=True)
class SimpleBounds:
    below: Floats  # (A, S) at most the value of doing a for ever
    above: Floats  # (A, S) at least the value of a where the state is seen from then on
    scale: float  # no policy has a larger value in any state, with either sign


def simple_bounds(pomdp: Pomdp) -> SimpleBounds:
    """All of them, for a model with a discount below 1."""
    S, A = len(pomdp.states), len(pomdp.actions)
    go = (pomdp.next_state != END) & (pomdp.probability > 0)
    pair, target = pomdp.pair_of_outcome[go], pomdp.next_state[go]
    weight, reward = pomdp.discount * pomdp.probability[go], pomdp.expected_reward
    steps = pair, target, weight
    sums = np.bincount(pair, weight, S * A)
    most = int(np.diff(pomdp.pointer).max()) + 8  # operations in a sum, and some more
    rest = 1 - float(sums.max(initial=0.0)) * (1 + most * UNIT)
    if rest < 1e-12:
        raise ModelError(
            f"Model {pomdp.name!r}: discount {pomdp.discount!r} is so close to 1 that nothing can "
            "be proved with numbers of 16 digits. Use 0.999999 or less."
        )
    largest = float(np.abs(pomdp.reward[pomdp.probability > 0]).max(initial=0.0))
    crude = largest / rest  # no value is larger

    def rounding(v: Floats) -> float:
        return 2 * most * UNIT * (float(np.abs(v).max()) + largest)

    def at_least_the_best(reward: Floats) -> Floats:
        """(S,) at least the most that can be earned where the state is seen."""
        v = np.full(S, crude)
        try:
            found = _best(steps, reward, pomdp.discount)
        except (NotConverged, ZeroDivisionError):
            return v
        short = float((_backup(steps, reward, found).max(1) - found).max()) + rounding(found)
        least: Floats = np.minimum(v, found + max(0.0, short) / rest)
        return least

    best, worst = at_least_the_best(reward), at_least_the_best(-reward)
    below = np.empty((A, S))
    for a in range(A):
        chosen = pair % A == a
        v = solve_discounted(pair[chosen] // A, target[chosen], weight[chosen], reward[:, a])
        over = float((v - _backup(steps, reward, v)[:, a]).max()) + rounding(v)
        below[a] = np.maximum(v - max(0.0, over) / rest, -crude)
    above = _backup(steps, reward, best).T + rounding(best)
    scale = max(float(best.max()), float(worst.max()), largest)
    return SimpleBounds(below, np.ascontiguousarray(above), scale)


Steps = tuple[Ints, Ints, Floats]  # s*A + a, next state, γ·p


def _best(steps: Steps, reward: Floats, γ: float) -> Floats:
    """(S,) the value of the best policy that sees the state, up to rounding."""
    pair, target, weight = steps
    S, A = reward.shape
    one_hot = np.eye(A)

    def value_of(policy: Floats) -> Floats:
        taken = policy.ravel()[pair] > 0
        right = (policy * reward).sum(1)
        return solve_discounted(pair[taken] // A, target[taken], weight[taken], right)

    return iterate_policy(
        one_hot[np.zeros(S, np.int64)],
        value_of,
        lambda v: _backup(steps, reward, v),
        lambda q: one_hot[q.argmax(1)],
        discount=γ,
        strictly=STRICTLY,
    ).values


def _backup(steps: Steps, reward: Floats, v: Floats) -> Floats:
    """(S, A) reward now and the discounted value of what follows."""
    pair, target, weight = steps
    follows = np.bincount(pair, weight * v[target], reward.size)
    q: Floats = reward + follows.reshape(reward.shape)
    return q
