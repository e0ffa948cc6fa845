"""Improvement: what an algorithm hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from jumar.core.arrays import Floats, Frozen, freeze
from jumar.core.controller import Controller
from jumar.core.history import HistoryMdp
from jumar.core.shown import Shown
from jumar.solve.rules import Rule
from jumar.solve.solver import Project, Trace, action_values, policy_value, solve, unseen_value


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Frozen, Shown):
    """An improved controller and the model's view of it.

    History states that were never logged keep the behavior's row. The two performances are what
    the *estimated* model says of both policies; the truth is not known here.
    """

    algorithm: str
    parameters: Mapping[str, object]
    behavior: Controller
    controller: Controller
    mdp: HistoryMdp
    policy: Floats  # (H, A) improved rows at the model's history states
    behavior_policy: Floats  # (H, A) behavior's rows there
    values: Floats  # (H,) of the improved policy, in the model
    behavior_values: Floats  # (H,) of the behavior, in the model
    unseen_value: float  # what the model says of a pair that was never tried
    performance: float  # of the improved policy, in the model
    behavior_performance: float  # of the behavior, in the model
    trace: Trace

    @property
    def summary(self) -> str:
        rules = f"{self.changed:,} of {len(self.mdp):,} rules changed"
        return f"{self.algorithm}: {rules}, estimated gain {self.gain:.4g}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        for field in ("policy", "behavior_policy", "values", "behavior_values"):
            object.__setattr__(self, field, freeze(getattr(self, field), np.float64))

    @property
    def gain(self) -> float:
        """Estimated: what the model says is won."""
        return self.performance - self.behavior_performance

    @property
    def changed(self) -> int:
        """Number of history states with a new row."""
        return int((self.policy != self.behavior_policy).any(1).sum())


def improve_by(
    admitted: Rule | Project,
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    algorithm: str,
    parameters: Mapping[str, object],
) -> Improvement:
    """Solve over the admitted policies and dress the solution as an improved controller."""
    behavior_rows = mdp.policy_of(behavior)
    solution = solve(mdp, behavior_rows, admitted)
    return improvement(
        mdp,
        behavior,
        solution.policy,
        algorithm=algorithm,
        parameters=parameters,
        values=(solution.values, solution.behavior_values),
        unseen=unseen_value(admitted, mdp) if isinstance(admitted, Rule) else 0.0,
        trace=solution.trace,
    )


def improvement(
    mdp: HistoryMdp,
    behavior: Controller,
    policy: Floats,
    *,
    algorithm: str,
    parameters: Mapping[str, object],
    values: tuple[Floats, Floats] | None = None,
    unseen: float = 0.0,
    trace: Trace | None = None,
) -> Improvement:
    """A policy (H, A) of the model, dressed as an improved controller.

    `values` are those of the policy and of the behavior, where they are known already.
    """
    old = mdp.policy_of(behavior)
    new_values, old_values = values or (
        policy_value(mdp, policy, unseen),
        policy_value(mdp, old, unseen),
    )
    leftover = (policy * action_values(mdp, new_values, unseen)).sum(1) - new_values
    gap = float(np.abs(leftover).max()) / (1 - mdp.discount)
    lifted = behavior.lift(mdp.memory)
    return Improvement(
        algorithm=algorithm,
        parameters=parameters,
        behavior=behavior,
        controller=lifted.except_at(mdp.states, policy, f"{behavior.name}, improved"),
        mdp=mdp,
        policy=policy,
        behavior_policy=old,
        values=new_values,
        behavior_values=old_values,
        unseen_value=unseen,
        performance=float(mdp.start @ new_values),
        behavior_performance=float(mdp.start @ old_values),
        trace=trace or Trace(1, gap),
    )
