"""Basic RL: the greedy policy of the maximum-likelihood model. Fast, and not safe.

What a pair is worth that was never tried cannot be learned from the log, so it is an argument:

exclude      never choose it; where nothing was tried, keep the behavior
zero         take its value to be 0, as the published experiments do: optimistic where values
             are negative
pessimistic  take it to be the worst the log's rewards allow, min(0, r_min)/(1-γ)
"""

from __future__ import annotations

from typing import Literal

from jumar.algorithms.entry import Algorithm, Look, Looks, Parameters, check_choice
from jumar.policy.controller import Controller
from jumar.solve.nouns import GREEDY, WORST, Admitted, Improvement
from jumar.solve.solver import improve_by
from jumar.tally.history import HistoryMdp

Unseen = Literal["exclude", "zero", "pessimistic"]

SEEN, ANYTHING = 0.0, -1.0  # thresholds: tried at all, or not even that


def improve(mdp: HistoryMdp, behavior: Controller, *, unseen: Unseen = "exclude") -> Improvement:
    """The greedy policy of the model; not safe. `unseen` says what is made of actions that were
    never tried, as the module says."""
    parameters = {"unseen": unseen}
    return improve_by(admitted(unseen), mdp, behavior, algorithm="basic", parameters=parameters)


def admitted(unseen: Unseen = "exclude") -> Admitted:
    """The admitted rows: any."""
    check_choice("unseen", unseen, Unseen)
    if unseen == "exclude":
        return Admitted(GREEDY, SEEN)
    return Admitted(GREEDY, ANYTHING, WORST if unseen == "pessimistic" else 0.0)


def _curve(parameters: Parameters) -> Look:
    if parameters.get("unseen") == "exclude":
        return Look("Basic RL (never unseen)", "#f0c070", "v", 1.0, minor=True)
    return Look("Basic RL", "#e08a00", "s")


ENTRY = Algorithm(
    name="basic",
    summary="the greedy policy of the estimated model; not safe",
    improve=improve,
    admitted=admitted,
    looks=Looks(_curve, lambda *_: Look("Basic RL, k′ = k", "#b9b9c3", "v", 1.0, order=0)),
)
