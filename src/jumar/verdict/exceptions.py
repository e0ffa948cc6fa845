"""What exceptions cost: how much an episode would bring if the old policy did what it means to do.

A behavior with exploration ε does what its rule says, and in a share ε of the steps anything. A
behavior that was estimated has no ε. What is usual, three times in four or more, is then what it
means to do there, and what else is done there are exceptions.

No new decision has to be trusted to leave them out. What that brings is told by an off-policy
estimate of the intended against the logged policy (`evidence.offpolicy`): it weighs what was logged
and counts up to where recordings stop. It is told only where it has the weight of 30 ordinary
episodes and its interval excludes 0, and not where so much lies beyond the cuts that no change is
handed over: to stop what costs now and pays later looks like a gain there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jumar.core.arrays import ALIKE, Floats
from jumar.core.errors import JumarError
from jumar.evidence.offpolicy import estimate
from jumar.evidence.offpolicy.ranges import layers_of
from jumar.evidence.plausible import Evidenced
from jumar.gate.trials import MOST_BEYOND
from jumar.policy.controller import Controller
from jumar.verdict.result import Result

USUAL = 0.75  # share of an action from which on it is what an estimated behavior means to do
MOST = 0.5  # exploration above which "exceptions" are how it acts
DELTA = 0.1  # of the interval: 90 %, as everywhere on the page


@dataclass(frozen=True, eq=False)
class Exceptions:
    """The old policy without its exceptions, and what that brings per episode."""

    exploration: float
    controller: Controller = field(repr=False)  # the behavior without its exceptions
    policy: Floats = field(repr=False)  # (H, A) its rows at the history states of the model
    worth: Evidenced | None = None  # of leaving them out; None: the log cannot tell

    @property
    def costly(self) -> bool:
        """Does the log show that leaving them out brings more?"""
        worth = self.worth
        if worth is None or worth.interval is None or worth.caution:
            return False
        return worth.interval[0] > 0

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        found = self.worth.to_dict() if self.worth and self.costly else None
        return {"exploration": self.exploration, "worth": found, "level": 1 - DELTA}


def exceptions(result: Result) -> Exceptions | None:
    """What they cost; None where nothing says what an exception is."""
    improvement, practice = result.improvement, result.practice
    if practice is not None and (practice.several or not practice.controllers):
        return None
    meant = intended_by(improvement.behavior)
    if meant is None:
        return None
    intended = replace(meant, name=f"{improvement.behavior.name}, without exceptions")
    policy = improvement.mdp.policy_of(intended)
    left_out = np.clip(improvement.behavior_policy - policy, 0, None).sum(1)
    visits = improvement.mdp.visits.sum(1)
    share = float(left_out @ visits) / max(1, int(visits.sum()))
    if share == 0:
        return None
    ε = share * policy.shape[1] / (policy.shape[1] - 1)
    return Exceptions(ε, intended, policy, _worth(result, intended))


def intended_by(behavior: Controller) -> Controller | None:
    """The behavior without its exceptions; None where nothing says what they are.

    >>> often = Controller.constant(("z",), ("keep", "repair"), [0.9, 0.1])
    >>> intended_by(replace(often, estimated=True)).row([], "z").tolist()
    [1.0, 0.0]
    """
    if (found := exploring(behavior)) is not None:
        return found.intended
    return _usual(behavior) if behavior.estimated and not behavior.exploration else None


def _usual(behavior: Controller) -> Controller:
    """Only what is usual, where something is."""
    below = behavior.otherwise
    rest = _usual(below) if isinstance(below, Controller) else _usual_rows(below[None, :])[0]
    return replace(behavior, rows=_usual_rows(behavior.rows), otherwise=rest)


def _usual_rows(rows: Floats) -> Floats:
    if len(rows) == 0:
        return rows
    clear = rows.max(1, keepdims=True) >= USUAL
    return np.where(clear, np.eye(rows.shape[1])[rows.argmax(1)], rows)


def exploring(behavior: Controller) -> Controller | None:
    """The behavior, if it declares its exploration; else with the one that its rows show, if they
    all leave every action the same least chance.

    >>> often = Controller.constant(("z",), ("keep", "repair"), [0.97, 0.03])
    >>> round(exploring(often).exploration, 9)
    0.06
    >>> exploring(Controller.uniform(("z",), ("keep", "repair"))) is None
    True
    """
    if behavior.intended is not behavior:
        return behavior if behavior.exploration <= MOST else None
    least = np.vstack(list(layers_of(behavior))).min(1)
    ε = float(least[0]) * len(behavior.actions)
    if behavior.estimated or not 0 < ε <= MOST or np.ptp(least) > ALIKE:
        return None
    return _declaring(behavior, ε)


def _declaring(controller: Controller, ε: float) -> Controller:
    below = controller.otherwise
    rest = _declaring(below, ε) if isinstance(below, Controller) else below
    return replace(controller, otherwise=rest, exploration=ε)


def _worth(result: Result, intended: Controller) -> Evidenced | None:
    """Intended against logged; None where the log cannot tell."""
    if result.log.beyond_cut(result.improvement.mdp.discount) > MOST_BEYOND:
        return None
    try:
        found = estimate(
            result.replays,
            intended,
            result.behavior,
            discount=result.improvement.mdp.discount,
            difference=True,
            delta=DELTA,
            rewards=result.rewards if result.rewards.declared else None,
            seed=result.seed,
        )
    except JumarError:  # no episode is one that the policy without exceptions could have made
        return None
    return Evidenced(
        found.value,
        found.lower,
        found.upper,
        found.standard_error,
        found.possible,
        found.effective_size,
    )
