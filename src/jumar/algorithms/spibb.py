"""Π_b-SPIBB: safe policy improvement with baseline bootstrapping (Laroche et al. 2019).

A pair (h, a) is *known* if it was logged more than N∧ times. Unknown actions keep exactly the
behavior's probability, the mass of the known ones goes to the best of them. On history states
⟨n, z⟩ this is the algorithm of Simão, Suilen and Jansen (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jumar.algorithms.entry import Algorithm, Grid, Look, Looks, Parameters, Words
from jumar.core.errors import ParameterError
from jumar.core.text import counted, whole_number
from jumar.policy.controller import Controller
from jumar.solve.nouns import BOOTSTRAPPED, Admitted, Improvement
from jumar.solve.solver import improve_by
from jumar.tally.history import HistoryMdp


def improve(mdp: HistoryMdp, behavior: Controller, *, n_wedge: int = 20) -> Improvement:
    """Leave the behavior only where a pair was seen more than `n_wedge` times.

    Parameters
    ----------
    mdp
        The model that `Counts.mle` estimates.
    behavior
        The controller that made the log.
    n_wedge
        N∧: an action is trusted in a history state only if it was seen there more often than this.

    Returns
    -------
    Improvement
        The improved controller, and what the model says of it.

    Examples
    --------
    >>> import jumar as jm
    >>> tiger = jm.models.tiger()
    >>> fair = Controller.uniform(tiger.observations, tiger.actions)
    >>> log = jm.simulate(tiger, fair, episodes=100)
    >>> mdp = jm.count(log, jm.window(1)).mle(0.95)
    >>> improve(mdp, fair, n_wedge=20).changed, improve(mdp, fair, n_wedge=1000).changed
    (2, 0)
    """
    parameters = {"n_wedge": n_wedge}
    return improve_by(admitted(n_wedge), mdp, behavior, algorithm="spibb", parameters=parameters)


def admitted(n_wedge: int = 20) -> Admitted:
    """The admitted rows: unknown actions keep the behavior's mass."""
    return Admitted(BOOTSTRAPPED, check_n_wedge(n_wedge))


MOST_COUNT = 1e18


def check_n_wedge(n_wedge: int) -> float:
    """N∧ is a count."""
    number = isinstance(n_wedge, int | float | np.number) and not isinstance(n_wedge, bool)
    if not number or not n_wedge >= 0 or (n_wedge != math.inf and n_wedge != int(n_wedge)):
        raise ParameterError(
            f"n_wedge: {n_wedge!r} is not a whole number from 0. It is the count a pair must "
            "exceed to be trusted; use 0 to trust everything that was seen at all."
        )
    if MOST_COUNT < n_wedge < math.inf:
        raise ParameterError(
            f"n_wedge: {whole_number(n_wedge)} is more than any log has steps. Use at most "
            f"{MOST_COUNT:.0g}, or none to have it chosen."
        )
    return float(n_wedge)


# ---- what is known of it ------------------------------------------------------------------------

THRESHOLDS = (5, 10, 20, 50, 100)
LONG_THRESHOLDS = (10, 30, 100)
MIXTURES = (1.0, 0.5, 0.25, 0.1)
SHADES = (("#d1495b", "s"), ("#f0a35e", "D"), ("#e8c98a", "P"))  # of the first thresholds


def threshold_grids() -> dict[str, Grid]:
    """Of an algorithm with N∧: what the asymptotic gate tries, and what long records do."""
    return {
        "asymptotic": Grid(tuple((("n_wedge", n),) for n in THRESHOLDS), MIXTURES),
        "long": Grid(tuple((("n_wedge", n),) for n in LONG_THRESHOLDS)),
    }


def threshold_words(rest: str) -> Words:
    """Of an algorithm with N∧, and what it does with the rest."""

    def does(parameters: Parameters) -> str:
        times = counted(parameters["n_wedge"], "time")
        return f"trusts what was tried more than {times}, {rest}"

    return Words(setting=lambda parameters: f"N∧ = {parameters['n_wedge']:g}", does=does)


def _safety(parameters: Parameters, thresholds: Sequence[int]) -> Look | None:
    n_wedge: Any = parameters["n_wedge"]
    if n_wedge not in thresholds[: len(SHADES)]:
        return None
    rank = thresholds.index(n_wedge)
    colour, marker = SHADES[rank]
    label = f"SPIBB, N∧ = {n_wedge}, k′ = k"
    return Look(label, colour, marker, 1.4, tail=rank == 0, order=2 + rank / 10)


ENTRY = Algorithm(
    name="spibb",
    summary="leave the behavior only for pairs seen more than n_wedge times",
    improve=improve,
    admitted=admitted,
    bound_kind="bootstrapped",
    threshold="n_wedge",
    grids=threshold_grids(),
    words=threshold_words("leaves the rest as it is"),
    looks=Looks(lambda _: Look("SPIBB", "#0a4f8f", "o"), _safety),
)
