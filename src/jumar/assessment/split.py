"""How much of a gain is fewer slips, and how much is new decisions.

A behavior with exploration ε does what its rule says, and in a share ε of the steps anything. The
same model of the log values three controllers:

    behavior   as it acted, slips included
    intended   the same rule without its exploration
    improved   the new controller

    gain = improved - behavior = (intended - behavior) + (improved - intended)
                                  doing what your own rule says     new decisions

A behavior that was estimated has no ε. What is usual, three times in four or more, is then what it
means to do there, and what else is done there are slips.

Only the behavior needs to be changed for the first part, and no new decision has to be trusted. An
off-policy estimate of intended against behavior tells whether the log bears it out; it does not
rest on the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jumar.assessment.result import Result
from jumar.core.arrays import Floats
from jumar.core.chances import ROUNDING
from jumar.core.controller import Controller
from jumar.core.errors import JumarError
from jumar.evidence.offpolicy import Estimate, estimate
from jumar.io.plain import finite
from jumar.solve.solver import policy_value

USUAL = 0.75  # share of an action from which on it is what an estimated behavior means to do
MOST = 0.5  # exploration above which "slips" are how it acts
DELTA = 0.1  # of the interval: 90 %, as everywhere on the page


@dataclass(frozen=True, eq=False)
class Split:
    """The gain of a result in two parts, by the model of the log."""

    behavior: float  # what it is worth as it acted
    intended: float  # ... without its slips
    improved: float  # the new controller
    exploration: float
    controller: Controller = field(repr=False)  # the behavior without its slips
    policy: Floats = field(repr=False)  # (H, A) its rows at the history states of the model
    test: Estimate | None = None  # of intended less behavior, not by the model; None: none made

    @property
    def slips(self) -> float:
        """What doing as the rule says brings."""
        return self.intended - self.behavior

    @property
    def decisions(self) -> float:
        """What new decisions bring beyond that; below zero where the rule alone is better."""
        return self.improved - self.intended

    @property
    def share(self) -> float | None:
        """Of the gain, due to fewer slips; more than 1 where the rule alone is better than the new
        controller. None where there is no gain."""
        gain = self.improved - self.behavior
        return self.slips / gain if gain > 0 else None

    @property
    def mostly_slips(self) -> bool:
        """Is the rule without slips worth at least half of the gain? Where nothing changes, the
        test must say that it is better."""
        if self.slips <= 0 or (self.test is not None and self.test.upper <= 0):
            return False
        if self.share is None:
            return self.test is not None and self.test.lower > 0
        return self.share >= 0.5

    def to_dict(self) -> dict[str, Any]:
        """In plain JSON types."""
        return {
            "behavior": self.behavior,
            "intended": self.intended,
            "improved": self.improved,
            "share": self.share,
            "exploration": self.exploration,
            "test": None
            if self.test is None
            else {
                "gain": self.test.value,
                "interval": [finite(self.test.lower), finite(self.test.upper)],
                "level": 1 - self.test.delta,
            },
        }


def split(result: Result) -> Split | None:
    """The gain in two parts; None where nothing says how often the behavior slips."""
    improvement, practice = result.improvement, result.practice
    if practice is not None and (practice.several or not practice.controllers):
        return None
    meant = intended_by(improvement.behavior)
    if meant is None:
        return None
    intended = replace(meant, name=f"{improvement.behavior.name}, without slips", rules=())
    policy = improvement.mdp.policy_of(intended)
    slips = np.clip(improvement.behavior_policy - policy, 0, None).sum(1)
    visits = improvement.mdp.visits.sum(1)
    share = float(slips @ visits) / max(1, int(visits.sum()))
    if share == 0:
        return None
    values = policy_value(improvement.mdp, policy, improvement.unseen_value)
    found = Split(
        improvement.behavior_performance,
        float(improvement.mdp.start @ values),
        improvement.performance,
        share * policy.shape[1] / (policy.shape[1] - 1),
        intended,
        policy,
    )
    worth_testing = found.slips > 0 and (found.share is None or found.share >= 0.5)
    return replace(found, test=_test(result, intended)) if worth_testing else found


def intended_by(behavior: Controller) -> Controller | None:
    """The behavior without its slips; None where nothing says what they are.

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

    >>> slips = Controller.constant(("z",), ("keep", "repair"), [0.97, 0.03])
    >>> round(exploring(slips).exploration, 9)
    0.06
    >>> exploring(Controller.uniform(("z",), ("keep", "repair"))) is None
    True
    """
    if behavior.intended is not behavior:
        return behavior if behavior.exploration <= MOST else None
    least = _every_row(behavior).min(1)
    ε = float(least[0]) * len(behavior.actions)
    if behavior.estimated or not 0 < ε <= MOST or np.ptp(least) > ROUNDING:
        return None
    return _declaring(behavior, ε)


def _every_row(controller: Controller) -> Floats:
    below = controller.otherwise
    rest = _every_row(below) if isinstance(below, Controller) else below[None, :]
    return np.concatenate([controller.rows, rest])


def _declaring(controller: Controller, ε: float) -> Controller:
    below = controller.otherwise
    rest = _declaring(below, ε) if isinstance(below, Controller) else below
    return replace(controller, otherwise=rest, exploration=ε)


def _test(result: Result, intended: Controller) -> Estimate | None:
    """Intended against behavior on the log itself; None where the log cannot tell."""
    try:
        return estimate(
            result.replays,
            intended,
            result.behavior,
            discount=result.improvement.mdp.discount,
            difference=True,
            delta=DELTA,
            seed=result.seed,
        )
    except JumarError:  # no episode is one that the rule without slips could have made
        return None
