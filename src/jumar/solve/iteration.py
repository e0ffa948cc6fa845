"""Policy iteration, compiled: one call improves a policy on a small model.

The mathematics and what `gap` guarantees stand in `solve.solver`. A model is given as sparse rows:
the successors of pair h*A + a stand at pointer[pair] : pointer[pair+1]. The same loops serve a
single improvement and a study of many thousands.

Which rows are admitted (`solve.nouns`) is a kind, a threshold N∧ (a pair is known iff visits >
N∧), and the value of a pair that was never tried (NaN: the worst the rewards allow,
min(0, r_min)/(1-γ)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jumar.core.jit import compiled, inlined
from jumar.core.kernels import Floats, Ints
from jumar.solve.elimination import Plan, solve, write_identity
from jumar.solve.nouns import BOUNDED, GREEDY, STRICTLY, TIE
from jumar.tally.history import HistoryMdp


class RawModel(NamedTuple):
    """A finite-history MDP as raw arrays."""

    pointer: Ints  # (H*A + 1,)
    successor: Ints  # (L,)
    probability: Floats  # (L,)
    reward: Floats  # (H, A)
    visits: Floats  # (H, A)


def model_of(mdp: HistoryMdp) -> RawModel:
    """For compiled code."""
    return RawModel(mdp.pointer, mdp.successor, mdp.probability, mdp.reward, mdp.visits)


@inlined
def worth(model: RawModel, h: int, a: int, v: Floats, discount: float) -> float:
    """Reward now and the discounted value of what follows."""
    follows, pair = 0.0, h * model.reward.shape[1] + a
    for e in range(model.pointer[pair], model.pointer[pair + 1]):
        follows += model.probability[e] * v[model.successor[e]]
    value: float = model.reward[h, a] + discount * follows
    return value


@compiled
def write_row(
    kind: int, q: Floats, behavior: Floats, visits: Floats, n_wedge: float, tie: float, row: Floats
) -> None:
    """The admitted row with the largest row·q.

    Values closer than `tie` are equal, and the first action wins. Nothing known: the behavior.
    """
    A = len(q)
    best = -1
    for a in range(A):
        if visits[a] > n_wedge and (best < 0 or q[a] > q[best] + tie):
            best = a
    row[:] = behavior
    if best < 0:
        return
    mass = 0.0
    for a in range(A):
        known = visits[a] > n_wedge
        if kind == GREEDY or known or (kind == BOUNDED and q[a] <= q[best] + tie):
            mass += behavior[a]
            row[a] = 0.0
    row[best] = 1.0 if kind == GREEDY else mass


@compiled
def write_start(
    kind: int, behavior: Floats, visits: Floats, n_wedge: float, policy: Floats
) -> bool:
    """An admitted policy to start from; says whether it is the behavior itself.

    The behavior's rows are admitted, except that GREEDY does not admit unknown actions: there it
    is the behavior restricted to the known ones.
    """
    H, A = behavior.shape
    policy[:] = behavior
    same = True
    if kind != GREEDY:
        return same
    for h in range(H):
        known, mass = 0, 0.0
        for a in range(A):
            if visits[h, a] > n_wedge:
                known += 1
                mass += behavior[h, a]
        if known == 0 or known == A:
            continue
        same = False
        for a in range(A):
            if visits[h, a] <= n_wedge:
                policy[h, a] = 0.0
            else:
                policy[h, a] = behavior[h, a] / mass if mass > 0.0 else 1.0 / known
    return same


@compiled
def best_rows(kind: int, q: Floats, behavior: Floats, visits: Floats, n_wedge: float) -> Floats:
    """(H, A) the admitted row with the largest row·q for every history state."""
    rows = np.empty_like(behavior)
    tie = TIE * np.abs(q).max()
    for h in range(len(q)):
        write_row(kind, q[h], behavior[h], visits[h], n_wedge, tie, rows[h])
    return rows


@compiled
def evaluate_policy(
    model: RawModel,
    policy: Floats,
    discount: float,
    unseen: float,
    plan: Plan,
    slots: Floats,
    v: Floats,
) -> None:
    """v becomes the exact value of the policy in the model."""
    H, A = policy.shape
    write_identity(plan, slots)
    for h in range(H):
        paid = 0.0
        for a in range(A):
            π = policy[h, a]
            if π == 0.0:
                continue
            if model.visits[h, a] == 0.0:
                paid += π * unseen
                continue
            paid += π * model.reward[h, a]
            pair = h * A + a
            for e in range(model.pointer[pair], model.pointer[pair + 1]):
                slots[plan.entry_slot[e]] -= discount * π * model.probability[e]
        v[h] = paid
    solve(plan, slots, v)


@compiled
def write_action_values(
    model: RawModel, v: Floats, discount: float, unseen: float, q: Floats
) -> float:
    """q becomes reward plus discounted value of what follows; returns its scale."""
    H, A = q.shape
    scale = 0.0
    for h in range(H):
        for a in range(A):
            if model.visits[h, a] == 0.0:
                q[h, a] = unseen
            else:
                q[h, a] = worth(model, h, a, v, discount)
            scale = max(scale, abs(q[h, a]))
    return scale


@compiled
def worst_value(reward: Floats, discount: float) -> float:
    """A lower bound on every value of a model with these rewards; episodes may end, hence the 0."""
    least: float = min(0.0, reward.min())
    return least / (1.0 - discount)


@compiled
def iterate(
    model: RawModel,
    behavior: Floats,
    discount: float,
    kind: int,
    n_wedge: float,
    unseen: float,
    plan: Plan,
    slots: Floats,
    policy: Floats,
    v: Floats,
    q: Floats,
    max_iterations: int,
) -> tuple[int, float, float]:
    """Improve from the behavior, whose value v holds on entry; policy, v and q hold the result.

    Returns iterations (negative if they ran out), gap, and scale of the values.
    """
    H, A = behavior.shape
    if not write_start(kind, behavior, model.visits, n_wedge, policy):
        evaluate_policy(model, policy, discount, unseen, plan, slots, v)
    row = np.empty(A)
    scale = 0.0
    for iteration in range(1, max_iterations + 1):
        scale = write_action_values(model, v, discount, unseen, q)
        residual, leftover, replaced = 0.0, 0.0, False
        for h in range(H):
            now = 0.0
            for a in range(A):
                now += policy[h, a] * q[h, a]
            write_row(kind, q[h], behavior[h], model.visits[h], n_wedge, TIE * scale, row)
            then = 0.0
            for a in range(A):
                then += row[a] * q[h, a]
            residual = max(residual, then - v[h])
            leftover = max(leftover, abs(now - v[h]))
            if then > now + STRICTLY * scale:
                policy[h] = row
                replaced = True
        if not replaced:
            # a row within a tie of the best one counts as best: that much may be missing
            gap = (residual + TIE * scale + leftover) / (1.0 - discount)
            return iteration, gap, scale
        evaluate_policy(model, policy, discount, unseen, plan, slots, v)
    return -1, np.inf, scale
