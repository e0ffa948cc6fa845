"""From the rows that an algorithm found to the `Improvement` it hands back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jumar.core.arrays import Floats
from jumar.policy.controller import Controller
from jumar.solve.admitted import Admitted
from jumar.solve.nouns import Improvement, Trace
from jumar.solve.solver import Project, action_values, policy_value, solve, unseen_value
from jumar.tally.history import HistoryMdp


def improve_by(
    admitted: Admitted | Project,
    mdp: HistoryMdp,
    behavior: Controller,
    *,
    algorithm: str,
    parameters: Mapping[str, object],
) -> Improvement:
    """Solve over the admitted policies and return the solution as an improved controller."""
    solution = solve(mdp, mdp.policy_of(behavior), admitted)
    return improvement(
        mdp,
        behavior,
        solution.policy,
        algorithm=algorithm,
        parameters=parameters,
        values=(solution.values, solution.behavior_values),
        unseen=unseen_value(admitted, mdp),
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
    """A policy (H, A) of the model, as an improved controller.

    `values` are those of the policy and of the behavior, where they are known already.
    """
    old = mdp.policy_of(behavior)
    new_values, old_values = values or (
        policy_value(mdp, policy, unseen),
        policy_value(mdp, old, unseen),
    )
    if trace is None:
        leftover = (policy * action_values(mdp, new_values, unseen)).sum(1) - new_values
        trace = Trace(1, float(np.abs(leftover).max()) / (1 - mdp.discount))
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
        trace=trace,
    )
