"""The compiled loops of long records: no objects, no checks."""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints

MORE = 1 + 1e-9  # a ratio above which an action became likelier


@compiled
def marginal_scores(
    at: Ints,
    action: Ints,
    reward: Floats,
    start: Ints,
    length: Ints,
    after: Ints,
    episodes: Ints,
    base: Floats,
    ratio: Floats,
    q: Floats,
    v: Floats,
    discount: float,
    exact: int,
) -> tuple[Floats, Floats]:
    """(n,) the scores φ of some records and (n, 2) the sums of their weights: of all steps, and of
    those whose action became likelier. `exact` is j, `base` (H,) is d/m_j. A negative `after` is
    an ending."""
    scores, masses = np.empty(len(episodes)), np.empty((len(episodes), 2))
    for i in range(len(episodes)):
        e = episodes[i]
        first, last = start[e], start[e] + length[e] - 1
        score, mass, new = v[at[first]], 0.0, 0.0
        whole, power = 1.0, 1.0
        for t in range(first, last + 1):
            if t - first < exact:
                whole *= ratio[at[t], action[t]]
                weight = power * whole
                power *= discount
            else:
                weight = power * base[at[t - exact]]
                for u in range(t - exact, t + 1):
                    weight *= ratio[at[u], action[u]]
            if weight != 0.0:
                h = at[t + 1] if t < last else after[e]
                follows = v[h] if h >= 0 else 0.0
                score += weight * (reward[t] + discount * follows - q[at[t], action[t]])
                mass += weight
                if ratio[at[t], action[t]] > MORE:
                    new += weight
        scores[i], masses[i, 0], masses[i, 1] = score, mass, new
    return scores, masses


@compiled
def discounted_before(values: Floats, length: Ints, discount: float) -> Floats:
    """(N,) for every step, Σ over the earlier ones of its record of γ^distance · value."""
    found = np.empty(len(values))
    t = 0
    for e in range(len(length)):
        trace = 0.0
        for _ in range(length[e]):
            found[t] = trace
            trace = discount * (trace + values[t])
            t += 1
    return found
