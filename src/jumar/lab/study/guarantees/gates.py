"""The gates that are tried, each behind one call: a log in, a controller and a lower bound on its
gain out, or nothing.

A new gate is one line in `GATES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from jumar.evidence.practice import practice_of
from jumar.evidence.validity import Validity
from jumar.gate import select
from jumar.gate.outcome import validity_of
from jumar.lab.study.guarantees.base import Process
from jumar.log.episodes import Episodes
from jumar.policy.controller import Controller


class Answer(NamedTuple):
    """What a gate lets through, and by how much at least it claims it to be better."""

    controller: Controller | None  # None: the behavior stays
    lower: float | None
    validity: Validity  # what it says of the claim, or would say of one


# process, log, δ, draws
TriedGate = Callable[[Process, Episodes, float, np.random.Generator], Answer]


def selected(
    process: Process, log: Episodes, delta: float, rng: np.random.Generator, *, gate: str
) -> Answer:
    """`jumar.gate.select` with one of its gates."""
    practice = practice_of(log, process.told)
    found = select(
        practice.log,
        practice,
        discount=process.pomdp.discount,
        seed=rng,
        rewards=process.rewards,
        horizon=process.longest if process.declared else None,
        candidates=process.candidates,
        delta=delta,
        gate=gate,
    )
    validity = validity_of(found, practice)
    if found.chosen is None:
        return Answer(None, None, validity)
    return Answer(found.controller, found.chosen.lower, validity)


GATES: Mapping[str, TriedGate] = MappingProxyType(
    {gate: partial(selected, gate=gate) for gate in ("proved", "asymptotic")}
)
