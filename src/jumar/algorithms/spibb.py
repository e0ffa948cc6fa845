"""Π_b-SPIBB: safe policy improvement with baseline bootstrapping (Laroche et al. 2019).

A pair (h, a) is *known* if it was logged more than N∧ times. Unknown actions keep exactly the
behavior's probability, the mass of the known ones goes to the best of them. On history states
⟨n, z⟩ this is the algorithm of Simão, Suilen and Jansen (2023).
"""

from __future__ import annotations

import math

import numpy as np

from jumar.core.controller import Controller
from jumar.core.errors import ParameterError
from jumar.core.history import HistoryMdp
from jumar.core.improvement import Improvement
from jumar.solve.improvement import improve_by
from jumar.solve.rules import BOOTSTRAPPED, Rule


def improve(mdp: HistoryMdp, behavior: Controller, *, n_wedge: int = 20) -> Improvement:
    """Leave the behavior only where a pair was seen more than `n_wedge` times."""
    parameters = {"n_wedge": n_wedge}
    return improve_by(rule(n_wedge), mdp, behavior, algorithm="spibb", parameters=parameters)


def rule(n_wedge: int = 20) -> Rule:
    """The admitted rows: unknown actions keep the behavior's mass."""
    return Rule(BOOTSTRAPPED, check_n_wedge(n_wedge))


def check_n_wedge(n_wedge: int) -> float:
    """N∧ is a count."""
    number = isinstance(n_wedge, int | float | np.number) and not isinstance(n_wedge, bool)
    if not number or not n_wedge >= 0 or (n_wedge != math.inf and n_wedge != int(n_wedge)):
        raise ParameterError(
            f"n_wedge: {n_wedge!r} is not a whole number from 0. It is the count a pair must "
            "exceed to be trusted; use 0 to trust everything that was seen at all."
        )
    return float(n_wedge)
