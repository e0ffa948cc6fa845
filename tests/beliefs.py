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
