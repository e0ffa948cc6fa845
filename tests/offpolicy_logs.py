"""Small logs and controllers whose off-policy estimates can be worked out by hand."""

from __future__ import annotations

import numpy as np

from jumar.core.controller import Controller
from jumar.core.episodes import Episodes

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


FAIR = Controller.uniform(*NAMES)
KEEPS = Controller.constant(*NAMES, [0.75, 0.25], name="keeps")
ALWAYS = Controller.constant(*NAMES, [1, 0], name="always keep")
