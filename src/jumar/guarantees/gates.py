"""The gates that are tried, each behind one call: a log in, a controller and a lower bound on its
gain out, or nothing.

A new gate is one line in `GATES`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from jumar.controller import Controller
from jumar.episodes import Episodes
from jumar.guarantees.base import Process
from jumar.rewards import RewardRange
from jumar.selection import select
from jumar.validity import Validity


class Answer(NamedTuple):
    """What a gate lets through, and by how much at least it claims it to be better."""

    controller: Controller | None  # None: the behavior stays
    lower: float | None


class Ask(Protocol):
    """A gate as a function."""

    def __call__(
        self,
        log: Episodes,
        behavior: Controller,
        discount: float,
        rewards: RewardRange | None,
        delta: float,
        rng: np.random.Generator,
    ) -> Answer: ...


@dataclass(frozen=True)
class Gate:
    """A gate, and what it says of its claims."""

    ask: Ask
    validity: Validity  # where rewards are declared and episodes end
    takes_over: bool = False  # the claim is about the behavior taking over where records are cut

    def label(self, process: Process) -> Validity:
        """How far its claim about this process can be trusted, by its own account."""
        if self.takes_over and process.horizon is not None:
            return Validity.CLAIMED  # what follows the cut is a model's word
        return self.validity if process.declared else self.validity.if_seen

    def gain(self, process: Process, controller: Controller) -> float:
        """The true value of what is claimed."""
        value = process.value_taken_over if self.takes_over else process.value
        return value(controller) - value(process.behavior)


@dataclass(frozen=True)
class Selected:
    """`jumar.selection.select` with one of its gates."""

    gate: str

    def __call__(
        self,
        log: Episodes,
        behavior: Controller,
        discount: float,
        rewards: RewardRange | None,
        delta: float,
        rng: np.random.Generator,
    ) -> Answer:
        # until `select` knows the keyword, it is the asymptotic gate
        named: dict[str, Any] = {"gate": self.gate} if HAS_GATES else {}
        found = select(
            log, behavior, discount=discount, rng=rng, rewards=rewards, delta=delta, **named
        )
        if found.chosen is None:
            return Answer(None, None)
        return Answer(found.controller, found.chosen.lower)


HAS_GATES = "gate" in inspect.signature(select).parameters

GATES: Mapping[str, Gate] = MappingProxyType(
    {
        "proved": Gate(Selected("proved"), Validity.PROVED),
        "asymptotic": Gate(Selected("asymptotic"), Validity.ASYMPTOTIC, takes_over=True),
    }
)


def available() -> tuple[str, ...]:
    """The gates that this version can run.

    >>> available()[-1]
    'asymptotic'
    """
    return tuple(name for name in GATES if HAS_GATES or name == "asymptotic")
