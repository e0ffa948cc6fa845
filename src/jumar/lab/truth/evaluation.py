"""The exact value of a controller on a known model.

The triples (s, n, z) that can be reached form a Markov chain; its discounted value is one linear
solve, v = r + γPv, exact up to rounding (relative error about 1e-14). With a horizon of T steps the
value is T exact backward steps instead. Nothing here is simulated.

γ = 1 is allowed where the controller ends the episode with certainty; otherwise the value does not
exist and an error says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jumar.core.arrays import Bools, Floats, sum_by
from jumar.core.errors import ModelError, ParameterError, TooLarge
from jumar.core.text import whole_number
from jumar.lab.truth.chain import Chain, unroll
from jumar.lab.truth.pomdp import END, Pomdp
from jumar.policy.controller import Controller
from jumar.solve.linear import solve_discounted

MOST_WORK = 1_000_000_000  # transitions times steps, each step some 10,000 more: a few seconds


@dataclass(frozen=True)
class Evaluation:
    """What a controller is worth on a model.

    `length` is the mean number of steps of an episode, infinite if it may never end.
    """

    value: float
    length: float
    horizon: int | None
    n_triples: int


def evaluate(pomdp: Pomdp, controller: Controller, horizon: int | None = None) -> Evaluation:
    """Exact value and mean episode length of a controller on a model.

    Parameters
    ----------
    pomdp
        The model.
    controller
        The controller.
    horizon
        Steps that count. Without it, all of them.

    Returns
    -------
    Evaluation
        `value` and `length`.

    Examples
    --------
    >>> from jumar import models
    >>> tiger = models.tiger()
    >>> listen = Controller.constant(tiger.observations, tiger.actions, [0, 0, 1])
    >>> round(evaluate(tiger, listen).value, 9), evaluate(tiger, listen).length
    (-20.0, inf)
    """
    chain = unroll(pomdp, controller)
    γ = pomdp.discount
    if horizon is not None:
        check_horizon(horizon)
        value, length = _finite(chain, γ, horizon)
    else:
        length = _mean_length(chain)
        if γ == 1 and math.isinf(length):
            raise ModelError(
                f"Model {pomdp.name!r} has discount 1 and {controller.name} may never end an "
                "episode, so its value does not exist. Give a horizon (--horizon 100) or a "
                "discount below 1 (FILE:discount=0.95)."
            )
        value = float(chain.start @ values(chain, γ))
    return Evaluation(value, length, horizon, len(chain))


def values(chain: Chain, discount: float) -> Floats:
    """(K,) the value of every triple, for ever."""
    paid = sum_by(chain.source, chain.probability * chain.reward, len(chain))
    return solve_discounted(chain.source, chain.target, discount * chain.probability, paid)


def occupancy(chain: Chain, discount: float, horizon: int | None = None) -> Floats:
    """(K,) expected discounted visits to every triple, Σ_t γ^t P(at the triple at step t).

    With discount 1 this is the expected number of visits in an episode.
    """
    weight = discount * chain.probability
    if horizon is None:
        if discount == 1 and math.isinf(_mean_length(chain)):
            raise ModelError("The controller may never end an episode: visits are infinite.")
        return solve_discounted(chain.source, chain.target, weight, chain.start, transpose=True)
    go = chain.target != END
    source, target, weight = chain.source[go], chain.target[go], weight[go]
    present = np.array(chain.start)
    visits = np.zeros(len(chain))
    for _ in range(check_horizon(horizon)):
        visits += present
        present = sum_by(target, weight * present[source], len(chain))
    return visits


def check_horizon(horizon: int) -> int:
    """A horizon is a whole number of steps, at least one."""
    if not isinstance(horizon, int | np.integer) or horizon < 1:
        raise ParameterError(f"horizon: {horizon!r} is not a whole number of steps from 1.")
    return horizon


def _finite(chain: Chain, discount: float, horizon: int) -> tuple[float, float]:
    """Value and mean length over a horizon, by as many steps backwards."""
    go = chain.target != END
    source, target, p = chain.source[go], chain.target[go], chain.probability[go]
    paid = sum_by(chain.source, chain.probability * chain.reward, len(chain))
    v, steps = np.zeros(len(chain)), np.zeros(len(chain))
    for done in range(horizon):
        if done * (10_000 + len(source)) > MOST_WORK:
            raise TooLarge(
                f"horizon: {whole_number(horizon)} steps over {len(source):,} transitions, which "
                f"do not come to rest within the first {done:,}, take too long. "
                "Use a shorter one, or leave it out: then the value is that for ever."
            )
        before = v, steps
        v = paid + discount * sum_by(source, p * v[target], len(chain))
        steps = 1 + sum_by(source, p * steps[target], len(chain))
        # once a step changes nothing, no later one does, to the last bit
        if np.array_equal((v, steps), before):
            break
    return float(chain.start @ v), float(chain.start @ steps)


def _mean_length(chain: Chain) -> float:
    if not _can_end(chain).all():
        return math.inf
    try:
        steps = solve_discounted(chain.source, chain.target, chain.probability, np.ones(len(chain)))
    except ZeroDivisionError:  # it ends with a probability that 1 minus it does not show
        return math.inf
    found = float(chain.start @ steps)
    return found if 0 < found < math.inf else math.inf


def _can_end(chain: Chain) -> Bools:
    """(K,) can the episode still end from here?"""
    can = np.zeros(len(chain), np.bool_)
    can[chain.source[chain.target == END]] = True
    go = chain.target != END
    source, target = chain.source[go], chain.target[go]
    while True:
        grown = can.copy()
        grown[source[can[target]]] = True
        if (grown == can).all():
            return can
        can = grown
