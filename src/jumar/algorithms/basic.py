"""Basic RL: the greedy policy of the maximum-likelihood model. Fast, and not safe.

What a pair is worth that was never tried cannot be learned from the log, so it is an argument:

exclude      never choose it; where nothing was tried, keep the behavior
zero         take its value to be 0, as the published experiments do: optimistic where values
             are negative
pessimistic  take it to be the worst the log's rewards allow, min(0, r_min)/(1-γ)
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from jumar.arrays import Floats
from jumar.controller import Controller
from jumar.errors import ParameterError, not_one_of
from jumar.history import HistoryMdp
from jumar.improvement import Improvement, improve_by

Unseen = Literal["exclude", "zero", "pessimistic"]


def improve(mdp: HistoryMdp, behavior: Controller, *, unseen: Unseen = "exclude") -> Improvement:
    """The greedy policy of the model."""
    if unseen not in get_args(Unseen):
        raise ParameterError("unseen: " + not_one_of("choice", unseen, get_args(Unseen)))

    def project(q: Floats, rows: Floats, visits: Floats) -> Floats:
        from jumar import kernels

        allowed = visits if unseen == "exclude" else np.ones_like(visits)
        return kernels.greedy_rows(q, rows, allowed)

    return improve_by(
        project,
        mdp,
        behavior,
        algorithm="basic",
        parameters={"unseen": unseen},
        unseen_value=worst_value(mdp) if unseen == "pessimistic" else 0.0,
    )


def worst_value(mdp: HistoryMdp) -> float:
    """A lower bound on every value of the model: its episodes may end, hence the 0."""
    return min(0.0, float(mdp.reward.min())) / (1 - mdp.discount)
