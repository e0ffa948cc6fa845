"""Bounds from above for one who is told the state late: always at least the best value.

Told after one action (the fast informed bound of Hauskrecht 2000),

    Q(s, a) = r(s, a) + γ Σ_z max_a' Σ_s' M_az(s, s') Q(s', a'),

and told after two, where j = (a, s, z) stands for "was in s, did a, saw z", weighted with P(z):

    Q(j, a') = Σ_s' M_az(s, s') r(s', a') + γ Σ_z' max_a'' Σ_s' M_az(s, s') Q((a', s', z'), a'').

Both operators are monotone. So every sweep that starts from a bound leaves a bound, also half a
sweep, and values only fall.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.lab.truth.hsvi.points import highest_of
from jumar.lab.truth.hsvi.tables import Dynamics, Late


@compiled
def sweep_once(model: Dynamics, late: Late) -> float:
    """One sweep over Q(s, a), in place; returns the largest fall."""
    A, S = model.reward.shape
    follows, fall = np.zeros(A), 0.0
    for a in range(A):
        for s in range(S):
            q = 0.0
            for j in range(model.first[a * S + s], model.first[a * S + s + 1]):
                for b in range(A):
                    follows[b] = 0.0
                for k in range(model.pointer[j], model.pointer[j + 1]):
                    p, t = model.probability[k], model.next_state[k]
                    for b in range(A):
                        follows[b] += p * late.once[b, t]
                q += follows[highest_of(follows)]
            q = model.reward[a, s] + model.discount * q + model.slack
            fall = max(fall, late.once[a, s] - q)
            late.once[a, s] = min(late.once[a, s], q)
    return fall


@compiled
def begin_twice(model: Dynamics, late: Late) -> None:
    """Q(j, a') from Q(s, a): one told earlier knows more."""
    for j in range(len(model.seen)):
        for b in range(model.reward.shape[0]):
            q = 0.0
            for k in range(model.pointer[j], model.pointer[j + 1]):
                q += model.probability[k] * late.once[b, model.next_state[k]]
            late.twice[j, b] = min(late.twice[j, b], q + model.slack)


@compiled
def sweep_twice(model: Dynamics, late: Late) -> float:
    """One sweep over Q(j, a'), and over Q(s, a) with it; returns the largest fall."""
    A, S = model.reward.shape
    γ, fall = model.discount, 0.0
    follows = np.zeros((model.observations, A))
    for pair in range(A * S):
        after = 0.0
        for j in range(model.first[pair], model.first[pair + 1]):
            highest = -np.inf
            for b in range(A):
                paid = 0.0
                for k in range(model.pointer[j], model.pointer[j + 1]):
                    p, t = model.probability[k], model.next_state[k]
                    paid += p * model.reward[b, t]
                    for i in range(model.first[b * S + t], model.first[b * S + t + 1]):
                        z = model.seen[i]
                        for c in range(A):
                            follows[z, c] += p * late.twice[i, c]
                q = 0.0
                for z in range(model.observations):
                    q += follows[z, highest_of(follows[z])]
                    for c in range(A):
                        follows[z, c] = 0.0
                q = paid + γ * q + model.slack
                fall = max(fall, late.twice[j, b] - q)
                late.twice[j, b] = min(late.twice[j, b], q)
                highest = max(highest, late.twice[j, b])
            after += highest
        a, s = pair // S, pair % S
        q = model.reward[a, s] + γ * after + model.slack
        late.once[a, s] = min(late.once[a, s], q)
    return fall
