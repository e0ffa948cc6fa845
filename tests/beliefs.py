"""Bayes' rule, outcome by outcome: the slow, obvious twin of `jumar.lab.truth.belief`."""

from __future__ import annotations

import numpy as np

from jumar.core.names import number_of


def update(pomdp, belief, action, observation):
    """The belief after `action` showed `observation`, and how probable that was."""
    a = number_of("action", action, pomdp.actions)
    z = number_of("observation", observation, pomdp.observations)
    mass = np.zeros(len(pomdp.states))
    for s, p in enumerate(belief):
        pair = s * len(pomdp.actions) + a
        for k in range(pomdp.pointer[pair], pomdp.pointer[pair + 1]):
            if pomdp.next_observation[k] == z:
                mass[pomdp.next_state[k]] += p * pomdp.probability[k]
    return mass / mass.sum(), float(mass.sum())


def predict(pomdp, belief):
    """For every action: (A, O) the law of the next observation, (A,) the probability to end and
    (A,) the expected reward."""
    S, A = len(pomdp.states), len(pomdp.actions)
    law, ending, reward = np.zeros((A, len(pomdp.observations))), np.zeros(A), np.zeros(A)
    for s, a in np.ndindex(S, A):
        for k in range(pomdp.pointer[s * A + a], pomdp.pointer[s * A + a + 1]):
            p, z = belief[s] * pomdp.probability[k], pomdp.next_observation[k]
            reward[a] += p * pomdp.reward[k]
            if z < 0:
                ending[a] += p
            else:
                law[a, z] += p
    return law, ending, reward
