"""The gates that are tried, each behind one call: a log in, a controller and a lower bound on its
gain out, or nothing.

A new gate is one line in `GATES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from jumar.algorithms.auto import select
from jumar.core.controller import Controller
from jumar.core.episodes import Episodes
from jumar.evidence.validity import Validity
from jumar.study.guarantees.base import Process


class Answer(NamedTuple):
    """What a gate lets through, and by how much at least it claims it to be better."""

    controller: Controller | None  # None: the behavior stays
    lower: float | None


@dataclass(frozen=True)
class TriedGate:
    """A gate, and what it says of its claims where rewards are declared."""

    ask: Callable[[Process, Episodes, float, np.random.Generator], Answer]  # log, δ, draws
    validity: Validity


def selected(
    process: Process, log: Episodes, delta: float, rng: np.random.Generator, *, gate: str
) -> Answer:
    """`jumar.algorithms.auto.select` with one of its gates."""
    found = select(
        log,
        process.told,
        discount=process.pomdp.discount,
        seed=rng,
        rewards=process.rewards,
        horizon=process.longest,
        delta=delta,
        gate=gate,
    )
    return Answer(found.controller, found.chosen.lower) if found.chosen else Answer(None, None)


GATES: Mapping[str, TriedGate] = MappingProxyType(
    {
        "proved": TriedGate(partial(selected, gate="proved"), Validity.PROVED),
        "asymptotic": TriedGate(partial(selected, gate="asymptotic"), Validity.ASYMPTOTIC),
    }
)
