"""Action values of a policy by what was tried alone: nothing is made up for what was not.

A pair that was never tried is left out of the policy, whose other actions share its chance. A
history state in which none of its actions was tried is worth what the others are on average, over
their visits. So a shift of all rewards moves no difference of values by more than what episodes
that are longer or shorter make of it.
"""

from __future__ import annotations

import numpy as np

from jumar.core.arrays import Floats, sum_by
from jumar.solve.linear import solve_discounted
from jumar.tally.history import HistoryMdp


def tried_values(mdp: HistoryMdp, policy: Floats, discount: float) -> Floats:
    """(H, A) what an action brings, with a policy (H, A) from there on; of an action that was never
    tried, what the policy brings there.

    >>> from jumar import Controller, count, window
    >>> from jumar.log.episodes import Episodes
    >>> log = Episodes(("z",), ("a", "b"), [0, 0], [0, 0], [1.0, 3.0], [0, 1, 2], [-1] * 2, [1, 1])
    >>> mdp = count(log, window(1)).mle(0.9)
    >>> tried_values(mdp, np.array([[0.5, 0.5]]), 0.9).tolist()
    [[2.0, 2.0]]
    """
    tried = mdp.visits > 0
    row = policy * tried
    in_all = row.sum(1, keepdims=True)
    known = in_all[:, 0] > 0
    row /= np.where(in_all > 0, in_all, 1.0)
    source = mdp.pair // len(mdp.actions)
    weight = discount * mdp.probability * row.ravel()[mdp.pair]
    paid = solve_discounted(source, mdp.successor, weight, (row * mdp.reward).sum(1))
    # how much of every value hangs on history states of which nothing is known
    unknown = solve_discounted(source, mdp.successor, weight, np.where(known, 0.0, 1.0))
    met = mdp.visits.sum(1) * known
    mean = met @ paid / (met @ (1 - unknown)) if met.any() else 0.0
    v = paid + mean * unknown
    after = sum_by(mdp.pair, mdp.probability * v[mdp.successor], mdp.visits.size)
    found: Floats = np.where(tried, mdp.reward + discount * after.reshape(mdp.shape), v[:, None])
    return found
