"""Passes over a large model, compiled: each handles the history states first : last.

A block of states is one call, so that a few threads share a pass (compiled loops run without the
interpreter lock). What a pass writes at one state depends on what was there before the pass alone,
or on earlier states of the same block; blocks are cut by the model, not by the number of threads.
So results do not depend on how many threads there are, not in the last bit.
"""

from __future__ import annotations

import numpy as np

from jumar.core.jit import compiled
from jumar.core.kernels import Floats, Ints
from jumar.solve.iteration import RawModel, worth, write_row


@compiled
def improve_rows(
    model: RawModel,
    behavior: Floats,
    discount: float,
    kind: int,
    n_wedge: float,
    unseen: float,
    v: Floats,
    tie: float,  # closer action values are equal
    strictly: float,  # a row is replaced by one that is better by more
    replace: bool,
    policy: Floats,
    first: int,
    last: int,
) -> tuple[float, float, float, float, int]:
    """Look one step ahead from v, and put better admitted rows into the policy.

    Returns the largest Tv - v, with T the best admitted step; the smallest and the largest
    T_π v - v, with the policy as it is afterwards; the scale of the action values; and the number
    of rows that were, or would be, replaced.
    """
    A = behavior.shape[1]
    q, row = np.empty(A), np.empty(A)
    highest, low, high, scale, replaced = -np.inf, np.inf, -np.inf, 0.0, 0
    for h in range(first, last):
        now = 0.0
        for a in range(A):
            q[a] = worth(model, h, a, v, discount) if model.visits[h, a] > 0.0 else unseen
            scale = max(scale, abs(q[a]))
            now += policy[h, a] * q[a]
        write_row(kind, q, behavior[h], model.visits[h], n_wedge, tie, row)
        then = 0.0
        for a in range(A):
            then += row[a] * q[a]
        if then > now + strictly:
            replaced += 1
            if replace:
                policy[h] = row
                now = then
        highest = max(highest, then - v[h], now - v[h])
        low, high = min(low, now - v[h]), max(high, now - v[h])
    return highest, low, high, scale, replaced


@compiled
def write_worth(
    model: RawModel, discount: float, unseen: float, v: Floats, q: Floats, first: int, last: int
) -> None:
    """q becomes what every action is worth when v follows."""
    for h in range(first, last):
        for a in range(q.shape[1]):
            q[h, a] = worth(model, h, a, v, discount) if model.visits[h, a] > 0.0 else unseen


@compiled
def write_paid(
    model: RawModel, policy: Floats, unseen: float, paid: Floats, first: int, last: int
) -> None:
    """What the policy is paid at once; a pair that was never tried is worth `unseen` in all."""
    for h in range(first, last):
        total = 0.0
        for a in range(policy.shape[1]):
            if policy[h, a] != 0.0:
                total += policy[h, a] * (model.reward[h, a] if model.visits[h, a] > 0.0 else unseen)
        paid[h] = total


@compiled
def follow(
    model: RawModel, policy: Floats, discount: float, x: Floats, out: Floats, first: int, last: int
) -> None:
    """out becomes (I - γP_π) x."""
    A = policy.shape[1]
    for h in range(first, last):
        follows = 0.0
        for a in range(A):
            if policy[h, a] != 0.0:
                pair, to = h * A + a, 0.0
                for e in range(model.pointer[pair], model.pointer[pair + 1]):
                    to += model.probability[e] * x[model.successor[e]]
                follows += policy[h, a] * to
        out[h] = x[h] - discount * follows


@compiled
def sweep(
    model: RawModel,
    policy: Floats,
    discount: float,
    paid: Floats,
    v: Floats,
    new: Floats,
    backward: bool,
    first: int,
    last: int,
) -> None:
    """One sweep of a policy's equation; inside the block, what is new already is used already."""
    A = policy.shape[1]
    for step in range(last - first):
        h = last - 1 - step if backward else first + step
        follows, itself = 0.0, 0.0
        for a in range(A):
            if policy[h, a] == 0.0:
                continue
            pair, to = h * A + a, 0.0
            for e in range(model.pointer[pair], model.pointer[pair + 1]):
                j = model.successor[e]
                if j == h:
                    itself += policy[h, a] * model.probability[e]
                elif first <= j < last and (j > h if backward else j < h):
                    to += model.probability[e] * new[j]
                else:
                    to += model.probability[e] * v[j]
            follows += policy[h, a] * to
        new[h] = (paid[h] + discount * follows) / (1.0 - discount * itself)


@compiled
def continuing(model: RawModel, first: int, last: int) -> tuple[float, float, int]:
    """The least and the largest probability of the pairs to go on, and the longest row."""
    A = model.visits.shape[1]
    least, most, longest = np.inf, 0.0, 0
    for pair in range(first * A, last * A):
        mass = 0.0
        for e in range(model.pointer[pair], model.pointer[pair + 1]):
            mass += model.probability[e]
        least, most = min(least, mass), max(most, mass)
        longest = max(longest, model.pointer[pair + 1] - model.pointer[pair])
    return least, most, longest


@compiled
def blocks(pointer: Ints, n_states: int, n_actions: int, size: int) -> Ints:
    """Where blocks of about `size` pairs and transitions begin, and where the last one ends."""
    found = [0]
    for h in range(n_states):
        begun = found[-1]
        moves = pointer[(h + 1) * n_actions] - pointer[begun * n_actions]
        if moves + (h + 1 - begun) * n_actions >= size:
            found.append(h + 1)
    if found[-1] < n_states:
        found.append(n_states)
    return np.array(found)
