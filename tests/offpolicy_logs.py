"""Small logs and controllers whose off-policy estimates can be worked out by hand."""

from __future__ import annotations

import numpy as np

from jumar.evidence.offpolicy import weights
from jumar.evidence.offpolicy.estimators import Weighted, weighted_doubly_robust
from jumar.evidence.practice import practice_of
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller

NAMES = ("good", "worn"), ("keep", "repair")
γ = 0.9


def log_of(actions: list[list[int]], rewards: list[list[float]], ended: bool = True) -> Episodes:
    """Episodes in which 'good' is all that is ever seen."""
    n = [len(a) for a in actions]
    return Episodes(
        *NAMES,
        np.zeros(sum(n), int),
        np.concatenate(actions),
        np.concatenate(rewards),
        np.cumsum([0, *n]),
        np.full(len(n), -1),
        np.full(len(n), ended),
    )


def ratios(log, target, behavior):
    return weights.taken(log, target) / practice_of(log, behavior).taken


def weighted_pdis(ratio, reward, start, discount) -> Weighted:
    """WDR with a model that expects nothing."""
    nothing = np.zeros(len(reward))
    return weighted_doubly_robust(ratio, reward, nothing, nothing, start, discount)


FAIR = Controller.uniform(*NAMES)
KEEPS = Controller.constant(*NAMES, [0.75, 0.25], name="keeps")
ALWAYS = Controller.constant(*NAMES, [1, 0], name="always keep")
