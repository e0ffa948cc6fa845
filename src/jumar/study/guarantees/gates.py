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
from jumar.evidence.rewards import RewardRange
from jumar.evidence.validity import Validity
from jumar.study.guarantees.base import Process


class Answer(NamedTuple):
    """What a gate lets through, and by how much at least it claims it to be better."""

    controller: Controller | None  # None: the behavior stays
    lower: float | None


# log, behavior, discount, rewards if declared, δ, random numbers
Ask = Callable[
    [Episodes, Controller, float, RewardRange | None, float, np.random.Generator], Answer
]


@dataclass(frozen=True)
class TriedGate:
    """A gate, and what it says of its claims."""

    ask: Ask
    validity: Validity  # where rewards are declared

    def label(self, process: Process) -> Validity:
        """How far its claim about this process can be trusted, by its own account."""
        return self.validity if process.declared else self.validity.if_seen


def selected(
    log: Episodes,
    behavior: Controller,
    discount: float,
    rewards: RewardRange | None,
    delta: float,
    rng: np.random.Generator,
    *,
    gate: str,
) -> Answer:
    """`jumar.algorithms.auto.select` with one of its gates."""
    found = select(
        log, behavior, discount=discount, seed=rng, rewards=rewards, delta=delta, gate=gate
    )
    if found.chosen is None:
        return Answer(None, None)
    return Answer(found.controller, found.chosen.lower)


GATES: Mapping[str, TriedGate] = MappingProxyType(
    {
        "proved": TriedGate(partial(selected, gate="proved"), Validity.PROVED),
        "asymptotic": TriedGate(partial(selected, gate="asymptotic"), Validity.ASYMPTOTIC),
    }
)
