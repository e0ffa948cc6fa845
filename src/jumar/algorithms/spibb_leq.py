"""Π_≤b-SPIBB (Laroche et al. 2019): as SPIBB, but unknown actions may also lose mass.

No unknown action gets more than the behavior gave it. The set of admitted policies is larger than
SPIBB's, so the value in the model is at least as high; there is no published bound for it.
"""

from __future__ import annotations

from jumar.algorithms.entry import Algorithm
from jumar.algorithms.spibb import check_n_wedge, threshold_grids, threshold_words
from jumar.policy.controller import Controller
from jumar.solve.nouns import BOUNDED, Admitted, Improvement
from jumar.solve.solver import improve_by
from jumar.tally.history import HistoryMdp


def improve(mdp: HistoryMdp, behavior: Controller, *, n_wedge: int = 20) -> Improvement:
    """Never do more often what was seen `n_wedge` times (N∧) or less."""
    parameters = {"n_wedge": n_wedge}
    return improve_by(
        admitted(n_wedge), mdp, behavior, algorithm="spibb_leq", parameters=parameters
    )


def admitted(n_wedge: int = 20) -> Admitted:
    """The admitted rows: unknown actions keep at most the behavior's mass."""
    return Admitted(BOUNDED, check_n_wedge(n_wedge))


ENTRY = Algorithm(
    name="spibb_leq",
    summary="never do more often what was seen n_wedge times or less",
    improve=improve,
    admitted=admitted,
    threshold="n_wedge",
    grids=threshold_grids(),
    words=threshold_words("may do the rest less often"),
)
